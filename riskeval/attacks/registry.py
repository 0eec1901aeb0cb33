"""The attacks on a synthetic file: how each is run, and which of its numbers to show.

A new attack is one more entry of `INTRUDERS`; nothing else has to know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.scenario import Scenario
from synthpop.microdata.events import Listener, silent

ACCURACY = 0.05
COUNTED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
UNIQUE = ("key_errors", "coverage", "who", "rows", "unit", "household")
PREDICTED = (*COUNTED, "accuracy")
COMPARED = ("unit", "household", "categorical")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is judged; `synthetic` can be read more than once.

    Attributes
    ----------
    original : DataFrame
    synthetic : anything that `riskeval.attacks.matching.blocks.iter_frames` reads
    keys, targets : tuple of str
    holdout : DataFrame or None
    seed : int
    scenario : Scenario or None
        Says more than keys and targets: whom the intruder looks for, wrong keys, households ...
    replicates : tuple
        Further synthetic files of the same fit.
    workers : int
    on_event : callable
    """

    original: pd.DataFrame
    synthetic: Any
    keys: tuple[str, ...]
    targets: tuple[str, ...]
    holdout: pd.DataFrame | None
    seed: int
    scenario: Scenario | None = None
    replicates: tuple[Any, ...] = ()
    workers: int = 1
    on_event: Listener = silent

    def asked(self, honours: Sequence[str], targets: Sequence[str]) -> Any:
        """Return keys, or the scenario about some targets with the fields an attack honours."""
        if self.scenario is None:
            return self.keys
        plain = self.scenario.to_dict()
        kept = {name: plain[name] for name in honours if name in plain}
        if "categorical" in kept:
            kept["categorical"] = [name for name in kept["categorical"] if name in targets]
        if kept.get("unit") != "household":
            kept.pop("members", None)
        return Scenario(self.keys, tuple(targets), **kept)

    def named(self, target: str) -> str | None:
        """Return the target as an argument: a scenario holds its own."""
        return target if self.scenario is None else None

    def left_out(self, honours: Sequence[str]) -> list[str]:
        """Return the fields of the scenario that say something and have no part in an attack."""
        if self.scenario is None:
            return []
        plain = self.scenario.to_dict()
        return [name for name in plain if name not in ("keys", "targets", *honours)]


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of an attack, and what it is read against.

    Attributes
    ----------
    measure : str
    value, baseline : float
        The baseline is what an intruder reaches without the synthetic file, on persons who were
        not in the original, or with the original itself; NaN where there is none.
    against : str
        What the baseline is.
    kind : {"chance", "original", ""}
        "chance": a value above the baseline is a finding. "original": the baseline is what the
        original itself would tell, so that the value is a part of it. Empty: neither.
    lower, upper : float
        Interval of the value; NaN where there is none.
    """

    measure: str
    value: float
    baseline: float
    against: str
    kind: str = ""
    lower: float = float("nan")
    upper: float = float("nan")

    def reading(self) -> str:
        """Say in a few words how the value stands to its baseline; empty where nothing can be said.

        Examples
        --------
        >>> Finding("auc", 0.7, 0.5, "guessing", "chance", 0.6, 0.8).reading()
        'above the baseline'
        >>> Finding("repU", 0.01, 0.04, "UiO", "original").reading()
        '25% of what the original tells'
        """
        if np.isnan(self.baseline) or np.isnan(self.value):
            return ""
        if self.kind == "original" and self.baseline > 0:
            return f"{self.value / self.baseline:.0%} of what the original tells"
        if self.kind == "chance" and not np.isnan(self.lower):
            above = self.lower > self.baseline
            return "above the baseline" if above else "not clearly above the baseline"
        return ""


@dataclass(frozen=True, slots=True)
class Intruder:
    """One entry of the registry.

    Attributes
    ----------
    title, story : str
    target : {"none", "categorical", "any"}
        Kinds of target it is run on, once for each; "none": once for the file.
    needs_holdout : bool
    honours : tuple of str
        Fields of a Scenario, beside keys and targets, that it follows.
    replicates : bool
        Whether it makes use of further synthetic files.
    run : function of a Case and a target to a result
    findings : function of the result to a list of Finding
    """

    title: str
    story: str
    target: str
    needs_holdout: bool
    honours: tuple[str, ...]
    replicates: bool
    run: Callable[[Case, str], Any]
    findings: Callable[[Any], Sequence[Finding]]


def _counting(measure: Callable[..., Any]) -> Callable[[Case, str], Any]:
    """Run a counting measure on one target."""

    def run(case: Case, target: str) -> Any:
        return measure(
            case.original, case.synthetic, case.asked(COUNTED, [target]), case.named(target),
            replicates=case.replicates, seed=case.seed,
        )  # fmt: skip

    return run


def _uniques(case: Case, target: str) -> Any:
    return replicated_uniques(
        case.original, case.synthetic, case.asked(UNIQUE, []), replicates=case.replicates,
        seed=case.seed,
    )  # fmt: skip


def _scenarios(case: Case, target: str) -> Any:
    accuracy = ACCURACY if case.scenario is None else None
    return intruder_scenarios(
        case.original, case.synthetic, case.asked(PREDICTED, [target]), case.named(target),
        accuracy=accuracy, holdout=case.holdout, seed=case.seed,
    )  # fmt: skip


def _rapid(case: Case, target: str) -> Any:
    return rapid(
        case.original, case.synthetic, case.asked(PREDICTED, [target]), case.named(target),
        holdout=case.holdout, workers=case.workers, on_event=case.on_event, seed=case.seed,
    )  # fmt: skip


def _compared(measure: Callable[..., Any]) -> Callable[[Case, str], Any]:
    """Run an attack by distance on keys and targets together."""

    def run(case: Case, target: str) -> Any:
        asked = case.asked(COMPARED, case.targets)
        return measure(
            case.original, case.synthetic,
            asked if case.scenario is not None else (*case.keys, *case.targets),
            holdout=case.holdout, workers=case.workers, on_event=case.on_event, seed=case.seed,
        )  # fmt: skip

    return run


def _disco_findings(it: Any) -> list[Finding]:
    against, baseline = "the original (Dorig)", it.disclosive_original
    return [Finding("DiSCO", it.rate, baseline, against, "original", *it.interval)]


def _unique_findings(it: Any) -> list[Finding]:
    against = "uniques of the original (UiO)"
    return [Finding("repU", it.rate, it.unique_original, against, "original", *it.interval)]


def _tcap_findings(it: Any) -> list[Finding]:
    against = "drawing without keys"
    return [
        Finding(name, it.value(name), it.baseline, against, "chance", *it.intervals.of(name))
        for name in ("DCAP_matched", "TCAP_original")
    ]


def _rapid_findings(it: Any) -> list[Finding]:
    held = not np.isnan(it.holdout_rate)
    baseline = it.holdout_rate if held else it.permuted_rate
    against = "persons outside the original" if held else "shuffled target"
    measure = f"{it.unit} predicted"
    return [Finding(measure, it.rate, baseline, against, "chance", *it.interval)]


def _scenario_findings(it: Any) -> list[Finding]:
    table = it.table.dropna(subset="rate")
    if len(table) and table["accuracy"].notna().any():
        table = table[table["accuracy"] == table["accuracy"].max()]
    found = []
    for row in table.to_dict("records"):
        within = "" if np.isnan(row["accuracy"]) else f" within {row['accuracy']:g}"
        baseline, against = float(row.get("rate_holdout", np.nan)), "persons outside the original"
        if np.isnan(baseline):
            baseline = float(row.get("rate_baseline", np.nan))
            against = "" if np.isnan(baseline) else "guessing the commonest level"
        measure = f"scenario {row['scenario']}{within}"
        found.append(Finding(measure, float(row["rate"]), baseline, against))
    return found


def _membership_findings(it: Any) -> list[Finding]:
    return [Finding("area under the curve", it.auc, 0.5, "guessing", "chance", *it.interval)]


def _screen_findings(it: Any) -> list[Finding]:
    measure, ends = "nearer than 5 % of the baseline", it.close_interval
    return [
        Finding(measure, it.close, 0.05, "real persons", "chance", *ends),
        Finding(f"identical {it.unit}", it.identical, float("nan"), ""),
    ]


INTRUDERS: dict[str, Intruder] = {
    "replicated_uniques": Intruder(
        "Replicated uniques",
        "finds exactly one synthetic person with the keys of somebody unique",
        "none", False, UNIQUE, True, _uniques, _unique_findings,
    ),
    "disco": Intruder(
        "DiSCO",
        "believes what all synthetic persons with somebody's keys agree on",
        "categorical", False, COUNTED, True, _counting(disco), _disco_findings,
    ),
    "tcap": Intruder(
        "Correct attribution",
        "draws one of the synthetic persons with somebody's keys",
        "categorical", False, COUNTED, True, _counting(tcap), _tcap_findings,
    ),
    "scenarios": Intruder(
        "Matching scenarios",
        "looks up somebody unique in the survey, or predicts with a linear model",
        "any", False, PREDICTED, False, _scenarios, _scenario_findings,
    ),
    "rapid": Intruder(
        "RAPID",
        "trains a model on the synthetic file and predicts real persons",
        "any", False, PREDICTED, False, _rapid, _rapid_findings,
    ),
    "membership": Intruder(
        "Membership inference",
        "asks whether somebody was in the survey at all",
        "none", True, COMPARED, False, _compared(membership), _membership_findings,
    ),
    "distance_screen": Intruder(
        "Distance screen",
        "looks for copied records (a screen, never proof of safety)",
        "none", False, COMPARED, False, _compared(distance_screen), _screen_findings,
    ),
}  # fmt: skip
