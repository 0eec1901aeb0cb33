"""Persons with a pair of values that nobody of the survey has, beside how many chance would give.

A sample does not hold all that its country holds, so some new pairs are to be expected. How many
persons of another sample have one is estimated without a model: the share of the survey's own
persons with a pair that no other household has (Good 1953, doi:10.1093/biomet/40.3-4.237, with
households in place of draws). What a population has beyond that is impossible, or misplaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np


def new_pairs(
    codes: Mapping[str, tuple[np.ndarray, np.ndarray]], household: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return who has a pair that no other household of the survey has, on both sides.

    codes: column -> codes of the survey's persons and of the population's, from 0
    household: int array; household of each person of the survey, ascending

    Examples
    --------
    >>> codes = {"age": (np.array([0, 0, 1]), np.array([0, 1])),
    ...          "job": (np.array([1, 1, 0]), np.array([1, 1]))}
    >>> survey, population = new_pairs(codes, np.array([0, 1, 2]))
    >>> survey.tolist(), population.tolist()
    ([False, False, True], [False, True])
    """
    sides: Sequence[tuple[np.ndarray, np.ndarray]] = list(codes.values())
    n, m = (len(side) for side in sides[0]) if sides else (0, 0)
    alone, new = np.zeros(n, dtype=bool), np.zeros(m, dtype=bool)
    for a, b in combinations(sides, 2):
        width = 1 + max(int(side.max(initial=-1)) for side in b)
        of_survey, of_population = (x * width + y for x, y in zip(a, b, strict=True))
        pair = new_levels((of_survey, of_population), household)
        alone |= pair[0]
        new |= pair[1]
    return alone, new


def new_levels(
    codes: tuple[np.ndarray, np.ndarray], household: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return who has a level that no other household of the survey has, on both sides."""
    of_survey, of_population = codes
    n_codes = 1 + max(int(side.max(initial=-1)) for side in codes)
    first, last = (np.full(n_codes, -1) for _ in range(2))
    first[of_survey[::-1]] = household[::-1]
    last[of_survey] = household
    return (first == last)[of_survey], last[of_population] < 0
