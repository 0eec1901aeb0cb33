"""The page "Survey": open it, see how it is read, and what its columns are."""

from __future__ import annotations

from htmltools import Tag, TagChild, tags

from synthpop.app.create.needs import survey_stamp
from synthpop.app.elements import ask, button, card, command, pending, sentence, upload
from synthpop.app.protect.data import FORMATS, preview_table, reading_options
from synthpop.app.role_table import role_table
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
    starter = view.value("create.starter", stamp)
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
    return [options, first_rows, suggested, roles]
