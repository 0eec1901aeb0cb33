"""Steps that need the whole population, and writing what they leave.

Blocks are simulated one by one; exchanging households or allotting them to areas needs all
households of a region together. So the population is held in memory, the population stages run in
their order, stages that come after one go on block by block with what it left, and the result
stays in memory or goes to a folder of the same form as any other. Measured:
about 200 bytes a person besides the population itself (2.2 million persons, 8 columns: 0.8 GB).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.block import Block, Fallback
from synthpop.microdata.dataset import Field, encode_column, restore_column
from synthpop.microdata.errors import ConvergenceWarning, SparseDataWarning
from synthpop.microdata.events import Event, Listener
from synthpop.microdata.places import Place
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import number as number_text
from synthpop.microdata.text import percent, plural
from synthpop.pipeline.engines import Workers, map_blocks
from synthpop.pipeline.simulate import Recipe, merge_fallbacks, run_stages
from synthpop.population.folders import part_file, stratum_folders
from synthpop.population.manifest import BlockRecord, FinishRecord, StepRecord
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population, open_population
from synthpop.population.storage import (
    read_manifest,
    read_record,
    remove_other_parts,
    write_block,
    write_manifest,
)
from synthpop.stages.blocks import RowBlock, cut_rows
from synthpop.stages.id_columns import IdColumns, id_dtype
from synthpop.stages.population_stages import Finished, PopulationStage, as_lists

ALL = "all"
MOVED = 0.01  # totals of an earlier step that move by more than this share are warned of


def finish_population(
    population: Population,
    population_stages: Sequence[PopulationStage],
    layout: IdColumns,
    *,
    recipe: Recipe,
    places: Sequence[int],
    seed: int,
    rows_per_block: int,
    workers: Workers = 1,
    on_event: Listener | None = None,
) -> Population:
    """Run the population stages of a recipe on a population in memory, and the stages after each.

    Parameters
    ----------
    population : Population
        In memory. About 200 bytes a person are needed besides while a population stage runs.
    population_stages : sequence of PopulationStage
        Run in this order.
    layout : IdColumns
        Which columns are ids, stratum and household size.
    recipe : Recipe
        All stages; `population` has the columns of the first of them.
    places : sequence of int
        How many stages come before each population_stage.
    seed : int
        Each population stage draws from its own named streams of it, region by region; a second of
        the same kind from streams of a seed drawn for it.
    rows_per_block : int
        Most persons in a block of the result.
    workers : int or str
        Regions side by side in as many threads; the result does not depend on it.
    on_event : callable, optional

    Returns
    -------
    Population
        Households numbered from 1 again, sorted by stratum; ``manifest["finished"]`` has for each
        step its summary, whether its margins are met, and the numbers that verify it.

    Raises
    ------
    InputError
        Margins that do not fit the population.

    Warns
    -----
    ConvergenceWarning
        Margins that are not met, or that a later step moved by more than 1 %.
    """
    state = _State.of(population, layout)
    before, n_run = population.n_persons, places[0]
    steps, counted, moves = [], [], []
    notes: list[Fallback] = [*population.fallbacks]
    frame = state.frame()
    for number, population_stage in enumerate(population_stages):
        if places[number] > n_run:
            state = state.continued(recipe, n_run, places[number], rows_per_block, workers, notes)
            frame, n_run = state.frame(), places[number]
        with warnings.catch_warnings():
            if places[number] < len(recipe.stages):  # later steps draw for each copy anew
                warnings.simplefilter("ignore", SparseDataWarning)
            done = population_stage.finish(
                frame,
                household=state.household,
                workers=threads(workers),
                seed=seed_of(seed, population_stages, number),
                on_event=on_event,
            )
        state = state.after(done)
        frame = state.frame()
        steps.append(_step(population_stage.label, done.record))
        counted.append(population_stage.count(frame, state.household))
        moves.append(done.rows is not None)
    for number, (population_stage, then) in enumerate(zip(population_stages, counted, strict=True)):
        moved = any(moves[number + 1 :])
        final = population_stage.count(frame, state.household) if moved else then
        changes = _moved(population_stage.label, then, final)
        steps[number] = replace(steps[number], **json_values(changes, lambda _: None))
    if n_run < len(recipe.stages):
        stop = len(recipe.stages)
        state = state.continued(recipe, n_run, stop, rows_per_block, workers, notes)
    population = Population(
        replace(population.manifest, fallbacks=merge_fallbacks(notes)), columns=population.arrays()
    )
    summary = f"finished in memory: {plural(before, 'person')}"
    finished = FinishRecord(summary, before, population.n_households, tuple(steps))
    return state.population(population, finished, rows_per_block)


def _step(label: str, record: Mapping[str, Any]) -> StepRecord:
    """Return the record of a step; numbers of its kind only are its details."""
    data = json_values(record, lambda _: None)
    names = {item.name for item in fields(StepRecord)}
    common = {key: value for key, value in data.items() if key in names}
    details = {key: value for key, value in data.items() if key not in names}
    return StepRecord(label, **common, details=details)


def seed_of(seed: int, steps: Sequence[Any], number: int) -> int:
    """Return the seed of one of several steps: the seed itself for the first one of its type."""
    again = sum(type(step) is type(steps[number]) for step in steps[:number])
    if again == 0:
        return seed
    kind = type(steps[number]).__name__
    return int(Streams(seed).at("finish", kind, again).integers(1 << 62))


def threads(workers: Workers) -> int:
    """Return how many threads stand for these workers; results do not depend on it."""
    kind, _, rest = str(workers).partition(":")
    number = rest if kind == "processes" else kind
    return int(number) if number.isdigit() else 1


def _moved(label: str, then: pd.DataFrame, final: pd.DataFrame) -> dict[str, Any]:
    """Return whether later steps left the totals of a step alone, counted afresh."""
    moved = float(np.abs(final["achieved"] - then["achieved"]).sum())
    if moved == 0:
        return {"moved_later": 0.0}
    total = float(np.abs(then["achieved"]).sum())
    if moved > MOVED * total:
        warnings.warn(
            ConvergenceWarning(
                f"A later step moved the totals of {label}: absolute changes add up to "
                f"{number_text(moved, 6)} ({percent(moved / max(total, 1e-300), 1)}). Split "
                "the later step by the "
                "same regions, give it these totals too, or change the order."
            ),
            stacklevel=4,
        )
    cells = final.assign(at_this_step=then["achieved"])
    return {"moved_later": moved, "cells_at_the_end": as_lists(cells)}


@dataclass(frozen=True, slots=True)
class _State:
    """A whole population as coded columns.

    Attributes
    ----------
    layout : IdColumns
    fields : dict of Field
    columns : dict of arrays, each shape (n_persons,)
        Members of a household side by side, sorted by stratum.
    """

    layout: IdColumns
    fields: dict[str, Field]
    columns: dict[str, np.ndarray]

    @classmethod
    def of(cls, population: Population, layout: IdColumns) -> _State:
        columns = population.arrays()
        return cls(layout, {f.name: f for f in population.fields}, dict(columns))

    @property
    def household(self) -> str | None:
        return None if self.layout.household is None else self.layout.household.name

    @property
    def n_persons(self) -> int:
        return len(self.columns[self.layout.person.name])

    def frame(self) -> pd.DataFrame:
        """Return the persons without their numbers, which say nothing of them."""
        fields = [f for name, f in self.fields.items() if name != self.layout.person.name]
        data = {f.name: restore_column(f, self.columns[f.name]) for f in fields}
        return pd.DataFrame(data, copy=False)

    def after(self, done: Finished) -> _State:
        """Return the population of the rows of a step, with its columns, numbered again."""
        fields, columns, rows = dict(self.fields), dict(self.columns), done.rows
        for name, values in done.columns.items():
            fields[name], columns[name] = encode_column(pd.Series(values, name=name))
        if rows is None:
            return replace(self, fields=fields, columns=columns)
        strata, household = self.layout.strata, self.household
        first = self._starts(rows)
        columns = {name: values[done.taken.get(name, rows)] for name, values in columns.items()}
        if strata is not None:  # members of a household are in one stratum and stay together
            order = np.argsort(columns[strata.name], kind="stable")
            first = first[order]
            columns = {name: values[order] for name, values in columns.items()}
            rows = rows[order]
        person = self.layout.person.name
        if household is not None:
            dtype = id_dtype(int(first.sum()))
            columns[household] = np.cumsum(first).astype(dtype)
            fields[household] = replace(fields[household], dtype=dtype)
        else:
            dtype = id_dtype(len(rows))
            columns[person] = np.arange(1, len(rows) + 1, dtype=dtype)
            fields[person] = replace(fields[person], dtype=dtype)
        return replace(self, fields=fields, columns=columns)

    def continued(
        self,
        recipe: Recipe,
        start: int,
        stop: int,
        rows_per_block: int,
        workers: Workers,
        notes: list[Fallback],
    ) -> _State:
        """Return the population with the columns of more stages, block by block."""
        households, strata = _households_and_strata(self.layout, self.columns)
        plans = list(cut_rows(households, strata, rows_per_block))
        run = partial(_continue_block, recipe, self.columns, households, start, stop)
        declared = [item for model in recipe.models[start:stop] for item in model.fields]
        n = self.n_persons
        made = {item.name: np.empty(n, dtype=item.dtype) for item in declared}
        columns = dict(self.columns)
        for plan, (new, fallbacks) in map_blocks(run, plans, threads(workers)):
            for name, values in new.items():
                if name in columns and name not in made:  # a stage that draws columns again
                    made[name] = columns[name].copy()
                made[name][plan.start : plan.stop] = values
            notes.extend(fallbacks)
        for values in made.values():
            values.flags.writeable = False
        fields = {**self.fields, **{item.name: item for item in declared}}
        return replace(self, fields=fields, columns={**columns, **made})

    def _starts(self, rows: np.ndarray) -> np.ndarray:
        """Return where a household begins among rows that are copies of whole households.

        Households lie side by side in the input and are copied row by row, so that the first
        member is a row whose predecessor in the input belongs to another household.
        """
        if self.household is None:
            return np.ones(len(rows), dtype=bool)
        ids = self.columns[self.household]
        head = np.ones(len(ids), dtype=bool)
        head[1:] = ids[1:] != ids[:-1]
        return head[rows]

    def population(
        self, old: Population, finished: FinishRecord, rows_per_block: int
    ) -> Population:
        """Return the population with its manifest."""
        blocks = row_blocks(self.layout, self.fields, self.columns, rows_per_block)
        manifest = replace(
            old.manifest,
            columns=tuple(self.fields.values()),
            blocks=tuple(replace(block, file="") for block, _ in blocks),
            finished=finished,
        )
        for values in self.columns.values():
            values.flags.writeable = False
        return Population(manifest, columns=self.columns)


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
        yield (
            BlockRecord(block.n_households, block.n_persons, file),
            slice(block.start, block.stop),
        )


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
    start: int,
    stop: int,
    plan: RowBlock,
) -> tuple[RowBlock, tuple[dict[str, np.ndarray], Sequence[Fallback]]]:
    """Run more stages on a block of a population in memory; returns the columns they made."""
    ids = households[plan.start : plan.stop]
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    offsets = np.append(first, len(ids)).astype(np.int64)
    part = {name: values[plan.start : plan.stop] for name, values in columns.items()}
    before = dict(part)
    for values in (offsets, *part.values()):
        values.flags.writeable = False
    block = Block(plan.stratum, plan.number, offsets, MappingProxyType(part))
    run_stages(recipe, block, part, start, stop)
    new = {name: values for name, values in part.items() if values is not before.get(name)}
    return plan, (new, tuple(block.fallbacks))


def completed(root: Place) -> Population | None:
    """Return the finished population of a folder; None where it has to be made (again)."""
    manifest = read_manifest(root)
    if not manifest.complete:
        return None
    for block in manifest.blocks:
        record = read_record(root / block.file, manifest.identity.hash)
        if record is None or record.to_dict() != block.to_dict():
            return None
    return open_population(root)


def write_population(
    population: Population, layout: IdColumns, root: Place, rows_per_block: int, listener: Listener
) -> Population:
    """Write a finished population to a folder that this run has claimed.

    Files are written under a temporary name and renamed; the manifest says "complete" after the
    last one. Files that an unfinished run left and that this one does not make are removed.
    """
    columns, manifest, dictionary = population.arrays(), population.manifest, population.dictionary
    fields = {f.name: f for f in population.fields}
    blocks = list(row_blocks(layout, fields, columns, rows_per_block))
    remove_other_parts(root, {block.file for block, _ in blocks})
    written = []
    for done, (block, rows) in enumerate(blocks, 1):
        part = {name: values[rows] for name, values in columns.items()}
        written.append(
            write_block(root, block, population.fields, part, manifest.identity.hash, dictionary)
        )
        listener(Event("progress", "write", done, len(blocks), block.file))
    manifest = replace(manifest, blocks=tuple(written))
    write_manifest(root, manifest)
    return Population(manifest, path=root)
