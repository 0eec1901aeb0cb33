"""What the values of one column are: numbers, whole numbers, ages, codes of a classification."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import as_numbers, is_date, is_number
from synthpop.microdata.messages.parameters import LARGEST

FEW_NUMBERS = 30
FEWEST_AMOUNTS = 5
OLDEST, FEWEST_AGES = 125, 20
FEWEST_YEARS, ENOUGH_FOR_YEARS = 40, 400  # distinct whole ages, of so many persons
OLD_AT_LEAST, YOUNG_AT_MOST, MOST_OF_AN_AGE = 70, 18, 0.06  # of ages that no name tells
ROWS_A_CODE, MOST_CODES = 5, 2_000
UNEVEN, MOST_HEAPED, MOST_SMOOTH = 5.0, 0.2, 0.65
# of ids in any order: mean step; distance from a straight line
WIDEST_STEP, LEAST_UNIFORM = 20, 0.1


def number_column(column: pd.Series) -> np.ndarray | None:
    """Return a numeric column as float64, NaN where it is missing; None for another kind.

    Dates are days or seconds since 1970; immense numbers, which cannot be added up, another kind.
    """
    if not (is_number(column) or is_date(column)):
        return None
    values = as_numbers(column)
    size = np.abs(values)
    return None if bool(np.any((size > LARGEST) & ~np.isinf(size))) else values


def are_whole(values: np.ndarray) -> bool:
    """Whether there are values and all of them are whole numbers."""
    finite_values = values[np.isfinite(values)]
    return bool(len(finite_values)) and bool(np.all(finite_values == np.rint(finite_values)))


def may_be_ages(values: np.ndarray | None) -> bool:
    """Whether these are whole numbers in the range of ages, of everybody, with many values."""
    if values is None or not bool(np.all((values >= -1) & (values <= OLDEST))):
        return False
    return are_whole(values) and len(np.unique(values)) >= FEWEST_AGES


def run_as_ages(values: np.ndarray) -> bool:
    """Whether ages run from the young to the old without gap, none with too large a share."""
    distinct, n = np.unique(values, return_counts=True)
    low, high = distinct[0], distinct[-1]
    is_full = len(distinct) >= max(FEWEST_YEARS, 0.9 * (min(high, 80) - low))
    in_range = 0 <= low <= YOUNG_AT_MOST and high >= OLD_AT_LEAST
    return bool(is_full and in_range and n.max() <= MOST_OF_AN_AGE * len(values))


def are_years(values: np.ndarray | None) -> bool:
    """Whether numbers with the name of an age are years, not classes or codes of ages."""
    if values is None or not are_whole(values):
        return values is not None
    known = np.unique(values[np.isfinite(values)])
    in_steps = len(known) > 1 and np.gcd.reduce(np.diff(known).astype(np.int64)) > 1
    few = len(values) >= ENOUGH_FOR_YEARS and len(known) < FEWEST_YEARS
    return not (few or in_steps or known[-1] < FEWEST_AGES)


def are_seldom_equal(values: np.ndarray) -> bool:
    """Whether hardly two persons share a number other than the commonest: amounts of a few.

    Examples
    --------
    >>> are_seldom_equal(np.array([0, 0, 0, 830, 1215, 1460, 2311, 5020.0]))
    True
    >>> are_seldom_equal(np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 4.0]))
    False
    """
    counts = np.unique(values[np.isfinite(values)], return_counts=True)[1]
    others = np.delete(counts, np.argmax(counts)) if len(counts) else counts
    return len(others) >= FEWEST_AMOUNTS and bool(len(others) > others.sum() / 2)


def look_like_codes(values: np.ndarray) -> bool:
    """Whether whole numbers are codes of a classification, not amounts.

    Codes are positive; neighbouring codes have unlike counts, which the roundness of the number
    does not explain, as it does for amounts that people round. Counts beside each other c and
    their mean m with both neighbours differ by chance with a variance of 1.5 m.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> codes = 10 * np.sort(rng.choice(900, 200, replace=False)) + 1000.0
    >>> shares = rng.gamma(0.5, size=200)
    >>> look_like_codes(rng.choice(codes, 5000, p=shares / shares.sum()))
    True
    >>> look_like_codes(rng.lognormal(5, 1, 5000).round()), look_like_codes(np.arange(300.0))
    (False, False)
    """
    values = values[np.isfinite(values)]
    if not are_whole(values) or values.min() < 1:
        return False
    distinct, counts = np.unique(values, return_counts=True)
    if not FEW_NUMBERS < len(distinct) <= min(MOST_CODES, len(values) / ROWS_A_CODE):
        return False
    rounds = [distinct % unit == 0 for unit in (5, 10, 50, 100, 500, 1_000, 10_000)]
    roundness = np.sum(rounds, axis=0, dtype=float)
    heaped = float(np.average(roundness, weights=counts) - roundness.mean())
    # the commonest value may be a limit at which numbers are cut
    inner = np.delete(counts, np.argmax(counts)).astype(float)
    mean = (inner[:-2] + inner[2:]) / 2
    uneven = np.mean((inner[1:-1] - mean) ** 2 / (1.5 * np.maximum((inner[1:-1] + mean) / 2, 0.5)))
    smooth = float(np.corrcoef(np.log(inner[1:]), np.log(inner[:-1]))[0, 1])
    return bool(uneven > UNEVEN and abs(heaped) < MOST_HEAPED and not smooth > MOST_SMOOTH)


def look_like_ids(values: np.ndarray) -> bool:
    """Whether whole numbers, each of which occurs once, are ids and not amounts.

    Ids are in order, have the same number of digits, or lie close and evenly.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> amounts = np.unique(rng.lognormal(9, 1, 2000).round())
    >>> look_like_ids(rng.permutation(500) + 1.0), look_like_ids(rng.permutation(amounts))
    (True, False)
    """
    if not are_whole(values) or len(np.unique(values)) < len(values):
        return False
    ordered = np.sort(values)
    low, high = float(ordered[0]), float(ordered[-1])
    if np.array_equal(ordered, values) or (low > 0 and len(f"{low:.0f}") == len(f"{high:.0f}")):
        return True
    even = np.linspace(0.0, 1.0, len(values))
    distance = float(np.max(np.abs((ordered - low) / (high - low) - even)))
    return high - low < WIDEST_STEP * len(values) and distance < LEAST_UNIFORM
