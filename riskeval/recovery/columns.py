"""The columns of a released file as an intruder holds them: codes, levels, numbers, groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.codes import encode
from synthpop.microdata.frames import listed_names

DETERMINANT_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Groups:
    """Records by the value of a column (or of anything else), sorted once.

    Attributes
    ----------
    order : int64 array, shape (m,)
        Rows that have a group, those of one group side by side.
    starts : int64 array, shape (g,)
        Where each group starts in `order`.
    sizes : int64 array, shape (g,)
    """

    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


def group_rows(codes: np.ndarray) -> Groups:
    """Sort rows by code; rows with -1 belong to no group.

    Examples
    --------
    >>> group_rows(np.array([1, 0, -1, 1])).sizes.tolist()
    [1, 2]
    """
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return Groups(order, starts, np.diff(starts, append=len(order)))


@dataclass
class Column:
    """One column: codes with -1 for a hole, the level of each code, and numbers where it has any.

    Attributes
    ----------
    codes : int64 array, shape (n,)
    levels : list
    numbers : float64 array, shape (n,), or None
        NaN for a hole.
    hidden : bool array, shape (n,)
        Cells that were suppressed: what the intruder wants to know.
    """

    name: str
    codes: np.ndarray
    levels: list[Any]
    numbers: np.ndarray | None
    hidden: np.ndarray

    @property
    def holes(self) -> np.ndarray:
        """Rows whose value is still unknown."""
        return np.flatnonzero(self.hidden & (self.codes < 0))

    def fill(self, rows: np.ndarray, codes: np.ndarray) -> None:
        """Put the levels `codes` at `rows`."""
        self.codes[rows] = codes
        if self.numbers is not None:
            self.numbers[rows] = np.array(self.levels, dtype=np.float64)[codes]

    def fill_numbers(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Put numbers at `rows`; a number that is no level yet becomes one."""
        assert self.numbers is not None
        self.numbers[rows] = values
        distinct, which = np.unique(values, return_inverse=True)
        place = {level: code for code, level in enumerate(self.levels)}
        lost = [float(value) for value in distinct if value not in place]
        place.update({value: len(self.levels) + j for j, value in enumerate(lost)})
        self.levels += lost
        codes = np.array([place[value] for value in distinct.tolist()], dtype=np.int64)
        self.codes[rows] = codes[which.reshape(-1)]


@dataclass
class Evidence:
    """All that the intruder has in hand.

    Attributes
    ----------
    columns : dict of str to Column
        Columns of the release.
    household : int64 array, shape (n,), or None
        Number of the household of each record; -1 where the id is missing.
    earlier : dict of str to Column
        Columns of an earlier state of the same records.
    groups : dict
        Groups by column, made when first asked for.
    """

    columns: dict[str, Column]
    household: np.ndarray | None = None
    earlier: dict[str, Column] = field(default_factory=dict)
    groups: dict[tuple[str, int], Groups] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values())).codes)

    def targets(self) -> list[Column]:
        """Columns that still have holes."""
        return [column for column in self.columns.values() if len(column.holes)]

    def groups_of(self, column: Column, source: str = "") -> Groups:
        """Records by the value of a column, anew only when holes of it were filled."""
        key = (source + column.name, int((column.codes >= 0).sum()))
        if key not in self.groups:
            self.groups[key] = group_rows(column.codes)
        return self.groups[key]


def read_column(values: pd.Series, hidden: np.ndarray | None = None) -> Column:
    """Return a column of a frame as codes, levels and numbers.

    Examples
    --------
    >>> read_column(pd.Series([2.0, None], name="size")).holes.tolist()
    [1]
    """
    codes, levels = encode(values)
    codes = codes.astype(np.int64)
    number = pd.api.types.is_numeric_dtype(values.dtype)
    numbers = None
    if number and not pd.api.types.is_bool_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    unknown = codes < 0 if hidden is None else hidden & (codes < 0)
    return Column(str(values.name), codes, list(levels), numbers, unknown)


def can_determine(column: Column) -> bool:
    """Whether the values of a column form groups at all (an identifier has none)."""
    filled = int((column.codes >= 0).sum())
    return 1 < len(column.levels) <= max(DETERMINANT_SHARE * filled, 2)


def household_numbers(values: pd.Series) -> np.ndarray:
    """Number the households, int64, shape (n,); -1 where the id is missing."""
    return np.asarray(pd.factorize(values, use_na_sentinel=True)[0], dtype=np.int64)


def names_of(columns: Sequence[str] | str | None) -> list[str]:
    """Return one name, several or none as a list."""
    if columns is None:
        return []
    return list(listed_names(columns))
