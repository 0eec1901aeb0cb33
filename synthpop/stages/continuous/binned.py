"""The classes of a (semi-)continuous variable: of values, or of what kind of value it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.block import Fallback
from synthpop.microdata.errors import Fault, InputError
from synthpop.microdata.tails import GpdTail, ParetoTail, fit_gpd, fit_pareto, van_kerm_threshold
from synthpop.microdata.weighted import quantile
from synthpop.models.breaks import breaks as quantile_breaks
from synthpop.models.breaks import class_bounds, classify
from synthpop.models.encoding import DECILES_AND_TAILS

FEWEST_IN_TAIL = 20
FEWEST_IN_STEP = 10
MOST_STEPS = 32
ZERO_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of the sample's values; the first is missing.

    Attributes
    ----------
    codes : int array, shape (n_persons,)
    low, high : float arrays, shape (R,)
        Bounds of each class; equal where it is a point.
    modelled : bool
        Whether the values of the last class come from a regression.
    """

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    modelled: bool = False


def with_zeros(values: np.ndarray, weights: np.ndarray, zeros: bool | None) -> bool:
    """Return whether zero is a class of its own: as asked, or more than 0.5 % of the values."""
    there = ~np.isnan(values)
    if zeros is not None or not there.any():
        return bool(zeros)
    return bool(weights[there & (values == 0)].sum() / weights[there].sum() > ZERO_SHARE)


def value_classes(
    values: np.ndarray,
    weights: np.ndarray,
    *,
    zeros: bool,
    breaks: Sequence[float] | None,
    tail: str | None,
    upper: float | None,
    label: str,
    where: np.ndarray,
) -> Classes:
    """Cut values at limits that are given, or at weighted quantiles (book eq. 6.4, 6.5).

    `where` are the rows of the survey's file, for messages. A constant is a class without width.
    """
    limits = np.array([0.0, 1.0])
    if not np.isnan(values).all():
        if breaks is not None:
            limits = np.asarray(breaks, dtype=np.float64)
        else:
            limits = quantile_breaks(values, weights, zeros=zeros, probs=DECILES_AND_TAILS)
            limits = _for_tail(values, weights, limits, tail)
        if upper is not None:
            inner = limits[:-1]
            limits = np.append(inner[inner < upper], upper)
    codes = classify(values, limits, zeros=zeros)
    outside = (codes < 0) & ~np.isnan(values)
    if outside.any():
        what = f"{int(outside.sum())} sample values lie outside {limits[0]:g} ... {limits[-1]:g}"
        rows = tuple(int(row) for row in np.sort(where[outside])[:5])
        remedy = "Widen breaks or upper."
        raise InputError("recipe", [Fault(label, what, rows, int(outside.sum()), remedy)])
    low, high = class_bounds(limits, zeros=zeros)
    high = np.where(high == np.nextafter(low, np.inf), low, high)
    return Classes(codes.astype(np.int64) + 1, _with_missing(low), _with_missing(high))


def _with_missing(bounds: np.ndarray) -> np.ndarray:
    return np.concatenate([[np.nan], bounds])


def kind_classes(values: np.ndarray, *, zeros: bool) -> Classes:
    """Missing, zero where it is a class of its own, and any other value (book eq. 6.8)."""
    codes = np.where(np.isnan(values), 0, 1)
    low, high = [np.nan, -np.inf], [np.nan, np.inf]
    if zeros:
        codes = np.where(~np.isnan(values) & (values != 0), 2, codes)
        low, high = [np.nan, 0.0, -np.inf], [np.nan, 0.0, np.inf]
    return Classes(codes, np.array(low), np.array(high), modelled=True)


def classes_up_to_zero(values: np.ndarray, weights: np.ndarray) -> Classes:
    """Missing, classes of the negative values, zero, and one class of all positive values."""
    limits = np.array([0.0])
    if (values < 0).any():
        points = quantile_breaks(values, weights, zeros=True, probs=DECILES_AND_TAILS)
        limits = np.append(points[points < 0], 0.0)
    codes = classify(np.minimum(values, 0.0), limits, zeros=True).astype(np.int64) + 1
    low, high = class_bounds(limits, zeros=True)
    codes[values > 0] = len(low) + 1
    low, high = np.append(low, 0.0), np.append(high, np.inf)
    return Classes(codes, _with_missing(low), _with_missing(high), modelled=True)


def class_slopes(values: np.ndarray, weights: np.ndarray, classes: Classes) -> np.ndarray:
    """Return the slope of the density in each class, shape (R,), such that its mean is kept.

    With x the place of a value in its class, 0 at the end nearer to zero and 1 at the other, the
    density 1 + s (2 x - 1) has mean 1/2 + s/6. So s = 6 (m - 1/2), m the weighted mean place of
    the sample's values, cut at -1 and 1. It is 0 (uniform) for points, for classes without an end
    and where fewer than 20 values say so.
    """
    first, last = drawing_bounds(classes.low, classes.high)
    wide = np.isfinite(first) & np.isfinite(last) & (first != last)
    here = wide[classes.codes]
    code, width = classes.codes[here], np.where(wide, last - first, 1.0)
    place = (values[here] - first[code]) / width[code]
    n = len(first)
    count = np.bincount(code, minlength=n)
    total = np.bincount(code, weights=weights[here], minlength=n)
    mean = np.bincount(code, weights=weights[here] * place, minlength=n)
    enough = (count >= FEWEST_IN_TAIL) & (total > 0)
    return np.where(enough, np.clip(6 * (mean / np.where(total > 0, total, 1.0) - 0.5), -1, 1), 0.0)


def class_steps(
    values: np.ndarray, weights: np.ndarray, classes: Classes
) -> tuple[np.ndarray, np.ndarray]:
    """Cut each class at weighted quantiles of its values into steps of equal weight.

    A class of n values has min(32, n // 10) steps, one where it is a point or has no end. The inner
    knots are values of the sample: the first that has, from the end nearer to zero, j of the
    steps' shares at least; where many values are equal, so are some knots.

    Returns
    -------
    steps : int array, shape (R,)
    knots : float array, shape (R, most steps + 1)
        From the end nearer to zero to the other; NaN beyond the steps of a class.
    """
    first, last = drawing_bounds(classes.low, classes.high)
    wide = np.isfinite(first) & np.isfinite(last) & (first != last)
    count = np.bincount(classes.codes, minlength=len(first))
    steps = np.where(wide, np.clip(count // FEWEST_IN_STEP, 1, MOST_STEPS), 1)
    knots = np.full((len(first), int(steps.max()) + 1), np.nan)
    for r in np.flatnonzero(steps > 1):
        here = (classes.codes == r) & (weights > 0)
        if not here.any():
            steps[r] = 1
            continue
        sign = 1.0 if last[r] > first[r] else -1.0
        probs = np.arange(1, steps[r]) / steps[r]
        inner = sign * quantile(sign * values[here], weights[here], probs)
        knots[r, : steps[r] + 1] = np.concatenate([[first[r]], inner, [last[r]]])
    return steps, knots


@dataclass(frozen=True, slots=True)
class Inside:
    """How values lie inside their classes; see `synthpop.kernels.draws.draw_in_classes`.

    Attributes
    ----------
    slope : float array, shape (R,)
    steps : int array, shape (R,)
    knots : float array, shape (R, most steps + 1)
    """

    slope: np.ndarray
    steps: np.ndarray
    knots: np.ndarray

    @classmethod
    def of(cls, kind: str, values: np.ndarray, weights: np.ndarray, classes: Classes) -> Inside:
        """Learn it: `kind` "steps", "linear" or "uniform"."""
        n = len(classes.low)
        if kind == "steps":
            return cls(np.zeros(n), *class_steps(values, weights, classes))
        slope = class_slopes(values, weights, classes) if kind == "linear" else np.zeros(n)
        return cls(slope, np.ones(n, dtype=np.int64), np.full((n, 2), np.nan))


def drawing_bounds(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds such that high - u (high - low) is in (low, high], or [low, high) below zero."""
    negative = low < 0
    return np.where(negative, high, low), np.where(negative, low, high)


# tails


def _for_tail(
    values: np.ndarray, weights: np.ndarray, limits: np.ndarray, tail: str | None
) -> np.ndarray:
    """Change the limits such that the highest class has enough values for a tail."""
    positive = values > 0
    if tail == "pareto" and positive.any():
        threshold = van_kerm_threshold(values[positive], weights[positive])
        if (values > threshold).sum() >= FEWEST_IN_TAIL:
            return np.concatenate([limits[limits < threshold], [threshold, limits[-1]]])
    while tail is not None and len(limits) > 2 and limits[-3] > 0:
        if (values > limits[-2]).sum() >= FEWEST_IN_TAIL:
            break
        limits = np.delete(limits, -2)
    return limits


def fit_tail(
    kind: str | None,
    values: np.ndarray,
    weights: np.ndarray,
    threshold: float,
    *,
    bounded: bool,
    label: str,
) -> tuple[GpdTail | ParetoTail | None, tuple[Fallback, ...]]:
    """Fit the distribution of the values of the top class; too few of them have none.

    `bounded` tells that the draws will be cut at an upper bound; without one a Pareto tail must
    have a mean (shape above 1).
    """
    if kind is None:
        return None, ()
    above = values > threshold
    if above.sum() < FEWEST_IN_TAIL:
        what = f"only {int(above.sum())} sample values in the top class: uniform, no tail"
        return None, (Fallback(label, "all", what),)
    if values[~np.isnan(values)].max() <= 0:
        what = "no sample value is positive: uniform, no tail"
        return None, (Fallback(label, "all", what),)
    if kind == "gpd":
        return fit_gpd(values[above], threshold, weights=weights[above], method="mle"), ()
    if threshold <= 0:
        what = f"the top class begins at {threshold:g}, not above zero: uniform, no tail"
        return None, (Fallback(label, "all", what),)
    for method in ("pdc", "hill"):
        try:
            tail = fit_pareto(values, weights=weights, threshold=threshold, method=method)
        except InputError:
            continue
        if bounded or tail.shape > 1:
            what = "no pdc estimate of a Pareto tail that has a mean: hill was used"
            return tail, () if method == "pdc" else (Fallback(label, "all", what),)
    what = "no Pareto tail that has a mean fits the top class: uniform, no tail; set upper"
    return None, (Fallback(label, "all", what),)
