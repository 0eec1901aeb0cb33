"""Small populations on disk, read once for all that is computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthpop.population.columns import read_arrays
from synthpop.population.population import Population

MOST_PERSONS = 500_000


def read_once(population: Any) -> Any:
    """Return a population of at most 500,000 persons with its columns in memory.

    A larger one is returned as it is: its readers go through it block by block, and memory does
    not grow with it. So is one that is read in other processes, and any other object.
    """
    if not isinstance(population, Population) or population.path is None or population.in_memory:
        return population
    if population.n_persons > MOST_PERSONS or not isinstance(population.workers, int):
        return population
    fields = population.fields
    columns = {f.name: np.empty(population.n_persons, dtype=f.dtype) for f in fields}
    for block, start in zip(population.manifest.blocks, population.block_starts, strict=False):
        for name, values in read_arrays(population.path, block, fields, is_new=True).items():
            columns[name][start : start + block.n_persons] = values
    workers = population.workers
    return Population(population.manifest, columns=columns, path=population.path, workers=workers)
