"""What a step would do, shown before it is applied: cells, risk and loss, before and after.

The step is first tried on some households. Where the whole file takes a moment only, it is tried
on all of it, and the numbers are those of the file after the step.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from htmltools import Tag, tags

from synthpop.app.elements import framed_table, pending, sentence
from synthpop.app.jobs import JobRequest, Need
from synthpop.app.protect.first_numbers import first_numbers
from synthpop.app.protect.session import session_of, steps_stamp
from synthpop.app.protect.transitions import render_transitions, transitions_of
from synthpop.app.view import View
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.text import count, number, percent, short_percent

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from riskeval.protection.result import Protected
    from riskeval.session.session import ProtectionSession
    from riskeval.session.steps import Step

RECORDS = 2_000
SECONDS = 3.0
"""A step is tried on the whole file where that takes about so long."""


def prepared(request: JobRequest, session: ProtectionSession) -> Step:
    """Return the step that is asked for, its seed drawn once: what was tried is applied."""
    from riskeval.session.running import prepare_step

    verb, arguments = request.arguments["verb"], request.arguments["arguments"]
    key = steps_stamp(request.project.protect) + json.dumps([verb, arguments], sort_keys=True)

    def prepare() -> Step:
        given = with_values(session.current_frame(), arguments)
        return prepare_step(session.roles, verb, (), given)

    step: Step = request.workspace.once(f"step {key}", prepare)
    return step


def with_values(frame: pd.DataFrame, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the values of the file where the page knows texts and widths."""
    given = dict(arguments)
    if "groups" in given and given.get("column") in frame:
        present = {str(value): value for value in frame[given["column"]].dropna().unique()}
        given["groups"] = {
            group: [present.get(text, text) for text in texts]
            for group, texts in given["groups"].items()
        }
    if "table" in given and given.get("column") in frame:
        given["table"] = _rows_of(frame[given["column"]], given["table"])
    if "hierarchies" in given:
        given["hierarchies"] = {
            name: _levels(frame[name], levels) if name in frame else levels
            for name, levels in given["hierarchies"].items()
        }
    return given


def _rows_of(values: pd.Series, rows: list[list[str]]) -> list[list[Any]]:
    """Return the rows of a table of new values: numbers where the column has them."""
    if not is_number(values):
        return [list(row) for row in rows]
    return [[_number_or_text(text) for text in row] for row in rows]


def _number_or_text(text: str) -> float | int | str:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _levels(values: pd.Series, widths: list[Any]) -> list[Any]:
    """Return levels of a column: classes of widths, each from the level below; others stay."""
    present = values.dropna().unique().tolist()
    starts = {value: value for value in present}  # the lowest value of the class, by its label
    levels: list[Any] = []
    for width in widths:
        if isinstance(width, str) or not all(isinstance(v, (int, float)) for v in present):
            levels.append(width)
            continue
        low = {label: start // width * width for label, start in starts.items()}
        names = {label: f"{number(at, 12)}-{number(at + width - 1, 12)}" for label, at in
                 low.items()}  # fmt: skip
        levels.append(names)
        starts = {names[label]: at for label, at in low.items()}
    return levels


def trial(request: JobRequest) -> Any:
    """Return what a step would change: of the whole file, or of some of its records."""
    from riskeval.session.running import run_step

    state = request.project.protect
    session = session_of(request.workspace, state)
    step, current = prepared(request, session), session.current_frame()
    rows = some_rows(current, state.roles.household)
    start, part = time.monotonic(), current.iloc[rows]
    result = run_step(step, part, session.roles)
    seconds = (time.monotonic() - start) * len(current) / max(len(rows), 1)
    of_current = session.original_of_current()
    original = of_current.iloc[rows]
    if len(rows) < len(current) and seconds <= SECONDS:
        original, part = of_current, current
        result = run_step(step, current, session.roles)
    before, after = (first_numbers(state, session, file) for file in (part, result.data))
    is_whole = len(part) == len(current)
    keys = dict.fromkeys([f"below_{state.k}", "expected_reidentifications", "record_risk"])
    keys = keys if state.roles.keys else dict.fromkeys(before)
    risks = [
        [before[key]["title"], before[key]["text"], after[key]["text"]]
        for key in (keys if is_whole else list(keys)[:1])  # risks of a part are others
        if key in before and key in after
    ]
    return {
        "records": len(part), "all": len(current), "seconds": 0.0 if is_whole else seconds,
        "cells": result.cells_changed, "suppressed": result.cells_suppressed,
        "changed": result.records_changed, "dropped": result.records_dropped, "risks": risks,
        "columns": _columns(original, part, result), "transitions": transitions_of(result.details),
        "unmet": [str(text) for text in result.unmet] if is_whole else [],
    }  # fmt: skip


def some_rows(frame: pd.DataFrame, household: str | None) -> np.ndarray:
    """Return the places of some records, whole households of them, the same each time."""
    import numpy as np

    n = len(frame)
    if n <= RECORDS:
        return np.arange(n)
    ids = (
        np.arange(n) if household is None else frame[household].factorize(use_na_sentinel=False)[0]
    )
    order = np.random.default_rng(1).permutation(ids.max() + 1)
    sizes = np.bincount(ids, minlength=len(order))[order]
    taken = order[: max(1, int(np.searchsorted(sizes.cumsum(), RECORDS, side="right")))]
    return np.isin(ids, taken).nonzero()[0]


def _columns(original: pd.DataFrame, before: pd.DataFrame, result: Protected) -> list[list[Any]]:
    """Return changed cells, new missing values and the information lost so far, by column."""
    rows, changes = [], result.changes
    for name, cells, missing in zip(
        changes["column"], changes["cells"], changes["suppressed"], strict=True
    ):
        losses: list[float | None] = [None, None]
        if name in original and name in before and len(result.data) == len(original):
            losses = [_loss(original[name], file[name]) for file in (before, result.data)]
        rows.append([str(name), int(cells), int(missing), *losses])
    return rows


def _loss(original: pd.Series, values: pd.Series) -> float:
    from riskeval.session.candidates import is_amount
    from riskeval.session.loss import category_loss, number_loss

    return (number_loss if is_amount(original) else category_loss)(original, values)


def needs(view: View, verb: str, arguments: Mapping[str, Any] | None) -> list[Need]:
    """Return the need for a trial; none while the form is not filled in."""
    if arguments is None:
        return []
    asked = {"verb": verb, "arguments": dict(arguments)}
    stamp = steps_stamp(view.project.protect) + json.dumps(asked, sort_keys=True)
    limits = view.project.protect.model_dump_json(include={"limits", "k"})
    return [Need("protect.trial", stamp + limits, asked, kept=True)]


def render(view: View, verb: str, arguments: Mapping[str, Any] | None) -> Tag:
    """Return what the step would do, or what is missing in the form."""
    t, wanted = view.t, needs(view, verb, arguments)
    title = t("What this step would do")
    if not wanted:
        text = t("Fill in the entries marked with *: the effect is shown before you apply it.")
        return tags.section(tags.h3(title), tags.p(text, class_="help"), class_="inner trial")
    outcome = view.outcomes.get("protect.trial")
    if outcome is None or outcome.stamp != wanted[0].stamp:
        return tags.section(
            tags.h3(title), tags.p(t("Trying it on some records"), class_="waiting"),
            class_="inner trial",
        )  # fmt: skip
    if outcome.answer.fault:
        return tags.section(
            tags.h3(title), pending(view, "protect.trial", ""), class_="inner trial"
        )
    return tags.section(
        tags.h3(title), *_shown(view, outcome.answer.value), class_="inner trial", id="trial"
    )


def _shown(view: View, tried: Mapping[str, Any]) -> list[Tag | None]:
    t = view.t
    cells, share = count(tried["cells"]), percent(tried["changed"] / max(tried["records"], 1))
    texts = [t("{cells} cells would change, in {share} of the records; {n} of them would become "
               "missing.", cells=cells, share=share, n=count(tried["suppressed"]))]  # fmt: skip
    if tried["dropped"]:
        texts.append(t("{n} records would be left out.", n=count(tried["dropped"])))
    if tried["records"] == tried["all"]:
        texts.append(t("Tried on the whole file: nothing is changed until you apply the step."))
    else:
        texts.append(t(
            "Tried on {n} of {all} records, in which fewer records match each other than in the "
            "whole file; applying it to all takes about {seconds} s.",
            n=count(tried["records"]), all=count(tried["all"]), seconds=number(tried["seconds"], 2),
        ))  # fmt: skip
    risks = [
        tags.tr(tags.th(t(title), scope="row"), *[tags.td(one, class_="number") for one in values])
        for title, *values in tried["risks"]
    ]
    names = [t("Risk"), t("Before"), t("After")]
    lost = [t("Column"), t("Cells changed"), t("Now missing"), t("Information lost before"),
            t("Information lost after")]  # fmt: skip
    columns = [
        tags.tr(
            tags.th(name, scope="row"), tags.td(count(cells), class_="number"),
            tags.td(count(missing), class_="number"),
            *[tags.td("–" if one is None else short_percent(one), class_="number")
              for one in losses],
        )
        for name, cells, missing, *losses in tried["columns"]
    ]  # fmt: skip
    return [
        tags.p(" ".join(texts), role="status"),
        *[sentence(text, class_="fault") for text in tried["unmet"]],
        framed_table(t("Risk before and after the step"), names, risks) if risks else None,
        framed_table(t("What each column would lose"), lost, columns) if columns else None,
        *render_transitions(view, tried["transitions"]),
    ]
