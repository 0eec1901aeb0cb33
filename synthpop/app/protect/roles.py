"""The page "Roles": which column is what, suggested from the data with the reason."""

from __future__ import annotations

from typing import Any

from htmltools import Tag, TagList, tags

from synthpop.app.elements import button, card, command, entry, pending, sentence
from synthpop.app.jobs import Need
from synthpop.app.protect import needs as shown
from synthpop.app.protect.needs import file_stamp
from synthpop.app.role_table import role_table
from synthpop.app.view import View

TITLES = {
    "": "no role",
    "keys": "key variable",
    "numeric": "numeric key",
    "weights": "weights",
    "household": "household",
    "sensitive": "sensitive",
    "strata": "strata",
    "pram": "to post-randomise",
    "household_variables": "household variable",
    "identifiers": "identifier, left out",
}
LIMITS = {
    "k": "Records that share a key (k)",
    "global_risk": "Mean risk",
    "record_risk": "Risk of a record",
    "l": "Distinct sensitive values (l)",
}


def needs(view: View) -> list[Need]:
    """Return what the page shows."""
    return [*shown.columns(view), *shown.suggestions(view)]


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.protect
    described = view.value("protect.columns", file_stamp(state))
    suggested = view.value("protect.suggest", file_stamp(state))
    if described is None:
        text = t("Reading the file")
        return tags.div(tags.h1(t("Roles")), pending(view.fault("protect.columns"), text))
    reasons = {} if suggested is None else suggested["columns"]
    return tags.div(
        tags.h1(t("Roles")),
        tags.p(
            t("What would an intruder know of a person? Those columns are the keys. Give each "
              "column its role; a change starts the steps anew."),
            class_="lead",
        ),
        card(t("Suggested from the data"), _suggestion(view, suggested)),
        role_table(view, described, reasons, state.roles.of, TITLES, "protect.set_role"),
        _limits(view),
    )  # fmt: skip


def _suggestion(view: View, suggested: Any) -> Tag | TagList:
    t = view.t
    if suggested is None:
        return pending(view.fault("protect.suggest"), t("Looking for roles"))
    return tags.div(
        sentence(suggested["text"]),
        button(t("Take the suggestions"), {"action": "roles"}, kind="first", key="take-roles"),
    )


def _limits(view: View) -> Tag:
    t, limits = view.t, view.project.protect.limits
    from riskeval.measures.request import Limits

    default = Limits()
    fields = [
        entry(
            f"limit-{name}", t(title), limits.get(name, getattr(default, name)), kind="number",
            message=command("protect.set_limit", name=name), step="any", min="0",
        )
        for name, title in LIMITS.items()
    ]  # fmt: skip
    return card(
        t("Limits of your office"),
        tags.p(t("What is accepted; empty: no limit. The defaults are customary."), class_="help"),
        tags.div(*fields, class_="fields"),
    )
