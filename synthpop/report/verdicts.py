"""The first screen: fit, risk and known totals in a word each, and what most needs a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.result import MOST_FINDINGS, FitReport
from synthpop.evaluation.sentences import comparison_sentence, finding_sentence
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.language import localised
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.suppression import SMALLEST_COUNT, is_small, rounded, rounded_share
from synthpop.microdata.messages.text import join, number, percent
from synthpop.microdata.pages.page_facts import finding, row_id, verdict
from synthpop.microdata.statistics.intervals import wilson
from synthpop.report.advice import advice
from synthpop.report.risk import strongest

LEVELS = {"good": "good", "usable with these limits": "look", "not usable": "bad",
          "low": "good", "raised": "look", "high": "bad",
          "met": "good", "nearly met": "look", "missed": "bad"}  # fmt: skip
LINKS = {
    "members": "members", "household counts": "members", "household sums": "members",
    "age gaps": "members", "households": "households", "two-way table": "pairs",
    "components": "components",
}  # fmt: skip
"""Kind of a comparison -> the id of its section; others are shown with their variable."""
RAISED_SHARE, HIGH_SHARE = 0.0005, 0.01
NEARLY = 0.01
AUC = "A classifier reaches an AUC of {parts} (0.5 is a coin toss)."
FEW_LEVELS = "The category of fewer than {n} survey persons is found."
STRONGEST_LEVEL = (
    "The strongest of the matching intruders finds the category of {tau} survey persons at worst."
)
STRONGEST_LEVEL_EXPECTED = (
    "The strongest of the matching intruders finds the category of {tau} survey persons at worst; "
    "{expected} of them are expected to be unique in the country."
)
FEW_FOUND = "Fewer than {n} survey persons are found within {within}."
STRONGEST = (
    "The strongest of the matching intruders comes within {within} of the value of {tau} survey "
    "persons at worst; {zeros} of them have a true value of 0."
)
STRONGEST_EXPECTED = (
    "The strongest of the matching intruders comes within {within} of the value of {tau} survey "
    "persons at worst; {zeros} of them have a true value of 0, and {expected} are expected to be "
    "unique in the country."
)
COPIED = (
    "{share} of the survey persons with values that nobody else has are in the population with "
    "exactly these values, more than by chance."
)


def verdict_rows(
    fit: FitReport, risk: Any, totals: Mapping[str, Any] | None, external: bool
) -> list[dict[str, str]]:
    """Return the three rows: what is judged, the word, its level and its reason."""
    judgement = fit.verdict()
    rows = [_row("Fit", "#variables", judgement.word, f"{judgement.reason} {_auc(fit)}".strip())]
    word, reason = risk_verdict(risk, fit.n_sample, external)
    rows.append(_row(message("Disclosure risk"), "#risk" if risk is not None else "", word, reason))
    word, reason = totals_verdict(totals)
    rows.append(_row(message("Known totals"), "#totals" if totals else "", word, reason))
    return rows


def _row(what: str, link: str, word: str, reason: str) -> dict[str, str]:
    return verdict(what, word, LEVELS.get(word, "none"), reason, link)


def _auc(fit: FitReport) -> str:
    finite = {units: value for units, value in fit.auc.items() if np.isfinite(value)}
    if not finite:
        return ""
    parts = [
        message("{auc} for {units}", auc=localised(f"{value:.2f}"), units=message(units))
        for units, value in finite.items()
    ]
    return message(AUC, parts=join(parts))


def risk_verdict(risk: Any, n_sample: int, external: bool) -> tuple[str, str]:
    """Return the word on disclosure and its reason.

    Counted are survey persons found within the largest accuracy whose true value is not zero,
    with weights only those expected to be unique in the country too. "raised" from 0.05 %
    of the survey persons, "high" from 1 %. Where the population repeats amounts or shares of
    single persons exactly, more often than by chance, the risk is at least "raised".
    """
    if risk is None:
        return message("not assessed"), message(
            "Declare keys and a target in the table [risk] of the run file."
        )
    row = strongest(risk)
    if row is None:
        return message("not assessed"), message("No scenario could be computed.")
    tau, zeros, expected = row["tau"], row["zeros"], row["expected"]
    counted = expected if expected is not None else max(tau - zeros, 0.0)
    share = counted / max(n_sample, 1)
    word = "high" if share >= HIGH_SHARE else "raised" if share >= RAISED_SHARE else "low"
    copied = _copied(getattr(risk, "copies", None))
    if copied is not None and word == "low":
        rate, n = float(copied["rate"]), int(copied["n"])
        text = rounded_share(rate, n) if external else percent(rate, 0)
        return "raised", message(COPIED, share=text)
    of_level = row["accuracy"] != row["accuracy"]
    within = percent(row["accuracy"], 0)
    if external and (is_small(tau) or is_small(counted)):
        fewest = FEW_LEVELS if of_level else FEW_FOUND
        return word, message(fewest, n=SMALLEST_COUNT, within=within)
    text = STRONGEST_LEVEL if of_level else STRONGEST
    if expected is not None:
        text = STRONGEST_LEVEL_EXPECTED if of_level else STRONGEST_EXPECTED
    write = rounded if external else number
    values = {"within": within, "tau": write(tau), "zeros": write(zeros)}
    return word, message(text, **values, expected=write(expected))


def _copied(copies: pd.DataFrame | None) -> pd.Series | None:
    """Return the kind of values that the population repeats most of those beyond chance."""
    if copies is None:
        return None
    beyond = [
        row["n"] >= SMALLEST_COUNT and wilson(row["copied"], int(row["n"]))[0] > row["by_chance"]
        for row in copies.to_dict("records")
    ]
    rows = copies[np.array(beyond, dtype=bool)]
    return rows.iloc[int(rows["rate"].to_numpy().argmax())] if len(rows) else None


def totals_verdict(totals: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the word on known totals and its reason."""
    if totals is None:
        return message("none given"), message(
            "Totals from a register or census bring tables nearer to the country."
        )
    reason = str(totals["parts"][-1]["sentences"][0])
    largest = totals.get("largest_error")
    if largest is None:
        return "met", reason
    word = "met" if largest < 1e-6 else message("nearly met") if largest <= NEARLY else "missed"
    return word, reason


def worst_items(
    fit: FitReport, recipe: Sequence[Mapping[str, Any]], names: FigureNames, external: bool
) -> list[dict[str, str]]:
    """Return what most needs a look: a sentence, where to look, and what to do.

    What the detector found comes first; it may have small cells, which external readers do not see.
    """
    judged = fit.verdict()
    found = [
        finding(finding_sentence(row, names.short), f"#{_place_of(row)}")
        for row in judged.findings.head(MOST_FINDINGS).to_dict("records")
    ]
    if external and found:
        text = message("What was found stands on the internal page: it may have small cells.")
        found = [finding(text, "#households")]
    return found + [
        finding(comparison_sentence(row, names.short), f"#{link_of(row)}", advice(row, recipe))
        for row in judged.worst.to_dict("records")
    ]


def _place_of(row: Mapping[Any, Any]) -> str:
    """Return the id of the place where what a finding of the detector is about is shown."""
    of_variable = row["kind"] in ("level", "table", "stratum", "heaping")
    return row_id(str(row["variable"])) if of_variable else "households"


def link_of(row: Mapping[Any, Any]) -> str:
    """Return the id of the place where a comparison is shown."""
    return LINKS.get(row["kind"]) or row_id(str(row["variable"]))
