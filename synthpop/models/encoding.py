"""How predictors become cells.

A predictor becomes a digit: 0 where it is missing, 1 + code for a coded column, 1 + class for a
number. Numbers with few distinct values have one class for each of them; other numbers are cut at
weighted deciles, and where the response begins or ends to exist: if nobody under 16 has an economic
status, 16 is a limit, so that no child gets one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.weighted import quantile

FEW_VALUES = 20
FEWEST_BEYOND = 20  # persons without a response beyond a limit, for it to be one
DECILES = tuple(step / 10 for step in range(1, 10))
DECILES_AND_TAILS = (0.01, 0.05, *DECILES, 0.95, 0.975, 0.99)
TABLE_SPAN = 4096
MOST_VALUES = 4096
MOST_CELLS = 2**62
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Encoding:
    """How one predictor becomes a digit."""

    name: str
    size: int  # number of digits, with the digit 0 of missing values
    # float array or None: inner class limits of a numeric predictor; None for a coded one
    breaks: np.ndarray | None = None
    # float array or None, shape (size,): the value that each digit stands for, NaN for digit 0,
    # where the predictor enters models as a number; None where it enters by its classes
    numbers: np.ndarray | None = None


def coded_digits(name: str, n_levels: int) -> Encoding:
    """Return the digits of a coded column."""
    return Encoding(name, n_levels + 1)


def distinct_numbers(values: np.ndarray) -> np.ndarray:
    """Return the distinct values of a column of numbers, ascending, without missing ones."""
    return np.unique(values[~np.isnan(values.astype(np.float64))])


def numeric_digits(
    name: str,
    values: np.ndarray,
    weights: np.ndarray,
    probs: Sequence[float] = DECILES,
    without: np.ndarray | None = None,
) -> Encoding:
    """Choose classes for a numeric predictor; values shape (n,), NaN is missing.

    `without` tells who has no response, shape (n,); see `response_limits`.

    Examples
    --------
    >>> numeric_digits("hsize", np.array([1, 2, 2, 4]), np.ones(4)).breaks.tolist()
    [1.5, 3.0]
    """
    has_value = ~np.isnan(values.astype(np.float64))
    present = values[has_value].astype(np.float64)
    distinct = np.unique(present)
    if len(distinct) <= FEW_VALUES:
        breaks = (distinct[1:] + distinct[:-1]) / 2
    else:
        breaks = np.unique(quantile(present, weights[has_value], probs))
        breaks = breaks[breaks < distinct[-1]]
        if without is not None:
            breaks = np.union1d(breaks, response_limits(present, without[has_value]))
    return Encoding(name, len(breaks) + 2, breaks)


def response_limits(values: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Return the values of a number below or above which nobody has a response.

    A limit lies half-way between the values at its sides, and has 20 persons or more beyond it.

    Examples
    --------
    >>> ages = np.arange(60.0)
    >>> response_limits(ages, ages < 30).tolist()
    [29.5]
    """
    limits = []
    if not without.all():
        first, last = values[~without].min(), values[~without].max()
        if (values < first).sum() >= FEWEST_BEYOND:
            limits.append((values[values < first].max() + first) / 2)
        if (values > last).sum() >= FEWEST_BEYOND:
            limits.append((values[values > last].min() + last) / 2)
    return np.array(limits)


def value_digits(name: str, values: np.ndarray) -> Encoding:
    """Return a digit for each distinct value of a number; values shape (n,), NaN is missing.

    Any other value has the digit of the nearest one, so that a model never goes beyond the
    sample. More than 4,096 distinct values are represented by so many of them, evenly spread over
    their ranks.

    Examples
    --------
    >>> value_digits("age", np.array([30, 20, 30, 60])).numbers.tolist()
    [nan, 20.0, 30.0, 60.0]
    """
    distinct = np.unique(distinct_numbers(values).astype(np.float64))
    if len(distinct) > MOST_VALUES:
        distinct = distinct[np.linspace(0, len(distinct) - 1, MOST_VALUES).round().astype(np.int64)]
    breaks = (distinct[1:] + distinct[:-1]) / 2
    numbers = np.concatenate([[np.nan], distinct if len(distinct) else [0.0]])
    return Encoding(name, len(numbers), breaks, numbers)


def strides(encodings: Sequence[Encoding]) -> tuple[list[int], int]:
    """Return the stride of each predictor and the number of cell codes in all.

    Raises InputError: there are more than 2**62 cell codes.
    """
    steps, total = [], 1
    for digits in encodings:
        steps.append(total)
        total *= digits.size
    if total > MOST_CELLS:
        largest = sorted(encodings, key=lambda one: -one.size)[:SHOWN]
        names = ", ".join(f"{one.name} ({one.size} classes)" for one in largest)
        what = (
            f"{len(encodings)} variables ({names} and others) have "
            f"{float(total):.2g} combinations of classes, "
            f"more than the {float(MOST_CELLS):.2g} that can be told apart"
        )
        raise InputError.of("recipe", "predictors", what, "Name fewer predictors there.")
    return steps, total


def cell_codes(encodings: Sequence[Encoding], columns: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Return the cell code of each person, shape (n,); int32 where it suffices."""
    from synthpop.kernels.cells import add_classes, add_codes, add_table

    steps, total = strides(encodings)
    cells = np.zeros(n, dtype=np.int32 if total < 2**31 else np.int64)
    for digits, step, values in zip(encodings, steps, columns, strict=True):
        stride = cells.dtype.type(step)
        values = values.view()
        values.flags.writeable = False  # one compiled form for columns of surveys and of blocks
        if digits.breaks is None:
            add_codes(cells, values, stride)
        elif values.dtype.kind == "f":
            add_classes(cells, values, digits.breaks, stride)
        else:
            low, table = _table(digits.breaks, values)
            if table is None:
                numbers = values.astype(np.float64)
                numbers.flags.writeable = False
                add_classes(cells, numbers, digits.breaks, stride)
            else:
                add_table(cells, values, low, table.astype(cells.dtype), stride)
    return cells


def _table(breaks: np.ndarray, values: np.ndarray) -> tuple[int, np.ndarray | None]:
    """Encoding of the whole numbers low, low + 1, ..., where the breaks span few of them."""
    if len(breaks) == 0:
        return 0, np.ones(1, dtype=np.int64)
    low, high = int(np.floor(breaks[0])), int(np.ceil(breaks[-1])) + 1
    if high - low > TABLE_SPAN:
        return 0, None
    return low, 1 + np.searchsorted(breaks, np.arange(low, high + 1), side="left")


def split_cells(cells: np.ndarray, encodings: Sequence[Encoding]) -> np.ndarray:
    """Return the digits of cell codes, shape (c, m)."""
    remaining = cells.astype(np.int64)
    digits = np.empty((len(cells), len(encodings)), dtype=np.int64)
    for j, item in enumerate(encodings):
        rest = remaining // item.size
        digits[:, j] = remaining - rest * item.size  # quicker than the remainder of a division
        remaining = rest
    return digits


def distinct_cells(digits: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return a row for each distinct row of digits, (c,), and which of them each row has, (n,)."""
    if digits.shape[1] == 0:
        return np.zeros(1, dtype=np.int64), np.zeros(len(digits), dtype=np.int64)
    code = np.zeros(len(digits), dtype=np.int64)
    for j, size in enumerate(sizes):
        code = code * int(size) + digits[:, j]
        if (j + 1 < len(sizes)) and code.max(initial=0) > 2**40:
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)
