"""The columns of a released file as an intruder holds them: codes, levels, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_numeric
from synthpop.microdata.frame.codes import encode, run_starts
from synthpop.microdata.frame.frames import as_numbers, is_number, listed_names
from synthpop.microdata.messages.errors import Faults

DETERMINANT_SHARE = 0.9
CLOSE = 1e-6
"""Numbers that differ by less are the same, as a part of the larger and of 1."""


@dataclass(frozen=True)
class HomesOfRecords:
    """Households of the records, and what their rows alone tell."""

    # int64 array, shape (n,): household of each record; -1 where the id is missing
    number: np.ndarray

    @cached_property
    def n_rows(self) -> np.ndarray:
        """Rows of the household of each record, int64, shape (n,); -1 without a household."""
        sizes = np.bincount(self.number[self.number >= 0], minlength=1)
        return np.where(self.number >= 0, sizes[self.number], -1)

    @cached_property
    def place(self) -> np.ndarray:
        """Place of each record among the members, in the order of the file; -1 without."""
        order = np.argsort(self.number, kind="stable")[np.count_nonzero(self.number < 0) :]
        starts = np.flatnonzero(run_starts(self.number[order]))
        n_members = np.diff(starts, append=len(order))
        place = np.full(len(self.number), -1, dtype=np.int64)
        place[order] = np.arange(len(order)) - np.repeat(starts, n_members)
        return place


@dataclass
class Column:
    """One column: codes with -1 for a hole, levels of codes, and numbers where it has any."""

    name: str
    codes: np.ndarray  # int64 array, shape (n,)
    levels: Any  # values of the codes: a sorted list, or any array where nothing is hidden
    numbers: np.ndarray | None  # float64 array, shape (n,), or None: NaN for a hole
    # bool array, shape (n,): cells that were suppressed: what the intruder wants to know
    hidden: np.ndarray

    @cached_property
    def holes(self) -> np.ndarray:
        """Rows whose value is still unknown; found again after some were filled."""
        return np.flatnonzero(self.hidden & (self.codes < 0))

    @cached_property
    def error_of_guessing(self) -> float:
        """Share of wrong guesses of who always says the commonest level; anew after a filling."""
        return error_of_guessing(self.codes)

    def without(self, cells: np.ndarray) -> Column:
        """Return a copy in which `cells`, bool, shape (n,), are hidden."""
        numbers = None if self.numbers is None else np.where(cells, np.nan, self.numbers)
        hidden = cells & (self.codes >= 0)
        codes = np.where(cells, -1, self.codes)
        return Column(self.name, codes, list(self.levels), numbers, hidden)

    def agrees(self, other: Column, rows: np.ndarray) -> np.ndarray:
        """Whether this column has the values of another one with these levels at `rows`."""
        same = np.asarray(self.codes[rows] == other.codes[rows])
        if self.numbers is None or other.numbers is None:
            return same
        return same | np.isclose(self.numbers[rows], other.numbers[rows], CLOSE, CLOSE)

    def fill(self, rows: np.ndarray, codes: np.ndarray) -> None:
        """Put the levels `codes` at `rows`."""
        self.codes[rows] = codes
        self._forget()
        if self.numbers is not None:
            self.numbers[rows] = np.array(self.levels, dtype=np.float64)[codes]

    def fill_numbers(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Put numbers at `rows`; a number that is not a level yet becomes one."""
        assert self.numbers is not None
        self.numbers[rows] = values
        distinct, which = np.unique(values, return_inverse=True)
        place = {level: code for code, level in enumerate(self.levels)}
        new_levels = [float(value) for value in distinct if value not in place]
        place.update({value: len(self.levels) + j for j, value in enumerate(new_levels)})
        self.levels += new_levels
        codes = np.array([place[value] for value in distinct.tolist()], dtype=np.int64)
        self.codes[rows] = codes[which.reshape(-1)]
        self._forget()

    def _forget(self) -> None:
        for name in ("holes", "error_of_guessing"):
            self.__dict__.pop(name, None)


@dataclass
class Evidence:
    """All that the intruder has in hand."""

    columns: dict[str, Column]  # dict of str to Column: columns of the release
    household: HomesOfRecords | None = None
    # dict of str to Column: columns of an earlier state of the same records
    earlier: dict[str, Column] = field(default_factory=dict)
    # names of columns that were filled in the last round; None before the first
    changed: set[str] | None = None

    def targets(self) -> list[Column]:
        """Columns that still have holes."""
        return [column for column in self.columns.values() if len(column.holes)]

    def is_new(self, *columns: Column) -> bool:
        """Whether any of these columns of the release was filled since the rules last saw it."""
        return self.changed is None or any(column.name in self.changed for column in columns)

    def without(self, hidden: Mapping[str, np.ndarray]) -> Evidence:
        """Return the evidence with the cells of `hidden` (bool, shape (n,), by column) taken out.

        Columns that keep their cells, and the households, are shared with this one.
        """
        columns = {name: self.columns[name].without(cells) for name, cells in hidden.items()}
        return replace(self, columns=self.columns | columns)


def read_column(values: pd.Series, hidden: np.ndarray | None = None) -> Column:
    """Return a column of a frame as codes, levels and numbers.

    Examples
    --------
    >>> read_column(pd.Series([2.0, None], name="size")).holes.tolist()
    [1]
    """
    codes, levels = encode(values)
    codes = codes.astype(np.int64)
    numbers = as_numbers(values).copy() if is_number(values) else None
    unknown = codes < 0 if hidden is None else hidden & (codes < 0)
    return Column(str(values.name), codes, list(levels), numbers, unknown)


def read_source(values: pd.Series) -> Column:
    """Return a column that only tells others; the levels of numbers are not sorted."""
    nothing = np.zeros(len(values), dtype=bool)
    if not is_number(values):
        return read_column(values, nothing)
    codes, levels = pd.factorize(values, use_na_sentinel=True)
    return Column(str(values.name), codes.astype(np.int64), levels, as_numbers(values), nothing)


def error_of_guessing(codes: np.ndarray) -> float:
    """Share of wrong guesses of who always says the commonest code; -1 is left out."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    return float(1.0 - counts.max() / counts.sum()) if counts.sum() else 0.0


def can_determine(column: Column) -> bool:
    """Whether the values of a column form groups at all (an identifier has none)."""
    filled = np.count_nonzero(column.codes >= 0)
    return 1 < len(column.levels) <= max(DETERMINANT_SHARE * filled, 2)


def read_households(values: pd.Series) -> HomesOfRecords:
    """Number the households of a column of ids."""
    return HomesOfRecords(np.asarray(pd.factorize(values, use_na_sentinel=True)[0], dtype=np.int64))


def names_of(columns: Sequence[str] | str | None) -> list[str]:
    """Return one name, several or none as a list."""
    return [] if columns is None else list(listed_names(columns))


def check_components(
    faults: Faults, frame: pd.DataFrame, components: Mapping[str, Sequence[str]]
) -> None:
    """Note totals and parts that are not numbers, and totals without two parts."""
    for total, parts in components.items():
        check_numeric(faults, frame, [total, *parts], "components")
        if len(parts) < 2 or total in parts:
            faults.add("components", f"{total!r} has no two parts beside itself")
