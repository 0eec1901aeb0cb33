"""What comparisons of a population and its survey mean, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.ranking import LARGE
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted, number, short_percent


def comparison_sentence(row: Mapping[Any, Any], name: Callable[[str], str] = str) -> str:
    """Return a row of `rank_comparisons` as a sentence; `name`: what a variable is called."""
    what = comparison_title(row, name)
    correlation = row["measure"] == "correlation"
    value = number(row["value"], 2) if correlation else short_percent(row["value"], 2)
    who = (
        message("of the households")
        if row["kind"] in HOUSEHOLD_UNITS
        else message("of the persons")
    )
    who = gettext("of the pairs" if row["kind"] == "members" else who)
    meaning = message(MEANINGS[row["measure"]], value=value, who=who)
    if row["kind"] == "components":
        text = message(
            "{what}: the parts do not add up for {value} of the persons more than in the survey."
        )
        return message(text, what=what, value=value)
    expected = max(row["expected_sampling_error"], row["expected_simulation_error"])
    if row["ratio"] >= LARGE or not expected > 0:
        text = message("{what}: {meaning}, where the survey shows no variation.")
        return message(text, what=what, meaning=meaning)
    text = message("{what}: {meaning}, {times} the survey's sampling error.")
    return message(text, what=what, meaning=meaning, times=times(row["ratio"]))


FINDINGS = {
    "level": "{variable}: {where} has {population}, in the survey {sample}.",
    "table": "{variable} by {given}: {population} of the persons lie in other cells.",
    "stratum": "{variable} {where}: {population} of its persons have other values.",
    "members": "{variable} of members of one household: {population} of the pairs differ.",
    "sizes": "Households of {where} persons: {population} of the persons, in the survey {sample}.",
    "heaping": "{variable}: {population} are multiples of {where}, in the survey {sample}.",
    "rule": "A rule of the survey is broken by {population} (survey: {sample}): {variable}.",
    "new": "{population} of the persons have a pair of values that nobody of the survey has; of "
    "another sample {sample} would.",
    "copies": "{population} of the households are like another household (survey: {sample}).",
}


def finding_sentence(row: Mapping[Any, Any], name: Callable[[str], str] = str) -> str:
    """Return a finding of the detector as a sentence; `name`: what a variable is called."""
    values = {side: short_percent(row[side], 2) for side in ("sample", "population")}
    variable = row["variable"] if row["kind"] == "rule" else name(row["variable"])
    where = str(row["where"])
    if row["kind"] == "members" and where == "gap":
        variable = message("{variable}, gaps", variable=variable)
    return message(FINDINGS[row["kind"]], variable=variable, given=name(row["given"]), where=where,
                   **values)  # fmt: skip


def times(ratio: float) -> str:
    """Return a ratio as a factor: "2.3 times"."""
    return message("{ratio} times", ratio=number(ratio, 2))


HOUSEHOLD_UNITS = ("household counts", "household sums", "households", "age gaps")
MEANINGS = {
    "tvd": "{value} {who} would have to change category (total variation distance)",
    "ks": "distribution functions differ by up to {value} (Kolmogorov-Smirnov)",
    "agreement": "the share of pairs of members with the same level differs by {value}",
    "correlation": "the correlation between members differs by {value}",
    "indicator": "differs by {value}",
    "share": "{value} of the persons",
}


def comparison_title(row: Mapping[Any, Any], name: Callable[[str], str] = str) -> str:
    """Return what a row of the ranking compares.

    Examples
    --------
    >>> comparison_title({"kind": "by group", "variable": "pay", "given": "job", "where": "",
    ...                   "measure": "ks"})
    'pay by job'
    """
    variable, conditions, where = name(row["variable"]), row["given"], row["where"]
    kind = row["kind"]
    if kind in ("two-way table", "by group"):
        return message("{variable} by {given}", variable=variable, given=name(conditions))
    if kind == "conditional":
        return message("{variable} given {given}", variable=variable, given=name(conditions))
    if kind == "members":
        return message("{variable} of members of one household", variable=variable)
    if kind == "household counts":
        text = message("Number of members with {variable} {where}")
        return message(text, variable=variable, where=where) if where else variable
    if kind == "household sums":
        text = message("Household sum of {variable}", variable=variable)
        return f"{text}, {where}" if where else text
    if kind == "age gaps":
        return message("Age gap between {where}", where=where)
    if kind == "households":
        return gettext("Households by stratum and size")
    if kind == "components":
        return message("Components of {variable}", variable=variable)
    return str(variable)


def classifier_sentences(table: pd.DataFrame) -> list[str]:
    """Return what the classifier makes of persons and households."""
    sentences = []
    for row in table.to_dict("records"):
        if not np.isfinite(row["auc"]):
            continue
        by_chance = row["auc"] <= 0.5 + 2.5 * row["expected_error"]
        meaning = (
            message("no better than a coin toss")
            if by_chance
            else message("0.5 is a coin toss, 1 certainty")
        )
        sentences.append(
            message(
                "Classifier: boosted trees tell {units} of the population from those of the "
                "survey with an AUC of {auc} ({what}).",
                units=row["units"],
                auc=formatted(row["auc"], ".2f"),
                what=meaning,
            )
        )
    return sentences


def overall_sentences(distances: pd.DataFrame) -> list[str]:
    """Return the largest distance of a single variable, of shares and of distribution functions."""
    sentences = []
    single = distances[(distances["crossed"] == "") & (distances["scope"] == "all")]
    for measure, text in SINGLE.items():
        rows = single[single["measure"] == measure].dropna(subset="value")
        if rows.empty:
            continue
        worst = rows.iloc[int(rows["value"].to_numpy().argmax())]
        sentences.append(
            text.format(name=worst["variable"], value=short_percent(worst["value"], 2))
            + (
                " "
                + message(
                    "Sampling error of the survey: {expected_sampling_error}; simulation error: "
                    "{expected_simulation_error}.",
                    expected_sampling_error=short_percent(worst["expected_sampling_error"], 2),
                    expected_simulation_error=short_percent(worst["expected_simulation_error"], 2),
                )
            )
        )
    return sentences


SINGLE = {
    "tvd": "Single variables, total variation distance: at most {value} ({name}).",
    "ks": "Single variables, Kolmogorov-Smirnov distance: at most {value} ({name}).",
}
