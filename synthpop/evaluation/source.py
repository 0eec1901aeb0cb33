"""A population to compare with: one of ours, in memory or on disk, or any frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from synthpop.microdata.checks import as_unique_frame
from synthpop.microdata.chunks import open_chunks
from synthpop.microdata.dataset import Field
from synthpop.population.population import Population

ROWS = 250_000


@dataclass(frozen=True, slots=True, eq=False)
class PopulationChunks:
    """A population as chunks of rows."""

    data: Any
    columns: tuple[str, ...]
    fields: Mapping[str, Field] = field(default_factory=dict)  # dict of Field: empty for a frame
    ids: frozenset[str] = frozenset()  # set of str: columns that number households and persons
    recipe: Sequence[Mapping[str, Any]] = ()  # stages as the manifest has them; empty for a frame
    scale: float | None = None  # factor on the weights; None where it is not known

    def chunks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows in order, small blocks joined to about 250,000 rows."""
        names = list(columns)
        for frame in open_chunks(self.data, columns=names, rows=ROWS):
            yield frame[names]


def make_source(population: Any) -> PopulationChunks:
    """Return the source of a `Population` or of a table of persons.

    Raises InputError: it is neither.
    """
    if not isinstance(population, Population):
        frame = as_unique_frame(population, "population")
        return PopulationChunks(frame, tuple(map(str, frame.columns)))
    roles, identity = population.roles, population.manifest.identity
    ids = frozenset(name for name in (roles.household, roles.person) if name)
    return PopulationChunks(
        population,
        population.columns,
        {item.name: item for item in population.fields},
        ids,
        identity.recipe,
        float(identity.scale),
    )
