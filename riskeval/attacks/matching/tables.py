"""Tables of the five scenarios: sums over the records or households that were looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.matching.attack import Attack
from riskeval.attacks.matching.matchers import Sight
from riskeval.attacks.requests import Request


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """One scenario and target by unit that is looked for (v of them).

    Attributes
    ----------
    unit : int64, shape (v,)
        Position of the unit in the file.
    attacked : bool, shape (v,)
        Units the scenario applies to.
    risk : float64, shape (v, a)
        Probability that the unit is disclosed, given that it is in the register.
    empty : bool, shape (v,)
        Units with a true value and without any match.
    zero : bool, shape (v,)
        All true values of the unit are 0.
    baseline : float64, shape (v,)
        Whether guessing the commonest level would disclose an attacked unit; NaN for numbers.
    """

    unit: np.ndarray
    attacked: np.ndarray
    risk: np.ndarray
    empty: np.ndarray
    zero: np.ndarray
    baseline: np.ndarray


def by_unit(request: Request, found: Attack, target: str, scenario: int) -> Found:
    """Sum one scenario up by unit: as it is for persons, any or every member for households."""
    sight = found.sights[target]
    attacked, risk = sight.attacked(scenario), sight.disclosed(scenario)
    baseline = np.where(attacked, sight.commonest, 0.0)
    empty = sight.known & (sight.n_matches == 0)
    unit = found.units.of_row[found.rows]
    if request.scenario.unit == "person":
        return Found(unit, attacked, risk, empty, sight.zero, baseline)
    distinct, own = np.unique(unit, return_inverse=True)
    own = own.reshape(-1)
    known = sight.known
    n = len(distinct)
    some = np.bincount(own, weights=known, minlength=n) > 0
    combine = _any if request.scenario.members == "any" else _every
    nonzero = np.bincount(own, weights=known & ~sight.zero, minlength=n)
    return Found(
        unit=distinct,
        attacked=np.bincount(own, weights=attacked, minlength=n) > 0,
        risk=combine(risk, own, known, n),
        empty=some & (np.bincount(own, weights=known & ~empty, minlength=n) == 0),
        zero=some & (nonzero == 0),
        baseline=combine(baseline[:, None], own, known, n)[:, 0],
    )


def _any(risk: np.ndarray, own: np.ndarray, known: np.ndarray, n: int) -> np.ndarray:
    """Probability that at least one member with a true value is disclosed."""
    missed = np.ones((n, risk.shape[1]))
    np.multiply.at(missed, own[known], 1.0 - risk[known])
    return 1.0 - missed


def _every(risk: np.ndarray, own: np.ndarray, known: np.ndarray, n: int) -> np.ndarray:
    """Probability that all members with a true value are disclosed; 0 where there is none."""
    all_found = np.ones((n, risk.shape[1]))
    np.multiply.at(all_found, own[known], risk[known])
    some = np.bincount(own, weights=known, minlength=n) > 0
    result: np.ndarray = all_found * some[:, None]
    return result


def alone_in_register(
    weight: np.ndarray, frequency: np.ndarray, coverage: float
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that a record is alone in the register, and that somebody else is, by record.

    Parameters
    ----------
    weight : float64, shape (v,)
    frequency : int64, shape (v,)
        Records of the sample with the same keys, f.
    coverage : float
        Share c of the population in the register.

    Returns
    -------
    right : float64, shape (v,)
        The record is in the register and nobody else there has its keys.
    wrong : float64, shape (v,)
        Exactly one person of the register has its keys, but is not in the sample; a record of f
        with the same keys has the f-th part of it.

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


def risk_table(request: Request, found: Attack, others: Attack | None) -> pd.DataFrame:
    """One row a target, scenario and accuracy."""
    rows = [
        row
        for target in request.scenario.targets
        for scenario in request.scenarios
        for row in _rows(request, found, others, target, scenario)
    ]
    columns = ["scenario", "accuracy", "tau", "rate", "tau_literal", "rate_literal", "tau_zero"]
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
    return table.astype({"n_attacked": "Int64"})


def _rows(
    request: Request, found: Attack, others: Attack | None, target: str, scenario: int
) -> list[dict[str, Any]]:
    skipped = scenario in request.skipped(target)
    coverage = request.scenario.coverage
    own = None if skipped else by_unit(request, found, target, scenario)
    other = None if skipped or others is None else by_unit(request, others, target, scenario)
    rows = []
    for a, p in enumerate(accuracies(request, target)):
        row: dict[str, Any] = {"target": target, "scenario": scenario, "accuracy": p, "note": ""}
        if own is None:
            row["note"] = "it needs the intervals of the synthetic values"
        else:
            row |= _measures(request, found, own, scenario, a)
        if others is not None:
            row["n_holdout"] = int(others.units.eligible.sum())
        if other is not None:
            row["rate_holdout"] = coverage * other.risk[:, a].sum() / row["n_holdout"]
        rows.append(row)
    return rows


def accuracies(request: Request, target: str) -> tuple[float, ...]:
    """Return the accuracies of a target; categories have one row, without any."""
    return (float("nan"),) if target in request.categorical else request.scenario.accuracy


def _measures(
    request: Request, found: Attack, own: Found, scenario: int, a: int
) -> dict[str, float]:
    coverage = request.scenario.coverage
    n = int(found.units.eligible.sum())
    risk = coverage * own.risk[:, a]
    tau = float(risk.sum())
    literal = tau + (coverage * float(own.empty.sum()) if scenario in (3, 4) else 0.0)
    guessed = coverage * float(own.baseline.sum())
    row = {"tau": tau, "rate": tau / n, "tau_literal": literal, "rate_literal": literal / n}
    row |= {"tau_zero": float(risk[own.zero].sum()), "n_attacked": int(own.attacked.sum())}
    row |= {"tau_baseline": guessed, "rate_baseline": guessed / n}
    at = own.unit
    if request.uniqueness is not None:
        share = request.uniqueness.tau1 / max(request.uniqueness.n_sample_uniques, 1)
        unique = share * float(risk[found.units.frequency[at] == 1].sum())
        row |= {"tau_unique": unique, "rate_unique": unique / n}
    if request.weights is not None:
        weight = found.units.mean(request.weights)
        right, wrong = alone_in_register(weight[at], found.units.frequency[at], coverage)
        stood_for = float(risk @ weight[at])
        expected = float(own.risk[:, a] @ right)
        every = float(weight[found.units.eligible].sum())
        row |= {"tau_weighted": stood_for, "rate_weighted": stood_for / every}
        row |= {"tau_expected": expected, "rate_expected": expected / n}
        row |= {"false_matches": float(wrong[own.attacked].sum())}
    return row


def per_record(request: Request, found: Attack) -> pd.DataFrame:
    """One row a record of the sample."""
    units, at = found.units, found.rows
    n = len(units.of_row)
    sights = found.sights
    matches = pd.array([pd.NA] * n, dtype="Int64")
    matches[at] = next(iter(sights.values())).n_matches
    columns: dict[str, Any] = {
        "sample_unique": (units.frequency == 1)[units.of_row],
        "n_matches": matches,
    }
    if request.weights is not None:
        weight = units.mean(request.weights)
        right, _ = alone_in_register(weight, units.frequency, request.scenario.coverage)
        columns["alone"] = np.where(units.frequency > 0, right, 0.0)[units.of_row]
    for target, sight in sights.items():
        end = f"_{target}" if len(sights) > 1 else ""
        columns[f"target{end}"] = found.truth[target]
        columns[f"predicted{end}"] = sight.predicted
        columns |= {f"{name}{end}": risk for name, risk in _risks(request, found, target, sight)}
    return pd.DataFrame(columns)


def _risks(
    request: Request, found: Attack, target: str, sight: Sight
) -> list[tuple[str, np.ndarray]]:
    columns = []
    for scenario in request.scenarios:
        if scenario in request.skipped(target):
            continue
        for a, p in enumerate(accuracies(request, target)):
            risk = np.zeros(len(found.units.of_row))
            risk[found.rows] = sight.disclosed(scenario)[:, a]
            name = f"scenario_{scenario}" + ("" if np.isnan(p) else f"_{p:.12g}")
            columns.append((name, risk))
    return columns
