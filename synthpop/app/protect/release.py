"""The page "Release": the verdict, the protected file, reports, script and run file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag, tags

from synthpop.app.elements import (
    ask,
    button,
    card,
    choose,
    command,
    entry,
    form,
    more,
    pending,
    report_buttons,
    select,
    sentence,
)
from synthpop.app.protect.data import DECIMALS, SEPARATORS
from synthpop.app.protect.exports import FORMATS, format_of
from synthpop.app.protect.session import decision_on, release_stamp
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.errors import InputError
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


def _verdict(view: View) -> Tag:
    """Return what speaks against the file, and who releases it all the same."""
    t, state = view.t, view.project.protect
    judged = view.value("protect.verdict", release_stamp(state))
    if judged is None:
        waits = pending(view, "protect.verdict", t("Judging the file"), retry=t("Try again"))
        return card(t("Verdict"), waits)
    parts: list[Any] = [sentence(judged["sentence"], class_="fault" if judged["fatal"] else "lead")]
    if judged["not_tried"]:
        items = [tags.li(said_here(text)) for text in judged["not_tried"]]
        parts.append(more(t("Not looked at ({n})", n=len(items)), tags.ul(*items)))
    decided = decision_on(state)
    if judged["fatal"] and decided is not None:
        told = decided.model_dump(include={"name", "reason"})
        parts.append(tags.p(t("{name} releases it all the same: {reason}", **told)))
    elif judged["fatal"]:
        parts.append(form(
            {"action": "override"}, t("Release it all the same"),
            tags.p(t("The file can be written once somebody takes the decision. Name and reason "
                     "are kept in the project.")),
            tags.div(entry("override-name", t("Your name"), name="name", required=""),
                     entry("override-reason", t("Reason"), name="reason", required=""),
                     class_="fields"),
            key="override",
        ))  # fmt: skip
    return card(t("Verdict"), *parts)


def override(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the command that somebody releases the file against its verdict."""
    stamp = release_stamp(view.project.protect)
    judged = view.value("protect.verdict", stamp)
    if judged is None:
        raise InputError.of("release", "verdict", "is not there yet", "Wait for it.")
    entries = message.get("entries", {})
    return [command("protect.override", name=entries.get("name", ""),
                    reason=entries.get("reason", ""), verdict=judged["sentence"],
                    stamp=stamp)]  # fmt: skip


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.protect
    judged = view.value("protect.verdict", release_stamp(state))
    is_blocked = judged is None or (judged["fatal"] and decision_on(state) is None)
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
        _verdict(view),
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
                   kind="first", key="export", disabled=is_blocked),
        ),
        card(
            t("Report"),
            tags.p(t("Internal: everything. External: counts are rounded, and nothing that gives "
                     "a record away.")),
            report_buttons(t, "protect.report", key="report"),
            button(t("Letter to the disclosure review board"), ask("protect.letter"), key="letter",
                   disabled=judged is None),
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
