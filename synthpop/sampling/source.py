"""Where a sample is drawn from: a frame, a survey, or a population in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_unique_frame
from synthpop.microdata.frame.codes import cell_ids, encode, encode_keys
from synthpop.microdata.frame.frames import as_numbers, listed_names
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.runs.chunks import NumberedFrames, map_portions, reads_blocks


class SamplingFrame(Protocol):
    """Rows with named columns."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    def column(self, name: str) -> pd.Series:
        """Return one column, rows numbered from 0."""

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows (increasing positions) with every column."""


class FrameSource:
    """Rows of a frame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.n = len(frame)
        self.names: tuple[str, ...] = tuple(frame.columns)

    def column(self, name: str) -> pd.Series:
        """Return one column."""
        return self.frame[name]

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows, numbered from 0."""
        return self.frame.take(rows).reset_index(drop=True)


class PopulationSource:
    """Rows of a `Population`: columns are read when asked for, rows block by block."""

    def __init__(self, population: Any, columns: Sequence[str] | None = None) -> None:
        self.population = population
        self.n = int(population.n_persons)
        self.names = tuple(population.columns if columns is None else columns)
        self._known: dict[str, pd.Series] = {}

    def column(self, name: str) -> pd.Series:
        """Return one column of all persons; kept for the next time."""
        if name not in self._known:
            self._known[name] = self.population.frame([name])[name]
        return self._known[name]

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows; each worker of the population has one block in memory at a time."""
        take = partial(_take_rows, list(self.names), rows)
        return pd.concat(list(map_portions(take, self.population, self.names)), ignore_index=True)


def _take_rows(names: list[str], rows: np.ndarray, frames: NumberedFrames) -> pd.DataFrame:
    """Return those of some rows (increasing positions) that stand in consecutive frames."""
    parts = []
    for start, frame in frames:
        low, high = np.searchsorted(rows, [start, start + len(frame)])
        parts.append(frame[names].take(rows[low:high] - start))
    return pd.concat(parts, ignore_index=True)


def open_source(population: Any, columns: Sequence[str] | None = None) -> SamplingFrame:
    """Return rows of a frame, a Survey, or an object with ``iter_blocks``, all columns or some."""
    blocks = reads_blocks(population)
    frame = None if blocks else as_unique_frame(population, "population")
    if columns is not None:
        columns = listed_names(columns)
        present = population.columns if frame is None else frame.columns
        faults = Faults("population")
        for name in columns:
            if name not in present:
                faults.add(name, "is not a column", hint=did_you_mean(name, present))
        faults.raise_if_any()
    if frame is None:
        return PopulationSource(population, columns)
    return FrameSource(frame if columns is None else frame[list(columns)])


def unless_stored(population: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a population of blocks as one frame, unless it lies in a folder."""
    if not reads_blocks(population) or getattr(population, "path", None) is not None:
        return population
    return population.frame(list(open_source(population, columns).names))


@dataclass(frozen=True)
class Units:
    """Some rows of a source, as units to draw from."""

    source: SamplingFrame
    rows: np.ndarray | None = None  # positions in the source, shape (n,); None: all

    @property
    def n(self) -> int:
        """Number of units."""
        return self.source.n if self.rows is None else len(self.rows)

    def column(self, name: str, role: str) -> pd.Series:
        """Return one column of these units."""
        if name not in self.source.names:
            what = f"column given as {role} is not in the population"
            raise InputError.of("design", name, what, did_you_mean(name, self.source.names))
        values = self.source.column(name)
        return (values if self.rows is None else values.take(self.rows)).reset_index(drop=True)

    def numbers(self, name: str, role: str) -> np.ndarray:
        """Return a numeric column without gaps, shape (n,)."""
        values = self.column(name, role)
        if not pd.api.types.is_numeric_dtype(values.dtype):
            raise InputError.of("design", name, f"{role} must be numeric, is {values.dtype}")
        x = as_numbers(values)
        rows = np.flatnonzero(~np.isfinite(x))
        if len(rows):
            raise InputError.of("design", name, f"{role} is missing", rows=rows)
        return x

    def codes(self, names: Sequence[str], role: str) -> tuple[np.ndarray, list[Any]]:
        """Return the cell of each unit and the label of each cell; gaps are faults."""
        faults = Faults("design")
        columns = {name: self.column(name, role) for name in names}
        for name, values in columns.items():
            if values.isna().any():
                faults.add(name, f"{role} is missing", rows=np.flatnonzero(values.isna()))
        faults.raise_if_any()
        if len(names) == 1:
            raw, levels = encode(columns[names[0]])
            present = np.unique(raw)
            table = np.full(len(levels), -1, dtype=np.int64)
            table[present] = np.arange(len(present))
            return table[raw], [levels[code] for code in present]
        keys = encode_keys(pd.DataFrame(columns), list(names))
        ids, n_cells = cell_ids(keys.codes, [len(levels) for levels in keys.levels])
        first = np.full(n_cells, -1)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        labels = [
            tuple(keys.levels[j][code] for j, code in enumerate(keys.codes[row])) for row in first
        ]
        return ids, labels

    def subset(self, positions: np.ndarray) -> Units:
        """Return some of these units."""
        return Units(self.source, positions if self.rows is None else self.rows[positions])


class ClusterSource:
    """Clusters of units as units: one row per cluster.

    A column that is constant within clusters keeps its value, a numeric one that varies is summed.

    order: positions of the units with the members of a cluster side by side; None where they are
    offsets: where each cluster starts in `order`, shape (clusters + 1,)
    """

    def __init__(self, units: Units, name: str) -> None:
        values = units.column(name, "unit")
        rows = np.flatnonzero(values.isna().to_numpy())
        if len(rows):
            hint = "Every row needs one."
            raise InputError.of("design", name, "unit is missing", hint, rows=rows)
        code = pd.factorize(values)[0]
        grouped = bool(np.all(code[1:] >= code[:-1]))
        self.units = units
        self.order = None if grouped else np.argsort(code, kind="stable")
        sizes = np.bincount(code)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n = len(sizes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.units.source.names

    @cached_property
    def sizes(self) -> np.ndarray:
        """Members of each cluster."""
        return np.diff(self.offsets)

    def column(self, name: str) -> pd.Series:
        """Return one column of the clusters."""
        values = self.units.column(name, "column of clusters")
        if self.order is not None:
            values = values.take(self.order).reset_index(drop=True)
        first = values.take(self.offsets[:-1]).reset_index(drop=True)
        raw = encode(values)[0] if not pd.api.types.is_numeric_dtype(values.dtype) else values
        numbers = np.asarray(raw)
        is_same = numbers == np.repeat(numbers[self.offsets[:-1]], self.sizes)
        if bool(np.all(is_same)):
            return first
        if not pd.api.types.is_numeric_dtype(values.dtype):
            what = "differs between the members of a drawn unit"
            hint = "Strata must not cut through units."
            raise InputError.of("design", name, what, hint, rows=np.flatnonzero(~is_same))
        return pd.Series(np.add.reduceat(numbers.astype(np.float64), self.offsets[:-1]), name=name)

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Return clusters as a frame of their columns."""
        return pd.DataFrame({name: self.column(name).take(rows) for name in self.names})

    def members(self, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the units of some clusters, and which cluster each belongs to."""
        lengths = self.sizes[clusters]
        which = np.repeat(np.arange(len(clusters)), lengths)
        ends = np.cumsum(lengths)
        at = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        at += np.repeat(self.offsets[clusters], lengths)
        return (at if self.order is None else self.order[at]), which
