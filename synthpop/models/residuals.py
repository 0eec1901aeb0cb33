"""What is drawn around the fitted values of a regression, and from which values it is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.microdata.statistics.weighted import quantile

MAD_OF_NORMAL = 0.6744897501960817
IQR_OF_NORMAL = 1.349
BANDWIDTH = 0.225


def trimmed(y: np.ndarray, weights: np.ndarray, trim: tuple[float, float]) -> np.ndarray:
    """Return which values lie strictly between their weighted quantiles (book section 6.2.3.2).

    Shares of `trim` are cut off below and above. The quantiles themselves count as inside where
    else less than half of the weight that should be left would be (many equal values).

    Examples
    --------
    >>> trimmed(np.arange(10.0), np.ones(10), (0.1, 0.2)).tolist()[:2]
    [False, True]
    """
    keep = np.ones(len(y), dtype=bool)
    edges = []
    if trim[0] > 0:
        low = float(quantile(y, weights, [trim[0]])[0])
        keep &= y > low
        edges.append(y < low)
    if trim[1] > 0:
        high = float(quantile(y, weights, [1 - trim[1]])[0])
        keep &= y < high
        edges.append(y > high)
    if weights[keep].sum() < weights.sum() * (1 - sum(trim)) / 2:
        keep = ~np.logical_or.reduce(edges)
    return keep


def residual_table(residuals: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted residuals and their cumulated shares of weight, the last exactly 1."""
    order = np.argsort(residuals, kind="stable")
    cumulative = np.cumsum(weights[order])
    cumulative /= cumulative[-1]
    cumulative[-1] = 1.0
    return residuals[order], cumulative


def median_and_mad(residuals: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return weighted median and standard deviation from the weighted MAD.

    Examples
    --------
    >>> median_and_mad(np.array([-1.0, 0, 1, 100]), np.array([1.0, 2, 1, 0.1]))[0]
    0.0
    """
    middle = float(quantile(residuals, weights, [0.5])[0])
    spread = float(quantile(np.abs(residuals - middle), weights, [0.5])[0])
    return middle, spread / MAD_OF_NORMAL


def around(fitted: np.ndarray, centre: np.ndarray, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return start and stop of the stretch of the sorted fitted values around each centre, (c,).

    reach: how many persons; all that tie with one of them are taken too. Where as many tie with the
        centre, these alone are taken.

    Examples
    --------
    >>> around(np.array([1.0, 2, 3, 3, 9]), np.array([2.9]), 2)
    (array([1]), array([4]))
    """
    d = len(fitted)
    reach = min(reach, d)
    left, right = (np.searchsorted(fitted, centre, side=side) for side in ("left", "right"))
    start = np.clip((left + right - reach) // 2, 0, d - reach)
    return (
        np.searchsorted(fitted, fitted[start], side="left"),
        np.searchsorted(fitted, fitted[start + reach - 1], side="right"),
    )


@dataclass(frozen=True, slots=True)
class Stretches:
    """The residuals of each cell: a stretch of one long table.

    table, cumulative: float arrays, shape (d,); residuals that increase within a stretch, and their
        cumulated shares of its weight
    """

    # start, stop: int arrays, shape (c,)
    start: np.ndarray
    stop: np.ndarray
    width: np.ndarray  # float array, shape (c,): how far from a residual its draws may lie
    table: np.ndarray
    cumulative: np.ndarray


def sorted_stretches(
    start: np.ndarray, stop: np.ndarray, residuals: np.ndarray, weights: np.ndarray
) -> Stretches:
    """Return the residuals of each cell, from `start` to `stop`, sorted, and their bandwidth.

    The width is a quarter of Silverman's bandwidth (1986, eq. 3.31, doi:10.1201/9781315140919),
    0.9 min(sd, IQR / 1.35) n^(-1/5), sd and IQR by weight; without the IQR where it is 0.

    Examples
    --------
    >>> found = sorted_stretches(
    ...     np.array([0, 1]), np.array([2, 3]), np.array([3.0, -1, 0]), np.ones(3)
    ... )
    >>> found.table.tolist(), found.start.tolist(), found.cumulative.tolist()
    ([-1.0, 3.0, -1.0, 0.0], [0, 2], [0.5, 1.0, 0.5, 1.0])
    """
    pairs, which = np.unique(np.column_stack([start, stop]), axis=0, return_inverse=True)
    length = pairs[:, 1] - pairs[:, 0]
    last = np.cumsum(length)
    first = last - length
    entry = np.arange(last[-1]) + np.repeat(pairs[:, 0] - first, length)
    stretch = np.repeat(np.arange(len(pairs)), length)
    order = np.lexsort((residuals[entry], stretch))
    table, w = residuals[entry][order], weights[entry][order]
    total = np.add.reduceat(w, first)
    share = w / np.repeat(total, length)
    cumulative = np.cumsum(share)
    cumulative -= np.repeat(cumulative[first] - share[first], length)
    cumulative[last - 1] = 1.0
    mean = np.add.reduceat(share * table, first)
    spread = np.sqrt(np.add.reduceat(share * (table - np.repeat(mean, length)) ** 2, first))
    low, high = (
        table[first + np.add.reduceat(cumulative < level, first)] for level in (0.25, 0.75)
    )
    robust = np.where(high > low, (high - low) / IQR_OF_NORMAL, spread)
    width = BANDWIDTH * np.minimum(spread, robust) / length**0.2
    which = which.reshape(-1)
    return Stretches(first[which], last[which], width[which], table, cumulative)


def log_constant(y: np.ndarray, weights: np.ndarray) -> float:
    """Choose the constant c of ``log(y + c)``: 0 where all values are positive.

    Otherwise the smallest value comes to lie one weighted interquartile range above zero (or, where
    that is zero, as far as the next value lies from it): near enough for the logarithm to bend,
    far enough that the smallest values do not become outliers.

    Examples
    --------
    >>> log_constant(np.array([1.0, 5.0]), np.ones(2))
    0.0
    >>> log_constant(np.array([-10.0, 0, 30, 50]), np.ones(4)) > 10
    True
    """
    least = float(y.min())
    if least > 0:
        return 0.0
    low, high = quantile(y, weights, [0.25, 0.75])
    distance = float(high - low)
    if distance <= 0:
        above = y[y > least]
        distance = float(above.min() - least) if len(above) else 1.0
    return distance - least
