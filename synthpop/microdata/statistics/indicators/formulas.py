"""Formulas of the indicators and their influence functions, on arrays sorted by value.

In every function `x` (n,) are values in increasing order, `w` (n,) their positive weights. An
influence function returns, for each row, the derivative of the indicator with respect to the
weight of that row (linearised variable; Deville 1999, Osier 2009): the variance of the indicator
is that of the weighted total of these numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.statistics.weighted import sorted_quantiles

EXCEEDED = "exceeded"
LARGE = 1e200


def quantile_of(x: np.ndarray, w: np.ndarray, p: float) -> float:
    """First value whose cumulated share of weight is larger than p; NaN without rows."""
    if len(x) == 0:
        return float("nan")
    return float(sorted_quantiles(x, w, np.array([p]), EXCEEDED)[0])


def ratio(above: float, below: float) -> float:
    """Quotient, NaN where that is not defined."""
    return float(above / below) if below != 0 and np.isfinite(below) else float("nan")


def density(x: np.ndarray, w: np.ndarray, at: float) -> float:
    """Gaussian kernel estimate of the density at one point.

    Bandwidth 0.9 min(sd, interquartile range / 1.34) m^(-1/5), m the effective number of rows
    after Kish (Silverman 1986, equation 3.31). NaN where there is no spread or no mass near.
    """
    total = w.sum()
    effective = total**2 / np.dot(w, w)
    level = np.dot(w, x) / total
    spread = np.sqrt(np.dot(w, (x - level) ** 2) / total)
    low, high = sorted_quantiles(x, w, np.array([0.25, 0.75]))
    if high > low:
        spread = min(spread, (high - low) / 1.34)
    h = 0.9 * spread * effective**-0.2
    if not h > 0:
        return float("nan")
    window = slice(*np.searchsorted(x, [at - 9 * h, at + 9 * h]))
    kernel = np.exp(-0.5 * ((x[window] - at) / h) ** 2)
    height = float(np.dot(w[window], kernel) / (total * h * np.sqrt(2 * np.pi)))
    return height if height > 0 else float("nan")


# ---------------------------------------------------------------- mean, share, quantile


def mean(x: np.ndarray, w: np.ndarray) -> float:
    """sum(w x) / sum(w)."""
    return ratio(float(np.dot(w, x)), float(w.sum()))


def mean_influence(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(x - mean) / sum(w)."""
    return (x - mean(x, w)) / w.sum()


def quantile_influence(x: np.ndarray, w: np.ndarray, p: float) -> np.ndarray:
    """-(1[x <= q] - p) / (N f(q))."""
    q = quantile_of(x, w, p)
    return -((x <= q) - p) / (w.sum() * density(x, w, q))


# ---------------------------------------------------------------- inequality


def gini(x: np.ndarray, w: np.ndarray) -> float:
    """Gini coefficient in percent: A / (N T) - 1 with A = sum_ij w_i w_j max(x_i, x_j)."""
    if len(x) == 0:
        return float("nan")
    largest = max(abs(float(x[0])), abs(float(x[-1])))
    if not np.isfinite(largest):
        return float("nan")
    if largest > LARGE:  # products would exceed the largest float
        x = x / largest
    pairs = 2 * np.dot(w * x, np.cumsum(w)) - np.dot(w * w, x)
    return 100 * (ratio(float(pairs), float(w.sum() * np.dot(w, x))) - 1)


def gini_influence(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """2 M_k / (N T) - (G + 1) (1/N + x_k/T), M_k = sum_j w_j max(x_k, x_j)."""
    size, total = w.sum(), np.dot(w, x)
    above = total - np.cumsum(w * x)
    larger = x * np.cumsum(w) + above
    level = gini(x, w) / 100 + 1
    return 100 * (2 * larger / (size * total) - level * (1 / size + x / total))


def quintile_share_ratio(x: np.ndarray, w: np.ndarray) -> float:
    """Total above the 80 % quantile (NaN where nothing is) over that up to the 20 % quantile."""
    if len(x) == 0:
        return float("nan")
    low, high = sorted_quantiles(x, w, np.array([0.2, 0.8]), EXCEEDED)
    worth = w * x
    poor, rich = x <= low, x > high
    if not rich.any():
        return float("nan")
    return ratio(float(worth[rich].sum()), float(worth[poor].sum()))


def quintile_share_ratio_influence(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Partial sums up to q_p have influence (x - q_p) 1[x <= q_p] + p q_p (Langel, Tillé 2011)."""
    low, high = sorted_quantiles(x, w, np.array([0.2, 0.8]), EXCEEDED)
    bottom = (x - low) * (x <= low) + 0.2 * low
    top = x - ((x - high) * (x <= high) + 0.8 * high)
    poor = float(np.dot(w, x * (x <= low)))
    return (top - quintile_share_ratio(x, w) * bottom) / poor


# ---------------------------------------------------------------- poverty


@dataclass(frozen=True, slots=True)
class Line:
    """The poverty line and what its influence needs."""

    value: float
    # array, shape (n,), or None: None where the line is a given number. Computed only when a
    # variance is wanted.
    influence: np.ndarray | None = None


def poverty_rate(x: np.ndarray, w: np.ndarray, line: float) -> float:
    """Percent of the weight below the line."""
    below = int(np.searchsorted(x, line, side="left"))
    return 100 * ratio(float(w[:below].sum()), float(w.sum()))


def poverty_rate_influence(
    x: np.ndarray, w: np.ndarray, inside: np.ndarray, line: Line
) -> np.ndarray:
    """(1[x < t] - R) / N in the domain, and f(t) times the influence of the line everywhere."""
    xd, wd = x[inside], w[inside]
    rate = poverty_rate(xd, wd, line.value) / 100
    z = np.where(inside, ((x < line.value) - rate) / wd.sum(), 0.0)
    if line.influence is not None:
        z += density(xd, wd, line.value) * line.influence
    return 100 * z


def poverty_gap(x: np.ndarray, w: np.ndarray, line: float) -> float:
    """Percent of the line by which the median of those below it falls short of it."""
    below = int(np.searchsorted(x, line, side="left"))
    return 100 * ratio(line - quantile_of(x[:below], w[:below], 0.5), line)


def poverty_gap_influence(
    x: np.ndarray, w: np.ndarray, inside: np.ndarray, line: Line
) -> np.ndarray:
    """Median m of the poor: F(m) = F(t) / 2, so that I(m) = (I(R)/2 - I(F at m)) / f(m)."""
    xd, wd = x[inside], w[inside]
    below = int(np.searchsorted(xd, line.value, side="left"))
    middle = quantile_of(xd[:below], wd[:below], 0.5)
    rate = poverty_rate_influence(x, w, inside, line) / 100
    share = wd[xd <= middle].sum() / wd.sum()
    at_middle = np.where(inside, ((x <= middle) - share) / wd.sum(), 0.0)
    z_middle = (rate / 2 - at_middle) / density(xd, wd, middle)
    z = -z_middle / line.value
    if line.influence is not None:
        z += middle * line.influence / line.value**2
    return 100 * z


# ---------------------------------------------------------------- pay gap


def _level(
    method: str,
) -> tuple[
    Callable[[np.ndarray, np.ndarray], float], Callable[[np.ndarray, np.ndarray], np.ndarray]
]:
    if method == "mean":
        return mean, mean_influence
    return (lambda x, w: quantile_of(x, w, 0.5), lambda x, w: quantile_influence(x, w, 0.5))


def pay_gap(x: np.ndarray, w: np.ndarray, men: np.ndarray, women: np.ndarray, method: str) -> float:
    """(level of men - level of women) / level of men."""
    level, _ = _level(method)
    high, low = level(x[men], w[men]), level(x[women], w[women])
    return ratio(high - low, high)


def pay_gap_influence(
    x: np.ndarray, w: np.ndarray, men: np.ndarray, women: np.ndarray, method: str
) -> np.ndarray:
    """I(men) low / high^2 - I(women) / high."""
    level, influence = _level(method)
    high, low = level(x[men], w[men]), level(x[women], w[women])
    z = np.zeros(len(x))
    z[men] = influence(x[men], w[men]) * low / high**2
    z[women] = -influence(x[women], w[women]) / high
    return z
