"""The page "Risk and utility": all numbers, and each detail on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from htmltools import Tag, TagChild, tags

from synthpop.app import elements as ui
from synthpop.app.forms import Form, make_form, read_form
from synthpop.app.jobs import Need
from synthpop.app.protect import needs as shown
from synthpop.app.protect.needs import steps_stamp
from synthpop.app.view import View

TITLES = {
    "overview": "All numbers",
    "violators": "Records below k",
    "risky": "Risky records",
    "records": "Current records",
    "suda": "SUDA",
    "diversity": "l-diversity",
    "numeric": "Numeric keys",
    "recovery": "Recovery attack",
    "suppressions": "Missing values",
    "loss": "Information loss",
    "pair": "Before and after",
}
OPTIONS = {
    "suda": ("suda", ("data", "keys")),
    "diversity": ("l_diversity", ("data", "keys", "sensitive")),
    "numeric": ("interval_disclosure", ("original", "released", "variables")),
}
"""The function of ``riskeval`` that a detail calls, and the parameters that roles fill."""
OF_DATA = ("violators", "risky", "records", "suda", "diversity", "pair")
NEEDED_ROLE = {
    "violators": "keys", "risky": "keys", "suda": "keys", "recovery": "keys",
    "diversity": "sensitive", "numeric": "numeric", "loss": "numeric",
}  # fmt: skip


def _chosen(view: View) -> tuple[str, dict[str, Any]]:
    """Return the detail that is shown and its arguments."""
    detail = view.choice("detail", "overview")
    state = view.project.protect
    detail = detail if detail in TITLES else "overview"
    if detail == "violators":
        return detail, {"k": state.k}
    if detail == "pair":
        first = state.roles.keys[0] if state.roles.keys else ""
        return detail, {"variables": [view.choice("first", first), view.choice("second", "")]}
    if detail == "records":
        return detail, {"first": view.choice("first-record", 1)}
    return detail, view.choice(f"options-{detail}", {})


@cache
def detail_forms() -> dict[str, Form]:
    """Return the form of each detail whose measure has options."""
    import riskeval

    return {
        detail: make_form(getattr(riskeval, name), name=detail, skip=filled)
        for detail, (name, filled) in OPTIONS.items()
    }


def set_options(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the choice of the options of a detail."""
    detail = message["detail"]
    options = read_form(detail_forms()[detail], message.get("entries", {}))
    return [ui.choose(**{f"options-{detail}": options})]


def _options(view: View, detail: str, chosen: dict[str, Any]) -> Tag:
    t = view.t
    fields = ui.option_fields(detail_forms()[detail], view.column_names(), t, chosen)
    message = {"action": "options", "detail": detail}
    return ui.more(t("Options"), ui.form(message, t("Compute again"), fields))


def needs(view: View) -> list[Need]:
    """Return what the page shows."""
    detail, arguments = _chosen(view)
    role = NEEDED_ROLE.get(detail)
    if detail == "overview" or (role and not getattr(view.project.protect.roles, role)):
        return []
    stamp = steps_stamp(view.project.protect) + json.dumps(arguments)
    return [*shown.columns(view), Need(f"protect.{detail}", stamp, arguments, kept=True)]


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    detail, arguments = _chosen(view)
    buttons = [
        ui.button(t(title), ui.choose(detail=name), key=f"detail-{name}", pressed=name == detail)
        for name, title in TITLES.items()
    ]
    is_overview = detail == "overview"
    content = tags.div(*_overview(view)) if is_overview else _detail(view, detail, arguments)
    return tags.div(
        tags.h1(t("Risk and utility")),
        tags.div(ui.menu(t("Details"), buttons), content, class_="two"),
    )


def _overview(view: View) -> list[TagChild]:
    t = view.t
    measured = view.value("protect.measure", steps_stamp(view.project.protect))
    if measured is None:
        text, retry = t("Measuring risk and utility"), t("Measure again")
        return [ui.card(t("All numbers"), ui.pending(view, "protect.measure", text, retry=retry))]
    numbers = [False, False, True, True]
    head = [t("Number"), t("What it means"), t("Original"), t("Current")]
    rows = [[r["title"], r["meaning"], r["original"], r["current"]] for r in measured["risk"]]
    risk = {"head": head, "rows": rows, "numbers": numbers}
    head = [t("Variable"), t("Number"), t("Original"), t("Current")]
    utility = {"head": head, "rows": measured["utility"], "numbers": numbers}
    return [
        ui.card(
            t("Risk"),
            ui.sentence(measured["risk_text"]),
            ui.table(risk, t("Risk, before and after")),
        ),
        ui.card(
            t("Utility"),
            ui.sentence(measured["utility_text"]),
            ui.table(utility, t("Utility, before and after")),
        ),
    ]


def _detail(view: View, detail: str, arguments: dict[str, Any]) -> Tag:
    t, state = view.t, view.project.protect
    title, role = t(TITLES[detail]), NEEDED_ROLE.get(detail)
    if role and not getattr(state.roles, role):
        missing = t("No column has the role this needs. Choose one on the page Roles.")
        return ui.card(title, tags.p(missing))
    stamp = steps_stamp(state) + json.dumps(arguments)
    result = view.value(f"protect.{detail}", stamp)
    controls: TagChild = None
    if detail == "violators":
        controls = ui.entry(
            "violators-k", t("Records that share a key (k)"), state.k, kind="number",
            message=ui.command("protect.set_k"), argument="k", min="2", step="1",
        )  # fmt: skip
    if detail == "records":
        controls = ui.entry(
            "first-record", t("From row"), arguments["first"], kind="number", message=ui.choose(),
            argument="first-record", min="1", step="1",
        )  # fmt: skip
    if detail in OPTIONS:
        controls = _options(view, detail, arguments)
    if detail == "pair":
        controls = _variables(view, arguments["variables"])
    if result is None:
        inner = ui.pending(view, f"protect.{detail}", t("Computing"), retry=t("Try again"))
        return ui.card(title, controls, inner)
    return ui.card(
        title,
        controls,
        *[ui.sentence(text) for text in result["texts"]],
        *[ui.picture(svg) for svg in result.get("pictures", [])],
        *[
            ui.table(
                one,
                title + (f" ({place})" if place > 1 else ""),
                more=t("{n} more rows are not shown.", n=one["more"]),
                of_data=detail in OF_DATA,
            )
            for place, one in enumerate(result["tables"], 1)
        ],
    )


def _variables(view: View, chosen: list[str]) -> Tag:
    t = view.t
    pairs, labels = ui.named(view.column_names()), (t("First variable"), t("Second variable"))
    fields = [
        ui.select(f"pair-{key}", label, pairs, value, message=ui.choose(), argument=key)
        for key, label, value in zip(("first", "second"), labels, chosen, strict=True)
    ]
    return tags.div(*fields, class_="fields")
