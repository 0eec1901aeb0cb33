"""Columns of a population as the levels of their two-way tables, and which values go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.statistics.weighted import quantile
from synthpop.models.encoding import distinct_numbers

N_CLASSES = 20  # of a number in a table, of about equal weight
MOST_LEVELS = 24  # of a category in a table; the others are one
FEW_EXCEPTIONS = 0.005  # intervals that are interrupted, for each person
MOST_VALUES = 100  # of a number whose values are told apart


@dataclass(frozen=True, slots=True)
class TableColumn:
    """How a column enters tables: level 0 is missing."""

    name: str
    # int array, shape (levels + 1,), of a category: level of each code + 1; None for a number
    levels: np.ndarray | None
    limits: np.ndarray  # float array: largest value of each class of a number but the last
    # float array: values of a number that are told apart, all of them or none
    values: np.ndarray
    size: int  # number of levels in tables
    n_fine: int  # number of values that are told apart

    @classmethod
    def of(cls, field: Field, column: np.ndarray, weights: np.ndarray) -> TableColumn:
        """Find the levels of a column of the sample."""
        nothing = np.zeros(0)
        if field.kind == "categorical":
            n = len(field.levels)
            known = column >= 0
            counts = np.bincount(column[known], weights[known], n)
            rank = np.empty(n, dtype=np.int64)
            rank[np.argsort(-counts, kind="stable")] = np.arange(n)
            levels = np.concatenate([[0], 1 + np.minimum(rank, MOST_LEVELS)])
            return cls(field.name, levels, nothing, nothing, int(levels.max()) + 1, n + 1)
        numbers = column.astype(np.float64)
        known = ~np.isnan(numbers)
        values = distinct_numbers(column).astype(np.float64)
        shares = np.arange(1, N_CLASSES) / N_CLASSES
        limits = nothing
        if known.any():
            limits = np.unique(quantile(numbers[known], weights[known], probs=shares))
        few = len(values) <= MOST_VALUES
        # else classes, each with its negative values and its zeros apart
        n_fine = len(values) + 1 if few else 3 * (len(limits) + 1) + 1
        return cls(field.name, None, limits, values if few else nothing, len(limits) + 2, n_fine)

    @property
    def has_many_levels(self) -> bool:
        """Whether it is a category some of whose levels are one in tables."""
        return self.levels is not None and self.n_fine > self.size

    def without_tables(self) -> TableColumn:
        """Return the column with a single level in tables."""
        return replace(self, levels=np.zeros(self.n_fine, dtype=np.int64), size=1)

    def coarse(self, column: np.ndarray) -> np.ndarray:
        """Return the level of each person in tables, shape (n,)."""
        if self.levels is not None:
            return self.levels[column.astype(np.int64) + 1]
        numbers = column.astype(np.float64)
        return np.where(np.isnan(numbers), 0, np.searchsorted(self.limits, numbers) + 1)

    def fine(self, column: np.ndarray) -> np.ndarray:
        """Return the number of the value of each person among those told apart, shape (n,)."""
        if self.levels is not None:
            return column.astype(np.int64) + 1
        numbers = column.astype(np.float64)
        if len(self.values):
            place = np.minimum(np.searchsorted(self.values, numbers), len(self.values) - 1) + 1
        else:
            sign = np.nan_to_num(np.sign(numbers)).astype(np.int64) + 1
            place = 3 * np.searchsorted(self.limits, numbers) + sign + 1
        return np.where(np.isnan(numbers), 0, place)


def determines(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether a column is a function of another, and this is no chance.

    one, other: int arrays, shape (n,); half of the persons or more share their value of `one` with
        somebody, and all who do agree in `other`.

    Examples
    --------
    >>> code = np.array([1, 1, 2, 2, 3, 3])
    >>> determines(code, code // 2), determines(code // 2, code)
    (True, False)
    """
    _, cell, counts = np.unique(one, return_inverse=True, return_counts=True)
    low, high = np.full(len(counts), np.iinfo(np.int64).max), np.full(len(counts), -1)
    np.minimum.at(low, cell.reshape(-1), other)
    np.maximum.at(high, cell.reshape(-1), other)
    is_shared = counts > 1
    return bool(counts[is_shared].sum() >= len(one) / 2 and (low == high)[is_shared].all())


def cuts(areas: np.ndarray, numbers: np.ndarray, other: np.ndarray) -> bool:
    """Whether the levels of a category are intervals of a number in every area, as deciles are.

    One interruption for 200 persons is allowed.

    areas, other: int arrays, shape (n,); numbers: float array, shape (n,), NaN missing

    Examples
    --------
    >>> area = np.zeros(6, dtype=int)
    >>> income = np.array([1.0, 2, 3, 4, 5, 6])
    >>> cuts(area, income, np.array([0, 0, 0, 1, 1, 2])), cuts(area, income, area)
    (True, False)
    >>> cuts(area, income, np.array([0, 1, 0, 1, 0, 1]))
    False
    """
    order = np.lexsort([other, np.nan_to_num(numbers, nan=-np.inf), areas])
    area, level = areas[order], other[order]
    n_runs = 1 + int(((area[1:] != area[:-1]) | (level[1:] != level[:-1])).sum())
    n_areas, pairs = len(np.unique(area)), np.unique(area * (int(other.max()) + 1) + other)
    return n_runs - len(pairs) <= FEW_EXCEPTIONS * len(area) and len(pairs) > n_areas


def joined_groups(
    columns: Mapping[str, np.ndarray], numbers: Mapping[str, np.ndarray], areas: np.ndarray
) -> tuple[tuple[str, ...], ...]:
    """Return groups of columns: each by itself, and those of which one tells another exactly.

    columns: values as they are told apart; numbers: those of them that are numbers, as they are
    """
    names = [*columns]
    group = {name: name for name in names}
    for one in names:
        for other in names:
            if one == other or other in numbers:
                continue
            tells = (
                cuts(areas, numbers[one], columns[other])
                if one in numbers
                else determines(columns[one], columns[other])
            )
            if tells:
                old, new = group[other], group[one]
                group = {name: new if at == old else at for name, at in group.items()}
    together = (tuple(n for n in names if group[n] == at) for at in dict.fromkeys(group.values()))
    return tuple(dict.fromkeys([*((name,) for name in names), *together]))


def pair_layout(
    sizes: Sequence[int], n_areas: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return where the cells of the tables of all pairs of columns lie, side by side.

    Returns start, width and stride, shape (p, p) each, as in the kernel `exchange_values`, and the
        number of cells of all tables. The tables of f < g have the shape (areas, size_f, size_g).

    Examples
    --------
    >>> start, width, stride, n_cells = pair_layout([2, 3], n_areas=4)
    >>> int(start[0, 1]), int(width[1, 0]), stride.tolist(), n_cells
    (0, 6, [[0, 3], [1, 0]], 24)
    """
    p, end = len(sizes), 0
    start, width, stride = np.zeros((3, p, p), dtype=np.int64)
    for f in range(p):
        for g in range(f + 1, p):
            start[f, g] = start[g, f] = end
            width[f, g] = width[g, f] = sizes[f] * sizes[g]
            stride[f, g], stride[g, f] = sizes[g], 1
            end += n_areas * sizes[f] * sizes[g]
    return start, width, stride, end
