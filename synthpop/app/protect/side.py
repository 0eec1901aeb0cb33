"""What stays in view: risk and utility, original beside current, and the history of steps."""

from __future__ import annotations

from typing import Any

from htmltools import Tag, TagChild, TagList, tags

from synthpop.app.elements import button, command, help_line, sentence
from synthpop.app.protect import households
from synthpop.app.protect.needs import has_keys, standing
from synthpop.app.sparks import spark_line
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.text import count, percent

QUICK = ("below_2", "below_3", "below_5", "expected_reidentifications", "record_risk")


def render_bar(view: View) -> Tag | None:
    """Return the numbers: original, arrow, current."""
    if not has_keys(view.project):
        return None
    t = view.t
    needs = {need.job: need.stamp for need in standing(view)}
    quick = view.value("protect.quick_risk", needs["protect.quick_risk"])
    older = quick is None
    quick = quick or view.value("protect.quick_risk")
    fault = view.fault("protect.quick_risk")
    if quick is None:
        text = fault or t("Measuring the risk")
        return tags.div(sentence(text, class_="fault" if fault else "waiting"), class_="bar")
    rows = {row["key"]: row for row in quick["rows"]}
    below = f"below_{view.project.protect.k}"
    keys = [key for key in dict.fromkeys([below, *QUICK]) if key in rows][:5] or [*rows]
    figures = [_figure(t(rows[key]["title"]), rows[key], rows[key]["within"]) for key in keys]
    measured = view.value("protect.measure", needs["protect.measure"])
    if measured is not None:
        cells = {"original": "0", "text": f"{count(measured['suppressed'])} "
                 f"({percent(measured['suppressed_share'])})"}  # fmt: skip
        figures.append(_figure(t("Cells suppressed"), cells, None))
        for _, what, before, now in measured["losses"]:
            if what == "IL1s":
                figures.append(
                    _figure(t("Information loss (IL1s)"), {"original": before, "text": now}, None)
                )
    return tags.div(
        *figures, class_="bar older" if older else "bar", role="group",
        aria_label=t("Risk and utility, original and current"),
    )  # fmt: skip


def _figure(title: str, row: dict[str, Any], within: bool | None) -> Tag:
    mark = {True: "met", False: "exceeded", None: ""}[within]
    return tags.div(
        tags.span(title, class_="what"),
        tags.span(
            tags.span(row["original"], class_="before"),
            tags.span(" → ", aria_hidden="true"),
            tags.strong(row["text"]),
            spark_line(row.get("trail", ())),
            class_="numbers",
        ),
        class_=f"figure {mark}".strip(),
        title=said_here(row.get("meaning", "")),
    )


def render_side(view: View) -> TagList:
    """Return the history, and the way to the household file."""
    return TagList(render_history(view), households.render(view))


def render_history(view: View) -> Tag | None:
    """Return the steps; a click goes to the state after one."""
    if not has_keys(view.project):
        return None
    from riskeval.protection.registry import VERBS

    t, state = view.t, view.project.protect
    items: list[TagChild] = [_item(view, 0, t("Original file"))]
    for place, step in enumerate(state.steps, 1):
        title = f"{place}. {t(VERBS[step.verb].title)}"
        items.append(_item(view, place, title, step.summaries.get(view.project.language, "")))
    return tags.section(
        tags.h2(t("History")),
        tags.div(
            button(t("Undo"), command("protect.undo"), key="undo", disabled=state.position == 0),
            button(t("Redo"), command("protect.redo"), key="redo",
                   disabled=state.position == len(state.steps)),
            class_="pair",
        ),
        tags.ol(*items, class_="history"),
    )  # fmt: skip


def _item(view: View, place: int, title: str, summary: str = "") -> Tag:
    position = view.project.protect.position
    current = place == position
    item = button(title, command("protect.go_to", position=place), key=f"step-{place}")
    if current:
        item.attrs["aria-current"] = "step"
    return tags.li(
        item,
        help_line(summary, f"step-{place}-text") if summary and current else None,
        class_="undone" if place > position else None,
    )
