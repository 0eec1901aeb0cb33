"""Weighted means, variances, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import LARGEST, check_choice
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted.columns import (
    Missing,
    as_numbers,
    checked_weights,
    clean,
)


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
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the largest float: infinite
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
        if np.iscomplexobj(x):
            raise TypeError
        matrix = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        what = "has columns that are not numbers"
        raise InputError.of("weighted statistic", "x", what, "Leave them out.") from None
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
    check_choice(faults, "missing", missing, ("drop", "propagate"))
    a = as_numbers(faults, x, "x")
    b = a if y is x else as_numbers(faults, y, "y")
    w = None if weights is None else checked_weights(faults, weights, len(a))
    if len(a) != len(b) and not faults:
        faults.add("y", f"{plural(len(b), 'value')} for {len(a)} of x", hint="Give pairs.")
    faults.raise_if_any()
    keep = ~np.isnan(a)
    if b is not a:
        keep &= ~np.isnan(b)
    if missing == "propagate" and not keep.all():
        return float("nan")
    if w is not None:
        keep &= w > 0
    if not keep.all():
        is_variance = b is a
        a = a[keep]
        b = a if is_variance else b[keep]
        w = None if w is None else w[keep]
    return float(statistic(a, b, w))


def _moments(
    a: np.ndarray, b: np.ndarray, w: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, float]:
    if len(a) == 0:
        return a, b, 0.0
    total = float(len(a)) if w is None else float(w.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values have no moments
        da = a - (a.mean() if w is None else np.dot(w, a) / total)
        if b is a:
            return da, da, total
        return da, b - (b.mean() if w is None else np.dot(w, b) / total), total


def _covariance(a: np.ndarray, b: np.ndarray, w: np.ndarray | None) -> float:
    da, db, total = _moments(a, b, w)
    if total <= 1:
        return float("nan")
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the largest float: infinite
        return float(np.dot(da if w is None else w * da, db) / (total - 1))


def _correlation(a: np.ndarray, b: np.ndarray, w: np.ndarray | None) -> float:
    largest = [float(np.abs(values).max(initial=0.0)) for values in (a, b)]
    if max(largest) > LARGEST and np.isfinite(largest).all():  # squares would have no number
        same = b is a
        a = a / max(largest[0], 1.0)
        b = a if same else b / max(largest[1], 1.0)
    da, db, _ = _moments(a, b, w)
    left = da if w is None else w * da
    right = db if w is None else w * db
    scale = np.dot(left, da) * np.dot(right, db)
    return float(np.clip(np.dot(left, db) / np.sqrt(scale), -1, 1)) if scale > 0 else float("nan")
