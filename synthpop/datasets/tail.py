"""Household income, equivalised income and its Pareto tail."""

from __future__ import annotations

import numpy as np

from synthpop.datasets.levels import SCALE_AGE

SLOPE_FROM = 1.2  # the slope of the given incomes is taken between shares 1.2 blend and blend


def equivalence_scale(household: np.ndarray, age: np.ndarray) -> np.ndarray:
    """Modified OECD scale of each household: 1 for an adult, 0.5 for others, 0.3 under 14."""
    old = np.bincount(household, weights=(age >= SCALE_AGE).astype(float))
    young = np.bincount(household) - old
    return 1.0 + 0.5 * (old - 1.0) + 0.3 * young


def pareto_tail(
    income: np.ndarray, persons: np.ndarray, *, share: float, blend: float, shape: float
) -> tuple[np.ndarray, float]:
    """Give incomes an exact Pareto tail without a break in the density, keeping their order.

    On the scale t = -log(share of persons above), the logarithm of a Pareto quantile is a line of
    slope 1 / shape. From the share `blend` on, the slope of the given incomes there is bent
    linearly into that slope, which is reached at `share` and kept.

    income: array, shape (n_households,); equivalised
    persons: array, shape (n_households,); members: the tail is Pareto where persons are counted
    share, blend: share of persons in the tail, and from which the distribution is bent (greater)
    shape: of P(X > x) = share (x / threshold)^-shape
    Returns the incomes, and where the tail starts: NaN where there are too few to change.
    """
    order = np.argsort(income, kind="stable")
    members = persons[order]
    above = (members.sum() - np.cumsum(members) + members / 2) / members.sum()
    base, before = np.searchsorted(-above, [-blend, -SLOPE_FROM * blend])
    unchanged = income.astype(np.float64), float("nan")
    if base >= len(order) or before == base or income[order[before]] <= 0:
        return unchanged
    first, earlier = income[order[base]], income[order[before]]
    start = -np.log(above[base])
    slope = np.log(first / earlier) / (start + np.log(above[before]))
    width = -np.log(share) - start
    if width <= 0:  # a handful of households: nothing lies between the two shares
        return unchanged
    step = -np.log(above[base:]) - start
    bent = np.minimum(step, width)
    rise = slope * bent + (1 / shape - slope) * bent**2 / (2 * width)
    rise += np.maximum(step - width, 0) / shape
    new = income.astype(np.float64)
    new[order[base:]] = first * np.exp(rise)
    return new, float(first * np.exp((slope + 1 / shape) * width / 2))
