"""Whole strata of a population in memory, between the steps that change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.places import Place
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.codes import run_starts
from synthpop.microdata.frame.dataset import Field, restore_column
from synthpop.microdata.frame.dictionary import Dictionary
from synthpop.microdata.runs.engines import Workers, map_blocks, threads
from synthpop.pipeline.simulate import Recipe, run_stages
from synthpop.population.folders import part_file, stratum_folders
from synthpop.population.manifest import BlockRecord, Manifest
from synthpop.population.storage import write_block
from synthpop.stages.blocks import RowBlock, cut_rows
from synthpop.stages.id_columns import IdColumns, id_dtype
from synthpop.stages.population_stages import Finished

ALL = "all"


@dataclass(frozen=True, slots=True)
class WholeStrata:
    """Strata of a population, or all of it, as coded columns."""

    layout: IdColumns
    fields: Mapping[str, Field]  # dict of Field
    # dict of arrays, each shape (n_persons,): members of a household side by side, sorted by
    # stratum
    columns: Mapping[str, np.ndarray]

    @property
    def household(self) -> str | None:
        """Column of household ids."""
        return None if self.layout.household is None else self.layout.household.name

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return len(self.columns[self.layout.person.name])

    @property
    def n_units(self) -> int:
        """Number of households; of persons, where there are none."""
        return int(self._starts(np.arange(self.n_persons)).sum())

    def frame(self) -> pd.DataFrame:
        """Return the persons without their numbers, which say nothing of them."""
        fields = [f for name, f in self.fields.items() if name != self.layout.person.name]
        data = {f.name: restore_column(f, self.columns[f.name]) for f in fields}
        return pd.DataFrame(data, copy=False)

    def after(self, finished: Finished, n_before: int, largest_id: int) -> WholeStrata:
        """Return the persons of the rows of a step, with its columns.

        Households that were exchanged are numbered again, behind those of the strata before.
        """
        fields, columns, rows = dict(self.fields), dict(self.columns), finished.rows
        for name, (field, values) in finished.columns.items():
            fields[name], columns[name] = field, values
        if rows is None:
            return replace(self, fields=fields, columns=columns)
        strata, household = self.layout.strata, self.household
        first = self._starts(rows)
        columns = {key: x[finished.other_rows.get(key, rows)] for key, x in columns.items()}
        if strata is not None:  # members of a household are in one stratum and stay together
            order = np.argsort(columns[strata.name], kind="stable")
            first = first[order]
            columns = {name: values[order] for name, values in columns.items()}
        name = self.layout.person.name if household is None else household
        columns[name] = (n_before + np.cumsum(first)).astype(id_dtype(largest_id))
        fields[name] = replace(fields[name], dtype=columns[name].dtype)
        return replace(self, fields=fields, columns=columns)

    def continued(
        self,
        recipe: Recipe,
        start: int,
        stop: int,
        rows_per_block: int,
        workers: Workers,
        notes: list[Fallback],
    ) -> WholeStrata:
        """Return the persons with the columns of more stages, block by block."""
        households, strata = _households_and_strata(self.layout, self.columns)
        plans = list(cut_rows(households, strata, rows_per_block))
        run = partial(_continue_block, recipe, self.columns, households, range(start, stop))
        declared = [item for model in recipe.models[start:stop] for item in model.fields]
        n = self.n_persons
        drawn_columns = {item.name: np.empty(n, dtype=item.dtype) for item in declared}
        columns = dict(self.columns)
        for plan, (new, fallbacks) in map_blocks(run, plans, threads(workers)):
            for name, values in new.items():
                if name in columns and name not in drawn_columns:  # it is drawn again
                    drawn_columns[name] = columns[name].copy()
                drawn_columns[name][plan.start : plan.stop] = values
            notes.extend(fallbacks)
        for values in drawn_columns.values():
            values.flags.writeable = False
        fields = {**self.fields, **{item.name: item for item in declared}}
        return replace(self, fields=fields, columns={**columns, **drawn_columns})

    def _starts(self, rows: np.ndarray) -> np.ndarray:
        """Return where a household begins among rows that are copies of whole households.

        Households lie side by side in the input and are copied row by row, so that the first
        member is a row whose predecessor in the input belongs to another household.
        """
        if self.household is None:
            return np.ones(len(rows), dtype=bool)
        return run_starts(self.columns[self.household])[rows]

    def blocks(self, rows_per_block: int) -> list[BlockRecord]:
        """Return the blocks of persons in memory; nothing can be written to them from now on."""
        for values in self.columns.values():
            values.flags.writeable = False
        cut = row_blocks(self.layout, self.fields, self.columns, rows_per_block)
        return [replace(block, file="") for block, _ in cut]

    def write(self, root: Place, manifest: Manifest, rows_per_block: int) -> Iterator[BlockRecord]:
        """Write the blocks to a folder that this run has claimed, and yield each as it is there."""
        fields, run = list(self.fields.values()), manifest.identity.hash
        dictionary = Dictionary.from_dict(manifest.dictionary)
        for block, rows in row_blocks(self.layout, self.fields, self.columns, rows_per_block):
            columns = {name: values[rows] for name, values in self.columns.items()}
            yield write_block(root, block, fields, columns, run, dictionary)


def row_blocks(
    layout: IdColumns,
    fields: Mapping[str, Field],
    columns: Mapping[str, np.ndarray],
    rows_per_block: int,
) -> Iterator[tuple[BlockRecord, slice]]:
    """Yield the blocks of a population in memory with the file and the rows of each."""
    households, strata = _households_and_strata(layout, columns)
    levels: tuple[Any, ...] = (ALL,)
    if layout.strata is not None:
        levels = fields[layout.strata.name].levels
    folders = stratum_folders(levels)
    for block in cut_rows(households, strata, rows_per_block):
        file = part_file(folders[block.stratum], block.number)
        record = BlockRecord(block.n_households, block.n_persons, file)
        yield record, slice(block.start, block.stop)


def _households_and_strata(
    layout: IdColumns, columns: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return household and stratum of each person; every person alone, and None, without them."""
    n = len(columns[layout.person.name])
    households = np.arange(n) if layout.household is None else columns[layout.household.name]
    if layout.strata is None:
        return households, None
    return households, columns[layout.strata.name].astype(np.int64)


def _continue_block(
    recipe: Recipe,
    columns: Mapping[str, np.ndarray],
    households: np.ndarray,
    steps: range,
    plan: RowBlock,
) -> tuple[RowBlock, tuple[dict[str, np.ndarray], Sequence[Fallback]]]:
    """Run more stages on a block of a population in memory; returns the columns they made."""
    ids = households[plan.start : plan.stop]
    offsets = np.append(np.flatnonzero(run_starts(ids)), len(ids)).astype(np.int64)
    before = {name: values[plan.start : plan.stop] for name, values in columns.items()}
    after = dict(before)
    fallbacks = run_stages(recipe, plan, offsets, after, steps)
    new = {name: values for name, values in after.items() if values is not before.get(name)}
    return plan, (new, fallbacks)
