"""A population to compare with: one of ours, in memory or on disk, or any frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_unique_frame
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.runs.chunks import NumberedFrames, map_portions
from synthpop.population.population import Population
from synthpop.population.read_once import read_once

ROWS = 250_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class PopulationChunks:
    """A population as chunks of rows."""

    data: Any
    columns: tuple[str, ...]
    fields: Mapping[str, Field] = field(default_factory=dict)  # dict of Field: empty for a frame
    ids: frozenset[str] = frozenset()  # set of str: columns that number households and persons
    recipe: Sequence[Mapping[str, Any]] = ()  # stages as the manifest has them; empty for a frame
    scale: float | None = None  # factor on the weights; None where it is not known

    def map(
        self,
        function: Callable[[NumberedFrames], T],
        columns: Sequence[str],
        rows: int | None = ROWS,
    ) -> Iterator[T]:
        """Apply a function to portions in order, each as frames of about so many rows.

        Those who only take some of the rows want the blocks as they are: `rows=None` copies none.
        """
        return map_portions(function, self.data, columns, rows=rows)


def is_drawn(numbers: np.ndarray, step: float) -> np.ndarray:
    """Return which of consecutive numbers are an evenly spaced share `step` of them."""
    drawn: np.ndarray = np.floor((numbers + 1) * step) > np.floor(numbers * step)
    return drawn


def every_kth(source: PopulationChunks, columns: Sequence[str], step: float) -> pd.DataFrame:
    """Return some columns of an evenly spaced share of the persons."""
    draw = partial(_drawn_rows, list(columns), step)
    return pd.concat(list(source.map(draw, columns, rows=None)), ignore_index=True)


def _drawn_rows(columns: list[str], step: float, frames: NumberedFrames) -> pd.DataFrame:
    parts = [
        frame.loc[is_drawn(np.arange(start, start + len(frame)), step), columns]
        for start, frame in frames
    ]
    return pd.concat(parts, ignore_index=True)


def make_source(population: Any) -> PopulationChunks:
    """Return the source of a `Population` or of a table of persons, or raise InputError."""
    if not isinstance(population, Population):
        frame = as_unique_frame(population, "population")
        return PopulationChunks(frame, tuple(map(str, frame.columns)))
    roles, identity = population.roles, population.manifest.identity
    ids = frozenset(name for name in (roles.household, roles.person) if name)
    return PopulationChunks(
        read_once(population),
        population.columns,
        {item.name: item for item in population.fields},
        ids,
        identity.recipe,
        float(identity.scale),
    )
