"""Predictors that enter a model as numbers, beside those that enter by their levels.

A number has a digit for each of its values; a table of the value that each digit stands for turns
digits into the column of a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Numbers = Sequence[np.ndarray | None]

N_CLASSES = 10


def with_numbers(numbers: Numbers) -> bool:
    """Whether any predictor enters as a number."""
    return any(item is not None for item in numbers)


def levels_seen(
    digits: np.ndarray, sizes: Sequence[int], numbers: Numbers = ()
) -> tuple[np.ndarray, ...]:
    """Return which levels of each predictor a model can tell something about: those that occur.

    Of a number that occurs (`numbers` has the values of its digits, None for others) all values,
    and missing where it occurs.

    Examples
    --------
    >>> levels_seen(np.array([[1], [2]]), [4], [np.array([np.nan, 5.0, 6.0, 7.0])])[0].tolist()
    [False, True, True, True]
    """
    predictors = []
    for j, size in enumerate(sizes):
        seen = np.bincount(digits[:, j], minlength=size) > 0
        if numbers and numbers[j] is not None:
            seen[1:] = seen[1:].any()
        predictors.append(seen)
    return tuple(predictors)


def are_seen(digits: np.ndarray, seen: Sequence[np.ndarray]) -> np.ndarray:
    """Return which cells have only levels that were seen, shape (c,)."""
    known = np.ones(len(digits), dtype=bool)
    for j, levels in enumerate(seen):
        known &= levels[digits[:, j]]
    return known


def number_classes(
    digits: np.ndarray, weights: np.ndarray, numbers: Numbers, n_classes: int = N_CLASSES
) -> tuple[np.ndarray | None, ...]:
    """Return the class of each digit of each number: its values in about equal parts by weight.

    numbers: for each predictor None, or float array, shape (size,), NaN for digit 0
    n_classes: numbers with so many values or fewer in the sample have a class for each
    Missing is 0; a value that the sample does not have is in the class of the next smaller.

    Examples
    --------
    >>> values = np.array([np.nan, 5.0, 6.0, 7.0])
    >>> number_classes(np.array([[1], [1], [3]]), np.ones(3), [values])[0].tolist()
    [0, 1, 1, 2]
    """
    columns: list[np.ndarray | None] = []
    for j, values in enumerate(numbers):
        if values is None:
            columns.append(None)
            continue
        weight = np.bincount(digits[:, j], weights=weights, minlength=len(values))[1:]
        has_weight = weight > 0
        if has_weight.sum() > n_classes:
            middle = (np.cumsum(weight) - weight / 2) / weight.sum()
            rank = np.unique(np.floor(n_classes * middle[has_weight]), return_inverse=True)[1]
        else:
            rank = np.arange(has_weight.sum())
        last = np.maximum(np.cumsum(has_weight) - 1, 0)  # the next smaller value that is there
        classes = 1 + rank.reshape(-1)[last] if has_weight.any() else np.ones(len(values) - 1)
        columns.append(np.concatenate([[0], classes]).astype(np.int64))
    return tuple(columns)


def in_classes(digits: np.ndarray, tables: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return digits with those of numbers replaced by their class; tables may be empty.

    Examples
    --------
    >>> in_classes(np.array([[3, 1]]), [np.array([0, 1, 1, 2]), None]).tolist()
    [[2, 1]]
    """
    if not with_numbers(tables):
        return digits
    columns = [
        digits[:, j] if table is None else table[digits[:, j]] for j, table in enumerate(tables)
    ]
    return np.column_stack(columns)


def scaled_numbers(
    digits: np.ndarray, weights: np.ndarray, numbers: Numbers
) -> tuple[np.ndarray | None, ...]:
    """Return the values of each number's digits with mean 0 and variance 1 in the sample.

    Missing is 0, as an indicator of its own tells it; a constant is 0 throughout.

    Examples
    --------
    >>> scaled_numbers(np.array([[1], [2]]), np.ones(2), [np.array([np.nan, 10.0, 30.0])])[0]
    array([ 0., -1.,  1.])
    """
    splines: list[np.ndarray | None] = []
    for j, values in enumerate(numbers):
        if values is None:
            splines.append(None)
            continue
        has_digit = digits[:, j] > 0
        table = np.zeros(len(values))
        if has_digit.any():
            x, w = values[digits[has_digit, j]], weights[has_digit]
            mean = float(np.average(x, weights=w))
            spread = float(np.sqrt(np.average((x - mean) ** 2, weights=w)))
            if spread > 0:
                table[1:] = (values[1:] - mean) / spread
        splines.append(table)
    return tuple(splines)


def model_columns(
    digits: np.ndarray, seen: Sequence[np.ndarray], tables: Numbers = ()
) -> np.ndarray:
    """Return a constant, a column for each level seen, and one for each number; shape (n, p).

    tables: as `scaled_numbers` returns them; empty: no numbers; a number that is missing somewhere
        has an indicator of that before it

    Examples
    --------
    >>> model_columns(np.array([[1], [2]]), [np.array([False, True, True])]).tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    parts = [np.ones((len(digits), 1))]
    for j, levels in enumerate(seen):
        table = tables[j] if tables else None
        shown = np.flatnonzero(levels if table is None else levels[:1])
        parts.append(digits[:, [j]] == shown[None, :])
        if table is not None:
            parts.append(table[digits[:, [j]]])
    return np.hstack(parts).astype(np.float64)


def learner_columns(
    digits: np.ndarray, seen: Sequence[np.ndarray], ordered: Sequence[bool], numbers: Numbers = ()
) -> np.ndarray:
    """Return the columns that a learner sees.

    One column for each ordered predictor (its digit), one for each level of another, and one for
    the values of each number; a number that is missing somewhere has an indicator of that too,
    and the smallest value in its place.
    """
    parts = [np.zeros((len(digits), 1))]
    for j, levels in enumerate(seen):
        column, values = digits[:, [j]], numbers[j] if numbers else None
        if values is not None:
            if levels[0]:
                parts.append(column == 0)
            parts.append(np.where(column == 0, values[1:].min(), values[column]))
        else:
            parts.append(column if ordered[j] else column == np.flatnonzero(levels)[None, :])
    return np.hstack(parts).astype(np.float64)


def level_terms(
    coefficients: np.ndarray, seen: Sequence[np.ndarray], tables: Numbers = ()
) -> list[np.ndarray]:
    """Return what each digit of each predictor adds, from the coefficients of `model_columns`.

    Coefficients have the shape (p,) or (p, R), terms (size,) or (size, R); 0 for levels not seen.
    """
    groups, first = [], 1
    for j, levels in enumerate(seen):
        table = tables[j] if tables else None
        shown = levels if table is None else levels & (np.arange(len(levels)) == 0)
        terms = np.zeros((len(levels), *coefficients.shape[1:]))
        count = int(shown.sum())
        terms[shown] = coefficients[first : first + count]
        first += count
        if table is not None:
            terms += np.multiply.outer(table, coefficients[first])
            first += 1
        groups.append(terms)
    return groups
