"""The entry of the five matching scenarios; in a comparison, what the strongest intruder finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.compared import ComparedAttack, ComparedFiles, beyond_strangers
from riskeval.attacks.entry import PREDICTED, AttackEntry, AttackInput
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.numbers import OUTSIDE, AttackNumber
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import corrected
from riskeval.shared.measurement import Measurement, attribution, joined
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural, short_percent
from synthpop.microdata.statistics.intervals import wilson

ACCURACY = 0.05
CONFIDENCE = 0.95
GUESSING = "guessing the most frequent level"
DISCLOSED = "records disclosed by an intruder who matches or predicts"
SCENARIOS = attribution(
    "scenarios",
    "Matching scenarios",
    "share of the original records that are unique on the keys and whose value an "
    "intruder who matches them with the release, or predicts by a linear model, finds; "
    "amounts within 5 %",
    "Templ 2017, equations 6.17 to 6.26; Templ and Alfons 2010",
)


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
            SCENARIOS, float("nan"), target, note=message("no scenario could be computed")
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
        SCENARIOS,
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


def scenario_numbers(result: Any) -> list[AttackNumber]:
    """The scenarios at the largest accuracy beside strangers, or guessing."""
    table = result.table.dropna(subset="rate")
    if len(table) and table["accuracy"].notna().any():
        table = table[table["accuracy"] == table["accuracy"].max()]
    numbers = []
    for row in table.to_dict("records"):
        within: str = ""
        if not np.isnan(row["accuracy"]):
            within = " " + message("within {p}", p=short_percent(row["accuracy"]))
        baseline, against = row.get("rate_holdout", np.nan), OUTSIDE
        if np.isnan(baseline):
            baseline = row.get("rate_baseline", np.nan)
            against = "" if np.isnan(baseline) else GUESSING
        title = message("scenario {scenario}{within}", scenario=row["scenario"], within=within)
        info = attribution("scenario", title, DISCLOSED, "Templ (2017), equations 6.17 to 6.26")
        one = Measurement(
            info, row["rate"], result.target, lower=row["lower"], upper=row["upper"],
            baseline=baseline, against=against,
        )  # fmt: skip
        accuracy = None if np.isnan(row["accuracy"]) else row["accuracy"]
        beyond = result.excess.get((result.target, row["scenario"], accuracy))
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _run(inputs: AttackInput, target: str) -> Any:
    keys = inputs.scenario_about(PREDICTED, [target])
    if inputs.scenario is None:
        keys = Scenario(inputs.keys, target, accuracy=ACCURACY, categorical=inputs.codes([target]))
    return intruder_scenarios(
        inputs.original, inputs.synthetic, keys, holdout=inputs.holdout, seed=inputs.seed
    )


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    seed = files.drawn_seed("scenarios", target)
    is_category = target not in files.amounts
    return [
        scenario_risk(
            *files.by_keys, target, categorical=is_category, holdout=files.holdout, seed=seed,
            note=files.note,
        )
    ]  # fmt: skip


ATTACK = AttackEntry(
    name="scenarios",
    rank=40,
    title="Matching scenarios",
    question=(
        "Whose value does an intruder find who matches unique keys, or predicts with a linear"
        " model?"
    ),
    story="looks up somebody unique in the survey, or predicts with a linear model",
    blind_spots=(
        "keys that are changed; amounts on which several matches differ; predictions that no "
        "linear model makes"
    ),
    function=intruder_scenarios,
    target="any",
    honours=PREDICTED,
    run=_run,
    numbers=scenario_numbers,
    exact_keys=True,
    compared=ComparedAttack((SCENARIOS,), _compared),
)
