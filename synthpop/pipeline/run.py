"""One run of a fitted pipeline: blocks in memory or in a folder, and their manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from synthpop.microdata.formats.lock import check_holder
from synthpop.microdata.formats.places import Place
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.dictionary import Dictionary
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.runs.engines import Workers, map_blocks
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.pipeline.part_by_part import PartByPart, remove_steps
from synthpop.pipeline.postprocess import PopulationSteps, completed, parts_of, without_seeds
from synthpop.pipeline.simulate import Recipe, Simulated, merge_fallbacks, simulate_block
from synthpop.pipeline.write_blocks import WriteBlock, plan_file
from synthpop.population.manifest import BlockRecord, Manifest, SampleRecord
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population
from synthpop.population.run_identity import RunIdentity, StoredRoles
from synthpop.population.storage import (
    fallbacks_of,
    read_manifest,
    remove_other_parts,
    write_manifest,
)
from synthpop.stages.blocks import BlockPlan


@dataclass(frozen=True, slots=True)
class Run:
    """One call of `simulate`: the same blocks into memory or into a folder."""

    fitted: FittedRecipe
    recipe: Recipe
    plans: list[BlockPlan]
    identity: RunIdentity
    workers: Workers
    listener: Listener
    notes: tuple[Fallback, ...] = ()

    def in_memory(self) -> Population:
        """Simulate the blocks; the population is held in memory."""
        notes: list[Fallback] = [*self.fitted.fallbacks, *self.notes]
        columns = self._columns_of(self.plans, notes)
        blocks = [BlockRecord(plan.n_households, plan.n_persons) for plan in self.plans]
        return Population(self._manifest(blocks, notes), columns=columns)

    def _columns_of(
        self, plans: Sequence[BlockPlan], notes: list[Fallback], done: int = 0
    ) -> dict[str, np.ndarray]:
        """Simulate blocks that follow each other, `done` of the run before them."""
        starts, total = {}, 0
        for plan in plans:
            starts[plan.stratum, plan.number] = total
            total += plan.n_persons
        columns = {f.name: np.empty(total, dtype=f.dtype) for f in self.recipe.fields}

        def copy(simulated: Simulated) -> tuple[Fallback, ...]:
            start = starts[simulated.plan.stratum, simulated.plan.number]
            for name, values in simulated.columns.items():
                columns[name][start : start + len(values)] = values
            return simulated.fallbacks

        simulate: Callable[[BlockPlan], Any] = partial(simulate_block, self.recipe)
        in_threads = isinstance(self.workers, int)  # other processes cannot write into our arrays
        fill = (lambda plan: copy(simulate(plan))) if in_threads else simulate
        for number, result in enumerate(map_blocks(fill, plans, self.workers), done + 1):
            notes.extend(result if in_threads else copy(result))
            self.listener(Event("progress", "simulate", number, len(self.plans)))
        for values in columns.values():
            values.flags.writeable = False
        return columns

    def to_folder(self, root: Place, token: str) -> Population:
        """Simulate the blocks that a folder lacks, and write them there."""
        manifest = read_manifest(root)
        write = WriteBlock(root.absolute(), self.recipe, self.identity.hash, token)
        blocks = []
        for done, block in enumerate(map_blocks(write, self.plans, self.workers), 1):
            blocks.append(block)
            self.listener(Event("progress", "simulate", done, len(self.plans), block.file))
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
        """Simulate, run the population stages, and write where a folder is given.

        In memory everybody is one part; for a folder as few strata as the steps allow.
        """
        if root is not None and (population := completed(root)) is not None:
            remove_steps(root)
            return population
        notes: list[Fallback] = [*self.fitted.fallbacks, *self.notes]
        n_households = sum(plan.n_households for plan in self.plans)
        n_persons = sum(plan.n_persons for plan in self.plans)
        steps = PopulationSteps(
            self.fitted.population_stages, self.recipe, self.fitted.places, seed, rows_per_block,
            self.workers, self.listener, largest_id=2 * n_persons,
        )  # fmt: skip
        manifest = self._manifest([], [])
        parts = [self.plans]
        if root is not None:
            parts = parts_of(self.plans, steps.stages, self.recipe.layout, self.recipe.fields)
        if root is not None and len(parts) > 1:
            work = PartByPart(steps, parts, root, manifest, self._columns_of, notes)
            work.run()
            columns, blocks = work.fields, work.blocks
        else:
            strata = steps.run(self._columns_of(self.plans, notes), notes)
            columns, blocks = tuple(strata.fields.values()), []
            if root is None:
                blocks = strata.blocks(rows_per_block)
            else:
                for block in strata.write(root, manifest, rows_per_block):
                    blocks.append(block)
                    total = max(len(self.plans), len(blocks))
                    self.listener(Event("progress", "write", len(blocks), total, block.file))
        manifest = replace(
            manifest,
            columns=columns,
            blocks=tuple(blocks),
            fallbacks=merge_fallbacks(notes),
            finished=steps.record(n_persons, n_households),
        )
        if root is None:
            return Population(manifest, columns=strata.columns)
        remove_other_parts(root, {block.file for block in blocks})
        write_manifest(root, manifest)
        remove_steps(root)
        return Population(manifest, path=root)

    def _manifest(self, blocks: list[BlockRecord], notes: Sequence[Fallback]) -> Manifest:
        layout, origin = self.recipe.layout, self.fitted.origin
        id_fields = {
            role: getattr(layout, role) for role in ("household", "strata", "size", "person")
        }
        roles = {role: item.name if item else None for role, item in id_fields.items()}
        pooling = {label: choice.to_dict() for label, choice in self.fitted.pooling.items()}
        return Manifest(
            self.identity,
            roles=StoredRoles(**roles),
            sample=SampleRecord(origin.n_persons, origin.n_households, origin.weight),
            columns=tuple(self.recipe.fields),
            blocks=tuple(blocks),
            fallbacks=merge_fallbacks(notes),
            pooling=json_values(pooling),
            prepared=without_seeds(self.fitted.prepared, self.recipe.streams.key),
            dictionary=json_values(self._dictionary().to_dict(), float),
        )

    def _dictionary(self) -> Dictionary:
        """Return what is known of the columns, those of population stages included."""
        names = [item.name for item in self.recipe.fields]
        names += [name for step in self.fitted.population_stages for name in step.provides]
        return self.recipe.dictionary.only(names)
