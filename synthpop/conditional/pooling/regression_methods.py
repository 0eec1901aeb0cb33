"""Regressions of all strata, shrunk towards the pooled one, and the choice of how near.

The amount is given, or chosen by cross-validation: households are dealt to folds, values of each
fold are predicted from the others, and the amount with the best mean score is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.pooling.choose import (
    CHOICES,
    GRID,
    Scores,
    best,
    choice_record,
    choice_text,
    deal_splits,
    search,
    totals,
)
from synthpop.conditional.pooling.regression import Unit, centre_of
from synthpop.microdata.environment import one_thread
from synthpop.models.regression import RegressionModel, predict_regression

AMOUNTS = (np.inf, 10_000.0, 3_000.0, 1_000.0, *GRID[1:])
FALLS = 2


@dataclass(frozen=True, slots=True)
class RegressionPooling:
    """How the regressions of strata were pooled."""

    kind: str = "none"  # "none", "partial" or "complete"
    amount: float = 0.0  # strength of the pull to the coefficients of all strata, in persons
    chosen: str = "given"  # "given", or how cross-validation chose: one of `CHOICES`
    # of values held out, for each amount that was tried: minus the mean squared error on the
    # scale of the model; for counts the mean log probability but for a constant
    scores: Scores = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; "infinite" where an amount has no bound."""
        return {"kind": self.kind, **choice_record(self.amount, self.chosen, self.scores)}

    def summary(self) -> str:
        """Say what the amount means."""
        if self.kind == "none":
            return "Each stratum has a regression of its own."
        if self.kind == "complete":
            return "One regression for all strata, with the stratum as a predictor."
        how = choice_text(self.chosen)
        if np.isinf(self.amount):
            what = "A stratum has a constant and residuals of its own, and the coefficients of all"
            return f"{what} strata, {how}."
        return (
            "The coefficients of a stratum are shrunk towards those of all strata with the weight "
            f"of {self.amount:g} persons, {how}."
        )


@dataclass(frozen=True, slots=True)
class PooledRegressions:
    """The regression pooled over strata, and those of the strata shrunk towards it."""

    pooled: RegressionModel  # with the stratum as last predictor
    by_stratum: tuple[RegressionModel | None, ...]  # None where a stratum has none of its own
    pooling: RegressionPooling


def fit_partial_regressions(
    kind: str,
    design: ModelDesign,
    y: np.ndarray,
    is_kept: Callable[[np.ndarray, np.ndarray], np.ndarray],
    enough: np.ndarray,
    seed: int,
    amount: str | float,
) -> PooledRegressions:
    """Fit the regressions of strata, shrunk towards the pooled one.

    kind: "linear" or "counts"
    design: of two or more strata
    y: float array, shape (n,)
    kept: function of values and weights; which values a regression is fitted to, bool array of
        their shape; asked for all strata together, and for each
    enough: bool array, shape (n_strata,); strata that have a regression of their own
    seed: deals households to folds
    amount: one of `CHOICES`, how cross-validation chooses, or a number above 0
    """
    inside = is_kept(y, design.weights)
    rows_by_stratum = {int(s): _rows_of(design, y, int(s), is_kept) for s in np.flatnonzero(enough)}
    with one_thread():
        pooling = RegressionPooling("partial", np.inf)
        if amount in CHOICES:
            pooling = _choose(kind, design, y, inside, rows_by_stratum, seed, str(amount))
        else:
            pooling = replace(pooling, amount=float(amount))
        rows = np.flatnonzero(inside)
        pooled, centre = centre_of(kind, design.rows(rows), y[rows])
        by_stratum: list[RegressionModel | None] = [None] * design.n_strata
        for stratum, rows in rows_by_stratum.items():
            unit = Unit.of(centre, design.rows(rows), y[rows])
            if unit.n_persons:
                by_stratum[stratum] = unit.regression(pooling.amount)
    return PooledRegressions(pooled, tuple(by_stratum), pooling)


def _rows_of(
    design: ModelDesign,
    y: np.ndarray,
    stratum: int,
    is_kept: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    rows = np.flatnonzero(design.strata == stratum)
    return rows[is_kept(y[rows], design.weights[rows])]


def _choose(
    kind: str,
    design: ModelDesign,
    y: np.ndarray,
    inside: np.ndarray,
    used: dict[int, np.ndarray],
    seed: int,
    choice: str,
) -> RegressionPooling:
    """Choose the amount that predicts persons of other households best."""
    folds: list[list[tuple[Unit, ModelDesign, np.ndarray]]] = []
    for train, _ in deal_splits(design.groups, seed):
        trials: list[tuple[Unit, ModelDesign, np.ndarray]] = []
        learned = np.zeros(len(y), dtype=bool)
        learned[train] = True
        rows = np.flatnonzero(learned & inside)
        if not len(rows):
            continue
        centre = centre_of(kind, design.rows(rows), y[rows])[1]
        for members in used.values():
            learned_rows, tested = members[learned[members]], members[~learned[members]]
            unit = Unit.of(centre, design.rows(learned_rows), y[learned_rows])
            if unit.n_persons and len(tested):
                trials.append((unit, design.rows(tested), y[tested]))
        if trials:
            folds.append(trials)
    if not folds:
        return RegressionPooling("partial", np.inf, choice)
    weight = sum(float(part.weights.sum()) for trials in folds for _, part, _ in trials)
    scores = search(partial(_score, folds, weight), AMOUNTS, FALLS)
    return RegressionPooling("partial", best(scores, choice), choice, totals(scores))


def _score(
    folds: list[list[tuple[Unit, ModelDesign, np.ndarray]]], weight: float, amount: float
) -> np.ndarray:
    return np.array([_sum_of_scores(trials, amount) for trials in folds]) / weight


def _sum_of_scores(trials: list[tuple[Unit, ModelDesign, np.ndarray]], amount: float) -> float:
    total = 0.0
    for unit, part, y in trials:
        fitted, known = predict_regression(unit.regression(amount), part.digits)
        f, y, w = fitted[known], y[known], part.weights[known]
        if unit.centre.model.kind == "linear":
            total -= float(w @ (y - f) ** 2)
        else:
            total += float(w @ (y * np.log(f) - f))
    return total
