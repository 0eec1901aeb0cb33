"""The page "Roles": what an intruder knows and looks for, and what users estimate."""

from __future__ import annotations

from htmltools import Tag, tags

from synthpop.app.elements import button, card, pending, sentence, waiting
from synthpop.app.judge.needs import files_stamp
from synthpop.app.role_table import role_table
from synthpop.app.view import View

TITLES = {
    "": "no role",
    "keys": "known (key)",
    "sensitive": "looked for (target)",
    "numeric": "number that users estimate",
    "weights": "weights",
    "household": "household",
}


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    described = view.value("judge.columns", files_stamp(view.project))
    suggested = view.value("judge.suggest")
    if described is None:
        text = t("Reading the files")
        return tags.div(tags.h1(t("Roles")), pending(view.fault("judge.columns"), text))
    reasons = {} if suggested is None else suggested["columns"]
    return tags.div(
        tags.h1(t("Roles")),
        tags.p(
            t("What would an intruder know of a person, and what would he like to learn?"),
            class_="lead",
        ),
        card(
            t("Suggested from the data"),
            sentence(suggested["text"]),
            button(t("Take the suggestions"), {"action": "roles"}, kind="first", key="take-roles"),
        )
        if suggested is not None
        else waiting(t("Looking for roles")),
        role_table(view, described, reasons, view.project.judge.roles.of, TITLES, "judge.set_role"),
    )
