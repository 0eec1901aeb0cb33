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
    values: np.ndarray,
    decimals: int,
    classes: np.ndarray | None = None,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Round numbers; none becomes zero that was not, and none leaves its class.

    ends: float arrays, shape (R,); ends of the classes, nearer to zero and farther from it; the
        nearer one is not part of the class; NaN for none. A class narrower than the last decimal
        keeps its values.

    Examples
    --------
    >>> rounded(np.array([0.2, 1.26, -0.3]), 0).tolist()
    [1.0, 1.0, -1.0]
    """
    unit = 10.0**-decimals
    out = np.round(values, decimals)
    zero = np.flatnonzero(out == 0)
    zero = zero[values[zero] != 0]
    out[zero] = np.copysign(unit, values[zero])
    if classes is None or ends is None:
        return out
    # 1. Values that rounding has moved to the ends of their class, or beyond them.
    is_at_end = out <= np.take(np.minimum(*ends), classes)
    is_at_end |= out >= np.take(np.maximum(*ends), classes)
    at_the_ends = np.flatnonzero(is_at_end & (out != values))
    before, after = values[at_the_ends], out[at_the_ends]
    low, high = (end[classes[at_the_ends]] for end in ends)
    # 2. Inwards by one unit at the nearer end; as they were where that leaves the class.
    sign, edge = np.nan_to_num(np.sign(high - low)), np.nan_to_num(low)
    inwards = (sign != 0) & (sign * (after - edge) <= 0)
    after = np.where(inwards, np.round(after + sign * unit, decimals), after)
    outside = (sign != 0) & (after != before)
    outside &= (sign * (after - high) > 0) | (sign * (after - edge) <= 0)
    out[at_the_ends] = np.where(outside, before, after)
    return out
