"""Classes of age: five years, finer where the survey shows that something begins."""

from __future__ import annotations

import itertools

import numpy as np

CHILDREN = (4.0, 9.0, 14.0)
YOUNG = (17.0, 19.0, 24.0)
FIRST_OLD = 79.0
LARGEST_START = 30.0
FEWEST_OTHERS = 30
MOST_STARTS = 6


def first_age(age: np.ndarray, special: np.ndarray) -> float | None:
    """Return the youngest age with a value; None where some are below one year, or none.

    special: persons whose value is missing, zero or what all young children have
    """
    others_have_age = ~special & np.isfinite(age)
    if others_have_age.sum() < FEWEST_OTHERS:
        return None
    start = float(age[others_have_age].min())
    return start if 1 <= start <= LARGEST_START and (age < start).any() else None


def level_of_children(codes: np.ndarray, age: np.ndarray) -> int | None:
    """Return the level that all children under five have, if there is one."""
    codes_of_children = codes[age < 5]
    if len(codes_of_children) < 5:
        return None
    first = codes_of_children[0]
    return int(first) if (codes_of_children == first).all() else None


def age_breaks(age: np.ndarray, starts: list[float]) -> tuple[float, ...]:
    """Return limits (a, b] of age classes: five years, and the last age before each start."""
    ages = age[np.isfinite(age)]
    if not len(ages) or ages.min() == ages.max():
        return ()
    low, high = float(np.floor(ages.min())), float(np.ceil(ages.max()))
    limits = {*CHILDREN, *YOUNG, *np.arange(29.0, FIRST_OLD + 1, 5).tolist()}
    limits |= {float(np.ceil(start)) - 1 for start in starts}
    inner = sorted(limit for limit in limits if low < limit < high)
    counts = np.histogram(ages, [-np.inf, *inner, np.inf])[0]
    while len(inner) > 1 and counts[-1] < FEWEST_OTHERS:  # few of the oldest
        inner.pop()
        counts = np.histogram(ages, [-np.inf, *inner, np.inf])[0]
    return (low - 1, *inner, max(high, 120.0 if high > 60 else high))


def class_labels(breaks: tuple[float, ...], *, of_birth: bool = False) -> list[str]:
    """Return the text of each class of whole years; of years of birth, the first one is open.

    Examples
    --------
    >>> class_labels((-1.0, 4.0, 15.0, 16.0, 120.0))
    ['0-4', '5-15', '16', '17+']
    >>> class_labels((1903.0, 1949.0, 2007.0, 2024.0), of_birth=True)
    ['before 1950', '1950-2007', '2008-2024']
    """
    texts = []
    for below, last in itertools.pairwise(breaks):
        first = int(below) + 1
        texts.append(f"{first}" if first == int(last) else f"{first}-{int(last)}")
    if of_birth:
        return [f"before {int(breaks[1]) + 1}", *texts[1:]]
    return [*texts[:-1], f"{int(breaks[-2]) + 1}+"]
