"""Overlap of confidence intervals of the original and the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from riskeval.shared.files import check_both, check_level, check_numbers, read_files
from riskeval.utility.estimates import STATISTICS, EstimateRequest, domain_table, with_domains
from riskeval.utility.tables import common_levels
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result, TableResult
from synthpop.microdata.messages.text import percent
from synthpop.microdata.statistics.indicators.results import OVERALL, Indicator
from synthpop.microdata.statistics.weighted import as_numbers

OUTSIDE = ("zero", "negative")
BOUNDS = ["lower_original", "upper_original", "lower_released", "upper_released"]


def overlap(
    lower_original: npt.ArrayLike,
    upper_original: npt.ArrayLike,
    lower_released: npt.ArrayLike,
    upper_released: npt.ArrayLike,
    *,
    outside: str = "zero",
) -> np.ndarray:
    """Mean share of two intervals that lies in the other one.

    Parameters
    ----------
    lower_original, upper_original, lower_released, upper_released : arrays, shape (k,)
        Bounds; NaN where not known.
    outside : {"zero", "negative"}
        Intervals that do not meet: 0, or minus the gap relative to their lengths, which grows with
        the distance.

    Returns
    -------
    float64 array, shape (k,)
        1 for equal intervals. An interval of length zero counts 1 when it lies in the other one,
        and 0 otherwise. NaN where a bound is NaN.

    Notes
    -----
    Karr et al. (2006), doi:10.1198/000313006X124640; Templ (2017), equation 5.18.

    Examples
    --------
    >>> overlap([0.0, 0.0], [2.0, 1.0], [1.0, 5.0], [3.0, 6.0]).tolist()
    [0.5, 0.0]
    """
    faults = Faults("overlap of intervals")
    check_choice(faults, "outside", outside, OUTSIDE)
    bounds = (lower_original, upper_original, lower_released, upper_released)
    lx, ux, ly, uy = _bounds(faults, bounds)
    return np.asarray((_inside(lx, ux, ly, uy, outside) + _inside(ly, uy, lx, ux, outside)) / 2)


def coverage(
    lower_original: npt.ArrayLike,
    upper_original: npt.ArrayLike,
    lower_released: npt.ArrayLike,
    upper_released: npt.ArrayLike,
) -> np.ndarray:
    """Share of the original interval that the released one covers, shape (k,).

    The coverage rates of tables 5.2 to 5.4 of Templ (2017).

    Examples
    --------
    >>> coverage([0.15938], [0.26525], [0.16123], [0.27062]).round(4).tolist()
    [0.9825]
    """
    bounds = (lower_original, upper_original, lower_released, upper_released)
    lx, ux, ly, uy = _bounds(Faults("coverage of intervals"), bounds)
    return _inside(lx, ux, ly, uy, "zero")


def _bounds(faults: Faults, bounds: Sequence[npt.ArrayLike]) -> list[np.ndarray]:
    """Return the four bounds as arrays of one length; raise what is wrong."""
    arrays = [
        np.asarray(bound, dtype=np.float64)
        if isinstance(bound, (int, float))
        else as_numbers(faults, bound, name)
        for bound, name in zip(bounds, BOUNDS, strict=True)
    ]
    lengths = {array.shape for array in arrays}
    if not faults and len(lengths) > 1:
        what = f"the bounds have {', '.join(str(array.size) for array in arrays)} values"
        faults.add("bounds", what, hint="Give as many of each.")
    faults.raise_if_any()
    return arrays


def _inside(
    lower: np.ndarray, upper: np.ndarray, other_lower: np.ndarray, other_upper: np.ndarray, out: str
) -> np.ndarray:
    """Share of the first interval inside the second."""
    inner = np.minimum(upper, other_upper) - np.maximum(lower, other_lower)
    length = upper - lower
    point = length == 0
    share = inner / np.where(point, 1.0, length)
    share = np.where(point, np.where(np.isnan(inner), np.nan, (inner >= 0) * 1.0), share)
    return np.maximum(share, 0.0) if out == "zero" else np.asarray(share)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalOverlap(TableResult):
    """Overlap of confidence intervals, term by term.

    Attributes
    ----------
    overlap : float
        Mean over terms with both intervals (equation 5.18): 1 is the best.
    coverage : float
        Mean share of the original intervals that the released ones cover.
    table : DataFrame
        One row per term and domain: `term`, `domain`, `original`, `released` (estimates),
        `lower_original`, `upper_original`, `lower_released`, `upper_released`, `overlap`,
        `coverage`.
    level : float
        Confidence level; NaN where intervals were given.
    without : int
        Terms that have no interval in one of the files.
    """

    overlap: float
    coverage: float
    table: pd.DataFrame
    level: float
    without: int

    def summary(self) -> str:
        """Return the mean overlap and the worst term."""
        known = self.table["overlap"].dropna()
        text = message(
            "Confidence intervals of {known} estimates overlap by {overlap} on average "
            "(Karr et al., 2006; 100 %: the same intervals, 0: they do not meet). Two "
            "intervals of the same length that are half a length apart overlap by 50 %.",
            known=len(known),
            overlap=percent(self.overlap, 1),
        )
        if len(known):
            worst = self.table.iloc[int(np.nanargmin(self.table["overlap"].to_numpy(float)))]
            text += " " + message(
                "Lowest: {term} ({domain}), {overlap}.",
                term=worst["term"],
                domain=worst["domain"],
                overlap=percent(worst["overlap"], 1),
            )
        if self.without:
            text += " " + message(
                "{without} estimates have no interval in one of the files.", without=self.without
            )
        return text


def finish(table: pd.DataFrame, outside: str, level: float) -> IntervalOverlap:
    """Add overlaps to a table with the four bounds."""
    bounds = [table[name].to_numpy(dtype=np.float64) for name in BOUNDS]
    table = table.assign(overlap=overlap(*bounds, outside=outside), coverage=coverage(*bounds))
    return IntervalOverlap(
        overlap=mean_of(table["overlap"]),
        coverage=mean_of(table["coverage"]),
        table=table,
        level=level,
        without=int(table["overlap"].isna().sum()),
    )


def mean_of(values: pd.Series) -> float:
    """Mean of the values that are known; NaN where there is none."""
    known = values.dropna()
    return float(known.mean()) if len(known) else float("nan")


@same_library
def interval_overlap(
    original: Any,
    released: Any,
    variables: Sequence[str] | str | None = None,
    *,
    statistic: str = "mean",
    by: Sequence[str] | str | None = None,
    gender: str | None = None,
    men: Any = "male",
    women: Any = None,
    weights: Any = None,
    released_weights: Any = None,
    strata: str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    outside: str = "zero",
) -> IntervalOverlap:
    """Compare confidence intervals of estimates from both files.

    Parameters
    ----------
    original, released : tables of n and m records, or intervals
        Intervals: an ``Indicator`` with variance, a ``Bootstrap``, or a DataFrame with columns
        `lower` and `upper` whose index names the terms; then leave out `variables`, and every
        option except `outside`.
    variables : sequence of str
        Columns to estimate from. With the statistic "mean", a column that is not numeric gives
        the share of each of its levels.
    statistic : str
        "mean", "median", "gini", "at_risk_of_poverty", "poverty_gap", "quintile_share_ratio" or
        "gender_pay_gap".
    by : str or sequence of str, optional
        Domains (crossed): an interval for each, besides the one of all records.
    gender, men, women : optional
        Column and levels, for the gender pay gap.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).
    strata, cluster : str, optional
        Design columns that both files have, for the variance.
    level : float
        Confidence level.
    outside : {"zero", "negative"}
        See `overlap`.

    Returns
    -------
    IntervalOverlap
        Missing values are left out of the estimates. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns or options, bad weights, intervals without bounds.

    Notes
    -----
    Normal intervals with linearised variances (``synthpop.indicators``), as if units had been
    drawn with replacement. For a whole population they are the intervals of a sample of its size.
    Karr et al. (2006); Templ (2017), section 5.5.4.

    Examples
    --------
    >>> x = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0], "sex": list("fmfm")})
    >>> interval_overlap(x, x, ["income", "sex"]).table[["term", "overlap"]].values.tolist()
    [['income', 1.0], ['sex=f', 1.0], ['sex=m', 1.0]]
    """
    if variables is None and _are_intervals(original):
        return _given(original, released, outside)
    faults = Faults("overlap of confidence intervals")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, () if variables is None else variables, "variables")
    check_choice(faults, "statistic", statistic, tuple(STATISTICS))
    check_choice(faults, "outside", outside, OUTSIDE)
    check_level(faults, level)
    options = EstimateRequest(files, gender, men, women, strata, cluster, level)
    request = with_domains(faults, options, by)
    if check_both(faults, files, names, "variable"):
        numeric = files.numeric(names) if statistic == "mean" else list(names)
        check_numbers(faults, files, numeric, "variable")
    if statistic == "gender_pay_gap" and gender is None:
        faults.add("gender", "is needed for the gender pay gap", hint="Name its column.")
    faults.raise_if_any()
    tables = []
    for name in names:
        if name in numeric:
            tables.append(domain_table(request, statistic, name, files.x[name], files.y[name]))
        else:
            tables += _shares(request, name, files.x[name], files.y[name])
    if not tables:
        raise InputError.of(
            faults.subject, "variables", "have no value in either file", "Name others."
        )
    table = pd.concat(tables, ignore_index=True)
    return finish(table.drop(columns=["se_original", "se_released"]), outside, float(level))


def _shares(request: EstimateRequest, name: str, x: pd.Series, y: pd.Series) -> list[pd.DataFrame]:
    both, single = common_levels(x, y)
    coded = [encode(column) for column in (x, y)]
    positions = [{level: position for position, level in enumerate(levels)} for _, levels in coded]
    tables = []
    for value in both + single:
        has_value = [
            pd.Series(np.where(codes < 0, np.nan, codes == position.get(value, -2)))
            for (codes, _), position in zip(coded, positions, strict=True)
        ]
        tables.append(domain_table(request, "mean", f"{name}={value}", *has_value))
    return tables


def _are_intervals(item: Any) -> bool:
    if isinstance(item, pd.DataFrame):
        return {"lower", "upper"} <= set(item.columns)
    return isinstance(item, Result)


def _given(original: Any, released: Any, outside: str) -> IntervalOverlap:
    faults = Faults("overlap of confidence intervals")
    check_choice(faults, "outside", outside, OUTSIDE)
    x, y = _as_bounds(faults, original, "original"), _as_bounds(faults, released, "released")
    faults.raise_if_any()
    terms = [*x.index, *(term for term in y.index if term not in x.index)]
    ends = {"estimate": "", "lower": "lower_", "upper": "upper_"}
    columns = {
        f"{prefix}{role}": estimates[column].reindex(terms).to_numpy()
        for column, prefix in ends.items()
        for role, estimates in (("original", x), ("released", y))
    }
    table = pd.DataFrame({"term": terms, "domain": OVERALL, **columns})
    return finish(table, outside, float("nan"))


def _as_bounds(faults: Faults, item: Any, name: str) -> pd.DataFrame:
    """Estimate, lower and upper by term."""
    if not isinstance(item, Indicator) and hasattr(item, "to_frame"):
        item = item.to_frame()
    if isinstance(item, Indicator):
        if item.intervals is None:
            faults.add(name, "has no intervals", hint="Call with_variance() first.")
            return pd.DataFrame()
        labels, values, bounds = [OVERALL, *item.domains], item.values, item.intervals
    elif _are_intervals(item):
        bounds = item[["lower", "upper"]].to_numpy(dtype=np.float64)
        labels = item.index.tolist()
        values = item["estimate"].to_numpy(float) if "estimate" in item else bounds.mean(axis=1)
    else:
        faults.add(name, f"a {type(item).__name__} has no intervals")
        return pd.DataFrame()
    if len(set(labels)) < len(labels):
        faults.add(name, "some terms are named twice")
    if (bounds[:, 0] > bounds[:, 1]).any():
        rows = np.flatnonzero(bounds[:, 0] > bounds[:, 1])
        faults.add(name, "lower bound above the upper one", rows=rows)
    columns = {"estimate": values, "lower": bounds[:, 0], "upper": bounds[:, 1]}
    return pd.DataFrame(columns, index=pd.Index(labels, dtype=object))
