"""Simulate blocks straight into the folder of a population, in any worker."""

from __future__ import annotations

from dataclasses import dataclass

from synthpop.microdata.formats.lock import check_holder
from synthpop.microdata.formats.places import Place
from synthpop.pipeline.simulate import Recipe, simulate_block
from synthpop.population.folders import part_file, stratum_folders
from synthpop.population.manifest import BlockRecord
from synthpop.population.storage import read_record, write_block
from synthpop.stages.blocks import BlockPlan


@dataclass(frozen=True, slots=True)
class WriteBlock:
    """Simulate one block and write it, unless it is there; callable in any worker."""

    root: Place
    recipe: Recipe
    run: str  # hash of the identity of the run
    token: str  # of the lock of the folder: a worker that does not find it sees another folder

    def __call__(self, plan: BlockPlan) -> BlockRecord:
        """Return the record of the block."""
        check_holder(self.root, self.token)
        file = plan_file(self.recipe, plan)
        record = read_record(self.root / file, self.run)
        expected = (file, plan.n_households, plan.n_persons)
        if record is not None and (record.file, record.n_households, record.n_persons) == expected:
            return record
        simulated, fields = simulate_block(self.recipe, plan), self.recipe.fields
        return write_block(
            self.root,
            BlockRecord(plan.n_households, plan.n_persons, file, fallbacks=simulated.fallbacks),
            fields,
            simulated.columns,
            self.run,
            self.recipe.dictionary.only(item.name for item in fields),
        )


def plan_file(recipe: Recipe, plan: BlockPlan) -> str:
    """Return the file of a planned block, relative to the output folder."""
    return part_file(stratum_folders(recipe.strata_levels)[plan.stratum], plan.number)
