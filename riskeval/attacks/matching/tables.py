"""Tables of the five scenarios: sums over the records or households that were looked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.attacks.matching.attack import FileEvidence
from riskeval.attacks.matching.request import ScenarioRequest
from riskeval.attacks.shares import Excess, excess
from riskeval.attacks.strangers import overlap_of
from riskeval.attacks.targets import clusters_among, combine_probabilities
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.statistics.intervals import wilson

CONFIDENCE = 0.95
"""Of the intervals of rates, and of all differences from a hold-out together."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitRisk:
    """One scenario and target by unit that is looked for (v of them)."""

    unit: np.ndarray  # int64, shape (v,): position of the unit in the file
    attacked: np.ndarray  # bool, shape (v,): units the scenario applies to
    # float64, shape (v, a): probability that the unit is disclosed, given that it is in the
    # register
    risk: np.ndarray
    empty: np.ndarray  # bool, shape (v,): units with a true value and without any match
    zero: np.ndarray  # bool, shape (v,): all true values of the unit are 0
    # float64, shape (v,): whether guessing the most frequent level would disclose an attacked unit;
    # NaN for numbers
    baseline: np.ndarray


def by_unit(request: ScenarioRequest, sample: FileEvidence, target: str, scenario: int) -> UnitRisk:
    """Sum one scenario up by unit: as it is for persons, any or every member for households."""
    evidence = sample.evidence[target]
    attacked, risk = evidence.attacked(scenario), evidence.disclosed(scenario)
    baseline = np.where(attacked, evidence.commonest, 0.0)
    empty = evidence.known & (evidence.n_matches == 0)
    unit = sample.targets.unit[sample.rows]
    if request.scenario.unit == "person":
        return UnitRisk(unit, attacked, risk, empty, evidence.zero, baseline)
    distinct, place = np.unique(unit, return_inverse=True)
    place = place.reshape(-1)
    known = evidence.known
    n = len(distinct)
    some = np.bincount(place, weights=known, minlength=n) > 0

    def combined(chance: np.ndarray) -> np.ndarray:
        return combine_probabilities(chance[known], place[known], n, request.scenario.members)

    nonzero = np.bincount(place, weights=known & ~evidence.zero, minlength=n)
    return UnitRisk(
        unit=distinct,
        attacked=np.bincount(place, weights=attacked, minlength=n) > 0,
        risk=combined(risk),
        empty=some & (np.bincount(place, weights=known & ~empty, minlength=n) == 0),
        zero=some & (nonzero == 0),
        baseline=combined(baseline),
    )


def alone_in_register(
    weight: np.ndarray, frequency: np.ndarray, coverage: float
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that a record is alone in the register, and that somebody else is, by record.

    weight: float64, shape (v,)
    frequency: int64, shape (v,); records of the sample with the same keys, f
    coverage: share c of the population in the register
    Returns right: float64, shape (v,); the record is in the register and nobody else there has its
        keys; wrong: float64, shape (v,); exactly one person of the register has its keys, but is
        not in the sample; a record of f with the same keys has the f-th part of it.

    Notes
    -----
    The count F in the population given f is f plus a negative binomial with pi = 1 / weight
    (Benedetti and Franconi 1998), so that with s = 1 - c and D = 1 - (1 - pi) s

        E[c s^(F - 1)] = c s^(f - 1) (pi / D)^f,
        E[F c s^(F - 1)] / f = c s^(f - 1) pi^f / D^(f + 1).

    Examples
    --------
    >>> right, wrong = alone_in_register(np.array([4.0]), np.array([1]), 1.0)
    >>> right.tolist(), wrong.tolist()
    ([0.25], [0.0])
    """
    pi = 1.0 / np.maximum(weight, 1.0)
    s = 1.0 - coverage
    d = 1.0 - (1.0 - pi) * s
    f = np.maximum(frequency, 1)
    right = coverage * s ** (f - 1.0) * (pi / d) ** f
    return right, right / d - right


def risk_table(
    request: ScenarioRequest, sample: FileEvidence, others: FileEvidence | None
) -> pd.DataFrame:
    """One row per target, scenario and accuracy."""
    rows = [
        row
        for target in request.scenario.targets
        for scenario in request.scenarios
        for row in _rows(request, sample, others, target, scenario)
    ]
    columns = ["scenario", "accuracy", "tau", "rate", "lower", "upper"]
    columns += ["tau_literal", "rate_literal", "tau_zero"]
    if len(request.scenario.targets) > 1:
        columns = ["target", *columns]
    if request.categorical:
        columns += ["tau_baseline", "rate_baseline"]
    if request.weights is not None:
        columns += ["tau_weighted", "rate_weighted", "tau_expected", "rate_expected"]
        columns += ["false_matches"] if request.scenario.coverage < 1 else []
    if request.uniqueness is not None:
        columns += ["tau_unique", "rate_unique"]
    if others is not None:
        columns += ["n_holdout", "rate_holdout"]
    table = pd.DataFrame(rows, columns=[*columns, "n_attacked", "note"])
    return table.assign(n_attacked=table["n_attacked"].astype("Int64"))


def _rows(
    request: ScenarioRequest,
    sample: FileEvidence,
    others: FileEvidence | None,
    target: str,
    scenario: int,
) -> list[dict[str, object]]:
    coverage, unit_risk, other = request.scenario.coverage, None, None
    if scenario in request.computed(target):
        unit_risk = by_unit(request, sample, target, scenario)
        other = None if others is None else by_unit(request, others, target, scenario)
    rows = []
    for a, p in enumerate(request.accuracies(target)):
        row: dict[str, object] = {"target": target, "scenario": scenario, "accuracy": p, "note": ""}
        if unit_risk is None:
            row["note"] = "it needs the intervals of the synthetic values"
        else:
            row |= _measures(request, sample, unit_risk, scenario, a)
        if others is not None:
            row["n_holdout"] = int(others.targets.eligible.sum())
        if other is not None:
            row["rate_holdout"] = coverage * other.risk[:, a].sum() / row["n_holdout"]
        rows.append(row)
    return rows


def excesses(
    request: ScenarioRequest, sample: FileEvidence, others: FileEvidence | None
) -> dict[tuple[str, int, float | None], Excess]:
    """Success on the sample beyond that on the hold-out, by target, scenario and accuracy.

    Compared are units that are looked for; where these are uniques, those unique in both files
    together. Intervals are corrected for the number of scenarios and accuracies of a target.
    """
    compared: dict[tuple[str, int, float | None], Excess] = {}
    if others is None:
        return compared
    names = (*request.scenario.keys, *request.scenario.targets)
    overlap = overlap_of(request.sample, request.holdout, names, request.scenario.categorical)
    for target in request.scenario.targets:
        scenarios, levels = request.computed(target), request.accuracies(target)
        for scenario in scenarios:
            files = [(file, by_unit(request, file, target, scenario)) for file in (sample, others)]
            for a, p in enumerate(levels):
                among = [np.flatnonzero(file.targets.comparable[units.unit])
                         for file, units in files]  # fmt: skip
                members, strangers = (
                    units.risk[rows, a] for (_, units), rows in zip(files, among, strict=True)
                )
                beyond = excess(
                    members, strangers, CONFIDENCE, n_tests=len(scenarios) * len(levels),
                    coverage=request.scenario.coverage, overlap=overlap,
                    clusters=clusters_among(
                        [file.targets for file, _ in files],
                        [units.unit[rows] for (_, units), rows in zip(files, among, strict=True)],
                    ),
                )  # fmt: skip
                if beyond is not None:
                    compared[target, scenario, None if np.isnan(p) else p] = beyond
    return compared


def _measures(
    request: ScenarioRequest, sample: FileEvidence, unit_risk: UnitRisk, scenario: int, a: int
) -> dict[str, float]:
    coverage = request.scenario.coverage
    n = int(sample.targets.eligible.sum())
    risk = coverage * unit_risk.risk[:, a]
    tau = float(risk.sum())
    literal = tau + (coverage * float(unit_risk.empty.sum()) if scenario in (3, 4) else 0.0)
    guessed = coverage * float(unit_risk.baseline.sum())
    low, high = wilson(float(unit_risk.risk[:, a].sum()), n, CONFIDENCE)
    row = {
        "tau": tau, "rate": tau / n, "lower": coverage * low, "upper": coverage * high,
        "tau_literal": literal, "rate_literal": literal / n,
        "tau_zero": float(risk[unit_risk.zero].sum()), "n_attacked": int(unit_risk.attacked.sum()),
        "tau_baseline": guessed, "rate_baseline": guessed / n,
    }  # fmt: skip
    units = unit_risk.unit
    if request.uniqueness is not None:
        share = request.uniqueness.tau1 / max(request.uniqueness.n_sample_uniques, 1)
        unique = share * float(risk[sample.targets.frequency[units] == 1].sum())
        row |= {"tau_unique": unique, "rate_unique": unique / n}
    if request.weights is not None:
        weight = sample.targets.mean(request.weights)
        right, wrong = alone_in_register(weight[units], sample.targets.frequency[units], coverage)
        stood_for = float(risk @ weight[units])
        expected = float(unit_risk.risk[:, a] @ right)
        represented = float(weight[sample.targets.eligible].sum())
        row |= {"tau_weighted": stood_for, "rate_weighted": stood_for / represented}
        row |= {"tau_expected": expected, "rate_expected": expected / n}
        row |= {"false_matches": float(wrong[unit_risk.attacked].sum())}
    return row


def per_record(request: ScenarioRequest, sample: FileEvidence) -> pd.DataFrame:
    """One row per record of the sample."""
    targets, rows = sample.targets, sample.rows
    n = len(targets.unit)
    matches = pd.array([pd.NA] * n, dtype="Int64")
    matches[rows] = next(iter(sample.evidence.values())).n_matches
    columns: dict[str, object] = {
        "sample_unique": (targets.frequency == 1)[targets.unit],
        "n_matches": matches,
    }
    if request.weights is not None:
        weight = targets.mean(request.weights)
        right, _ = alone_in_register(weight, targets.frequency, request.scenario.coverage)
        columns["alone"] = np.where(targets.frequency > 0, right, 0.0)[targets.unit]
    for target, evidence in sample.evidence.items():
        end = f"_{target}" if len(sample.evidence) > 1 else ""
        column = request.sample[target]
        is_category = target in request.categorical
        truth = column.astype(object).to_numpy() if is_category else as_numbers(column)
        columns[f"target{end}"] = truth
        columns[f"predicted{end}"] = evidence.predicted
        for scenario in request.computed(target):
            for a, p in enumerate(request.accuracies(target)):
                risk = np.zeros(n)
                risk[rows] = evidence.disclosed(scenario)[:, a]
                accuracy = "" if np.isnan(p) else f"_{p:.12g}"
                columns[f"scenario_{scenario}{accuracy}{end}"] = risk
    return pd.DataFrame(columns)
