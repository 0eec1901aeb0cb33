"""Running the stages over blocks: inputs read-only, outputs checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from synthpop.conditional.rules.enforce import RulePlan, draw_within_rules
from synthpop.microdata.frame.block import Block, Fallback
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.frame.dictionary import Dictionary
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams
from synthpop.stages.base import BlockStage
from synthpop.stages.blocks import BlockPlan, RowBlock
from synthpop.stages.id_columns import IdColumns


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a block needs: stages, what they learned, the layout, the streams.

    ``stop`` is the number of stages that run before the first step on the whole population; None
    where there is no such step among them. The dictionary says what the columns mean.
    """

    stages: tuple[BlockStage, ...]
    models: tuple[Any, ...]
    layout: IdColumns
    strata_levels: tuple[Any, ...]
    streams: Streams
    rules: RulePlan = field(default_factory=RulePlan)
    stop: int | None = None
    dictionary: Dictionary = field(default_factory=Dictionary)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of the blocks, in the order of their columns."""
        simulated = [item for model in self.models[: self.stop] for item in model.fields]
        return (*self.layout.fields, *simulated)


@dataclass(frozen=True, slots=True)
class Simulated:
    """The columns of one block and the fallbacks that it needed."""

    plan: BlockPlan
    columns: dict[str, np.ndarray]
    fallbacks: tuple[Fallback, ...]


def simulate_block(recipe: Recipe, plan: BlockPlan) -> Simulated:
    """Simulate one block: a pure function of its arguments."""
    columns = recipe.layout.columns(plan)
    steps = range(len(recipe.stages[: recipe.stop]))
    return Simulated(plan, columns, run_stages(recipe, plan, plan.offsets(), columns, steps))


def run_stages(
    recipe: Recipe,
    plan: BlockPlan | RowBlock,
    offsets: np.ndarray,
    columns: dict[str, np.ndarray],
    steps: range,
) -> tuple[Fallback, ...]:
    """Run stages on a block, to whose columns they add; return the fallbacks it needed."""
    for values in (offsets, *columns.values()):
        values.flags.writeable = False
    shared = recipe.streams.at
    block = Block(plan.stratum, plan.number, offsets, MappingProxyType(columns), shared=shared)
    level = recipe.strata_levels[block.stratum]
    for step in steps:
        stage, model = recipe.stages[step], recipe.models[step]
        rng = recipe.streams.at(*_names(stage), level, block.number)
        new = draw_within_rules(
            recipe.rules, recipe.stages, recipe.models, step, block, rng, str(level)
        )
        declared = (*model.fields, *model.drawn_again())
        _check(stage, declared, new, block.n_persons)
        for name, values in new.items():
            values.flags.writeable = False
            columns[name] = values
    return tuple(block.fallbacks)


def _names(stage: BlockStage) -> tuple[str, ...]:
    """Stage and variable, the first names of a stream; what it makes, where that is not clear."""
    kind, _, variable = stage.label.partition(" ")
    if kind == "components":  # a total can be split twice
        return kind, variable, *stage.provides
    return kind, variable


def _check(
    stage: BlockStage, fields: Sequence[Field], new: dict[str, np.ndarray], n_persons: int
) -> None:
    faults = Faults(f"stage {stage.label}")
    declared = {item.name: item for item in fields}
    if new.keys() != declared.keys():
        faults.add("columns", f"returned {', '.join(new)}, declared {', '.join(declared)}")
    for name, item in declared.items():
        values = new.get(name)
        if values is None:
            continue
        if values.shape != (n_persons,):
            faults.add(name, f"has shape {values.shape} for {plural(n_persons, 'person')}")
        elif values.dtype != item.dtype:
            faults.add(name, f"has type {values.dtype}, declared {item.dtype}")
        elif item.kind == "categorical" and n_persons:
            low, high = int(values.min()), int(values.max())
            if low < -1 or high >= len(item.levels):
                levels = plural(len(item.levels), "level")
                faults.add(name, f"has codes {low} to {high} for {levels}")
    faults.raise_if_any()


def merge_fallbacks(fallbacks: Sequence[Fallback]) -> tuple[Fallback, ...]:
    """Add up equal entries of several blocks, sorted by stage, stratum and text."""
    totals: dict[tuple[str, str, str], int] = {}
    for item in fallbacks:
        key = (item.stage, item.stratum, item.what)
        totals[key] = totals.get(key, 0) + item.n_persons
    return tuple(Fallback(*key, n) for key, n in sorted(totals.items()))
