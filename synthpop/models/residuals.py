"""What is drawn around the fitted values of a regression, and from which values it is learned."""

from __future__ import annotations

import numpy as np

from synthpop.weighted import quantile

MAD_OF_NORMAL = 0.6744897501960817


def trimmed(y: np.ndarray, weights: np.ndarray, trim: tuple[float, float]) -> np.ndarray:
    """Return which values lie strictly between their weighted quantiles (book section 6.2.3.2).

    Parameters
    ----------
    y, weights : float arrays, shape (n,)
    trim : (float, float)
        Shares cut off below and above; 0 cuts off nothing.

    Returns
    -------
    bool array, shape (n,)
        The quantiles themselves count as inside where else less than half of the weight that
        should be left would be (many equal values).

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
