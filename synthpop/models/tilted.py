"""Densities moved by one parameter so that their mean is a given one.

A number x on (0, 1] with density proportional to exp(-rate x), the truncated exponential, has mean

    m(rate) = 1 / rate - 1 / (exp(rate) - 1),

1/2 for rate 0 (uniform), towards 0 for large rates and towards 1 for large negative ones. The same
change of the rank of a value, x = F(value), changes the mean of any distribution F with one
parameter (exponential tilting of ranks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LARGEST_RATE = 100.0
HALVINGS = 80
NEARLY_UNIFORM = 1e-9
RANKS = 4000


def tilted_uniforms(uniforms: np.ndarray, rate: float | np.ndarray) -> np.ndarray:
    """Turn uniform numbers into draws of density proportional to exp(-rate x), shape as given.

    `rate` is one number, or one for each uniform number.

    Examples
    --------
    >>> tilted_uniforms(np.array([0.25, 0.5, 1.0]), 2.0).round(3).tolist()
    [0.122, 0.283, 1.0]
    """
    even = np.abs(rate) < NEARLY_UNIFORM
    safe_rate = np.where(even, 1.0, rate)
    with np.errstate(over="ignore"):
        drawn = np.where(
            np.abs(safe_rate) < 1.0,
            -np.log1p(uniforms * np.expm1(-safe_rate)) / safe_rate,
            -np.log(1.0 - uniforms + uniforms * np.exp(-safe_rate)) / safe_rate,
        )
    return np.where(even, uniforms, np.clip(drawn, 0.0, 1.0))


def mean_of_rate(rate: np.ndarray) -> np.ndarray:
    """Return the mean of the truncated exponential distribution on (0, 1]; any shape."""
    rate = np.asarray(rate, dtype=np.float64)
    is_near_zero = np.abs(rate) < 1e-3
    safe = np.where(is_near_zero, 1.0, rate)
    return np.where(is_near_zero, 0.5 - rate / 12.0, 1.0 / safe - 1.0 / np.expm1(safe))


def rate_of_mean(mean: np.ndarray) -> np.ndarray:
    """Return the rate whose mean is the given one, at most 100 either way; any shape.

    Examples
    --------
    >>> rates = rate_of_mean(np.array([0.5, 0.1, 0.0]))
    >>> mean_of_rate(rates).round(4).tolist()
    [0.5, 0.1, 0.01]
    """
    mean = np.asarray(mean, dtype=np.float64)
    return np.where(np.abs(mean - 0.5) < NEARLY_UNIFORM, 0.0, _bisected(mean_of_rate, mean))


def _bisected(mean_at: Callable[[np.ndarray], np.ndarray], wanted: np.ndarray) -> np.ndarray:
    """Return the rates, at most 100 either way, at which a falling mean is the one wanted."""
    low, high = np.full(wanted.shape, -LARGEST_RATE), np.full(wanted.shape, LARGEST_RATE)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = mean_at(middle) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2


def ranks_and_shares() -> tuple[np.ndarray, np.ndarray]:
    """Return ranks between 0 and 1, dense near 1, and the share of each; both shape (4000,)."""
    position = (np.arange(RANKS) + 0.5) / RANKS
    return 1.0 - (1.0 - position) ** 3, 3.0 * (1.0 - position) ** 2 / RANKS


def rate_of_ranks(values: np.ndarray, ranks: np.ndarray, shares: np.ndarray, mean: Any) -> Any:
    """Return the rate by which ranks are tilted such that a distribution has the given mean.

    values: float array, shape (n,); quantiles of the distribution at `ranks`
    ranks, shares: float arrays, shape (n,)
    mean: float, or array of any shape, as is the result; at most 100 either way, where the mean is
        beyond what tilting reaches

    Examples
    --------
    >>> ranks, shares = ranks_and_shares()
    >>> round(rate_of_ranks(ranks, ranks, shares, 0.25), 2) == round(float(rate_of_mean(0.25)), 2)
    True
    """

    def mean_of_ranks(rate: np.ndarray) -> np.ndarray:
        from_end = ranks - np.where(rate < 0, 1.0, 0.0)[..., None]
        weights = shares * np.exp(-rate[..., None] * from_end)
        mean: np.ndarray = weights @ values / weights.sum(axis=-1)
        return mean

    rate = _bisected(mean_of_ranks, np.asarray(mean, dtype=np.float64))
    return float(rate) if rate.ndim == 0 else rate
