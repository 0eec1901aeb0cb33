"""The attacks on a synthetic file: how each is run, and which of its numbers to show.

A new attack is one more entry of `INTRUDERS`; nothing else has to know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.attribution import disco, replicated_uniques, tcap
from riskeval.intruders.nearness import distance_screen, membership
from riskeval.intruders.prediction import rapid
from riskeval.intruders.scenarios import intruder_scenarios

ACCURACY = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is judged; `synthetic` can be read more than once.

    Attributes
    ----------
    original : DataFrame
    synthetic : anything that `riskeval.intruders.blocks.iter_frames` reads
    keys, targets : tuple of str
    holdout : DataFrame or None
    seed : int
    """

    original: pd.DataFrame
    synthetic: Any
    keys: tuple[str, ...]
    targets: tuple[str, ...]
    holdout: pd.DataFrame | None
    seed: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of an attack, and what it is read against.

    Attributes
    ----------
    measure : str
    value, baseline : float
        The baseline is what an intruder reaches without the synthetic file, or on persons who were
        not in the original; NaN where there is none.
    lower, upper : float
        Interval of the value; NaN where there is none.
    against : str
        What the baseline is.
    """

    measure: str
    value: float
    baseline: float
    against: str
    lower: float = float("nan")
    upper: float = float("nan")


@dataclass(frozen=True, slots=True)
class Intruder:
    """One entry of the registry.

    Attributes
    ----------
    title, story : str
    target : {"none", "categorical", "numeric", "any"}
        Kinds of target it is run on, once for each; "none": once for the file.
    needs_holdout : bool
    run : function of a Case and a target to a result
    findings : function of the result to a list of Finding
    """

    title: str
    story: str
    target: str
    needs_holdout: bool
    run: Callable[[Case, str], Any]
    findings: Callable[[Any], Sequence[Finding]]


def _rapid_findings(result: Any) -> list[Finding]:
    held = not np.isnan(result.holdout_rate)
    baseline = result.holdout_rate if held else result.permuted_rate
    against = "persons outside the original" if held else "shuffled target"
    return [Finding("records predicted", result.rate, baseline, against, *result.interval)]


def _scenario_findings(result: Any) -> list[Finding]:
    found = []
    for row in result.table.dropna(subset="rate").itertuples():
        baseline = float(getattr(row, "rate_holdout", np.nan))
        against = "" if np.isnan(baseline) else "persons outside the original"
        found.append(Finding(f"scenario {row.scenario}", float(row.rate), baseline, against))
    return found


INTRUDERS: dict[str, Intruder] = {
    "replicated_uniques": Intruder(
        "Replicated uniques",
        "finds exactly one synthetic person with the keys of somebody unique",
        "none",
        False,
        lambda case, _: replicated_uniques(
            case.original, case.synthetic, case.keys, seed=case.seed
        ),
        lambda it: [Finding("repU", it.rate, it.unique_original, "uniques of the original (UiO)")],
    ),
    "disco": Intruder(
        "DiSCO",
        "believes what all synthetic persons with somebody's keys agree on",
        "categorical",
        False,
        lambda case, target: disco(
            case.original, case.synthetic, case.keys, target, seed=case.seed
        ),
        lambda it: [Finding("DiSCO", it.rate, it.disclosive_original, "the original (Dorig)")],
    ),
    "tcap": Intruder(
        "Correct attribution",
        "draws one of the synthetic persons with somebody's keys",
        "categorical",
        False,
        lambda case, target: tcap(case.original, case.synthetic, case.keys, target, seed=case.seed),
        lambda it: [
            Finding(name, it.value(name), it.baseline, "drawing without keys")
            for name in ("DCAP_matched", "TCAP_original")
        ],
    ),
    "scenarios": Intruder(
        "Matching scenarios",
        "looks up somebody unique in the survey, or predicts with a linear model",
        "numeric",
        False,
        lambda case, target: intruder_scenarios(
            case.original, case.synthetic, case.keys, target, accuracy=ACCURACY,
            holdout=case.holdout,
        ),
        _scenario_findings,
    ),
    "rapid": Intruder(
        "RAPID",
        "trains a model on the synthetic file and predicts real persons",
        "any",
        False,
        lambda case, target: rapid(
            case.original, case.synthetic, case.keys, target, holdout=case.holdout, seed=case.seed,
        ),
        _rapid_findings,
    ),
    "membership": Intruder(
        "Membership inference",
        "asks whether somebody was in the survey at all",
        "none",
        True,
        lambda case, _: membership(
            case.original, case.synthetic, (*case.keys, *case.targets), holdout=case.holdout,
            seed=case.seed,
        ),
        lambda it: [Finding("area under the curve", it.auc, 0.5, "guessing", *it.interval)],
    ),
    "distance_screen": Intruder(
        "Distance screen",
        "looks for copied records (a screen, never proof of safety)",
        "none",
        False,
        lambda case, _: distance_screen(
            case.original, case.synthetic, (*case.keys, *case.targets), holdout=case.holdout,
            seed=case.seed,
        ),
        lambda it: [
            Finding("nearer than 5 % of the baseline", it.close, 0.05, "real persons",
                    *it.close_interval),
            Finding("identical records", it.identical, float("nan"), ""),
        ],
    ),
}  # fmt: skip
