"""The page "Totals": what is known of the population from elsewhere."""

from __future__ import annotations

from htmltools import Tag, tags

from synthpop.app.elements import button, card, command, entry, select, upload
from synthpop.app.protect.data import FORMATS
from synthpop.app.view import View

LEVELS = {"person": "persons", "household": "households"}


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    return tags.div(
        tags.h1(t("Totals")),
        tags.p(
            t("Known totals, as from a census: one file per table, with columns named as in the "
              "survey and one column of totals. They may be left out."),
            class_="lead",
        ),
        card(
            t("Add a table"),
            upload("totals-file", t("Table of totals"), command("create.add_totals"), FORMATS),
        ),
        *[_totals(view, place) for place in range(len(view.project.create.totals))],
    )  # fmt: skip


def _totals(view: View, place: int) -> Tag:
    t, totals = view.t, view.project.create.totals[place]
    message = command("create.set_totals", place=place)
    return card(
        totals.source.name,
        tags.div(
            select(f"totals-level-{place}", t("What is counted"),
                   [(level, t(text)) for level, text in LEVELS.items()], totals.level,
                   message=message, argument="level"),
            entry(f"totals-column-{place}", t("Column of the totals"), totals.total,
                  message=message, argument="total"),
            class_="fields",
        ),
        button(t("Remove"), command("create.remove_totals", place=place), kind="small",
               label=f"{t('Remove')} {totals.source.name}"),
    )  # fmt: skip
