"""Indicators of income, inequality and poverty after the definitions of Eurostat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.frame.codes import encode
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.statistics.indicators import formulas
from synthpop.microdata.statistics.indicators.results import Indicator
from synthpop.microdata.statistics.weighted import as_numbers, check_length, clean

Positions = np.ndarray | slice


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows that enter an indicator, in increasing order of their values; shape (m,)."""

    x: np.ndarray
    w: np.ndarray
    rows: np.ndarray  # where each row stood in the input
    n: int  # rows of the input
    domains: tuple[Any, ...]
    codes: np.ndarray | None  # domain of each row, -1 for none
    weights: np.ndarray | None  # of all rows of the input

    def rows_of_domains(self) -> list[np.ndarray]:
        """Positions of each domain, in order of value."""
        if self.codes is None:
            return []
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(len(self.domains) + 1))
        return [order[ends[d] : ends[d + 1]] for d in range(len(self.domains))]

    def inside(self, position: int) -> np.ndarray:
        """True for the rows of a domain (0: overall), shape (m,)."""
        if position == 0 or self.codes is None:
            return np.ones(len(self.x), dtype=bool)
        return self.codes == position - 1

    def spread(self, z: np.ndarray) -> np.ndarray:
        """Put numbers of the sorted rows back into the order of the input, 0 elsewhere."""
        result = np.zeros(self.n)
        result[self.rows] = z
        return result


def prepare(
    faults: Faults, values: npt.ArrayLike, weights: npt.ArrayLike | None, by: Any = None
) -> Sorted:
    """Check, drop missing values and weights of zero, and sort."""
    if not isinstance(values, pd.Series):
        values = np.asarray(values)
        if values.ndim != 1:
            faults.add("values", f"have {values.ndim} dimensions", hint="Give one column.")
            faults.raise_if_any()
    series = pd.Series(values)
    n = len(series)
    codes, domains = None, ()
    if by is not None:
        column = by if isinstance(by, pd.Series) else pd.Series(by)
        check_length(faults, "by", len(column), n)
        codes, domains = encode(column)
    faults.raise_if_any()
    is_real = pd.api.types.is_numeric_dtype(series.dtype) and series.dtype.kind != "c"
    x = series.to_numpy(dtype=np.float64, na_value=np.nan) if is_real else series
    clean(x, weights)  # raises with every fault of the numbers
    x = as_numbers(faults, x, "values")
    all_weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    w = np.ones(n) if all_weights is None else all_weights
    rows = np.flatnonzero(~np.isnan(x) & (w > 0))
    x = x[rows]
    if len(x) > 1 and not bool(np.all(x[1:] >= x[:-1])):
        order = np.argsort(x)
        x, rows = x[order], rows[order]
    codes = None if codes is None else codes[rows]
    return Sorted(x, w[rows], rows, n, domains, codes, all_weights)


def make_indicator(
    name: str,
    data: Sorted,
    value: Callable[[Positions], float],
    influence: Callable[[np.ndarray], np.ndarray],
    meaning: str,
    threshold: float | None = None,
) -> Indicator:
    """Evaluate over all rows and each domain.

    `value` takes positions of sorted rows, `influence` a mask of sorted rows.
    """
    positions: list[Positions] = [slice(None), *data.rows_of_domains()]
    counts = [len(data.x[at]) for at in positions]
    pairs = zip(positions, counts, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the largest float: infinite
        values = np.array([value(at) if n else np.nan for at, n in pairs])

    def linearised(position: int) -> np.ndarray:
        if not np.isfinite(values[position]):
            return np.full(data.n, np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            z = data.spread(influence(data.inside(position)))
        return z if np.isfinite(z).all() else np.full(data.n, np.nan)

    return Indicator(
        name=name,
        values=values,
        domains=data.domains,
        counts=np.array(counts),
        meaning=meaning,
        threshold=threshold,
        _influence=linearised,
        _weights=data.weights,
    )


def local_indicator(
    name: str,
    data: Sorted,
    formula: Callable[[np.ndarray, np.ndarray], float],
    influence: Callable[[np.ndarray, np.ndarray], np.ndarray],
    meaning: str,
) -> Indicator:
    """Evaluate a formula of values and weights, which depends on the rows of a domain alone."""
    local = local_influence(data, influence)
    return make_indicator(name, data, lambda at: formula(data.x[at], data.w[at]), local, meaning)


def local_influence(
    data: Sorted, function: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Influence that is zero outside the domain."""

    def influence(inside: np.ndarray) -> np.ndarray:
        z = np.zeros(len(data.x))
        if inside.any():
            z[inside] = function(data.x[inside], data.w[inside])
        return z

    return influence


def gini(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, by: Any = None
) -> Indicator:
    """Gini coefficient in percent.

    Parameters
    ----------
    values : array, shape (n,)
        Equivalised income of each person. NaN is left out. Negative values are used as they are:
        the coefficient may then exceed 100.
    weights : array, shape (n,), optional
    by : array, shape (n,), optional
        Domains; rows with a missing domain count only overall.

    Returns
    -------
    Indicator
        NaN where the total is zero.

    Notes
    -----
    100 ((2 sum w x cw - sum w^2 x) / (sum w sum w x) - 1), x sorted, cw cumulated weights
    (Eurostat ILC definition).

    Examples
    --------
    >>> gini([1.0, 1.0, 1.0]).value, gini([0.0, 0.0, 0.0, 8.0]).value
    (0.0, 75.0)
    """
    data = prepare(Faults("gini"), values, weights, by)
    meaning = "Gini coefficient {value} %: 0 when all have the same, 100 when one has everything."
    return local_indicator("gini", data, formulas.gini, formulas.gini_influence, meaning)


def quintile_share_ratio(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, by: Any = None
) -> Indicator:
    """S80/S20: total of the richest fifth over total of the poorest fifth.

    Parameters
    ----------
    values : array, shape (n,)
        NaN is left out.
    weights : array, shape (n,), optional
    by : array, shape (n,), optional
        Domains; each has its own fifths.

    Returns
    -------
    Indicator
        NaN where the poorest fifth has a total of zero, or no value lies above the 80 % quantile.

    Notes
    -----
    Sum of w x above the 80 % quantile over the sum up to the 20 % quantile (Eurostat ILC
    definition; quantiles are the first value whose share is larger than p).

    Examples
    --------
    >>> quintile_share_ratio([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]).value
    1.6666666666666667
    """
    data = prepare(Faults("quintile share ratio"), values, weights, by)
    return local_indicator(
        "quintile_share_ratio",
        data,
        formulas.quintile_share_ratio,
        formulas.quintile_share_ratio_influence,
        "The richest fifth has {value} times the total of the poorest fifth (S80/S20).",
    )


def gender_pay_gap(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    gender: Any,
    men: Any = "male",
    women: Any = None,
    by: Any = None,
    method: str = "mean",
) -> Indicator:
    """Unadjusted gender pay gap, as a share of the men's level.

    Parameters
    ----------
    values : array, shape (n,)
        Hourly earnings. NaN is left out.
    weights : array, shape (n,), optional
    gender : array, shape (n,)
        Rows of other or missing gender do not enter.
    men, women : level of `gender`
        `women` may be left out when there are two levels.
    by : array, shape (n,), optional
    method : {"mean", "median"}

    Returns
    -------
    Indicator
        NaN in domains without men or women.

    Notes
    -----
    (level of men - level of women) / level of men (Eurostat, structure of earnings survey).

    Examples
    --------
    >>> gender_pay_gap([10.0, 20.0, 12.0], gender=["male", "male", "female"]).value
    0.2
    """
    faults = Faults("gender pay gap")
    check_choice(faults, "method", method, ("mean", "median"))
    column = gender if isinstance(gender, pd.Series) else pd.Series(gender)
    codes, levels = encode(column)
    present: Sequence[Any] = [level for i, level in enumerate(levels) if (codes == i).any()]
    if women is None and men in present and len(present) == 2:
        women = next(level for level in present if level != men)
    for name, level in (("men", men), ("women", women)):
        if level not in present:
            faults.add(name, f"{level!r} is not a gender here", hint=did_you_mean(level, present))
    check_length(faults, "gender", len(column), len(np.asarray(values)))
    faults.raise_if_any()
    data = prepare(faults, values, weights, by)
    sex = codes[data.rows]
    is_man, is_woman = sex == levels.index(men), sex == levels.index(women)
    return make_indicator(
        "gender_pay_gap",
        data,
        lambda at: formulas.pay_gap(data.x[at], data.w[at], is_man[at], is_woman[at], method),
        lambda inside: formulas.pay_gap_influence(
            data.x, data.w, is_man & inside, is_woman & inside, method
        ),
        f"The {method} of women is {{value}} of that of men lower (a share: 0.2 is 20 %).",
    )


def mean(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, by: Any = None
) -> Indicator:
    """Weighted mean; of a 0/1 variable the share.

    Parameters
    ----------
    values : array, shape (n,)
        NaN is left out.
    weights : array, shape (n,), optional
    by : array, shape (n,), optional

    Returns
    -------
    Indicator

    Examples
    --------
    >>> mean([1.0, 2.0, 6.0], [1, 1, 2]).value
    3.75
    """
    data = prepare(Faults("mean"), values, weights, by)
    meaning = "The weighted mean is {value}."
    return local_indicator("mean", data, formulas.mean, formulas.mean_influence, meaning)


def quantile(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, p: float, by: Any = None
) -> Indicator:
    """Weighted quantile: the first value whose cumulated share of weight is larger than p.

    Parameters
    ----------
    values : array, shape (n,)
        NaN is left out.
    weights : array, shape (n,), optional
    p : float
        Between 0 and 1.
    by : array, shape (n,), optional

    Returns
    -------
    Indicator

    Examples
    --------
    >>> quantile([1.0, 2.0, 3.0, 4.0], p=0.25).value
    2.0
    """
    faults = Faults("quantile")
    if not 0 <= p <= 1:
        faults.add("p", f"is {p}", hint="Give a share between 0 and 1.")
    data = prepare(faults, values, weights, by)
    return local_indicator(
        "quantile",
        data,
        lambda x, w: formulas.quantile_of(x, w, p),
        lambda x, w: formulas.quantile_influence(x, w, p),
        f"{100 * p:g} % of the weight lies up to {{value}}.",
    )


def median(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, by: Any = None
) -> Indicator:
    """Weighted median: `quantile` at one half.

    Examples
    --------
    >>> median([1.0, 2.0, 30.0]).value
    2.0
    """
    return quantile(values, weights, p=0.5, by=by)
