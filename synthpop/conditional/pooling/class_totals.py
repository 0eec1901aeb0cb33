"""Class totals of small strata, shrunk towards what all strata say of their persons.

A stratum has class totals of its own in every model (constants are free). Of few persons these are
mostly noise, and a class that none of them has gets no probability at all. So the predictions p_s
of a stratum with fewer than 200 sample persons are mixed with those of the model p of all strata
that does not know the stratum,

    n / (n + k) p_s + k / (n + k) p,    n: persons of the stratum in the sample.

k, in persons, is one number for all small strata and is chosen by cross-validation; 0 leaves them
their own totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.conditional.pooling.choose import best
from synthpop.conditional.pooling.options import HeldOut, mixed, scores_of_folds, share_of_own
from synthpop.models.multinomial import MultinomialModel, predict_multinomial

SMALL_STRATUM = 200
TOTALS_GRID = (np.inf, 300.0, 100.0, 30.0, 10.0, 3.0, 0.0)


@dataclass(frozen=True, slots=True)
class CommonModel:
    """The model of all strata that does not know the stratum, and what strata keep of their own."""

    model: MultinomialModel
    shares: np.ndarray  # float array, shape (n_strata,): 1 where a stratum is not small

    def mixed(
        self, stratum: int, digits: np.ndarray, shares: np.ndarray, known: np.ndarray
    ) -> np.ndarray:
        """Return predictions of a stratum, shape (c, R), mixed with those of this model."""
        if self.shares[stratum] == 1.0:
            return shares
        base, base_known = predict_multinomial(self.model, digits)
        return mixed(shares, known, base, base_known, float(self.shares[stratum]))[0]


def small_strata(strata: np.ndarray, n_strata: int) -> np.ndarray:
    """Return which strata have few sample persons, shape (n_strata,)."""
    return np.bincount(strata, minlength=n_strata) < SMALL_STRATUM


def kept_shares(strata: np.ndarray, n_strata: int, amount: float) -> np.ndarray:
    """Return what each stratum keeps of its own predictions, shape (n_strata,)."""
    sizes = np.bincount(strata, minlength=n_strata)
    return np.where(sizes < SMALL_STRATUM, share_of_own(sizes, amount), 1.0)


def best_amount(folds: Sequence[HeldOut], choice: str) -> float:
    """Return the amount with the best score over all folds; see `choose.best`."""
    if not any(fold.weights.any() for fold in folds):
        return 0.0
    return best(scores_of_folds(folds, TOTALS_GRID), choice)
