"""Sampling errors of any statistic of households: the delete-a-group jackknife."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GROUPS = 40
MEAN_DEVIATION = float(np.sqrt(2 / np.pi))


def group_jackknife(
    statistic: Callable[[np.ndarray], float],
    n_households: int,
    groups: int = GROUPS,
    units: np.ndarray | None = None,
) -> float:
    """Return the standard error of a statistic from groups of households left out in turn.

    statistic: gets a boolean array, shape (households,), of the households to use
    units: primary sampling unit of each household (default: each is one); unit i is in group i mod
        `groups`

    sqrt((g - 1) / g sum (t_(k) - mean t)^2), Wolter (2007), Introduction to Variance Estimation,
    section 4.2. NaN with fewer than two groups of households.
    """
    unit = np.arange(n_households) if units is None else np.unique(units, return_inverse=True)[1]
    g = min(groups, int(unit.max(initial=-1)) + 1)
    if g < 2:
        return float("nan")
    group = unit % g
    estimates = np.array([statistic(group != k) for k in range(g)])
    return float(np.sqrt((g - 1) / g * np.sum((estimates - estimates.mean()) ** 2)))
