"""The five intruder scenarios in words; the result object is an argument, never imported."""

from __future__ import annotations

from typing import Any

import pandas as pd

from synthpop.microdata.suppression import SMALLEST_COUNT, is_small, shown
from synthpop.microdata.text import BLANK, count, number, percent
from synthpop.report.tables import table

STORIES = {
    1: (
        "One match, interval known",
        "The population has exactly one person with the keys of a survey person, and the intruder "
        "knows the interval its value was drawn from.",
    ),
    2: (
        "One match, value taken",
        "The population has exactly one person with the keys of a survey person, and the intruder "
        "takes its value as the answer.",
    ),
    3: (
        "All matches, intervals known",
        "The intruder looks at everybody in the population with the keys of a survey person and "
        "knows the intervals the values were drawn from; all must point to the same answer.",
    ),
    4: (
        "All matches, values taken",
        "The intruder looks at everybody in the population with the keys of a survey person and "
        "believes the values when all of them lie close together at the truth.",
    ),
    5: (
        "Model of the population",
        "The intruder fits a linear model of the value on the keys to the whole population and "
        "predicts the survey person. What it finds is mostly what the keys explain of anybody, in "
        "the survey or not.",
    ),
}
INTRODUCTION = (
    "An intruder knows the keys of everybody in the survey without error and looks in the "
    "synthetic population for the value of one variable. A survey person counts as found when the "
    "answer lies within the stated accuracy of the true value. Only persons who are unique in the "
    "survey in these keys can be attacked. These are worst cases: unique in the survey is not "
    "unique in the country, and the intruder cannot know which answers are right."
)


def risk_facts(risk: Any, external: bool) -> dict[str, Any]:
    """Return introduction, scenarios with a sentence each, and a table.

    Parameters
    ----------
    risk : object with ``table`` (scenario, accuracy, tau, rate) and ``summary()``
    external : bool
        Expected numbers of fewer than 5 records are not told.
    """
    rows = risk.table
    scenarios = [_scenario(int(str(key)), part, external) for key, part in rows.groupby("scenario")]
    return {
        "introduction": INTRODUCTION,
        "who": _who(risk),
        "scenarios": scenarios,
        "table": _table(rows, external),
        "own_words": [] if external else risk.summary().splitlines()[:1],
    }


def _who(risk: Any) -> str:
    keys, target = getattr(risk, "keys", ()), getattr(risk, "target", "")
    if not target:
        return ""
    return f"Keys: {', '.join(map(str, keys))}. Value looked for: {target}."


def _scenario(key: int, rows: pd.DataFrame, external: bool) -> dict[str, str]:
    title, story = STORIES.get(key, (f"Scenario {key}", ""))
    if rows["tau"].isna().all():
        note = str(rows["note"].iloc[0]) if "note" in rows else "not computed"
        return {"number": str(key), "title": title, "sentence": f"{story} Not computed: {note}."}
    worst = rows.loc[rows["accuracy"] == rows["accuracy"].max()].iloc[0]
    told = f"Within {percent(worst['accuracy'], 0)} of the truth they find "
    tau, rate = float(worst["tau"]), float(worst["rate"])
    if external and is_small(tau):
        told += f"fewer than {SMALLEST_COUNT} of the survey persons."
    elif tau == 0:
        told += "nobody."
    else:
        told += f"{number(tau)} survey persons, {percent(rate)} of all: " + _one_in(rate)
    return {"number": str(key), "title": title, "sentence": f"{story} {told}"}


def _one_in(rate: float) -> str:
    return f"about one in {count(1 / rate)}." if rate < 0.5 else "more than half of them."


def _table(rows: pd.DataFrame, external: bool) -> dict[str, Any]:
    accuracies = list(dict.fromkeys(rows["accuracy"]))
    body = []
    for key, part in rows.groupby("scenario"):
        by_accuracy = part.set_index("accuracy")
        cells = []
        for accuracy in accuracies:
            row = by_accuracy.loc[accuracy]
            tau, rate = float(row["tau"]), float(row["rate"])
            if external and is_small(tau):
                cells += [shown(tau), BLANK]
            else:
                cells += [number(tau), percent(rate)]
        title = STORIES.get(int(str(key)), ("",))[0]
        body.append([str(key), title, *cells])
    head = ["Scenario", "What the intruder does"]
    for accuracy in accuracies:
        head += [f"Found within {percent(accuracy, 0)}", "of the survey"]
    return table(head, body, text_columns=2)


def highest(risk: Any) -> tuple[int, float, float]:
    """Return scenario, accuracy and rate of the largest rate; NaN where nothing was computed."""
    rows = risk.table.dropna(subset="rate")
    if rows.empty:
        return 0, float("nan"), float("nan")
    worst = rows.iloc[int(rows["rate"].to_numpy(dtype=float).argmax())]
    return int(worst["scenario"]), float(worst["accuracy"]), float(worst["rate"])
