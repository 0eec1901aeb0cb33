"""Dates of a survey: those that follow from the age, and those that never come after another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from synthpop.profile.household_sums import word

YEAR = 365.2425
NEARLY_ALL = 0.99
MOST_APART = 2 * YEAR  # days between the first and the last interview, and a year of age


def offset_of_date(
    days: np.ndarray, earlier: Mapping[str, np.ndarray], age: np.ndarray | None, name_of_age: str
) -> str | None:
    """Return the expression that a date lies near; None where there is none.

    That is the birth by the age at an earlier date, the birth by the age where the survey took less
    than a year, or the earlier date beyond which it never lies and from which it differs least.

    days: array, shape (n,); days since 1970
    earlier: dict of such arrays; dates that the population has before

    Examples
    --------
    >>> age, day = np.array([30.0, 41.0, 8.0]), np.array([19_800.0, 19_900.0, 19_850.0])
    >>> born = day - np.floor(365.2425 * age + [10, 200, 300])
    >>> offset_of_date(born, {"interview": day}, age, "age")
    'interview - 365.2425 * age'
    """
    if age is not None:
        for name, other in earlier.items():
            rest = days - (other - YEAR * age)
            if _share(rest, -YEAR - 1.5, 1.5) >= NEARLY_ALL:
                return f"{word(name)} - {YEAR} * {name_of_age}"
        rest = days + YEAR * age
        rest = rest[np.isfinite(rest)]
        if len(rest) and np.ptp(rest) <= MOST_APART and np.ptp(days[np.isfinite(days)]) > 5 * YEAR:
            return f"-{YEAR} * {name_of_age}"
    spread: dict[str, float] = {}
    for name, other in earlier.items():
        rest = days - other
        rest = rest[np.isfinite(rest)]
        if len(rest) and (rest.max() <= 0 or rest.min() >= 0):
            spread[name] = float(rest.std())
    return word(min(spread, key=spread.__getitem__)) if spread else None


def _share(values: np.ndarray, low: float, high: float) -> float:
    known = values[np.isfinite(values)]
    return float(np.mean((known >= low) & (known <= high))) if len(known) else 0.0
