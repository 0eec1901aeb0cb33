"""Class limits of a (semi-)continuous variable and the classes they make.

Limits are weighted quantiles. Where zero is a class of its own, negative values have classes closed
on the left, ``[a, b)``, and positive values classes closed on the right, ``(a, b]``, so that no
class but the middle one holds zero (Templ 2017, equation 6.5); without it the classes follow
equation 6.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults, InputError, MicrodataWarning
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted import as_numbers, clean, quantile

STEPS = tuple(np.arange(1, 10) / 10)
TAIL_STEPS = (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99)


def breaks(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    probs: Sequence[float] | None = None,
    zeros: bool | None = None,
    upper: float | None = None,
    lower: float | None = None,
    equidist: bool = True,
    strata: npt.ArrayLike | None = None,
) -> np.ndarray:
    """Class limits from weighted quantiles.

    Parameters
    ----------
    values : array, shape (n,)
        NaN is left out.
    weights : array, shape (n,), optional
    probs : sequence of float, optional
        Shares between 0 and 1 whose quantiles are the inner limits; overrides `equidist`.
    zeros : bool, optional
        Zero is a class of its own: 0 is a limit, negative values are cut at their own deciles and
        positive values at the wanted quantiles of the positives. Default: where a value is zero.
    upper, lower : float, optional
        Replace the outermost limits, for instance ``upper=np.inf``. A value that would cut off
        data is disregarded, with a warning.
    equidist : bool
        Quantiles in steps of 10 %; otherwise 1, 5, 10, 20, 40, 60, 80, 90, 95 and 99 %.
    strata : array, shape (n,), optional
        Groups (households) that count once: limits are those of the weighted means of the groups,
        each with the mean weight of its members. Members with a missing value are left out.

    Returns
    -------
    array, shape (classes + 1,) or (classes,) with `zeros`
        Strictly increasing limits.

    Raises
    ------
    InputError
        No value is present, shares outside 0 and 1, wrong weights.

    Notes
    -----
    Quantiles are the first value whose cumulated share of weight is at least p. Equal limits are
    merged. A constant variable has limits at the value and just above it. Source: Templ (2017),
    section 6.2.3.1; Alfons, Kraft, Templ and Filzmoser (2011), doi:10.1007/s10260-011-0163-2.

    Examples
    --------
    >>> income = [-20.0, 0.0, 0.0, 10.0, 20.0, 30.0, 40.0]
    >>> breaks(income, probs=[0.5])
    array([-20.,   0.,  20.,  40.])
    >>> breaks(income, probs=[0.5], zeros=False, upper=np.inf)
    array([-20.,  10.,  inf])
    """
    faults = Faults("breaks")
    if probs is None:
        probs = STEPS if equidist else TAIL_STEPS
    probabilities = np.sort(np.asarray(probs, dtype=np.float64))
    if not bool(np.all((probabilities >= 0) & (probabilities <= 1))):
        faults.add("probs", "not between 0 and 1", hint="Give shares, not percent.")
    x, w, _ = clean(values, weights)
    if len(x) == 0:
        faults.add("values", "are all missing", hint="Leave the variable out.")
    faults.raise_if_any()
    if strata is not None:
        x, w = _group_means(values, weights, strata)
    if zeros is None:
        zeros = bool((x == 0).any())
    limits = _around_zero(x, w, probabilities) if zeros else _plain(x, w, probabilities)
    return _outer(limits, lower, upper)


def _group_means(
    values: npt.ArrayLike, weights: npt.ArrayLike | None, strata: npt.ArrayLike
) -> tuple[np.ndarray, np.ndarray | None]:
    """Weighted mean and mean weight of each group, over its members with a value."""
    faults = Faults("breaks")
    x = as_numbers(faults, values, "values")
    w = np.ones(len(x)) if weights is None else as_numbers(faults, weights, "weights")
    group = np.asarray(strata).reshape(-1)
    code = np.zeros(len(group), dtype=np.int64)
    if len(group) != len(x):
        what = f"{plural(len(group), 'group')} for {plural(len(x), 'value')}"
        faults.add("strata", what, hint="One a row.")
    try:
        code = np.unique(group, return_inverse=True)[1].reshape(-1)
    except TypeError:
        faults.add("strata", "are missing or of mixed types", hint="Give ids of one type.")
    faults.raise_if_any()
    usable = ~np.isnan(x) & (w > 0)
    total = np.bincount(code[usable], weights=w[usable], minlength=code.max() + 1)
    sums = np.bincount(code[usable], weights=(w * x)[usable], minlength=code.max() + 1)
    filled = total > 0
    members = np.bincount(code[usable], minlength=code.max() + 1)[filled]
    return sums[filled] / total[filled], None if weights is None else total[filled] / members


def _around_zero(x: np.ndarray, w: np.ndarray | None, probs: np.ndarray) -> np.ndarray:
    below, above = x < 0, x > 0
    parts = [np.zeros(1)]
    if below.any():
        parts.append(quantile(x[below], None if w is None else w[below], (0.0, *STEPS)))
    if above.any():
        shares = np.append(probs, 1.0)
        parts.append(quantile(x[above], None if w is None else w[above], shares))
    return np.unique(np.concatenate(parts))


def _plain(x: np.ndarray, w: np.ndarray | None, probs: np.ndarray) -> np.ndarray:
    limits = np.unique(quantile(x, w, np.concatenate([[0.0], probs, [1.0]])))
    if len(limits) == 1:
        limits = np.append(limits, np.nextafter(limits[0], np.inf))
    return limits


def _outer(limits: np.ndarray, lower: float | None, upper: float | None) -> np.ndarray:
    limits, disregarded = limits.copy(), "{} = {:g} is {} limit {:g} and is disregarded"
    if upper is not None and upper < limits[-1]:
        text = disregarded.format("upper", upper, "below the largest", limits[-1])
        warnings.warn(text, MicrodataWarning, stacklevel=3)
    elif upper is not None:
        limits[-1] = upper
    if lower is not None and lower > limits[0]:
        text = disregarded.format("lower", lower, "above the smallest", limits[0])
        warnings.warn(text, MicrodataWarning, stacklevel=3)
    elif lower is not None:
        limits[0] = lower
    return limits


def with_zero(limits: npt.ArrayLike) -> np.ndarray:
    """Return the limits with 0 added where it is not among them.

    Examples
    --------
    >>> with_zero([10.0, 20.0])
    array([ 0., 10., 20.])
    """
    points = np.asarray(limits, dtype=np.float64)
    if (points == 0).any():
        return points
    return np.insert(points, int(np.searchsorted(points, 0.0)), 0.0)


def classify(
    values: npt.ArrayLike, limits: npt.ArrayLike, *, zeros: bool = True, right: bool = True
) -> np.ndarray:
    """Code values into classes.

    values: array, shape (n,)
    limits: array, shape (b,); strictly increasing class limits (see `breaks`)
    zeros: zero is a class of its own (equation 6.5): classes ``[a, b)`` below zero, then ``0``,
        then ``(a, b]`` above; 0 is added to the limits where it is missing
    right: without `zeros`: classes ``(a, b]`` with the smallest limit included (equation 6.4), or
        ``[a, b)`` with the largest included
    Returns int16 array, shape (n,): class from 0 upwards in the order of `class_labels`; -1 for NaN
        and values outside.

    Examples
    --------
    >>> classify([-1.0, 0.0, 0.5, 10.0, 11.0, np.nan], [-1, 0, 5, 10]).tolist()
    [0, 1, 2, 3, -1, -1]
    >>> classify([0.0, 5.0, 10.0], [0, 5, 10], zeros=False, right=False).tolist()
    [0, 1, 1]
    """
    faults = Faults("classes")
    x = as_numbers(faults, values, "values")
    faults.raise_if_any()
    points = _points(limits, zeros)
    if zeros:
        middle = int(np.flatnonzero(points == 0)[0])
        codes = np.searchsorted(points, x, side="left").astype(np.int16)
        below = np.searchsorted(points[: middle + 1], x, side="right") - 1
        codes = np.where(x < 0, below, codes).astype(np.int16)
        codes[x == 0] = middle
    elif right:
        codes = (np.searchsorted(points, x, side="left") - 1).astype(np.int16)
        codes[x == points[0]] = 0
    else:
        codes = (np.searchsorted(points, x, side="right") - 1).astype(np.int16)
        codes[x == points[-1]] = len(points) - 2
    codes[~((x >= points[0]) & (x <= points[-1]))] = -1
    return codes


def _points(limits: npt.ArrayLike, zeros: bool) -> np.ndarray:
    """Return limits that increase, 0 among them where zero is a class of its own."""
    points = with_zero(limits) if zeros else np.asarray(limits, dtype=np.float64)
    if points.ndim != 1 or len(points) < 1 or not bool(np.all(np.diff(points) > 0)):
        what = "are not strictly increasing numbers"
        raise InputError.of("classes", "limits", what, "Sort them.")
    return points


def class_bounds(limits: npt.ArrayLike, *, zeros: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of each class, in the order of the codes of `classify`.

    limits: array, shape (b,)
    Returns lower, upper: arrays, shape (classes,): both 0 for the class of zeros.

    Examples
    --------
    >>> class_bounds([-1, 0, 5])
    (array([-1.,  0.,  0.]), array([0., 0., 5.]))
    """
    points = _points(limits, zeros)
    lower, upper = points[:-1], points[1:]
    if not zeros:
        return lower.copy(), upper.copy()
    middle = int(np.flatnonzero(points == 0)[0])
    return np.insert(lower, middle, 0.0), np.insert(upper, middle, 0.0)


def class_labels(
    limits: npt.ArrayLike, *, zeros: bool = True, right: bool = True
) -> tuple[str, ...]:
    """Text of each class, in the order of the codes of `classify`.

    Examples
    --------
    >>> class_labels([-3, 0, 2.5])
    ('[-3,0)', '0', '(0,2.5]')
    >>> class_labels([0, 5, 10], zeros=False, right=False)
    ('[0,5)', '[5,10]')
    """
    lower, upper = class_bounds(limits, zeros=zeros)
    last = len(lower) - 1
    labels = []
    for code, (a, b) in enumerate(zip(lower, upper, strict=True)):
        if zeros and a == b:
            labels.append("0")
            continue
        left = "[" if (a < 0 if zeros else (not right or code == 0)) else "("
        end = "]" if (a >= 0 if zeros else (right or code == last)) else ")"
        labels.append(f"{left}{a:.10g},{b:.10g}{end}")
    return tuple(labels)
