"""The classes of a (semi-)continuous variable: of values, or of what kind of value it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.statistics.tails import van_kerm_threshold
from synthpop.microdata.statistics.weighted import quantile
from synthpop.models.breaks import breaks as quantile_breaks
from synthpop.models.breaks import class_bounds, classify
from synthpop.models.encoding import DECILES_AND_TAILS
from synthpop.models.tilted import rate_of_mean
from synthpop.stages.continuous.tail import FEWEST_IN_TAIL

FEWEST_IN_STEP = 10
MOST_STEPS = 32
ZERO_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of the sample's values; the first is missing.

    codes: int array, shape (n_persons,)
    low, high: float arrays, shape (R,); bounds of each class; equal where it is a point
    modelled: whether the values of the last class come from a regression
    """

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    modelled: bool = False


def with_zeros(values: np.ndarray, weights: np.ndarray, zeros: bool | None) -> bool:
    """Return whether zero is a class of its own: as asked, or more than 0.5 % of the values."""
    has_value = ~np.isnan(values)
    if zeros is not None or not has_value.any():
        return bool(zeros)
    return bool(weights[has_value & (values == 0)].sum() / weights[has_value].sum() > ZERO_SHARE)


def check_ends(
    values: np.ndarray, threshold: float | None, upper: float | None, label: str
) -> None:
    """Refuse an upper bound that most values exceed, and a threshold without values around it."""
    present = values[~np.isnan(values)]
    faults = Faults("recipe")
    if upper is not None and len(present) and 2 * (present > upper).sum() > len(present):
        what = f"upper is {upper:g}, and {int((present > upper).sum())} of {len(present)} sample "
        faults.add(label, f"{what}values are larger", hint="Give a larger value.")
    if threshold is not None and not ((present > threshold).any() and (present < threshold).any()):
        what = f"threshold is {threshold:g}, but no sample values lie on both sides of it"
        faults.add(label, what, hint="Give a value that some sample values exceed.")
    faults.raise_if_any()


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
    return Classes(codes, np.append(np.nan, low), np.append(np.nan, high), modelled=True)


def class_steps(
    values: np.ndarray, weights: np.ndarray, classes: Classes
) -> tuple[np.ndarray, np.ndarray]:
    """Cut each class at weighted quantiles of its values into steps of equal weight.

    A class of n values has min(32, n // 10) steps, one where it is a point or has no end. The inner
    knots are values of the sample: the first that has, from the end nearer to zero, j of the
    steps' shares at least; where many values are equal, so are some knots.

    Returns steps: int array, shape (R,); knots: float array, shape (R, most steps + 1); from the
        end nearer to zero to the other; NaN beyond the steps of a class.
    """
    first, last = drawing_bounds(classes.low, classes.high)
    has_width = np.isfinite(first) & np.isfinite(last) & (first != last)
    count = np.bincount(classes.codes, minlength=len(first))
    steps = np.where(has_width, np.clip(count // FEWEST_IN_STEP, 1, MOST_STEPS), 1)
    knots = np.full((len(first), int(steps.max()) + 1), np.nan)
    knots[:, 0], knots[:, 1] = first, last
    for r in np.flatnonzero(steps > 1):
        of_class = (classes.codes == r) & (weights > 0)
        if not of_class.any():
            steps[r] = 1
            continue
        sign = 1.0 if last[r] > first[r] else -1.0
        probs = np.arange(1, steps[r]) / steps[r]
        inner = sign * quantile(sign * values[of_class], weights[of_class], probs)
        knots[r, : steps[r] + 1] = np.concatenate([[first[r]], inner, [last[r]]])
    return steps, knots


@dataclass(frozen=True, slots=True)
class WithinClass:
    """How values lie inside their classes; see `synthpop.kernels.draws.draw_in_classes`."""

    rate: np.ndarray  # float array, shape (R,)
    steps: np.ndarray  # int array, shape (R,)
    knots: np.ndarray  # float array, shape (R, most steps + 1)

    @classmethod
    def fit(
        cls, kind: str, values: np.ndarray, weights: np.ndarray, classes: Classes
    ) -> WithinClass:
        """Fit it; of `kind` "steps", "exponential" and "uniform" only the last moves means."""
        first, last = drawing_bounds(classes.low, classes.high)
        n = len(first)
        steps, knots = np.ones(n, dtype=np.int64), np.column_stack([first, last])
        if kind == "steps":
            steps, knots = class_steps(values, weights, classes)
        rate = np.zeros(n)
        if kind != "uniform":
            rate = class_rates(values, weights, classes, steps, knots)
        return cls(rate, steps, knots)

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last limit of each class, the one nearer to zero first; shape (R,) both."""
        rows = np.arange(len(self.steps))
        return self.knots[rows, 0], self.knots[rows, self.steps]

    @property
    def has_width(self) -> np.ndarray:
        """Which classes are neither a point nor without an end, shape (R,)."""
        first, last = self.ends
        width: np.ndarray = last - first
        return np.isfinite(width) & (width != 0)

    def draw(self, classes: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Turn uniform numbers in [0, 1) into values of the classes, shape (n,)."""
        from synthpop.kernels.draws import draw_in_classes

        values = np.empty(len(classes))
        law = (*self.ends, self.rate, self.steps, self.knots)
        draw_in_classes(classes, *law, uniforms, values)
        return values

    def quantiles(self, number: int, ranks: np.ndarray) -> np.ndarray:
        """Return the values of a class at ranks from the end nearer to zero, shape (n,)."""
        return self.draw(np.full(len(ranks), number, dtype=np.int16), 1.0 - ranks)


def class_rates(
    values: np.ndarray, weights: np.ndarray, classes: Classes, steps: np.ndarray, knots: np.ndarray
) -> np.ndarray:
    """Return the rate of each class by which its weighted mean is kept, shape (R,).

    A value lies between two neighbouring knots, at the place x from the one to the other, with
    density proportional to exp(-rate x); all steps of a class share the rate. Its mean m and the
    means a of the first and b of the last knots of the steps tell the mean place, (m - a) / (b - a)
    (`synthpop.models.tilted`). It is 0 (uniform) for points, for classes without an end and without
    a value.
    """
    n = len(steps)
    usable = (weights > 0) & ~np.isnan(values)
    total = np.bincount(classes.codes[usable], weights[usable], minlength=n)
    sums = np.bincount(classes.codes[usable], (weights * values)[usable], minlength=n)
    position = np.full(n, 0.5)
    for r in np.flatnonzero(total > 0):
        ends = knots[r, : steps[r] + 1]
        width = ends[-1] - ends[0]
        if np.isfinite(width) and width != 0:
            position[r] = (sums[r] / total[r] - ends[:-1].mean()) / (width / steps[r])
    return rate_of_mean(np.clip(position, 0.0, 1.0))


def drawing_bounds(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds such that high - u (high - low) is in (low, high], or [low, high) below zero."""
    negative = low < 0
    return np.where(negative, high, low), np.where(negative, low, high)


# tails


def limits_for_tail(
    values: np.ndarray,
    weights: np.ndarray,
    limits: np.ndarray,
    tail: str | None,
    threshold: float | None,
) -> np.ndarray:
    """Change the limits such that the highest class begins at the threshold of the tail.

    Without one: such that it has enough values for a tail.
    """
    if threshold is not None:
        return np.concatenate([limits[limits < threshold], [threshold, limits[-1]]])
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
