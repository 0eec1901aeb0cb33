"""Partial pooling: the model of a stratum shrunk towards the one of all strata.

There are three ways to it; k, the amount, counts in persons in all of them: 0 is the model of the
stratum alone, infinity (almost) the pooled one.

RidgeEffects (multinomial). The class probabilities of a stratum are those of the
model pooled over strata, shifted,

    p_s(r | x) proportional to p(r | x) exp(a[r] + sum_j b_j[x_j, r]),

with b maximising the weighted log likelihood of the stratum minus (k / 2) sum b^2
(`ridge_effects`). Constants a are free, so that the class totals of a stratum stay its own. The
pooled model itself can be shifted by the pairs of predictors in the same way. Where the pooled
model is linear in a number, what strata and pairs add goes by classes of it, ten of about equal
weight.

Cells (observed distributions). The shares of a cell in a stratum are those of n + k persons, n of
the stratum itself and k with the shares of the cell in all strata (a Dirichlet prior).

Mixture (tree, forest, boosting, any classifier). Two models are fitted, that of the stratum
and the pooled one, which has the stratum as a predictor, and their predictions mixed (a linear
opinion pool, Stone 1961, doi:10.1214/aoms/1177704873),

    p = n / (n + k) p_s + k / (n + k) p_pooled,    n: persons of the stratum in the sample.

k is given, or chosen by cross-validation (`synthpop.conditional.pooling.choose`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synthpop.conditional.pooling.choose import PoolingChoice, log_score, plain_amount
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted


@dataclass(frozen=True, slots=True)
class Mixture:
    """What a stratum adds to the pooled model by a mixture."""

    model: Any  # fitted model, or None where its share is zero
    share: float  # share of the model of the stratum, n / (n + k)


def share_of_own(sizes: Any, amount: float) -> Any:
    """Return n / (n + k), 0 where there is nobody; sizes of any shape.

    Examples
    --------
    >>> share_of_own(np.array([10, 0]), 30.0).tolist()
    [0.25, 0.0]
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    return np.where(sizes > 0, sizes / np.where(sizes > 0, sizes + amount, 1.0), 0.0)


def mixed(
    shares: np.ndarray, known: np.ndarray, base: np.ndarray, base_known: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mixture of predictions of two models, and which cells are known.

    shares, base: float arrays, shape (c, R); of the stratum's model and of the pooled one
    known, base_known: bool arrays, shape (c,); which cells the models know. What the pooled one
        does not know the other tells alone.
    share: of the model of the stratum

    Examples
    --------
    >>> one, yes = np.array([[1.0, 0.0]]), np.array([True])
    >>> mixed(one, yes, one[:, ::-1], yes, 0.25)[0].tolist()
    [[0.25, 0.75]]
    """
    weight = np.where(base_known, share, 1.0)[:, None]
    return weight * shares + (1.0 - weight) * base, known


def smoothed_shares(
    observed: np.ndarray, sizes: np.ndarray, prior: np.ndarray, amount: float
) -> np.ndarray:
    """Return the shares of cells, shape (c, R), with `amount` persons of the prior added.

    Examples
    --------
    >>> smoothed_shares(np.array([[0.75, 0.25]]), np.array([4]), np.array([[0.5, 0.5]]), 4.0)
    array([[0.625, 0.375]])
    """
    weight = share_of_own(sizes, amount)[:, None]
    return weight * observed + (1.0 - weight) * prior


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What two models say of persons who were held out of a fold; arrays of shape (h,).

    stratum, pooled: probability of the observed class by the stratum's model and by that of all
        strata. Where one of them does not know the cell, that of the other.
    sizes: persons that the stratum's model stands for; 0 where it does not know the cell
    """

    stratum: np.ndarray
    pooled: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray

    def score(self, amount: float) -> float:
        """Return the weighted sum of log probabilities with an amount of pooling."""
        share = share_of_own(self.sizes, amount)
        return log_score(share * self.stratum + (1.0 - share) * self.pooled, self.weights)


def scores_of_folds(
    folds: Sequence[HeldOut], grid: Sequence[float]
) -> list[tuple[float, np.ndarray]]:
    """Return what each fold adds to the mean log probability with each amount of a grid."""
    weight = sum(float(fold.weights.sum()) for fold in folds)
    return [(k, np.array([fold.score(k) for fold in folds]) / weight) for k in grid]


@dataclass(frozen=True, slots=True)
class Pooling(PoolingChoice):
    """How a model of classes was pooled over strata; amounts are in persons.

    An infinite amount leaves a stratum nothing of its own, by effects its class totals. Scores are
    mean log probabilities of held-out classes.
    """

    pairs: float = np.inf  # shrinkage of pairs of predictors to none; infinity: no pairs
    # pairs that were not tried, as they have too many cells; see `design.pairs_within_bounds`
    left_out: int = 0
    way: str = "effects"  # "effects", "cells" or "mixture", as above
    # shrinkage of class totals of small strata; 0: they have their own (`class_totals`)
    totals: float = 0.0
    # taken over from another fit of the same step: all is fitted to a coarser tolerance
    again: bool = field(default=False, compare=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain values; "infinite" where an amount has no bound."""
        return {
            **PoolingChoice.to_dict(self),
            "pairs": plain_amount(self.pairs),
            "pairs_left_out": self.left_out,
            "way": self.way,
            "totals": plain_amount(self.totals),
        }

    def summary(self) -> str:
        """Say what the amount means."""
        if self.kind == "none":
            return message("No pooling: each stratum has a model of its own.")
        if self.kind == "complete":
            return message("One model for all strata, with the stratum as a predictor.")
        if self.way == "effects":
            return f"{self._shifted()}, {self.how}; {self._pairs()}{self._totals()}."
        return f"{self._mixed()}, {self.how}."

    def _shifted(self) -> str:
        if np.isinf(self.amount):
            return message(
                "A stratum has its own class totals; everything else comes from the model of "
                "all strata"
            )
        return message(
            "The model of a stratum is shrunk towards that of all strata with the weight "
            "of {amount} persons",
            amount=formatted(self.amount, "g"),
        )

    def _pairs(self) -> str:
        text = message("no pairs of predictors")
        if np.isfinite(self.pairs):
            text = f"pairs of predictors shrunk to none with the weight of {self.pairs:g} persons"
        if self.left_out:
            text += f" (pairs with too many cells, not tried: {self.left_out})"
        return text

    def _totals(self) -> str:
        if self.totals == 0:
            return ""
        if np.isinf(self.totals):
            return "; " + message(
                "small strata have the class totals expected by the model of all strata"
            )
        return "; " + message(
            "class totals of small strata are shrunk towards those expected by the model "
            "of all strata, with the weight of {totals} persons",
            totals=formatted(self.totals, "g"),
        )

    def _mixed(self) -> str:
        cells = self.way == "cells"
        if np.isinf(self.amount):
            with_strata = "" if cells else (", " + message("with the stratum as a predictor"))
            return message(
                "One model for all strata, with nothing specific to a stratum{with_strata}",
                with_strata=with_strata,
            )
        what = message("shares of a cell") if cells else "predictions"
        where = "there" if cells else message("in the sample")
        return message(
            "The {what} of a stratum, weighted by its persons {where}, are mixed with "
            "those of the model of all strata, which has the weight of {amount} persons",
            what=what,
            where=where,
            amount=formatted(self.amount, "g"),
        )


ALONE = Pooling()
