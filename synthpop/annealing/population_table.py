"""A finished population as a frame with its households and regions numbered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_unique_frame, check_columns
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import Faults

ALL = "all"
FEW_VALUES = 50
DIGITS = 4  # of numbers whose distribution is compared

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PopulationTable:
    """A population as a frame with its households and regions numbered."""

    frame: pd.DataFrame  # DataFrame, one row per person
    household: str | None  # column of household ids; None where every person stands alone
    index: np.ndarray  # int64 array, shape (n_persons,): household of each person
    # int64 array, shape (n_persons,): rows with the members of a household side by side
    order: np.ndarray
    offsets: np.ndarray  # int64 array, shape (n_households + 1,)
    region: np.ndarray  # int64 array, shape (n_households,)
    levels: tuple[Any, ...]  # names of the regions
    # bool array, shape (n_households,): households of the population, or of the part of it that is
    # worked on; the others are donors from elsewhere
    home: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Members of each household, shape (n_households,)."""
        return np.diff(self.offsets)

    @property
    def first_rows(self) -> np.ndarray:
        """Row of the first member of each household, shape (n_households,)."""
        return self.order[self.offsets[:-1]]


def take_table(
    population: Any, household: str | None, split: str | None, faults: Faults
) -> PopulationTable:
    """Number the households and regions of a population; what is wrong with them is raised.

    household: column of household ids. Default: that of a Population; else every person stands
        alone.
    split: column of regions, equal for all members of a household
    """
    if callable(getattr(population, "frame", None)):  # a Population
        household = household or population.roles.household
        population = population.frame()
    frame = as_unique_frame(population, "population")
    if household is not None and check_columns(faults, frame, [household], "household"):
        missing = np.flatnonzero(frame[household].isna())
        if len(missing):
            what = "household is missing"
            faults.add(household, what, rows=missing, hint="Every row needs one.")
    if split is not None:
        check_columns(faults, frame, [split], "split")
    if len(frame) == 0:
        faults.add("population", "has no rows")
    faults.raise_if_any()
    index = np.arange(len(frame), dtype=np.int64)
    if household is not None:
        index = pd.factorize(frame[household])[0].astype(np.int64)
    sizes = np.bincount(index)
    in_order = bool((np.diff(index) >= 0).all())
    order = np.arange(len(index)) if in_order else np.argsort(index, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    region, levels = _regions(frame, split, index, order[offsets[:-1]], faults)
    faults.raise_if_any()
    home = np.ones(len(sizes), dtype=bool)
    return PopulationTable(frame, household, index, order, offsets, region, levels, home)


def _regions(
    frame: pd.DataFrame, split: str | None, index: np.ndarray, first: np.ndarray, faults: Faults
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return the region of each household (`first`: a row of it) and the names of the regions."""
    if split is None:
        return np.zeros(len(first), dtype=np.int64), (ALL,)
    codes, levels = encode(frame[split])
    region = codes[first].astype(np.int64)
    differs = (codes != region[index]) | (codes < 0)
    if differs.any():
        rows = np.flatnonzero(differs)
        hint = "All members of a household must lie in one region."
        faults.add(split, "is missing or differs in a household", rows=rows, hint=hint)
    return region, levels


def expand(table: PopulationTable, donors: np.ndarray) -> np.ndarray:
    """Return the rows of the members of these households, household after household."""
    sizes = table.sizes[donors]
    ends = np.cumsum(sizes)
    shift = np.repeat(table.offsets[donors] - (ends - sizes), sizes)
    return table.order[np.arange(int(ends[-1]) if len(ends) else 0) + shift]


def map_regions(function: Callable[[int], T], regions: Sequence[int], workers: int) -> Iterable[T]:
    """Apply a function to each region, in threads when there are several workers, in any order."""
    if workers == 1:
        return map(function, regions)
    import joblib

    options = {"n_jobs": workers, "backend": "threading", "return_as": "generator_unordered"}
    return joblib.Parallel(**options)(joblib.delayed(function)(r) for r in regions)


Counts = dict[Any, tuple[float, float]]
"""Persons before and after with each value of a variable; None is missing."""


def variable_counts(table: PopulationTable, used: np.ndarray) -> dict[str, Counts]:
    """Count the values of each variable in the input and in the result.

    used: int array, shape (n_households,); how often each household of the input is in the result

    Numbers are counted by their first four digits, so that the counts of the parts of a large
    population stay small and can be added up.
    """
    before, after = (times[table.index].astype(np.float64) for times in (table.home, used))
    return {
        str(name): _value_counts(table.frame[name], before, after)
        for name in table.frame.columns
        if name != table.household
    }


def _value_counts(column: pd.Series, before: np.ndarray, after: np.ndarray) -> Counts:
    if is_number(column):
        column = pd.Series(_first_digits(as_numbers(column)))
    codes, levels = encode(column)
    position = codes.astype(np.int64) + 1
    sums = [np.bincount(position, times, len(levels) + 1).tolist() for times in (before, after)]
    return dict(zip((None, *levels), zip(*sums, strict=True), strict=True))


def _first_digits(values: np.ndarray) -> np.ndarray:
    """Round numbers to their first four digits; infinite and missing ones stay."""
    size = np.abs(values)
    decimals = np.zeros(len(values))
    usual = np.isfinite(values) & (size > 0)
    decimals[usual] = DIGITS - 1 - np.floor(np.log10(size[usual]))
    scale = 10.0 ** np.clip(decimals, -300, 300)
    whole = (size < 10.0**DIGITS) & (values == np.rint(values))
    return np.where(whole | ~usual, values, np.rint(values * scale) / scale)


def added_counts(parts: Sequence[dict[str, Counts]]) -> dict[str, Counts]:
    """Add up the counts of the parts of a population."""
    added: dict[str, Counts] = {name: {} for name in parts[0]}
    for part in parts:
        for name, counts in part.items():
            total = added[name]
            for value, (before, after) in counts.items():
                old, new = total.get(value, (0.0, 0.0))
                total[value] = (old + before, new + after)
    return added


def variable_distances(
    counts: dict[str, Counts], numeric: set[str], controlled: set[str]
) -> pd.DataFrame:
    """Return how far each variable of the result is from the input, and which a margin controls."""
    rows = [
        (name, *_distance(values, name in numeric), name in controlled)
        for name, values in counts.items()
    ]
    return pd.DataFrame(rows, columns=["variable", "measure", "distance", "controlled"])


def _distance(counts: Counts, numeric: bool) -> tuple[str, float]:
    by_size = numeric and len(counts) > FEW_VALUES
    values = sorted(counts, key=lambda v: -np.inf if v is None else v) if numeric else list(counts)
    table = np.array([counts[value] for value in values])
    before, after = (table / np.maximum(table.sum(axis=0), 1.0)).T
    if by_size:
        return "largest difference of F", float(np.abs(np.cumsum(after - before)).max())
    return "total variation", float(np.abs(after - before).sum() / 2.0)
