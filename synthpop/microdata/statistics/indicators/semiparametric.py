"""Semi-parametric estimation: the largest incomes follow a fitted Pareto tail.

A few enormous incomes move the Gini coefficient and the quintile share ratio. After the tail has
been fitted robustly, values beyond a high quantile of the fitted distribution are called
nonrepresentative outliers, and are given weight one, shrunken or replaced; or the whole tail is
replaced by draws. The indicators are then computed as always (Alfons, Templ and Filzmoser 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.frame.codes import encode
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.microdata.statistics.tails import ParetoTail, fit_pareto
from synthpop.microdata.statistics.weighted import clean


@dataclass(frozen=True, slots=True)
class TailFit(Result):
    """A fitted Pareto tail and where the data lie in it.

    Attributes
    ----------
    tail : ParetoTail
    values, weights : arrays, shape (n,)
        As they were given.
    unit : int array, shape (n,)
        Household of each row.
    in_tail : bool array, shape (n,)
        Values above the threshold.
    outlier : bool array, shape (n,)
        Values above `limit`.
    limit : float
        The (1 - alpha) quantile of the fitted tail.
    alpha : float
    """

    tail: ParetoTail
    values: np.ndarray
    weights: np.ndarray
    unit: np.ndarray
    in_tail: np.ndarray
    outlier: np.ndarray
    limit: float
    alpha: float

    def reweighted(self, strata: npt.ArrayLike | None = None) -> np.ndarray:
        """Weights with outliers standing for themselves alone.

        Parameters
        ----------
        strata : array, shape (n,), optional
            The other weights are scaled so that each stratum keeps its total. Default: one stratum.

        Returns
        -------
        array, shape (n,)
            A stratum in which all rows are outliers keeps its weights.
        """
        h = np.zeros(len(self.values), dtype=np.int64)
        if strata is not None:
            series = strata if isinstance(strata, pd.Series) else pd.Series(np.asarray(strata))
            h = encode(series)[0].astype(np.int64)
            if len(h) != len(self.values) or (h < 0).any():
                what = "is missing or of another length"
                raise InputError.of("reweighting", "strata", what, "Give one value per row.")
        before = np.bincount(h, weights=self.weights)
        fixed = np.bincount(h, weights=np.where(self.outlier, 1.0, 0.0))
        free = np.bincount(h, weights=np.where(self.outlier, 0.0, self.weights))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = (before - fixed) / free
        usable = np.isfinite(factor) & (factor > 0)
        new = np.where(self.outlier, 1.0, self.weights * np.where(usable, factor, 1.0)[h])
        return np.where(usable[h], new, self.weights)

    def shrunken(self) -> np.ndarray:
        """Values with outliers moved to `limit`, shape (n,)."""
        return np.where(self.outlier, self.limit, self.values)

    def replaced(
        self, *, which: str = "tail", upper: float | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Values with the tail, or only the outliers, drawn from the fitted distribution.

        Parameters
        ----------
        which : {"tail", "outliers"}
        upper : float, optional
            Largest value that may be drawn. Default: none, so that the draws follow the fitted
            distribution; with ``upper=fit.limit`` no draw is an outlier itself, and indicators
            of inequality are a little lower.
        seed : int, optional
            One draw a household, from the stream ("pareto tail", which).

        Returns
        -------
        array, shape (n,)
            Members of a household share their value; the order of the households is kept.
        """
        rows = {"tail": self.in_tail, "outliers": self.outlier}.get(which)
        if rows is None:
            what = message("{value} is not allowed", value=repr(which))
            raise InputError.of("tail", "which", what, "Use 'tail' or 'outliers'.")
        new = self.values.copy()
        units, first, back = np.unique(self.unit[rows], return_index=True, return_inverse=True)
        rng = Streams(resolve_seed(seed)).at("pareto tail", which)
        new_values = np.sort(self.tail.draw(rng, len(units), upper=upper))
        rank = np.argsort(np.argsort(self.values[rows][first], kind="stable"))
        new[rows] = new_values[rank][back.reshape(-1)]
        return new

    def summary(self) -> str:
        """Return what the tail looks like and how many values lie beyond it."""
        return (
            f"{self.tail.summary()} {plural(int(self.outlier.sum()), 'row lies', 'rows lie')} "
            f"above {self.limit:.6g}, the {100 * (1 - self.alpha):g} % quantile of the fitted "
            "tail, and count as outliers."
        )


def pareto_tail(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    household: Any = None,
    method: str = "pdc",
    k: int | None = None,
    threshold: float | None = None,
    alpha: float = 0.01,
) -> TailFit:
    """Fit a Pareto tail to incomes and find the outliers beyond it.

    Parameters
    ----------
    values : array, shape (n,)
        Income of each person (equivalised household income). NaN never lies in the tail.
    weights : array, shape (n,), optional
        The first member's weight is used for the household.
    household : array, shape (n,), optional
        Household ids; every household enters the fit once. Default: each row is one.
    method, k, threshold
        As in `fit_pareto`; by default van Kerm's rule sets the threshold.
    alpha : float
        Values above the (1 - alpha) quantile of the fitted tail are outliers.

    Returns
    -------
    TailFit

    Raises
    ------
    InputError
        `alpha` outside 0 and 1, missing household ids, or as in `fit_pareto`.

    Examples
    --------
    >>> income = ParetoTail(30_000.0, 3.0).quantile((np.arange(1000) + 0.5) / 1000)
    >>> income[-1] = 9e6
    >>> fit = pareto_tail(income, threshold=40_000.0)
    >>> bool(fit.outlier[-1]), bool(fit.shrunken().max() < 9e6)
    (True, True)
    """
    faults = Faults("Pareto tail")
    if not 0 < alpha < 1:
        faults.add("alpha", f"is {alpha}", hint="Give a small share such as 0.01.")
    clean(values, weights)
    x = np.asarray(values, dtype=np.float64)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    unit = np.arange(len(x))
    if household is not None:
        series = household if isinstance(household, pd.Series) else pd.Series(household)
        unit = pd.factorize(series)[0].astype(np.int64)
        if len(unit) != len(x):
            faults.add("household", f"{len(unit)} ids for {plural(len(x), 'value')}")
        else:
            faults.add_where(unit < 0, "household", "is missing")
    faults.raise_if_any()
    first = np.unique(unit, return_index=True)[1]
    w_first = None if weights is None else w[first]
    tail = fit_pareto(x[first], weights=w_first, method=method, k=k, threshold=threshold)
    limit = float(tail.quantile(1 - alpha))
    return TailFit(tail, x, w, unit, x > tail.threshold, x > limit, limit, alpha)
