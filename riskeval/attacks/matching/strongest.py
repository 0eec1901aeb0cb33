"""The five matching scenarios in a comparison: what the strongest of these intruders finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.numbers import INFOS, OUTSIDE
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, corrected
from riskeval.shared.measurement import Measurement, joined
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted, plural
from synthpop.microdata.statistics.intervals import wilson

ACCURACY = 0.05
CONFIDENCE = 0.95
GUESSING = message("guessing the commonest level")


def scenario_risk(
    original: pd.DataFrame,
    release: pd.DataFrame,
    keys: Sequence[str],
    target: str,
    *,
    categorical: bool,
    holdout: pd.DataFrame | None = None,
    seed: int = 0,
    note: str = "",
) -> Measurement:
    """Success of the strongest of the five intruders, with an interval for the choice.

    Files have keys and target in the same levels; amounts are found within 5 %.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 40, 50], "ill": ["y", "n", "y"]})
    >>> scenario_risk(people, people, ["age"], "ill", categorical=True).value
    1.0
    """
    scenario = Scenario(
        tuple(keys), target, accuracy=ACCURACY, categorical=[target] if categorical else []
    )
    result = intruder_scenarios(original, release, scenario, holdout=holdout, seed=seed)
    table = result.table.dropna(subset="rate")
    if not len(table):
        return Measurement(
            INFOS["scenarios"], float("nan"), target, note=message("no scenario could be computed")
        )
    # the strongest is that with the most success beyond the baseline
    baseline, against = _baselines(table)
    place = int(np.argmax(table["rate"].to_numpy(float) - np.nan_to_num(baseline)))
    best = table.iloc[place]
    n = result.n_sample
    low, high = wilson(float(best["tau"]), n, corrected(CONFIDENCE, len(table)))
    accuracy = None if np.isnan(best["accuracy"]) else float(best["accuracy"])
    beyond = result.excess.get((target, int(best["scenario"]), accuracy))
    return Measurement(
        INFOS["scenarios"],
        float(best["rate"]),
        target,
        records=n,
        lower=low,
        upper=high,
        baseline=float(baseline[place]),
        against=against,
        note=joined(
            note,
            message(
                "strongest: scenario {scenario} of {table}",
                scenario=int(best["scenario"]),
                table=len(table),
            ),
            message("{n} looked for", n=plural(result.n_looked_for, "unique record")),
            beyond_strangers(beyond),
        ),
    )


def _baselines(table: pd.DataFrame) -> tuple[np.ndarray, str]:
    """What each scenario reaches on strangers, else by guessing; NaN where neither is known."""
    for column, against in (("rate_holdout", OUTSIDE), ("rate_baseline", GUESSING)):
        if column in table and table[column].notna().any():
            return table[column].to_numpy(float), against
    return np.full(len(table), np.nan), ""


def beyond_strangers(one: Excess | None) -> str:
    """Say how much more is found about the original than about strangers; empty without them."""
    if one is None:
        return ""
    return (
        message(
            "{difference} points compared with strangers ({lower} to {upper}); the "
            "hold-out contains no strangers",
            difference=formatted(100 * one.difference, "+.1f"),
            lower=formatted(100 * one.lower, "+.1f"),
            upper=formatted(100 * one.upper, "+.1f"),
        )
        if one.overlap
        else message(
            "{difference} points against strangers ({lower} to {upper})",
            difference=formatted(100 * one.difference, "+.1f"),
            lower=formatted(100 * one.lower, "+.1f"),
            upper=formatted(100 * one.upper, "+.1f"),
        )
    )
