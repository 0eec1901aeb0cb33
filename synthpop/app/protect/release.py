"""The page "Release": the protected file, reports, script and run file."""

from __future__ import annotations

from htmltools import Tag, tags

from synthpop.app.elements import ask, button, card, choose, report_buttons, select
from synthpop.app.protect.data import DECIMALS, SEPARATORS
from synthpop.app.protect.exports import FORMATS, format_of
from synthpop.app.view import View
from synthpop.microdata.messages.text import join

ORDERS = {
    "records": "records in random order",
    "households": "households in random order",
    "households and members": "households and members in random order",
    "keep": "as in the original (tells the place of each record)",
}


def _chosen(view: View, option: str) -> str:
    """Return the separator or decimal sign to write: as the file is read, if nothing is chosen."""
    source = view.project.protect.source
    default = {"separator": ",", "decimal": "."}[option]
    return str(view.choice(f"write-{option}", getattr(source, option, None) or default))


def _text_options(view: View) -> list[Tag]:
    t = view.t
    return [
        select(f"write-{option}", t(title), [(value, t(text)) for value, text in pairs if value],
               _chosen(view, option), message=choose(), argument=f"write-{option}")
        for option, title, pairs in (
            ("separator", "Separator", SEPARATORS), ("decimal", "Decimal sign", DECIMALS),
        )
    ]  # fmt: skip


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.protect
    suffix = view.choice("format", format_of(state))
    household = state.roles.household is not None
    order = view.choice("order", "households and members" if household else "records")
    orders = [
        (name, t(text)) for name, text in ORDERS.items() if household or "households" not in name
    ]
    written = view.value(f"protect.{view.choice('text', 'script')}")
    text = written["text"] if written else ""
    from synthpop.microdata.formats.files import DTA_VERSIONS

    versions = [(str(one), f"Stata {one}") for one in reversed(DTA_VERSIONS)]
    version = view.choice("dta-version", versions[0][0])
    return tags.div(
        tags.h1(t("Release")),
        card(
            t("The protected file"),
            tags.p(t("Steps in effect: {n}.", n=state.position)),
            tags.div(
                select("format", t("Format"), [(one, one) for one in FORMATS], suffix,
                       message=choose(), argument="format"),
                *(_text_options(view) if suffix == ".csv" else []),
                select("dta-version", t("Version"), versions, version,
                       message=choose(), argument="dta-version") if suffix == ".dta" else None,
                select("order", t("Order of the records"), orders, order,
                       message=choose(), argument="order"),
                class_="fields",
            ),
            tags.p(t("Identifiers are left out: {names}.", names=join(state.roles.identifiers)))
            if state.roles.identifiers
            else None,
            button(t("Write the file"),
                   ask("protect.export", format=suffix, order=order, dta_version=version,
                       separator=_chosen(view, "separator"), decimal=_chosen(view, "decimal")),
                   kind="first", key="export"),
        ),
        card(
            t("Report"),
            tags.p(t("Internal: everything. External: counts are rounded, and nothing that gives "
                     "a record away.")),
            report_buttons(t, "protect.report", key="report"),
        ),
        card(
            t("Repeat it without the app"),
            button(t("Script (Python)"), ask("protect.script"), key="script"),
            button(t("Run file for riskeval protect"), ask("protect.run_file"), key="run-file"),
            tags.pre(tags.code(text), tabindex="0", aria_label=t("Script (Python)"))
            if text
            else None,
        ),
    )  # fmt: skip
