"""The five intruder scenarios in words; the result object is an argument, never imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.suppression import (
    SMALLEST_COUNT,
    is_small,
    rounded,
    rounded_count,
    rounded_share,
)
from synthpop.microdata.messages.text import BLANK, Number, count, number, percent, short_percent
from synthpop.microdata.pages import charts as svg
from synthpop.microdata.pages.page_facts import Svg, table
from synthpop.report.stored import StoredRisk

MODEL_SCENARIO = 5

STORIES = {
    1: (
        message("One match, interval known"),
        message(
            "The population has exactly one person with the keys of a survey person, and the "
            "intruder knows the interval its value was drawn from."
        ),
    ),
    2: (
        message("One match, value taken"),
        message(
            "The population has exactly one person with the keys of a survey person, and the "
            "intruder takes its value as the answer."
        ),
    ),
    3: (
        message("All matches, intervals known"),
        message(
            "The intruder looks at everybody in the population with the keys of a survey "
            "person and knows the intervals the values were drawn from; all must point to "
            "the same answer."
        ),
    ),
    4: (
        message("All matches, values taken"),
        message(
            "The intruder looks at everybody in the population with the keys of a survey "
            "person and believes the values when all of them lie close together at the truth."
        ),
    ),
    5: (
        message("Model of the population"),
        message(
            "The intruder fits a linear model of the value on the keys to the whole "
            "population and predicts the survey person. What it finds is mostly what the "
            "keys explain of anybody, in the survey or not."
        ),
    ),
}
INTRODUCTION = message(
    "An intruder knows the keys of everybody in the survey without error and looks in the "
    "synthetic population for the value of one variable. A survey person counts as found when the "
    "answer lies within the stated accuracy of the true value. Only persons who are unique in the "
    "survey in these keys can be attacked. This is the worst case: unique in the survey is not "
    "unique in the country, and the intruder cannot know which answers are right. The expected "
    "case counts only those who are unique in the country as well, by their weights. A true value "
    "of 0, of a child for instance, is no discovery: it is counted apart."
)


NOT_COMPUTED = "Not computed: {why}."
FINDS = "Within {within} of the truth they find {n} survey persons, {share} of all: {one_in}"
FINDS_FEW = "Within {within} of the truth they find fewer than {n} of the survey persons."
FINDS_NOBODY = "Within {within} of the truth they find nobody."
FINDS_LEVEL = "They find the category of {n} survey persons, {share} of all: {one_in}"
FINDS_FEW_LEVELS = "They find the category of fewer than {n} survey persons."
FINDS_NO_LEVEL = message("They find the category of nobody.")
ZEROS = "{n} of them have a true value of 0."
EXPECTED = (
    "Expected case: {n} of them are unique in the country as well, so that the intruder could be "
    "sure."
)
SURVEY_MODEL = message(
    "The baseline of scenario 5 is the same model fitted to the other half of the survey: what the "
    "keys tell of anybody."
)
PARTS = "{others} found that are not zero, {zeros} true zeros"
OVER_POPULATIONS = (
    "The interval is that of the mean over {n} populations of the same fit (95 %): how much the "
    "draw of the population moves the number. Survey and models are taken as given."
)
MEAN_AND_INTERVAL = "{mean} ({low} to {high})"


def risk_facts(risk: StoredRisk, external: bool) -> dict[str, Any]:
    """Return the section on risk; expected numbers below 5 are not told to external readers."""
    rows = risk.table
    groups = [(int(str(key)), group) for key, group in rows.groupby("scenario")]
    scenarios = [_scenario(key, group, external) for key, group in groups]
    return {
        "introduction": gettext(INTRODUCTION),
        "who": _who(risk),
        "scenarios": scenarios,
        "table": _table(rows, external),
        "riskiest": None if external else _riskiest(risk.riskiest),
        "contributions": None if external else _contributions(risk.contributions),
        "combinations": None if external else _combinations(risk.combinations),
        "copies": _copies(risk.copies, external),
        "interval": message(OVER_POPULATIONS, n=count(rows["populations"].iloc[0]))
        if "populations" in rows
        else "",
        "baseline": "" if external else _baseline_note(rows),
        "own_words": [] if external else str(risk.summary()).splitlines()[:1],
    }


def _riskiest(records: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return the survey persons that are found most surely, as a table."""
    if records is None:
        return None
    numbers = ("record", "matches", "alone", "found", "singled_out_by")
    keys = [str(name) for name in records if name not in numbers]
    rows = [
        [str(row["record"]), *(BLANK if pd.isna(row[name]) else str(row[name]) for name in keys),
         row.get("singled_out_by") or BLANK, count(row["matches"]),
         number(row["alone"]), number(row["found"])]
        for row in records.to_dict("records")
    ]  # fmt: skip
    head = [
        "Record",
        *keys,
        message("Singled out by"),
        "Matches",
        message("Unique in the country"),
        message("Found, if so"),
    ]
    return table(head, rows, text_columns=2 + len(keys))


def _contributions(uniques: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return how many sample uniques each key adds, the largest contribution first."""
    if uniques is None:
        return None
    n_uniques = int(uniques["unique"].iloc[0])
    rows = [
        [str(row["key"]), count(row["unique"]), count(n_uniques - int(row["unique"]))]
        for row in uniques.iloc[1:].sort_values("unique").to_dict("records")
    ]
    return table(["Key", "Unique without it", "Unique through it"], rows)


def _combinations(uniques: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return how many survey persons are unique on combinations of few keys."""
    if uniques is None or not len(uniques):
        return None
    rows = [[row["keys"], count(row["unique"])] for row in uniques.to_dict("records")]
    return table(["Combination of keys", "Unique survey persons"], rows)


COPIES = {
    "amounts": "an amount of {target} that nobody else has",
    "shares": message("shares of parts of a total that nobody else has"),
    "compositions": message("characteristics of household and members that no other household has"),
}


def _copies(copies: pd.DataFrame | None, external: bool) -> dict[str, Any] | None:
    """Return what of single survey persons the population repeats exactly, as a table."""
    if copies is None:
        return None
    rows = [
        [
            gettext(COPIES[row["kind"]]).format(target=row["variables"]),
            _shown(row["n"], external, count),
            _shown(row["copied"], external, count),
            rounded_share(row["rate"], row["n"]) if external else short_percent(row["rate"]),
            BLANK if np.isnan(row["by_chance"]) or external else percent(row["by_chance"], 1),
        ]
        for row in copies.to_dict("records")
    ]
    return table(["Survey persons with", "Number", "In the population", "Share", "By chance"], rows)


def _shown(value: float, external: bool, text: Callable[[Number], str] = number) -> str:
    """Return a number of records, for external readers rounded."""
    return rounded(value) if external else text(value)


def _who(risk: StoredRisk) -> str:
    if not risk.target:
        return ""
    text = message("Keys: {keys}. Value looked for: {target}.")
    return message(text, keys=", ".join(risk.keys), target=risk.target)


def _scenario(key: int, rows: pd.DataFrame, external: bool) -> dict[str, str]:
    title, story = (gettext(text) for text in STORIES.get(key, (f"Scenario {key}", "")))
    if rows["tau"].isna().all():
        note = str(rows["note"].iloc[0]) if "note" in rows else message("not computed")
        return {
            "number": str(key),
            "title": title,
            "sentence": f"{story} {message(NOT_COMPUTED, why=message(note))}",
        }
    worst = _at_largest_accuracy(rows)
    of_level = np.isnan(worst["accuracy"])
    within = percent(worst["accuracy"], 0)
    tau, rate = float(worst["tau"]), float(worst["rate"])
    if external and is_small(tau):
        sentence_for_few = FINDS_FEW_LEVELS if of_level else FINDS_FEW
        text = message(sentence_for_few, within=within, n=SMALLEST_COUNT)
    elif tau == 0:
        text = message(FINDS_NO_LEVEL if of_level else FINDS_NOBODY, within=within)
    else:
        n = tau / rate
        if external:
            rate = rounded_count(tau) / n
        values = {"within": within, "n": _shown(tau, external), "share": percent(rate)}
        text = message(FINDS_LEVEL if of_level else FINDS, **values, one_in=_one_in(rate))
        text += _expected_case(_strength(rows), external)
    return {"number": str(key), "title": title, "sentence": f"{story} {text}"}


def _expected_case(record: dict[str, Any], external: bool) -> str:
    zeros, expected = record["zeros"], record["expected"]
    text = ""
    if zeros > 0:
        text += " " + message(ZEROS, n=_shown(zeros, external))
    if expected is not None:
        text += " " + message(EXPECTED, n=_shown(expected, external))
    return text


def _one_in(rate: float) -> str:
    if rate >= 0.5:
        return gettext("more than half of them.")
    return message("about one in {n}.", n=count(1 / rate))


def _table(rows: pd.DataFrame, external: bool) -> dict[str, Any]:
    """One row per scenario: worst case, true zeros among it, and the expected case."""
    body = []
    records = [_strength(part) for _, part in rows.groupby("scenario")]
    reach = max((r["tau"] for r in records if np.isfinite(r["tau"])), default=0.0)
    for (key, part), record in zip(rows.groupby("scenario"), records, strict=True):
        title = gettext(STORIES.get(int(str(key)), ("",))[0])
        tau, zeros, expected = record["tau"], record["zeros"], record["expected"]
        smaller = [
            _shown(float(tau), external)
            for tau in part.sort_values("accuracy")["tau"].tolist()[:-1]
        ]
        body.append(
            [str(key), title, *smaller, _shown(tau, external),
             _share(part, tau, external),
             BLANK if external else _reference(part),
             _shown(zeros, external),
             BLANK if expected is None else _shown(expected, external),
             *_interval(part, external),
             _bar(record, reach, external)]
        )  # fmt: skip
    accuracies = sorted(set(rows["accuracy"].dropna()))
    head = ["Scenario", message("What the intruder does")]
    head += [message("Found within {share}", share=percent(share, 0)) for share in accuracies]
    head += [] if accuracies else ["Found"]
    head += [
        message("of the survey"),
        message("hold-out or baseline"),
        message("of them true zeros"),
        message("expected unique in the country"),
    ]
    head += [message("Mean and interval over populations")] if "tau_mean" in rows else []
    head += [message("Others, true zeros")]
    return table(head, body, text_columns=2)


def _interval(rows: pd.DataFrame, external: bool) -> list[str]:
    """Mean over populations and its interval at the largest accuracy; nothing without replicates.

    Readers outside see none: of small numbers the mean would tell what rounding hides.
    """
    if "tau_mean" not in rows:
        return []
    row = _at_largest_accuracy(rows)
    values = {name: float(row[f"tau_{name}"]) for name in ("mean", "low", "high")}
    if external or not np.isfinite(values["mean"]):
        return [BLANK]
    return [message(MEAN_AND_INTERVAL, **{name: number(value) for name, value in values.items()})]


def _baseline_note(rows: pd.DataFrame) -> str:
    has_baseline = "rate_baseline" in rows and rows["accuracy"].notna().all()
    return gettext(SURVEY_MODEL) if has_baseline and rows["rate_baseline"].notna().any() else ""


def _bar(record: dict[str, Any], reach: float, external: bool) -> str:
    tau, zeros = record["tau"], record["zeros"]
    if external:
        tau, zeros = rounded_count(tau), rounded_count(zeros)
    if not np.isfinite(tau) or not np.isfinite(zeros):
        return ""
    text = message(PARTS, others=number(tau - zeros), zeros=number(zeros))
    return Svg(svg.part_bar([(tau - zeros, "far"), (zeros, "band")], reach, text))


def _reference(rows: pd.DataFrame) -> str:
    """Return what the same attack reaches on a hold-out, or guessing, at the largest accuracy."""
    row = _at_largest_accuracy(rows)
    for name in ("rate_holdout", "rate_baseline"):
        if name in rows and np.isfinite(row[name]):
            return percent(float(row[name]))
    return BLANK


def _share(rows: pd.DataFrame, tau: float, external: bool) -> str:
    rate = float(rows["rate"].max())
    if external and rate > 0:
        return rounded_share(rate, tau / rate)
    return short_percent(rate)


def _strength(rows: pd.DataFrame) -> dict[str, Any]:
    """Worst case, true zeros and expected case of a scenario at the largest accuracy."""
    row = _at_largest_accuracy(rows)
    zeros = float(row["tau_zero"]) if "tau_zero" in rows and np.isfinite(row["tau_zero"]) else 0.0
    expected = None
    if "tau_expected" in rows and np.isfinite(row["tau_expected"]):
        expected = float(row["tau_expected"])
    tau, accuracy = float(row["tau"]), float(row["accuracy"])
    return {"accuracy": accuracy, "tau": tau, "zeros": zeros, "expected": expected}


def _at_largest_accuracy(rows: pd.DataFrame) -> Any:
    """Return the row of the largest accuracy; a category, which has none, is found or not."""
    return rows.iloc[int(rows["accuracy"].fillna(0.0).to_numpy(dtype=np.float64).argmax())]


def strongest(risk: Any) -> dict[str, Any] | None:
    """Return the scenario that finds most at the largest accuracy; None where none was computed.

    Most is counted among those expected to be unique in the country, without weights among
    those whose true value is not zero. Scenario 5, a model of the population, finds strangers as
    well as survey persons and does not compete.
    """
    rows = risk.table.dropna(subset="tau")
    rows = rows[rows["scenario"] != MODEL_SCENARIO] if len(rows) else rows
    records = [_strength(part) for _, part in rows.groupby("scenario")]
    if not records:
        return None
    return max(
        records, key=lambda r: r["tau"] - r["zeros"] if r["expected"] is None else r["expected"]
    )
