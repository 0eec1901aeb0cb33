"""Amounts with as many decimals as the survey has."""

from __future__ import annotations

import numpy as np

MOST_DECIMALS = 6
NEARLY = 1e-12


def decimals_of(values: np.ndarray) -> int | None:
    """Return how many decimals numbers have, None for more than six; NaN is left out.

    Examples
    --------
    >>> decimals_of(np.array([1.25, 3.5, np.nan])), decimals_of(np.array([1 / 3]))
    (2, None)
    """
    present = values[np.isfinite(values)]
    room = NEARLY * np.maximum(np.abs(present), 1.0)
    for decimals in range(MOST_DECIMALS + 1):
        if (np.abs(np.round(present, decimals) - present) <= room).all():
            return decimals
    return None


def rounded(
    values: np.ndarray, decimals: int, low: np.ndarray | None = None, high: np.ndarray | None = None
) -> np.ndarray:
    """Round numbers; none becomes zero that was not, and none leaves its class.

    values: float array, shape (n,)
    low, high: float arrays, shape (n,); ends of the class of each value, nearer to zero and farther
        from it; the nearer one is not part of the class; NaN for none. A class narrower than the
        last decimal keeps its values.

    Examples
    --------
    >>> rounded(np.array([0.2, 1.26, -0.3]), 0).tolist()
    [1.0, 1.0, -1.0]
    """
    unit = 10.0**-decimals
    out = np.round(values, decimals)
    out = np.where((out == 0) & (values != 0), np.copysign(unit, values), out)
    if low is None or high is None:
        return out
    sign = np.nan_to_num(np.sign(high - low))
    edge = np.nan_to_num(low)
    inwards = (sign != 0) & (sign * (out - edge) <= 0) & (out != values)
    out = np.where(inwards, np.round(out + sign * unit, decimals), out)
    outside = (
        (sign != 0) & (out != values) & ((sign * (out - high) > 0) | (sign * (out - edge) <= 0))
    )
    return np.where(outside, values, out)
