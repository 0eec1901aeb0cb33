"""One run of a fitted pipeline: blocks in memory or in a folder, and their manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from synthpop.microdata.block import Fallback
from synthpop.microdata.dictionary import Dictionary
from synthpop.microdata.events import Event, Listener
from synthpop.microdata.places import Place
from synthpop.pipeline.engines import Workers, map_blocks
from synthpop.pipeline.postprocess import (
    completed,
    finish_population,
    write_population,
)
from synthpop.pipeline.simulate import Recipe, Simulated, merge_fallbacks, simulate_block
from synthpop.pipeline.write_blocks import WriteBlock, plan_file
from synthpop.population.lock import check_holder
from synthpop.population.manifest import BlockRecord, Manifest, SampleRecord
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population
from synthpop.population.run_identity import RunIdentity, StoredRoles
from synthpop.population.storage import fallbacks_of, read_manifest, write_manifest
from synthpop.stages.blocks import BlockPlan

if TYPE_CHECKING:
    from synthpop.pipeline.fitted import FittedPipeline


@dataclass(frozen=True, slots=True)
class Run:
    """One call of `simulate`: the same blocks into memory or into a folder."""

    fitted: FittedPipeline
    recipe: Recipe
    plans: list[BlockPlan]
    identity: RunIdentity
    workers: Workers
    listener: Listener
    notes: tuple[Fallback, ...] = ()

    def in_memory(self) -> Population:
        """Simulate the blocks; the population is held in memory."""
        starts, total = {}, 0
        for plan in self.plans:
            starts[plan.stratum, plan.number] = total
            total += plan.n_persons
        columns = {f.name: np.empty(total, dtype=f.dtype) for f in self.recipe.fields}
        notes: list[Fallback] = [*self.fitted.fallbacks, *self.notes]
        if isinstance(self.workers, int):
            fill = partial(_fill, self.recipe, columns, starts)
        else:  # other processes cannot write into our arrays
            fill = partial(simulate_block, self.recipe)
        for done, result in enumerate(map_blocks(fill, self.plans, self.workers), 1):
            if isinstance(result, Simulated):
                _copy(result, columns, starts)
                result = result.fallbacks
            notes.extend(result)
            self.listener(Event("progress", "simulate", done, len(self.plans)))
        for values in columns.values():
            values.flags.writeable = False
        blocks = [BlockRecord(plan.n_households, plan.n_persons) for plan in self.plans]
        return Population(self._manifest(blocks, notes), columns=columns)

    def to_folder(self, root: Place, token: str) -> Population:
        """Simulate the blocks that a folder lacks, and write them there."""
        manifest = read_manifest(root)
        write = WriteBlock(root.absolute(), self.recipe, self.identity.hash, token)
        blocks = []
        for done, block in enumerate(map_blocks(write, self.plans, self.workers), 1):
            blocks.append(block)
            event = Event("progress", "simulate", done, len(self.plans), block.file)
            self.listener(event)
        files = [plan_file(self.recipe, plan) for plan in self.plans]
        order = {file: place for place, file in enumerate(files)}
        blocks.sort(key=lambda block: order[block.file])
        notes = [*self.fitted.fallbacks, *self.notes, *fallbacks_of(blocks)]
        new = self._manifest([replace(block, fallbacks=()) for block in blocks], notes)
        new = replace(new, files=manifest.files)
        if manifest.to_text() != new.to_text():
            check_holder(root, token)
            write_manifest(root, new)
        return Population(new, path=root)

    def finished(self, root: Place | None, seed: int, rows_per_block: int) -> Population:
        """Simulate in memory, run the population stages, and write where a folder is given."""
        if root is not None:
            population = completed(root)
            if population is not None:
                return population
        layout = self.recipe.layout
        population = finish_population(
            self.in_memory(),
            self.fitted.population_stages,
            layout,
            recipe=self.recipe,
            places=self.fitted.places,
            seed=seed,
            rows_per_block=rows_per_block,
            workers=self.workers,
            on_event=self.listener,
        )
        if root is None:
            return population
        return write_population(population, layout, root, rows_per_block, self.listener)

    def _manifest(self, blocks: list[BlockRecord], notes: Sequence[Fallback]) -> Manifest:
        layout, survey = self.recipe.layout, self.fitted.survey
        names = {
            "household": layout.household,
            "strata": layout.strata,
            "size": layout.size,
            "person": layout.person,
        }
        pooling = {label: choice.to_dict() for label, choice in self.fitted.pooling.items()}
        return Manifest(
            self.identity,
            roles=StoredRoles(
                **{role: item.name if item else None for role, item in names.items()}
            ),
            sample=SampleRecord(survey.n_persons, survey.n_households, survey.roles.weight),
            columns=tuple(self.recipe.fields),
            blocks=tuple(blocks),
            fallbacks=merge_fallbacks(notes),
            pooling=json_values(pooling),
            prepared=self.fitted.prepared,
            dictionary=json_values(self._dictionary().to_dict(), float),
        )

    def _dictionary(self) -> Dictionary:
        """Return what is known of the columns, those of population stages included."""
        names = [item.name for item in self.recipe.fields]
        names += [name for step in self.fitted.population_stages for name in step.provides]
        return self.recipe.dictionary.only(names)


def _fill(
    recipe: Recipe,
    columns: dict[str, np.ndarray],
    starts: dict[tuple[int, int], int],
    plan: BlockPlan,
) -> Any:
    simulated = simulate_block(recipe, plan)
    _copy(simulated, columns, starts)
    return simulated.fallbacks


def _copy(
    simulated: Simulated, columns: dict[str, np.ndarray], starts: dict[tuple[int, int], int]
) -> None:
    start = starts[simulated.plan.stratum, simulated.plan.number]
    for name, values in simulated.columns.items():
        columns[name][start : start + len(values)] = values
