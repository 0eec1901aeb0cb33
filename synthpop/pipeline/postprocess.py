"""Steps on the finished population, and the blocks that they leave.

Blocks are simulated one by one; exchanging households or allotting them to areas needs all
households of a region together. So the population stages run in their order on a population in
memory, and stages that come after one go on block by block with what it left. Where each step
works apart in the strata and the result goes to a folder, only a few strata are in memory at a
time, with the households of other strata that a step may take (`part_by_part`); else the whole
population is, with about 200 bytes a person besides.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from dataclasses import field as dataclass_field
from itertools import groupby, pairwise
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from synthpop.microdata.formats.places import Place
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import ConvergenceWarning, MicrodataWarning
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.text import number as number_text
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.runs.engines import Workers, threads
from synthpop.microdata.statistics.secret_key import SecretKey
from synthpop.microdata.statistics.streams import Streams
from synthpop.pipeline.simulate import Recipe
from synthpop.pipeline.whole_strata import WholeStrata
from synthpop.population.manifest import FinishRecord, StepRecord, SurveyStepRecord
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population, open_population
from synthpop.population.storage import read_manifest, read_record
from synthpop.stages.blocks import BlockPlan
from synthpop.stages.id_columns import IdColumns
from synthpop.stages.population_stages import (
    OutsideDonors,
    PopulationRun,
    PopulationStage,
    as_lists,
    from_lists,
)

RecordT = TypeVar("RecordT", StepRecord, SurveyStepRecord)

ALL = "all"
PERSONS_AT_ONCE = 1_000_000  # of small strata that are in memory together
STEP_BYTES = 200  # of a person beside the columns, while a step works
MOVED = 0.01  # totals of an earlier step that move by more than this share are warned of


def parts_of(
    plans: Sequence[BlockPlan],
    steps: Sequence[PopulationStage],
    layout: IdColumns,
    fields: Sequence[Field],
) -> list[list[BlockPlan]]:
    """Return the blocks that the steps need in memory together; warn where these are too many.

    A part has whole strata that follow each other, at most `PERSONS_AT_ONCE` persons or one
    stratum; everybody is in one part where a step needs households of several strata.
    """
    if (step := across_strata(steps, layout)) is not None:
        _warn_of_memory(step, plans, fields, layout)
        return [list(plans)]
    parts: list[list[BlockPlan]] = []
    persons = 0
    for _, group in groupby(plans, key=lambda plan: plan.stratum):
        blocks = list(group)
        size = sum(plan.n_persons for plan in blocks)
        if not parts or persons + size > PERSONS_AT_ONCE:
            parts.append([])
            persons = 0
        parts[-1] += blocks
        persons += size
    return parts


def across_strata(steps: Sequence[PopulationStage], layout: IdColumns) -> PopulationStage | None:
    """Return the first step that does not work apart in the strata, or in areas within them."""
    strata = set() if layout.strata is None else {layout.strata.name}
    apart = set(strata)
    for step in steps:
        elsewhere = step.donor_region is not None and step.donor_region not in apart
        if step.region not in (strata if elsewhere else apart):
            return step
        if elsewhere:  # households that come from another stratum bring its areas with them
            apart = set(strata)
        apart.update(step.parts_of_region)
    return None


def rounds_of(steps: Sequence[PopulationStage], layout: IdColumns) -> list[range]:
    """Return the steps that can run on a part one after the other, round by round.

    A step that takes households of other strata begins a round, so that all parts are as the steps
    before have left them. The steps are some for which `across_strata` is None.
    """
    assert layout.strata is not None
    apart, starts = {layout.strata.name}, [0]
    for number, step in enumerate(steps):
        if step.donor_region is not None and step.donor_region not in apart:
            starts.append(number)
            apart = {layout.strata.name}
        apart.update(step.parts_of_region)
    return [range(*ends) for ends in pairwise([*starts, len(steps)])]


def _warn_of_memory(
    step: PopulationStage,
    plans: Sequence[BlockPlan],
    fields: Sequence[Field],
    layout: IdColumns,
) -> None:
    persons = sum(plan.n_persons for plan in plans)
    if persons <= PERSONS_AT_ONCE:
        return
    size = persons * (2 * sum(item.dtype.itemsize for item in fields) + STEP_BYTES)
    hint = ""
    if layout.strata is not None:
        hint = (
            f" Where it works within {layout.strata.name}, or within areas that an earlier step "
            "made there, a few strata at a time are in memory."
        )
    warnings.warn(
        MicrodataWarning(
            f"{step.label} needs the whole population in memory: about "
            f"{number_text(size / 1e9, 2)} GB for {plural(persons, 'person')}.{hint}"
        ),
        stacklevel=5,
    )


@dataclass(slots=True)
class _Counts:
    """What one step gave in the parts so far, with the cells of its margins recounted."""

    n_units: int = 0
    results: list[Any] = dataclass_field(default_factory=list)
    then: pd.DataFrame | None = None
    final: pd.DataFrame | None = None


@dataclass(frozen=True, slots=True)
class PartCounts:
    """What one step gave in one part."""

    n_units: int  # households that it left
    result: Any
    then: pd.DataFrame  # cells of its margins behind it

    def to_plain(self) -> dict[str, object]:
        """Return plain values for a file."""
        result, then = self.result.to_plain(), as_lists(self.then)
        return {"n_units": self.n_units, "result": result, "then": then}

    @classmethod
    def from_plain(cls, stage: PopulationStage, data: Mapping[str, Any]) -> PartCounts:
        """Return what `to_plain` described; the result is without its persons."""
        result = stage.part_result.from_plain(data["result"])
        return cls(data["n_units"], result, from_lists(data["then"]))


@dataclass(slots=True)
class PopulationSteps:
    """The population stages of a recipe, run on a population part by part."""

    stages: Sequence[PopulationStage]  # run in this order
    recipe: Recipe  # all stages of the recipe
    places: Sequence[int]  # how many stages come before each population stage
    # each population stage draws from its own named streams of it, region by region; a second of
    # the same kind from streams of a seed drawn for it
    seed: int
    rows_per_block: int  # most persons in a block of the result
    # int or str: regions side by side in as many threads; the result does not depend on it
    workers: Workers
    listener: Listener
    largest_id: int  # no id of the result is larger
    counts: list[_Counts] = dataclass_field(init=False)

    def __post_init__(self) -> None:
        self.counts = [_Counts() for _ in self.stages]

    def run(self, columns: Mapping[str, np.ndarray], notes: list[Fallback]) -> WholeStrata:
        """Run all steps on a whole population, those after the ones that ran before.

        Raises InputError: margins that do not fit the population.
        """
        state = self.begun(columns)
        for number in range(len(self.stages)):
            state, counts = self.step(number, self.before(number, state, notes))
            self.add(number, counts)
        self.add_final(self.final_counts(state))
        return self.before(len(self.stages), state, notes)

    def begun(self, columns: Mapping[str, np.ndarray]) -> WholeStrata:
        """Return simulated blocks as the first step finds them."""
        fields = {item.name: item for item in self.recipe.fields}
        return WholeStrata(self.recipe.layout, fields, columns)

    def before(self, number: int, state: WholeStrata, notes: list[Fallback]) -> WholeStrata:
        """Run the stages of blocks between a step and the one before, or those behind all."""
        places = (self.places[0], *self.places, len(self.recipe.stages))
        start, stop = places[number : number + 2]
        if start == stop:
            return state
        return state.continued(self.recipe, start, stop, self.rows_per_block, self.workers, notes)

    def step(
        self,
        number: int,
        state: WholeStrata,
        part: bool = False,
        outside: OutsideDonors | None = None,
    ) -> tuple[WholeStrata, PartCounts]:
        """Run one step on whole strata."""
        stage, seed = self.stages[number], seed_of(self.seed, self.stages, number)
        streams = Streams(seed, self.recipe.streams.key)
        run = PopulationRun(
            state.household, threads(self.workers), streams, self.listener, part, outside
        )
        finished = stage.finish(state.frame(), run)
        state = state.after(finished, self.counts[number].n_units, self.largest_id)
        cells = stage.count(state.frame(), state.household, part)
        return state, PartCounts(state.n_units, finished.result, cells)

    def add(self, number: int, part: PartCounts) -> None:
        """Add what a step gave in a part to what it gave in those before."""
        counts = self.counts[number]
        counts.n_units += part.n_units
        counts.results.append(part.result)
        counts.then = _added(counts.then, part.then)

    def final_counts(self, state: WholeStrata, part: bool = False) -> dict[int, pd.DataFrame]:
        """Recount the cells of the steps whose households a later one exchanged."""
        exchanges = [stage.exchanges for stage in self.stages]
        return {
            number: stage.count(state.frame(), state.household, part)
            for number, stage in enumerate(self.stages)
            if any(exchanges[number + 1 :])
        }

    def add_final(self, cells: Mapping[int, pd.DataFrame]) -> None:
        """Add the final cells of a part to those of the parts before."""
        for number, table in cells.items():
            self.counts[number].final = _added(self.counts[number].final, table)

    def record(self, n_persons: int, n_households: int) -> FinishRecord:
        """Return what the steps did to a population of that size.

        Raises InputError: totals of another population.
        Warns ConvergenceWarning: margins that are not met, or that a later step moved by more than
            1 %; SparseDataWarning: copies of households for which no later step draws.
        """
        steps = []
        for number, (stage, counts) in enumerate(zip(self.stages, self.counts, strict=True)):
            result = stage.joined(counts.results, seed_of(self.seed, self.stages, number))
            stage.warn(result, last=self.places[number] == len(self.recipe.stages))
            step = _step(stage.label, stage.record(result))
            assert counts.then is not None
            final = counts.then if counts.final is None else counts.final
            changes = _moved(stage.label, counts.then, final)
            steps.append(replace(step, **json_values(changes, lambda _: None)))
        summary = f"finished in memory: {plural(n_persons, 'person')}"
        records = without_seeds(steps, self.recipe.streams.key)
        return FinishRecord(summary, n_persons, n_households, records)


def _added(before: pd.DataFrame | None, cells: pd.DataFrame) -> pd.DataFrame:
    if before is None:
        return cells
    return cells.assign(achieved=before["achieved"] + cells["achieved"])


def without_seeds(records: Sequence[RecordT], key: SecretKey | None) -> tuple[RecordT, ...]:
    """Return records of steps as a manifest has them: without seeds where there is a key."""
    return tuple(records if key is None else (replace(record, seed=None) for record in records))


def _step(label: str, record: Mapping[str, Any]) -> StepRecord:
    """Return the record of a step; numbers of its kind only are its details."""
    data = json_values(record, lambda _: None)
    names = {item.name for item in fields(StepRecord)}
    common = {key: value for key, value in data.items() if key in names}
    details = {key: value for key, value in data.items() if key not in names}
    return StepRecord(label, **common, details=details)


def seed_of(seed: int, steps: Sequence[Any], number: int) -> int:
    """Return the seed of one of several steps: the seed itself for the first one of its type."""
    n_before = sum(type(step) is type(steps[number]) for step in steps[:number])
    if n_before == 0:
        return seed
    kind = type(steps[number]).__name__
    return int(Streams(seed).at("finish", kind, n_before).integers(1 << 62))


def _moved(label: str, then: pd.DataFrame, final: pd.DataFrame) -> dict[str, object]:
    """Return whether later steps left the totals of a step alone, recounted."""
    moved = float(np.abs(final["achieved"] - then["achieved"]).sum())
    if moved == 0:
        return {"moved_later": 0.0}
    total = float(np.abs(then["achieved"]).sum())
    if moved > MOVED * total:
        warnings.warn(
            ConvergenceWarning(
                f"A later step moved the totals of {label}: absolute changes add up to "
                f"{number_text(moved, 6)} ({percent(moved / max(total, 1e-300), 1)}). Split the "
                "later step by the same regions, give it these totals too, or change the order."
            ),
            stacklevel=4,
        )
    cells = final.assign(at_this_step=then["achieved"])
    return {"moved_later": moved, "cells_at_the_end": as_lists(cells)}


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
