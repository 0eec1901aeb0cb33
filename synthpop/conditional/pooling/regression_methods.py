"""Regressions of all strata, shrunk towards the pooled one, and the choice of how near.

The amount is given, or chosen by cross-validation: households are assigned to folds, values of each
fold are predicted from the others, and the amount with the best mean score is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.pooling.choose import (
    CHOICES,
    GRID,
    PoolingChoice,
    best,
    fold_splits,
    search,
    totals,
)
from synthpop.conditional.pooling.regression import Unit, centre_of
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted
from synthpop.microdata.runs.environment import one_thread
from synthpop.models.regression import RegressionModel, predict_regression

AMOUNTS = (np.inf, 10_000.0, 3_000.0, 1_000.0, *GRID[1:])
FALLS = 2


@dataclass(frozen=True, slots=True)
class RegressionPooling(PoolingChoice):
    """How the regressions of strata were pooled; the amount is in persons.

    Scores are of values held out: minus the mean squared error on the scale of the model; for
    counts the mean log probability but for a constant.
    """

    def summary(self) -> str:
        """Say what the amount means."""
        if self.kind == "none":
            return message("Each stratum has a regression of its own.")
        if self.kind == "complete":
            return message("One regression for all strata, with the stratum as a predictor.")
        if np.isinf(self.amount):
            what = message(
                "A stratum has its own constant and residuals, and the coefficients of all"
            )
            return message("{what} strata, {how}.", what=what, how=self.how)
        return message(
            "The coefficients of a stratum are shrunk towards those of all strata with the "
            "weight of {amount} persons, {how}.",
            amount=formatted(self.amount, "g"),
            how=self.how,
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
    """Fit the regressions of strata, "linear" or of "counts", shrunk towards the pooled one.

    is_kept: function of values and weights; which values a regression is fitted to; asked for all
        strata together, and for each
    enough: bool array, shape (n_strata,); strata that have a regression of their own
    amount: one of `CHOICES`, how cross-validation chooses, or a number above 0
    """
    inside = is_kept(y, design.weights)
    rows_by_stratum = {}
    for stratum in np.flatnonzero(enough).tolist():
        rows = np.flatnonzero(design.strata == stratum)
        rows_by_stratum[stratum] = rows[is_kept(y[rows], design.weights[rows])]
    with one_thread():
        if amount in CHOICES:
            pooling = _choose(kind, design, y, inside, rows_by_stratum, seed, str(amount))
        else:
            pooling = RegressionPooling("partial", float(amount))
        rows = np.flatnonzero(inside)
        pooled, centre = centre_of(kind, design.rows(rows), y[rows])
        by_stratum: list[RegressionModel | None] = [None] * design.n_strata
        for stratum, rows in rows_by_stratum.items():
            unit = Unit.of(centre, design.rows(rows), y[rows])
            if unit.n_persons:
                by_stratum[stratum] = unit.regression(pooling.amount)
    return PooledRegressions(pooled, tuple(by_stratum), pooling)


Trial = tuple[Unit, ModelDesign, np.ndarray]
"""What a fold has learned of a stratum, and the persons held out with their values."""


def _choose(
    kind: str,
    design: ModelDesign,
    y: np.ndarray,
    inside: np.ndarray,
    rows_by_stratum: dict[int, np.ndarray],
    seed: int,
    choice: str,
) -> RegressionPooling:
    folds: list[list[Trial]] = []
    for train, _ in fold_splits(design.groups, seed):
        trials: list[Trial] = []
        learned = np.zeros(len(y), dtype=bool)
        learned[train] = True
        rows = np.flatnonzero(learned & inside)
        if not len(rows):
            continue
        centre = centre_of(kind, design.rows(rows), y[rows])[1]
        for members in rows_by_stratum.values():
            learned_rows, held_out = members[learned[members]], members[~learned[members]]
            unit = Unit.of(centre, design.rows(learned_rows), y[learned_rows])
            if unit.n_persons and len(held_out):
                trials.append((unit, design.rows(held_out), y[held_out]))
        if trials:
            folds.append(trials)
    if not folds:
        return RegressionPooling("partial", np.inf, choice)
    weight = sum(float(tested.weights.sum()) for trials in folds for _, tested, _ in trials)

    def score(amount: float) -> np.ndarray:
        return np.array([_sum_of_scores(trials, amount) for trials in folds]) / weight

    scores = search(score, AMOUNTS, FALLS)
    return RegressionPooling("partial", best(scores, choice), choice, totals(scores))


def _sum_of_scores(trials: list[Trial], amount: float) -> float:
    total = 0.0
    for unit, tested, y in trials:
        fitted, known = predict_regression(unit.regression(amount), tested.digits)
        f, y, w = fitted[known], y[known], tested.weights[known]
        if unit.centre.model.kind == "linear":
            total -= float(w @ (y - f) ** 2)
        else:
            total += float(w @ (y * np.log(f) - f))
    return total
