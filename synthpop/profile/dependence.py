"""Columns that are a copy, a class or a function of others, and totals of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.reading.partitions import same_partition

SUM_TOLERANCE = 1e-6
ROWS_OFF = 0.001
FEWEST_ROWS = 20
LARGEST_COPY = 4
NEARER = (0.2, 0.1, 0.04, 0.02)  # of the coefficient of a part to one
THINNED = 200  # rows that tell whether the others need a look
ROWS_WITHIN, MOST_BEYOND = 400, 0.01  # rows that tell parts from others; share that may exceed
ROWS_A_CANDIDATE = 4  # of a total, as `THINNED`
LEAST_SPLIT = 0.75  # share of the totals that are zero or have parts at all


def is_copy(name: str, other: str, frame: pd.DataFrame, codes: Mapping[str, np.ndarray]) -> bool:
    """Whether a column tells nothing beyond another: equal, one to one, or a multiple of it."""
    a, b = codes[name], codes[other]
    if a[0] != b[0] or a[-1] != b[-1]:  # in the order in which values occur
        return False
    if (largest := a.max(initial=0)) + 1 <= len(frame) / LARGEST_COPY:
        return largest > 0 and same_partition(a, b)
    if not (is_number(frame[name]) and is_number(frame[other])):
        return False
    x, y = as_numbers(frame[name]), as_numbers(frame[other])
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return False
    has_value = ~np.isnan(x)
    x, y = x[has_value], y[has_value]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return bool(np.array_equal(x, y))
    if len(x) < FEWEST_ROWS or not (np.ptp(x) > 0 and np.ptp(y) > 0):
        return False
    x, y = (values / max(np.abs(values).max(), np.finfo(float).tiny) for values in (x, y))
    return bool(abs(np.corrcoef(x, y)[0, 1]) > 1 - 1e-12)


def linear_expression(x: np.ndarray, y: np.ndarray, name: str) -> str | None:
    """Return how a number follows from another, such as "2024 - age"; None where it does not.

    x, y: float arrays, shape (n,): the other number and the one that follows
    name: the other number in the language of expressions
    """
    has_value = np.isfinite(x)
    x, y = x[has_value], y[has_value]
    if len(x) < 2 or not np.ptp(x) > 0:
        return None
    low, high = int(x.argmin()), int(x.argmax())
    slope = (y[high] - y[low]) / (x[high] - x[low])
    slope = float(f"{slope:.12g}")
    start = float(f"{y[low] - slope * x[low]:.12g}")
    tolerance = 1e-9 * float(np.abs(y).max())
    start = 0.0 if abs(start) < tolerance else start
    if slope == 0 or not np.allclose(slope * x + start, y, rtol=0, atol=tolerance):
        return None
    term = name if abs(slope) == 1 else f"{abs(slope):.12g} * {name}"
    if slope < 0:
        return f"{start:.12g} - {term}" if start >= 0 else f"-{abs(start):.12g} - {term}"
    return term if start == 0 else f"{term} {'+' if start > 0 else '-'} {abs(start):.12g}"


def may_be_classes(codes: np.ndarray, order: np.ndarray, looked_at: np.ndarray) -> np.ndarray:
    """Whether codes come in one block a level; for columns of shape (n, k), -1 is missing.

    order: rows in the order of a number
    looked_at: bool array, shape (k,); the others are none
    """
    found = looked_at.copy()
    for rows in (order[:: max(1, len(order) // THINNED)], order):  # few rows tell most of them
        some = codes[np.ix_(rows, found)]
        # a missing value continues the block before it
        last = np.maximum.accumulate(np.where(some >= 0, np.arange(len(rows))[:, None], 0), axis=0)
        blocks = np.take_along_axis(some, last, axis=0)
        n_blocks = 1 + np.count_nonzero(np.diff(blocks, axis=0), axis=0) - (blocks[0] < 0)
        levels = np.sort(some, axis=0)
        n_levels = 1 + np.count_nonzero(np.diff(levels, axis=0), axis=0) - (levels[0] < 0)
        found[found] = n_blocks == n_levels
    return found


def class_limits(classes: pd.Series, values: np.ndarray) -> tuple[list[float], list[Any]] | None:
    """Return limits (a, b] and the level of each class, where a column is classes of a number.

    None where classes overlap, or one is given without a number; limits are short numbers.
    """
    has_both = ~np.isnan(values)
    if (classes.notna().to_numpy() & ~has_both).any() or has_both.sum() < 2:
        return None
    has_both &= classes.notna().to_numpy()
    groups = pd.Series(values[has_both]).groupby(classes[has_both].astype(object).to_numpy())
    spans = groups.agg(["min", "max"]).sort_values("min")
    low, high = spans["min"].to_numpy(), spans["max"].to_numpy()
    if len(spans) < 2 or not np.all(low[1:] > high[:-1]):
        return None
    inner = [shortest_between(a, b) for a, b in zip(high[:-1], low[1:], strict=True)]
    return [-np.inf, *inner, np.inf], list(spans.index)


def shortest_between(low: float, high: float) -> float:
    """Return the number with fewest digits in [low, high)."""
    if low <= 0 < high:
        return 0.0
    size = max(abs(low), abs(high))
    step = 10.0 ** np.ceil(np.log10(size))
    for _ in range(20):
        at = float(np.ceil(low / step) * step)
        digits = max(0, int(-np.floor(np.log10(step))))
        at = round(at, digits)
        if low <= at < high:
            return at
        step /= 10
    return float(low)


def parts_of_total(
    total: str, candidates: Sequence[str], columns: Mapping[str, np.ndarray]
) -> tuple[str, ...]:
    """Return the columns that add up to a total; none where there are no such.

    Non-negative least squares of the total on the candidates; those with a coefficient of one are
    the parts, which then must add up to the total but for one row in a thousand. Up to a quarter of
    the totals may have no parts at all, as of persons who were asked for the total only. A missing
    value of a part counts as zero.
    """
    y = columns[total]
    is_finite = np.isfinite(y)
    if is_finite.sum() < FEWEST_ROWS or not np.ptp(y[is_finite]) > 0:
        return ()
    candidates = _within_total(y, candidates, columns)
    usable = [name for name in candidates if np.isfinite(columns[name][is_finite]).any()]
    if len(usable) < 2:
        return ()
    scale = max(float(np.abs(y[is_finite]).max()), 1e-12)
    # 1. Columns that are nearly parts, of totals that have any of these, nearer step by step.
    rows = np.flatnonzero(is_finite & (y != 0))
    step = len(rows) // (ROWS_A_CANDIDATE * len(usable))
    if step > 1:
        few = rows[::step]
        matrix = np.nan_to_num(np.column_stack([columns[name][few] for name in usable]))
        near = np.abs(_coefficients(matrix / scale, y[few] / scale) - 1) < NEARER[0]
        if near.sum() < 2:
            return ()
    matrix = np.nan_to_num(np.column_stack([columns[name][is_finite] for name in usable]))
    y = y[is_finite]
    is_near = np.ones(len(usable), dtype=bool)
    for distance in NEARER:
        rows = matrix[:, is_near].any(axis=1)
        if is_near.sum() < 2 or rows.sum() < FEWEST_ROWS:
            return ()
        is_near = np.abs(_coefficients(matrix[rows] / scale, y[rows] / scale) - 1) < distance
    parts = [name for name, part in zip(usable, is_near, strict=True) if part]
    if len(parts) < 2:
        return ()
    # 2. They add up, but for one row in a thousand.
    values = np.nan_to_num(np.column_stack([columns[name][is_finite] for name in parts]))
    split = values.any(axis=1) | (y == 0)
    gap = np.abs(values.sum(axis=1) - y)[split]
    rounding = max(SUM_TOLERANCE * scale, 0.51 * _unit(y))
    if float(split.mean()) < LEAST_SPLIT or float((gap > rounding).mean()) > ROWS_OFF:
        return ()
    # 3. No part alone is the total for nearly everybody: then the sum says nothing.
    equal = [float(np.mean(np.nan_to_num(columns[part][is_finite]) == y)) for part in parts]
    return () if max(equal) > 0.995 else tuple(parts)


def _within_total(
    y: np.ndarray, candidates: Sequence[str], columns: Mapping[str, np.ndarray]
) -> list[str]:
    """Return the candidates that hardly ever exceed a total by more than losses make up for."""
    rows = np.flatnonzero(np.isfinite(y))
    rows = rows[:: max(1, len(rows) // ROWS_WITHIN)]
    if not candidates:
        return []
    parts = np.nan_to_num(np.column_stack([columns[name][rows] for name in candidates]))
    size = np.abs(y[rows]) * (1 + SUM_TOLERANCE) + 1
    losses = np.maximum(-parts, 0).sum(axis=1)
    exceeds = (parts > (size + losses)[:, None]).mean(axis=0)
    return [name for name, share in zip(candidates, exceeds, strict=True) if share <= MOST_BEYOND]


def _coefficients(matrix: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the coefficients of non-negative least squares; zeros where there is no solution."""
    try:
        coefficients: np.ndarray = nnls(matrix, y, maxiter=50 * matrix.shape[1])[0]
    except RuntimeError:
        return np.zeros(matrix.shape[1])
    return coefficients


def _unit(values: np.ndarray) -> float:
    """Return 0.01 for amounts with cents, 1 for whole numbers, else 0."""
    for unit in (1.0, 0.01):
        if np.allclose(np.rint(values / unit) * unit, values, atol=1e-9):
            return unit * 1e-3
    return 0.0
