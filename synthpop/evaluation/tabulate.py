"""One pass that counts a weighted sample or a population; the same code for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from synthpop.evaluation.factors import Factor
from synthpop.evaluation.grid import Grid
from synthpop.evaluation.source import PopulationChunks
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.runs.chunks import NumberedFrames

ALL = ""


@dataclass(frozen=True, slots=True, eq=False)
class TabulationPlan:
    """What is counted."""

    factors: Mapping[str, Factor]  # dict of Factor: categorical variables, and the groups
    pairs: tuple[tuple[str, str], ...]  # pairs of factors to cross
    grids: Mapping[str, Grid]  # dict of Grid: one for each number
    by: tuple[str, ...]  # factors that numbers are compared by
    # dict of float: weighted mean of each number in the sample; squares are taken around it
    centres: Mapping[str, float]
    # dict of tuple of str: total -> its parts, whose sum is checked person by person
    sums: Mapping[str, tuple[str, ...]]

    def source_columns(self) -> list[str]:
        """Return the columns to read."""
        return list(dict.fromkeys([*(f.name for f in self.factors.values()), *self.grids]))


@dataclass(slots=True)
class NumberCounts:
    """Counts of one number; each dict has the groups of a factor, ``""`` all persons.

    missing, total, absolute: dicts of arrays, shape (groups,); number missing; sums of x and, of
        totals that have parts, of |x|
    """

    cells: dict[str, np.ndarray]  # dict of arrays, shape (groups, cells)
    missing: dict[str, np.ndarray]
    total: dict[str, np.ndarray]
    absolute: dict[str, np.ndarray]
    cell_totals: np.ndarray  # array, shape (cells,): sum of x by cell, all persons
    squares: float = 0.0  # sum of (x - centre)^2, all persons
    # low, high: smallest and largest value
    low: float = np.inf
    high: float = -np.inf

    def add(self, other: NumberCounts) -> None:
        """Add counts of other persons."""
        for name in ("cells", "missing", "total", "absolute"):
            for by, values in getattr(self, name).items():
                values += getattr(other, name)[by]
        self.cell_totals += other.cell_totals
        self.squares += other.squares
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


@dataclass(slots=True)
class Counts:
    """Counts, or sums of weights, of everything in a plan."""

    n: float
    single: dict[str, np.ndarray]
    pairs: dict[tuple[str, str], np.ndarray]
    numbers: dict[str, NumberCounts]
    largest_gap: dict[str, float] = field(default_factory=dict)

    def add(self, other: Counts) -> None:
        """Add counts of other persons."""
        self.n += other.n
        for name, values in self.single.items():
            values += other.single[name]
        for pair, table in self.pairs.items():
            table += other.pairs[pair]
        for name, number in self.numbers.items():
            number.add(other.numbers[name])
        for name, gap in self.largest_gap.items():
            self.largest_gap[name] = max(gap, other.largest_gap[name])


def count(plan: TabulationPlan, chunks: Iterable[tuple[pd.DataFrame, np.ndarray | None]]) -> Counts:
    """Count all chunks of rows, each with its weights or None for weight 1."""
    counts = _empty(plan)
    for frame, weights in chunks:
        if len(frame):
            _add(plan, counts, frame, weights)
    return counts


def count_population(plan: TabulationPlan, source: PopulationChunks) -> Counts:
    """Count every person of a population, portion by portion."""
    counts = _empty(plan)
    for portion in source.map(partial(_count_persons, plan), plan.source_columns()):
        counts.add(portion)
    return counts


def _count_persons(plan: TabulationPlan, frames: NumberedFrames) -> Counts:
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values are counted
        return count(plan, ((frame, None) for _, frame in frames))


def _empty(plan: TabulationPlan) -> Counts:
    size = {name: factor.n_codes for name, factor in plan.factors.items()}
    groups = {ALL: 1, **{name: size[name] for name in plan.by}}
    numbers = {}
    for name, grid in plan.grids.items():
        cells = {by: np.zeros((k, grid.n_cells)) for by, k in groups.items()}
        missing, total, absolute = ({by: np.zeros(k) for by, k in groups.items()} for _ in range(3))
        numbers[name] = NumberCounts(cells, missing, total, absolute, np.zeros(grid.n_cells))
    return Counts(
        n=0.0,
        single={name: np.zeros(k) for name, k in size.items()},
        pairs={(a, b): np.zeros((size[a], size[b])) for a, b in plan.pairs},
        numbers=numbers,
        largest_gap=dict.fromkeys(plan.sums, 0.0),
    )


def _add(
    plan: TabulationPlan, counts: Counts, frame: pd.DataFrame, weights: np.ndarray | None
) -> None:
    codes = {key: f.code(frame[f.name]) for key, f in plan.factors.items()}
    counts.n += len(frame) if weights is None else weights.sum()
    persons = {}
    for name, values in codes.items():
        persons[name] = np.bincount(values, weights, len(counts.single[name]))
        counts.single[name] += persons[name]
    for (a, b), table in counts.pairs.items():
        joint = codes[a] * table.shape[1] + codes[b]
        table += np.bincount(joint, weights, table.size).reshape(table.shape)
    codes[ALL] = np.zeros(len(frame), dtype=np.int64)
    persons[ALL] = np.bincount(codes[ALL], weights, 1)
    values_of = {name: as_numbers(frame[name]) for name in plan.grids}
    for name, values in values_of.items():
        _add_number(plan, counts.numbers[name], name, values, codes, persons, weights)
    for total, parts in plan.sums.items():
        sum_of_parts = np.zeros(len(frame))
        for part in parts:
            sum_of_parts += np.nan_to_num(values_of[part])
        gap = np.abs(sum_of_parts - values_of[total])
        gap = gap[~np.isnan(gap)]
        counts.largest_gap[total] = max(counts.largest_gap[total], float(gap.max(initial=0.0)))


def _add_number(
    plan: TabulationPlan,
    counts: NumberCounts,
    name: str,
    values: np.ndarray,
    codes: Mapping[str, np.ndarray],
    persons: Mapping[str, np.ndarray],
    weights: np.ndarray | None,
) -> None:
    grid, centre = plan.grids[name], plan.centres[name]
    rows = np.flatnonzero(values != 0)  # NaN among them; zeros are counted as the rest
    x = values[rows]
    gaps = np.isnan(x)
    missing, rows, x = rows[gaps], rows[~gaps], x[~gaps]
    w, w_missing = (None if weights is None else weights[at] for at in (rows, missing))
    cells = grid.locate(x)
    weighted = x if w is None else x * w
    if len(x):
        counts.low, counts.high = min(counts.low, float(x.min())), max(counts.high, float(x.max()))
    if len(rows) + len(missing) < len(values):
        counts.low, counts.high = min(counts.low, 0.0), max(counts.high, 0.0)
    counts.cell_totals += np.bincount(cells, weights=weighted, minlength=grid.n_cells)
    counts.squares += _squares(x, w, centre)
    absolute = np.abs(weighted) if name in plan.sums else None
    zeros = None if weights is None else np.flatnonzero(values == 0)
    for by in counts.cells:
        k, everybody = len(counts.total[by]), codes[by]
        row_of_person = everybody[rows]
        joint = cells if by == ALL else row_of_person * grid.n_cells + cells
        added = np.bincount(joint, w, k * grid.n_cells).reshape(k, grid.n_cells)
        n_missing = np.bincount(everybody[missing], w_missing, k)
        if zeros is None or weights is None:
            n_zero = persons[by] - n_missing - added.sum(axis=1)
        else:
            n_zero = np.bincount(everybody[zeros], weights[zeros], k)
        added[:, grid.zero_cell] += n_zero
        if by == ALL:
            counts.squares += centre * centre * float(n_zero[0])
        counts.cells[by] += added
        counts.missing[by] += n_missing
        counts.total[by] += np.bincount(row_of_person, weights=weighted, minlength=k)
        if absolute is not None:
            counts.absolute[by] += np.bincount(row_of_person, weights=absolute, minlength=k)


def _squares(x: np.ndarray, w: np.ndarray | None, centre: float) -> float:
    gaps = x - centre
    return float(gaps @ gaps) if w is None else float((gaps * w) @ gaps)
