"""Surveys and releases as arrays on the scales of the survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import encode, recode_to
from synthpop.microdata.frame.frames import as_numbers, is_number

FEW_VALUES = 20
"""A number with at most so many distinct values is compared as categories are."""
MISSING = -1e300
STEEPNESS = 4.0
"""A quarter of the distribution apart counts as much as another category."""


@dataclass(frozen=True, slots=True)
class CodedPersons:
    """Persons as arrays of shape (n, p)."""

    values: np.ndarray  # float64: numbers as they are, codes of categories; missing is a value
    places: np.ndarray  # float32: share of the survey below a number, code of a category

    def rows(self, rows: np.ndarray) -> CodedPersons:
        """Return some persons."""
        return CodedPersons(self.values[rows], self.places[rows])


@dataclass(frozen=True, slots=True)
class AuditSpace:
    """Columns that are compared, and the survey's values by which they are scaled."""

    names: tuple[str, ...]
    levels: tuple[tuple[object, ...] | None, ...]  # of categories; None for numbers
    sorted_values: tuple[np.ndarray | None, ...]  # of numbers

    @classmethod
    def of(cls, frame: pd.DataFrame, names: Sequence[str]) -> AuditSpace:
        """Learn the scales from the survey."""
        levels: list[tuple[object, ...] | None] = []
        ordered: list[np.ndarray | None] = []
        for name in names:
            column = frame[name]
            if is_number(column) and column.nunique() > FEW_VALUES:
                values = as_numbers(column)
                ordered.append(np.sort(values[~np.isnan(values)]))
                levels.append(None)
            else:
                levels.append(encode(column)[1])
                ordered.append(None)
        return cls(tuple(names), tuple(levels), tuple(ordered))

    @property
    def numeric(self) -> np.ndarray:
        """Which columns are numbers, bool, shape (p,)."""
        return np.array([one is None for one in self.levels], dtype=bool)

    def index(self, names: Sequence[str]) -> np.ndarray:
        """Return the places of some columns."""
        return np.array([self.names.index(name) for name in names], dtype=np.int64)

    def coded(self, frame: pd.DataFrame) -> CodedPersons:
        """Return a frame on the scales of the survey; what the survey lacks is a value too."""
        n, p = len(frame), len(self.names)
        values, places = np.empty((n, p)), np.empty((n, p), dtype=np.float32)
        for j, name in enumerate(self.names):
            levels, ordered = self.levels[j], self.sorted_values[j]
            if ordered is None:
                assert levels is not None
                codes, unknown = recode_to(frame[name], levels)
                column = codes.astype(np.float64)
                column[unknown] = len(levels)
                values[:, j] = places[:, j] = column
                continue
            column = as_numbers(frame[name])
            absent = np.isnan(column)
            low = np.searchsorted(ordered, column, "left")
            high = np.searchsorted(ordered, column, "right")
            places[:, j] = (low + high) / (2.0 * max(len(ordered), 1))
            places[absent, j] = -9.0
            values[:, j] = np.where(absent, MISSING, column)
        return CodedPersons(values, places)

    def difference(self, j: int, places: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return differences in [0, 1] of one column, of arrays that go together."""
        if self.levels[j] is not None:
            return (places != other).astype(np.float32)
        apart: np.ndarray = np.minimum(np.abs(places - other) * np.float32(STEEPNESS), 1.0)
        return apart
