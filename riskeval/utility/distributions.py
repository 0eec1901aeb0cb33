"""Distances between the distributions of single variables in both files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import FilePair, check_both, check_numbers, ones, read_files
from riskeval.utility.tables import coded_alike
from synthpop.microdata.frame.frames import as_names, as_numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import MOST_TIMES, Whole, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import formatted
from synthpop.microdata.statistics.weighted import quantile


@dataclass(frozen=True, slots=True, eq=False)
class DistributionDistance(TableResult):
    """Distances between distributions, one row per variable; 0 is no loss, 1 the largest.

    Attributes
    ----------
    measure : str
        "Hellinger" or "Kolmogorov-Smirnov".
    table : DataFrame
        `variable`, `distance`; Hellinger also `classes`, Kolmogorov-Smirnov also `at` (the value
        at which the distributions are furthest apart).
    largest : float
    mean : float
    """

    measure: str
    table: pd.DataFrame
    largest: float
    mean: float

    def summary(self) -> str:
        """Return the mean distance and the variable with the largest."""
        text = message(
            "{measure} distance of single variables: {mean} on average",
            measure=self.measure,
            mean=formatted(self.mean, ".4g"),
        )
        known = self.table["distance"].to_numpy(dtype=np.float64)
        if np.isfinite(known).any():
            text += ", " + message("{largest} at most (", largest=formatted(self.largest, ".4g"))
            text += f"{self.table['variable'].iloc[int(np.nanargmax(known))]})"
        return message(
            "{text}; 0: the same distribution, 1: nothing in common. There is no threshold.",
            text=text,
        )


@same_library
def hellinger(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    weights: Any = None,
    released_weights: Any = None,
    classes: int = 20,
    categorical: Sequence[str] = (),
) -> DistributionDistance:
    """Hellinger distance between the distributions of each variable.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str
        Numbers are cut at quantiles of the original; values outside its range are in the first or
        last class. Other columns count by their levels. Missing values are a class of their own.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).
    classes : int, default 20
        Classes of a number (fewer where quantiles coincide).
    categorical : sequence of str
        Numeric columns that count by their levels.

    Returns
    -------
    DistributionDistance

    Raises
    ------
    InputError
        Unknown columns, infinite values, bad weights, fewer than 2 classes.

    Notes
    -----
    sqrt(sum (sqrt(p) - sqrt(q))^2 / 2) with shares p and q.

    Examples
    --------
    >>> x, y = pd.DataFrame({"a": list("ppqq")}), pd.DataFrame({"a": list("pppp")})
    >>> round(hellinger(x, y, "a").largest, 4)
    0.5412
    """
    faults = Faults("Hellinger distance")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    check(faults, {"classes": Whole(2, MOST_TIMES)}, {"classes": classes})
    for name in categorical:
        if name not in names:
            faults.add("categorical", f"{name!r} is not among the variables")
    if check_both(faults, files, names, "variable"):
        numeric = files.numeric(names, categorical)
        check_numbers(faults, files, numeric, "variable")
    faults.raise_if_any()
    rows = []
    for name in names:
        a, b = _cut(files, name, classes) if name in numeric else coded_alike(files, name)[1:]
        size = int(max(a.max(), b.max())) + 2
        p = np.bincount(a + 1, ones(len(a), files.wx), size)
        q = np.bincount(b + 1, ones(len(b), files.wy), size)
        root = np.sqrt(p / p.sum()) - np.sqrt(q / q.sum())
        distance = float(np.sqrt((root**2).sum() / 2))
        rows.append({"variable": name, "distance": distance, "classes": size - 1})
    return _result("Hellinger", rows)


def _cut(files: FilePair, name: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Class of each record, -1 for missing."""
    x, y = as_numbers(files.x[name]), as_numbers(files.y[name])
    edges = np.zeros(0)
    if not np.isnan(x).all():
        probs = np.arange(1, classes) / classes
        edges = np.unique(np.atleast_1d(quantile(x, files.wx, probs)))
    codes = [np.where(np.isnan(v), -1, np.searchsorted(edges, v)) for v in (x, y)]
    return codes[0], codes[1]


@same_library
def kolmogorov_smirnov(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    weights: Any = None,
    released_weights: Any = None,
) -> DistributionDistance:
    """Largest difference between the distribution functions of each numeric variable.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str
        Numeric columns.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).

    Returns
    -------
    DistributionDistance
        Missing values are left out; NaN where a file has nothing else.

    Raises
    ------
    InputError
        Columns that are absent or not numeric, infinite values, bad weights.

    Notes
    -----
    max |F_x - F_y| with weighted empirical distribution functions. A distance, not a test: with
    weights the usual critical values do not hold.

    Examples
    --------
    >>> x, y = pd.DataFrame({"a": [1, 2, 3, 4]}), pd.DataFrame({"a": [3, 4, 5, 6]})
    >>> kolmogorov_smirnov(x, y, "a").largest
    0.5
    """
    faults = Faults("Kolmogorov-Smirnov distance")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    check_numbers(faults, files, names, "variable")
    faults.raise_if_any()
    rows = []
    for name in names:
        x, y = as_numbers(files.x[name]), as_numbers(files.y[name])
        distance, position = _largest_gap(x, y, ones(len(x), files.wx), ones(len(y), files.wy))
        rows.append({"variable": name, "distance": distance, "at": position})
    return _result("Kolmogorov-Smirnov", rows)


def _largest_gap(
    x: np.ndarray, y: np.ndarray, wx: np.ndarray, wy: np.ndarray
) -> tuple[float, float]:
    known_x, known_y = ~np.isnan(x), ~np.isnan(y)
    if not (known_x.any() and known_y.any()):
        return float("nan"), float("nan")
    values = np.r_[x[known_x], y[known_y]]
    steps = np.r_[wx[known_x] / wx[known_x].sum(), -wy[known_y] / wy[known_y].sum()]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    gaps = np.abs(np.cumsum(steps[order]))
    ends = np.r_[ordered[1:] > ordered[:-1], True]
    best = int(np.argmax(np.where(ends, gaps, -1.0)))
    return float(gaps[best]), float(ordered[best])


def _result(measure: str, rows: list[dict[str, object]]) -> DistributionDistance:
    table = pd.DataFrame(rows)
    distances = table["distance"].dropna()  # without any, largest and mean are NaN
    return DistributionDistance(measure, table, float(distances.max()), float(distances.mean()))
