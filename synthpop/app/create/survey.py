"""The page "Survey": open it, see how it is read, and what its columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from htmltools import Tag, TagChild, tags

from synthpop.app.create.needs import starter_stamp, survey_stamp
from synthpop.app.elements import (
    ask,
    button,
    card,
    command,
    pending,
    select,
    sentence,
    upload,
)
from synthpop.app.protect.data import FORMATS, preview_table, reading_options
from synthpop.app.role_table import role_table
from synthpop.app.texts import said_here
from synthpop.app.view import View

TITLES = {
    "": "no role",
    "weight": "weights",
    "household": "household",
    "household_weight": "household weight",
    "household_size": "household size",
    "person": "person",
    "strata": "strata",
    "psu": "primary sampling unit",
}
QUESTIONS = {
    "household": "Which column has the households?",
    "weight": "Which column has the weights?",
    "age": "Which column is the age?",
    "sex": "Which column is the sex?",
}


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.create
    return tags.div(
        tags.h1(t("Survey")),
        card(
            t("Open another file") if state.survey else t("Open a file"),
            upload(
                "survey-file",
                t("Survey, one row per person"),
                command("create.open_survey"),
                FORMATS,
            ),
        ),
        *_opened(view),
    )


def _opened(view: View) -> list[TagChild]:
    t, source = view.t, view.project.create.survey
    if source is None:
        return []
    stamp = survey_stamp(view)
    preview = view.value("create.preview", stamp)
    options = reading_options(view, source, "create.set_reading")
    if preview is None:
        inner = pending(view, "create.preview", t("Reading the first rows"))
        return [options, card(source.name, inner)]
    first_rows = card(source.name, preview_table(t, preview, preview["names"]))
    starter = view.value("create.starter", starter_stamp(view))
    described = view.value("create.columns", stamp)
    if starter is None or described is None:
        job = "create.starter" if view.fault("create.starter") else "create.columns"
        recipe = card(t("Recipe"), pending(view, job, t("Writing a first recipe")))
        return [options, first_rows, recipe]
    suggested = card(
        t("Suggested from the data"),
        *[sentence(line) for line in starter["text"].splitlines()],
        button(t("Take roles and recipe"), ask("create.take_starter"), kind="first",
               key="take-starter"),
    )  # fmt: skip
    role_of = view.project.create.role_of
    roles = role_table(view, described, starter["columns"], role_of, TITLES, "create.set_role")
    return [options, first_rows, _questions(view, starter["questions"]), suggested, roles]


def _questions(view: View, questions: Sequence[Mapping[str, Any]]) -> Tag | None:
    """Return what only somebody who knows the file can say, as choices."""
    t, answers = view.t, view.project.create.answers
    if not questions:
        return None
    fields = []
    for one in questions:
        role = one["role"]
        choices = [("", t("left open")), *((f"={name}", name) for name in one["columns"])]
        said = answers.get(role)
        value = "" if said is None else f"={said}" if said else "-"
        fields.append(
            select(
                f"question-{role}", t(QUESTIONS[role]), [*choices, ("-", t("none of them"))],
                value, message=command("create.answer", role=role), argument="choice",
                help_text=said_here(one["why"]),
            )
        )  # fmt: skip
    lead = t("The file does not tell for sure. The recipe is made anew with each answer.")
    return card(t("Questions"), tags.p(lead, class_="help"), *fields)
