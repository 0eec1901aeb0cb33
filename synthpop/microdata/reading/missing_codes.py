"""Numbers that surveys write where there is no answer."""

from __future__ import annotations

import numpy as np

CODES = (-9.0, -8.0, -7.0, -99.0, -999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
SMALLEST_SHARE = 0.001


def suspected_missing_codes(values: np.ndarray) -> list[float]:
    """Return the usual codes for missing that stand far from all other values.

    Negative codes where no other value is negative, positive ones that are more than twice the
    largest other value; each of at least 0.1 % of the values.
    """
    finite_values = values[np.isfinite(values)]
    ordinary = finite_values[~np.isin(finite_values, CODES)]
    if not len(ordinary):
        return []
    return [
        code
        for code in CODES
        if np.mean(finite_values == code) >= SMALLEST_SHARE
        and (ordinary.min() >= 0 if code < 0 else ordinary.max() < code / 2)
    ]
