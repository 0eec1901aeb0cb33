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

from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.conditional.pooling.choose import Scores, choice_record, choice_text, plain_amount


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
    """Return the mixture of predictions of two models, and where both are known.

    Parameters
    ----------
    shares, base : float arrays, shape (c, R)
    known, base_known : bool arrays, shape (c,)
        Which cells the models know. What the pooled one does not know the other tells alone.
    share : float
        Of the model of the stratum.

    Examples
    --------
    >>> one, yes = np.array([[1.0, 0.0]]), np.array([True])
    >>> mixed(one, yes, one[:, ::-1], yes, 0.25)[0].tolist()
    [[0.25, 0.75]]
    """
    part = np.where(base_known, share, 1.0)[:, None]
    return part * shares + (1.0 - part) * base, known


def smoothed_shares(
    observed: np.ndarray, sizes: np.ndarray, prior: np.ndarray, amount: float
) -> np.ndarray:
    """Return the shares of cells with `amount` persons of the prior added.

    observed: float array, shape (c, R); weighted shares
    sizes: float array, shape (c,); persons of each cell
    prior: float array, shape (c, R)

    Examples
    --------
    >>> smoothed_shares(np.array([[0.75, 0.25]]), np.array([4]), np.array([[0.5, 0.5]]), 4.0)
    array([[0.625, 0.375]])
    """
    part = share_of_own(sizes, amount)[:, None]
    return part * observed + (1.0 - part) * prior


@dataclass(frozen=True, slots=True)
class Pooling:
    """How a model was pooled over strata.

    Attributes
    ----------
    kind : "none", "partial" or "complete"
    amount : float
        Strength of the pull to the pooled model, in persons. Infinity leaves a stratum nothing of
        its own, by a effects its class totals.
    pairs : float
        Strength of the pull of pairs of predictors to none; infinity is a model without pairs.
    chosen : "given", "cross-validated" or "one-standard-error"
    scores : tuple of (amount, score)
        Mean log probability of held-out classes for each amount that was tried.
    left_out : int
        Pairs of predictors that were not tried, as they have too many cells; see
        `synthpop.conditional.design.pairs_within_bounds`.
    way : "effects", "cells" or "mixture"
        How a stratum is shrunk towards the others; see `synthpop.conditional.pooling.options`.
    totals : float
        Strength of the pull, in persons, of class totals of small strata; 0 leaves them their own
        (`synthpop.conditional.pooling.class_totals`).
    """

    kind: str = "none"
    amount: float = 0.0
    pairs: float = np.inf
    chosen: str = "given"
    scores: Scores = ()
    left_out: int = 0
    way: str = "effects"
    totals: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; "infinite" where an amount has no bound."""
        return {
            "kind": self.kind,
            **choice_record(self.amount, self.chosen, self.scores),
            "pairs": plain_amount(self.pairs),
            "pairs_left_out": self.left_out,
            "way": self.way,
            "totals": plain_amount(self.totals),
        }

    def summary(self) -> str:
        """Say what the amount means."""
        if self.kind == "none":
            return "No pooling: each stratum has a model of its own."
        if self.kind == "complete":
            return "One model for all strata, with the stratum as a predictor."
        how = choice_text(self.chosen)
        if self.way == "effects":
            return f"{self._shifted()}, {how}; {self._pairs()}{self._totals()}."
        return f"{self._mixed()}, {how}."

    def _shifted(self) -> str:
        if np.isinf(self.amount):
            return "A stratum has its own class totals, all else is from the model of all strata"
        return (
            "The model of a stratum is shrunk towards that of all strata with the weight of "
            f"{self.amount:g} persons"
        )

    def _pairs(self) -> str:
        text = "no pairs of predictors"
        if np.isfinite(self.pairs):
            text = f"pairs of predictors shrunk to none with the weight of {self.pairs:g} persons"
        if self.left_out:
            text += f" (pairs with too many cells, not tried: {self.left_out})"
        return text

    def _totals(self) -> str:
        if self.totals == 0:
            return ""
        if np.isinf(self.totals):
            return "; small strata have the class totals that the model of all strata expects"
        return (
            "; class totals of small strata are shrunk towards those that the model of all strata "
            f"expects, with the weight of {self.totals:g} persons"
        )

    def _mixed(self) -> str:
        cells = self.way == "cells"
        if np.isinf(self.amount):
            with_strata = "" if cells else ", with the stratum as a predictor"
            return f"Strata have nothing of their own: one model for all{with_strata}"
        what = "shares of a cell" if cells else "predictions"
        where = "there" if cells else "in the sample"
        return (
            f"The {what} of a stratum, with the weight of its persons {where}, are mixed with "
            f"those of the model of all strata, with the weight of {self.amount:g} persons"
        )


ALONE = Pooling()
