"""Proportions, indicators of several years, and intervals of quantiles by inversion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.statistics.design_variance import sampled_units, t_quantile
from synthpop.microdata.statistics.indicators import formulas
from synthpop.microdata.statistics.indicators.measures import mean, prepare, quantile
from synthpop.microdata.statistics.indicators.results import Indicator
from synthpop.microdata.statistics.weighted import check_length


def proportion(
    condition: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, by: Any = None
) -> Indicator:
    """Weighted proportion of rows for which a condition holds.

    Parameters
    ----------
    condition : bool array, shape (n,)
        Also 0 and 1. Missing values are left out.
    weights : array, shape (n,), optional
    by : array, shape (n,), optional
        Domains.

    Returns
    -------
    Indicator
        A share between 0 and 1.

    Raises
    ------
    InputError
        Values other than true, false and missing.

    Examples
    --------
    >>> proportion([True, False, True], [1.0, 2.0, 1.0]).value
    0.5
    """
    column = condition if isinstance(condition, pd.Series) else pd.Series(np.asarray(condition))
    numbers = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64)
    is_neither = (np.isnan(numbers) & column.notna().to_numpy()) | ((numbers != 0) & (numbers != 1))
    is_neither &= column.notna().to_numpy()
    if is_neither.any():
        rows = np.flatnonzero(is_neither)
        what = "is neither true nor false"
        raise InputError.of("proportion", "condition", what, "Compare first.", rows=rows)
    result = mean(numbers, weights, by=by)
    return replace(result, name="proportion", meaning="The weighted proportion is {value}.")


def over_years(
    measure: Callable[..., Indicator],
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    years: npt.ArrayLike,
    by: Any = None,
    strata: Any = None,
    cluster: Any = None,
    level: float = 0.95,
    **options: Any,
) -> pd.DataFrame:
    """Compute an indicator for each year, each with its own poverty line and quantiles.

    Parameters
    ----------
    measure : function
        `gini` and its siblings.
    values, weights : arrays, shape (n,)
    years : array, shape (n,)
    by, strata, cluster : arrays, shape (n,), optional
        With `strata` or `cluster` the variance is that of this design; years are separate samples.
    level : float
    **options
        Handed to the measure.

    Returns
    -------
    DataFrame
        Index (year, domain); columns as those of `Indicator.to_frame` after `with_variance`.

    Examples
    --------
    >>> from synthpop.indicators import median
    >>> table = over_years(median, [1.0, 2.0, 3.0, 9.0, 8.0, 7.0], years=[1, 1, 1, 2, 2, 2])
    >>> table["estimate"].tolist()
    [2.0, 8.0]
    """
    series = pd.Series(np.asarray(values))
    roles = {"weights": weights, "by": by, "strata": strata, "cluster": cluster, "years": years}
    faults, columns = Faults("indicator over years"), {}
    for name, column in roles.items():
        if column is None:
            continue
        columns[name] = pd.Series(column).reset_index(drop=True)
        check_length(faults, name, len(columns[name]), len(series))
    if not faults and not columns["years"].notna().any():
        faults.add("years", "there are none", hint="Give the year of each value.")
    faults.raise_if_any()
    tables = {}
    for year, rows in columns["years"].groupby(columns["years"]).groups.items():
        of_year = {name: column.loc[rows] for name, column in columns.items()}
        amounts = series.loc[rows].to_numpy()
        result = measure(amounts, of_year.get("weights"), by=of_year.get("by"), **options)
        design = {name: of_year[name] for name in ("strata", "cluster") if name in of_year}
        tables[year] = result.with_variance(**design, level=level).to_frame()
    return pd.concat(tables, names=["year", "domain"])


def quantile_interval(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    p: float = 0.5,
    by: Any = None,
    strata: Any = None,
    cluster: Any = None,
    fpc: Any = None,
    survey: Any = None,
    level: float = 0.95,
) -> Indicator:
    """Quantile with an interval by inversion of the distribution function.

    Parameters
    ----------
    values, weights, p, by
        As in `quantile`.
    strata, cluster, fpc, survey, level
        As in `Indicator.with_variance`.

    Returns
    -------
    Indicator
        With intervals, which need not be symmetric; the standard error is their length over twice
        the quantile of the t distribution.

    Notes
    -----
    Woodruff (1952), doi:10.1080/01621459.1952.10483443: the interval of the share of rows up to the
    quantile, p -+ t se, is read on the axis of the values. Its share has the design variance of
    the indicator 1[x <= q] in the domain.

    Examples
    --------
    >>> result = quantile_interval(np.arange(1.0, 101.0))
    >>> result.value, result.interval
    (51.0, (41.0, 60.0))
    """
    point = quantile(values, weights, p=p, by=by)
    data = prepare(Faults("quantile"), values, weights, by)
    if survey is not None:
        units = survey.sampled_units
    else:
        units = sampled_units(data.n, strata=strata, cluster=cluster, fpc=fpc)
    t = t_quantile((1 + level) / 2, units.degrees_of_freedom)
    ends = np.full((len(point.values), 2), np.nan)
    for position, q in enumerate(point.values):
        inside = data.inside(position)
        if not inside.any():
            continue
        x, w = data.x[inside], data.w[inside]
        total = w.sum()
        if not total > 0:
            continue
        share = float(w[x <= q].sum() / total)
        z = np.zeros(len(data.x))
        z[inside] = ((x <= q) - share) / total
        # `variance` weighs rows by w, which linearised variables of shares are divided by
        full = np.zeros(data.n)
        full[data.rows] = z * data.w
        error = np.sqrt(units.variance(full, None))
        low, high = max(p - t * error, 0.0), min(p + t * error, 1.0)
        ends[position] = formulas.quantile_of(x, w, low), formulas.quantile_of(x, w, high)
    with np.errstate(invalid="ignore"):  # infinite values have no standard error
        errors = (ends[:, 1] - ends[:, 0]) / (2 * t)
    return replace(
        point,
        standard_errors=errors,
        intervals=ends,
        level=level,
        degrees_of_freedom=float(units.degrees_of_freedom),
    )
