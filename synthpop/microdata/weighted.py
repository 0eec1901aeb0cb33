"""Weighted descriptive statistics on arrays.

Every function takes the values first and the survey weights second; without weights each row
counts once. **Missing values** (NaN) are left out by default (``missing="drop"``);
``missing="propagate"`` gives NaN when there is one. Weights must be finite and not negative; rows
of weight zero count for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.text import plural

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "contingency",
    "correlation",
    "covariance",
    "mean",
    "quantile",
    "standard_deviation",
    "table",
    "variance",
]

Missing = Literal["drop", "propagate"]
Definition = Literal["reached", "exceeded"]
SHARE_TOLERANCE = 1e-12
LARGE = 200_000
BUCKET_BITS = 22


def check_option(faults: Faults, argument: str, value: object, allowed: Sequence[str]) -> None:
    """Note an option that is not one of the allowed ones (without the checks of frames).

    Examples
    --------
    >>> faults = Faults("quantile")
    >>> check_option(faults, "definition", "reach", ("reached", "exceeded"))
    >>> print(faults.found[0])
    definition: 'reach' is not allowed. Did you mean 'reached'? There are: reached, exceeded.
    """
    if value not in allowed:
        faults.add(argument, f"{value!r} is not allowed", remedy=did_you_mean(value, allowed))


def clean(
    values: npt.ArrayLike, weights: npt.ArrayLike | None, missing: str = "drop"
) -> tuple[np.ndarray, np.ndarray | None, bool]:
    """Check values and weights together and leave out missing values.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), or None
    missing : "drop" or "propagate"

    Returns
    -------
    values : float64 array, shape (m,)
        Without NaN and without rows of weight zero.
    weights : float64 array, shape (m,), or None
    blank : bool
        True when `missing` is "propagate" and a value is missing.

    Examples
    --------
    >>> values, weights, blank = clean([1.0, np.nan, 3.0], [1.0, 2.0, 3.0])
    >>> values.tolist(), weights.tolist(), blank
    ([1.0, 3.0], [1.0, 3.0], False)
    """
    faults = Faults("weighted statistic")
    check_option(faults, "missing", missing, ("drop", "propagate"))
    x = as_numbers(faults, values, "values")
    w = None if weights is None else _weights(faults, weights, len(x))
    faults.raise_if_any()
    keep = ~np.isnan(x)
    all_there = bool(keep.all())
    if missing == "propagate" and not all_there:
        return x[:0], None, True
    if w is not None:
        keep &= w > 0
        all_there = bool(keep.all())
    if not all_there:
        x, w = x[keep], None if w is None else w[keep]
    return x, w, False


def as_numbers(faults: Faults, values: npt.ArrayLike, name: str) -> np.ndarray:
    """Return one column as float64, missing values as NaN; note what is not numbers.

    Examples
    --------
    >>> as_numbers(Faults("example"), [1, None], "values")
    array([ 1., nan])
    """
    to_numpy = getattr(values, "to_numpy", None)
    try:
        x = (
            to_numpy(dtype=np.float64, na_value=np.nan)
            if to_numpy is not None
            else np.asarray(values, dtype=np.float64)
        )
    except (TypeError, ValueError):
        faults.add(name, "are not numbers", remedy="Give an array of numbers.")
        return np.empty(0)
    if x.ndim != 1:
        faults.add(name, f"have {x.ndim} dimensions", remedy="Give one column.")
        return np.empty(0)
    return x


def _weights(faults: Faults, weights: npt.ArrayLike, n: int) -> np.ndarray:
    w = as_numbers(faults, weights, "weights")
    if len(w) != n and not faults:
        faults.add(
            "weights", f"{len(w)} weights for {plural(n, 'value')}", remedy="Give one a row."
        )
    bad = ~np.isfinite(w)
    if bad.any():
        faults.add("weights", "missing or infinite", rows=np.flatnonzero(bad))
    negative = w < 0
    if negative.any():
        faults.add("weights", "negative", rows=np.flatnonzero(negative))
    return w


def mean(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, missing: Missing = "drop"
) -> float:
    """Weighted mean, sum(w x) / sum(w).

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    missing : {"drop", "propagate"}
        What to do with NaN among the values.

    Returns
    -------
    float
        NaN when nothing is left.

    Raises
    ------
    InputError
        Values or weights that are not numbers, weights missing, infinite or negative.

    Examples
    --------
    >>> mean([1.0, 2.0, np.nan], [3.0, 1.0, 5.0])
    1.25
    """
    x, w, _ = clean(values, weights, missing)
    if len(x) == 0:
        return float("nan")
    return float(x.mean() if w is None else np.dot(w, x) / w.sum())


def variance(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, missing: Missing = "drop"
) -> float:
    """Weighted variance, sum(w (x - mean)^2) / (sum(w) - 1).

    The divisor reads the weights as numbers of persons: the estimate is that of the variance of
    the population the weights stand for.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
        Should sum to more than 1; otherwise the result is NaN.
    missing : {"drop", "propagate"}

    Returns
    -------
    float

    Examples
    --------
    >>> variance([1.0, 3.0], [2.0, 2.0])
    1.3333333333333333
    """
    return covariance(values, values, weights, missing=missing)  # type: ignore[return-value]


def standard_deviation(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, missing: Missing = "drop"
) -> float:
    """Square root of `variance`.

    Examples
    --------
    >>> standard_deviation([1.0, 3.0, 5.0])
    2.0
    """
    return float(np.sqrt(variance(values, weights, missing=missing)))


def covariance(
    x: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    *,
    missing: Missing = "drop",
) -> float | np.ndarray:
    """Weighted covariance, divisor sum(w) - 1, over the rows where both values are present.

    Parameters
    ----------
    x : array, shape (n,), or matrix (n, p) when `y` is None
    y : array, shape (n,), optional
    weights : array, shape (n,), optional
    missing : {"drop", "propagate"}
        NaN leaves out the row, pair by pair.

    Returns
    -------
    float, or array of shape (p, p)

    Examples
    --------
    >>> covariance([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    2.0
    >>> covariance(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), weights=[1, 2, 1])
    array([[0.66666667, 1.33333333],
           [1.33333333, 2.66666667]])
    """
    return _pairs(_covariance, x, y, weights, missing)


def correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    *,
    missing: Missing = "drop",
) -> float | np.ndarray:
    """Weighted product-moment correlation over the rows where both values are present.

    Means and variances come from those rows too, so that the result stays within -1 and 1 (other
    software mixes in rows where only one of the two is present). NaN where a value is constant.

    Parameters
    ----------
    x : array, shape (n,), or matrix (n, p) when `y` is None
    y : array, shape (n,), optional
    weights : array, shape (n,), optional
    missing : {"drop", "propagate"}

    Returns
    -------
    float, or array of shape (p, p)

    Examples
    --------
    >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0], [1, 1, 2]), 6)
    0.994937
    """
    return _pairs(_correlation, x, y, weights, missing)


def _pairs(
    statistic: Any, x: Any, y: Any, weights: npt.ArrayLike | None, missing: str
) -> float | np.ndarray:
    if y is not None:
        return _one_pair(statistic, x, y, weights, missing)
    try:
        matrix = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        faults = Faults("weighted statistic")
        faults.add("x", "has columns that are not numbers", remedy="Leave them out.")
        faults.raise_if_any()
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    p = matrix.shape[1]
    result = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            pair = _one_pair(statistic, matrix[:, i], matrix[:, j], weights, missing)
            result[i, j] = result[j, i] = pair
    return result


def _one_pair(
    statistic: Any, x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None, missing: str
) -> float:
    faults = Faults("weighted statistic")
    check_option(faults, "missing", missing, ("drop", "propagate"))
    a = as_numbers(faults, x, "x")
    b = a if y is x else as_numbers(faults, y, "y")
    w = None if weights is None else _weights(faults, weights, len(a))
    if len(a) != len(b) and not faults:
        faults.add("y", f"{plural(len(b), 'value')} for {len(a)} of x", remedy="Give pairs.")
    faults.raise_if_any()
    keep = ~np.isnan(a)
    if b is not a:
        keep &= ~np.isnan(b)
    if missing == "propagate" and not keep.all():
        return float("nan")
    if w is not None:
        keep &= w > 0
    if not keep.all():
        same = b is a
        a = a[keep]
        b = a if same else b[keep]
        w = None if w is None else w[keep]
    return float(statistic(a, b, w))


def _moments(
    a: np.ndarray, b: np.ndarray, w: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, float]:
    if len(a) == 0:
        return a, b, 0.0
    total = float(len(a)) if w is None else float(w.sum())
    da = a - (a.mean() if w is None else np.dot(w, a) / total)
    if b is a:
        return da, da, total
    return da, b - (b.mean() if w is None else np.dot(w, b) / total), total


def _covariance(a: np.ndarray, b: np.ndarray, w: np.ndarray | None) -> float:
    da, db, total = _moments(a, b, w)
    if total <= 1:
        return float("nan")
    return float(np.dot(da if w is None else w * da, db) / (total - 1))


def _correlation(a: np.ndarray, b: np.ndarray, w: np.ndarray | None) -> float:
    da, db, _ = _moments(a, b, w)
    left = da if w is None else w * da
    right = db if w is None else w * db
    scale = np.dot(left, da) * np.dot(right, db)
    return float(np.clip(np.dot(left, db) / np.sqrt(scale), -1, 1)) if scale > 0 else float("nan")


def quantile(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    probs: float | Sequence[float] | np.ndarray = (0.0, 0.25, 0.5, 0.75, 1.0),
    *,
    definition: Definition = "reached",
    missing: Missing = "drop",
) -> Any:
    """Weighted quantiles, always values that were observed.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    probs : number or array, shape (q,)
        Between 0 and 1.
    definition : {"reached", "exceeded"}
        "reached": the first sorted value whose cumulated share of weight is at least p.
        "exceeded": the first whose share is larger than p (p = 0 the smallest, p = 1 the largest
        value), the rule behind the income indicators of Eurostat as computed in practice. The two
        differ only where a share equals p. Shares closer than 1e-12 count as equal.
    missing : {"drop", "propagate"}

    Returns
    -------
    float, or array of shape (q,)
        NaN when nothing is left.

    Examples
    --------
    >>> quantile([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4], [0.1, 0.3, 0.31])
    array([1., 2., 3.])
    >>> quantile([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4], 0.3, definition="exceeded")
    3.0
    """
    faults = Faults("weighted quantile")
    p = np.asarray(probs, dtype=np.float64)
    if not bool(np.all((p >= 0) & (p <= 1))):
        faults.add("probs", "not between 0 and 1", remedy="Give shares, not percent.")
    check_option(faults, "definition", definition, ("reached", "exceeded"))
    faults.raise_if_any()
    x, w, _ = clean(values, weights, missing)
    result = _quantiles(x, w, np.atleast_1d(p), definition)
    return float(result[0]) if p.ndim == 0 else result


def _quantiles(x: np.ndarray, w: np.ndarray | None, p: np.ndarray, definition: str) -> np.ndarray:
    n = len(x)
    if n == 0:
        return np.full(len(p), np.nan)
    if w is None:
        place = p * n
        at = np.ceil(place - SHARE_TOLERANCE * n).astype(np.int64) - 1
        if definition == "exceeded":
            at = np.floor(place + SHARE_TOLERANCE * n).astype(np.int64)
        at = np.clip(at, 0, n - 1)
        return np.partition(x, np.unique(at))[at]
    if n >= LARGE:
        return _by_buckets(x, w, p, definition)
    order = np.argsort(x)
    return sorted_quantiles(x[order], w[order], p, definition)


def _by_buckets(x: np.ndarray, w: np.ndarray, p: np.ndarray, definition: str) -> np.ndarray:
    """Quantiles without sorting everything: only the buckets that hold one are sorted.

    The leading bits of a double, read as a whole number, have the order of the values.
    """
    key = (x + 0.0).view(np.int64) >> (64 - BUCKET_BITS)  # + 0.0 makes -0.0 zero
    low = int(key.min())
    if low < 0:  # negative doubles run backwards
        key = np.where(key < 0, -(1 << (BUCKET_BITS - 1)) - 1 - key, key)
        low = int(key.min())
    key -= low
    share = np.cumsum(np.bincount(key, weights=w))
    total = share[-1]
    share = share / total
    side: Literal["left", "right"] = "right" if definition == "exceeded" else "left"
    sign = 1 if definition == "exceeded" else -1
    bucket = np.searchsorted(share, p + sign * SHARE_TOLERANCE, side=side)
    bucket = np.minimum(bucket, int(key.max()))
    result = np.empty(len(p))
    for one in np.unique(bucket):
        inside = np.flatnonzero(key == one)
        order = np.argsort(x[inside])
        values, own = x[inside][order], w[inside][order]
        before = share[one - 1] if one > 0 else 0.0
        reached = before + np.cumsum(own) / total
        wanted = bucket == one
        at = np.searchsorted(reached, p[wanted] + sign * SHARE_TOLERANCE, side=side)
        result[wanted] = values[np.clip(at, 0, len(values) - 1)]
    return result


def sorted_quantiles(
    x: np.ndarray, w: np.ndarray, p: np.ndarray, definition: str = "reached"
) -> np.ndarray:
    """`quantile` of values that are sorted already (no checks).

    Parameters
    ----------
    x, w : arrays, shape (n,)
        Sorted values, their weights (positive).
    p : array, shape (q,)
    definition : {"reached", "exceeded"}

    Returns
    -------
    array, shape (q,)

    Examples
    --------
    >>> sorted_quantiles(np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.array([0.5]))
    array([1.])
    """
    share = np.cumsum(w)
    share /= share[-1]
    if definition == "exceeded":
        at = np.searchsorted(share, p + SHARE_TOLERANCE, side="right")
    else:
        at = np.searchsorted(share, p - SHARE_TOLERANCE, side="left")
    return x[np.clip(at, 0, len(x) - 1)]


def table(
    data: Any,
    weights: npt.ArrayLike | None = None,
    *,
    missing: Literal["drop", "level"] = "drop",
    decimals: int | None = None,
) -> pd.Series:
    """Weighted counts of every combination of categories.

    Parameters
    ----------
    data : Series, array of shape (n,), or DataFrame
        Categorical columns of any type; a category dtype keeps its order and its empty categories.
    weights : array, shape (n,), optional
    missing : {"drop", "level"}
        Rows with a missing category are left out, or counted under NaN (only where there are any).
    decimals : int, optional
        Round the counts (half to even); as they are by default.

    Returns
    -------
    Series named "total"
        One entry for each combination of the levels, zero where there is no row.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["m", "f", "f"], "region": ["A", "A", "B"]})
    >>> table(frame, [1.5, 2.0, 3.0]).unstack().to_numpy()
    array([[2. , 3. ],
           [1.5, 0. ]])
    """
    import pandas as pd

    from synthpop.microdata.codes import encode

    faults = Faults("weighted table")
    check_option(faults, "missing", missing, ("drop", "level"))
    frame = data if isinstance(data, pd.DataFrame) else pd.Series(data).to_frame()
    w = np.ones(len(frame)) if weights is None else _weights(faults, weights, len(frame))
    faults.raise_if_any()
    cell = np.zeros(len(frame), dtype=np.int64)
    keep = np.ones(len(frame), dtype=bool)
    levels = []
    for position in range(frame.shape[1]):
        raw, found = encode(frame.iloc[:, position])
        codes = raw.astype(np.int64)
        gaps = codes < 0
        if missing == "level" and gaps.any():
            codes[gaps] = len(found)
            found = (*found, np.nan)
        else:
            keep &= ~gaps
        cell = cell * max(len(found), 1) + codes
        levels.append(list(found))
    n_cells = int(np.prod([len(found) for found in levels]))
    counts = np.bincount(cell[keep], weights=w[keep], minlength=n_cells)
    if decimals is not None:
        counts = np.round(counts, decimals)
    if len(levels) == 1:
        index: pd.Index = pd.Index(levels[0], name=frame.columns[0])
    else:
        index = pd.MultiIndex.from_product(levels, names=list(frame.columns))
    return pd.Series(counts, index=index, name="total")


def contingency(
    x: Any,
    y: Any,
    weights: npt.ArrayLike | None = None,
    *,
    decimals: int | None = None,
    correction: Literal["none", "yates"] = "none",
) -> float:
    """Pearson's contingency coefficient of two categorical variables, sqrt(X2 / (X2 + n)).

    0 is independence; the largest value is sqrt((k - 1) / k) for a k x k table.

    Parameters
    ----------
    x, y : arrays, shape (n,)
        Of any type; rows where either is missing are left out.
    weights : array, shape (n,), optional
        n of the formula is their sum.
    decimals : int, optional
        Round the cells of the table first; other software rounds to whole numbers (0).
    correction : {"none", "yates"}
        "yates": of a 2 x 2 table, take Yates' correction for continuity.

    Returns
    -------
    float
        NaN where the table is empty.

    Examples
    --------
    >>> round(contingency(["a", "a", "b", "b"], ["p", "p", "q", "q"]), 6)
    0.707107
    """
    import pandas as pd
    from scipy.stats import chi2_contingency

    faults = Faults("contingency")
    check_option(faults, "correction", correction, ("none", "yates"))
    if len(x) != len(y):
        remedy = "Give one value of each for every row."
        faults.add(
            "x, y", f"there are {len(x)} and {plural(len(y), 'value')}: no pairs", remedy=remedy
        )
    faults.raise_if_any()
    frame = pd.DataFrame({"x": pd.Series(x).to_numpy(), "y": pd.Series(y).to_numpy()})
    counts = table(frame, weights, decimals=decimals).unstack().to_numpy()
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if counts.size == 0:
        return float("nan")
    chi2 = float(chi2_contingency(counts, correction=correction == "yates").statistic)
    return float(np.sqrt(chi2 / (chi2 + counts.sum())))
