"""A recipe of stages: checked as a whole, fitted once on the sample, simulated in blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from synthpop._version import __version__
from synthpop.calibration.margins import Margin, margin_list
from synthpop.finish import completed, finish_population, plain, seed_of, write_population
from synthpop.generate import (
    Recipe,
    Simulated,
    Workers,
    check_workers,
    map_blocks,
    merge_fallbacks,
    simulate_block,
)
from synthpop.layout import Layout, sized
from synthpop.microdata.block import Fallback, Sample
from synthpop.microdata.dataset import restore_column, with_storable_levels
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.survey import Survey
from synthpop.plan import BlockPlan, make_plan
from synthpop.population import Population
from synthpop.recipe import check_recipe, make_layout, make_sample, take_apart
from synthpop.stages.base import Stage
from synthpop.stages.derive import Derive
from synthpop.stages.finishers import Finisher, Preparation
from synthpop.stages.registry import STAGES
from synthpop.stages.structure import Structure, structure_fallbacks
from synthpop.storage import (
    FORMAT,
    MANIFEST,
    WriteBlock,
    claim,
    dump,
    fallbacks_of,
    read_manifest,
    write_text,
)

ROWS_PER_BLOCK = 250_000


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A recipe: the stages in the order in which they run, `Structure` first.

    Parameters
    ----------
    stages : sequence of stages
        `Distribute` and `Anneal` come last: they work on the finished population, which is held in
        memory then. `CorrectHeaping` comes before `Structure`: it works on the survey.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthpop import Categorical, Pipeline, Structure, Survey
    >>> data = pd.DataFrame(
    ...     {"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "age": [40, 9, 71], "job": ["a", None, "b"]}
    ... )
    >>> survey = Survey(data, weight="w", household="hid")
    >>> fitted = Pipeline([Structure(["age"]), Categorical("job")]).fit(survey, seed=1)
    >>> fitted.simulate().n_persons
    7
    """

    stages: Sequence[Stage | Preparation | Finisher]

    def fit(
        self, survey: Survey, *, seed: int | None = None, on_event: Listener | None = None
    ) -> FittedPipeline:
        """Learn every stage from the survey.

        Parameters
        ----------
        survey : Survey
        seed : int, optional
            Without one a seed is drawn and recorded. `CorrectHeaping` draws with it, and forests,
            boosting and classifiers with a ``random_state`` learn with it; it is the default seed
            of `FittedPipeline.simulate`.
        on_event : callable, optional
            Receives an `Event` for each stage.

        Raises
        ------
        InputError
            Lists everything in the recipe that does not fit the survey.
        """
        listener = on_event or silent
        steps, stages = take_apart(self.stages), take_apart(self.stages).stages
        seed = resolve_seed(seed)
        streams = Streams(seed)
        survey = _storable(survey)
        columns = check_recipe(self.stages, survey)
        prepared = []
        for number, step in enumerate(steps.preparations):
            survey, record = step.prepare(survey, seed_of(seed, steps.preparations, number))
            prepared.append(record)
        if prepared:
            columns = check_recipe(self.stages, survey)
        layout = make_layout(survey, columns)
        sample = make_sample(survey, columns, layout)
        models = []
        for number, stage in enumerate(stages):
            listener(Event("progress", "fit", number, len(stages), stage.label))
            model = stage.fit(sample, streams.at("fit", stage.label))
            models.append(model)
            sample = _extended(sample, stage, model, number == 0)
        listener(Event("end", "fit", len(stages), len(stages)))
        return FittedPipeline(
            stages,
            tuple(models),
            layout,
            sample,
            survey,
            seed,
            steps.preparations,
            steps.finishers,
            tuple(plain(prepared)),
        )


@dataclass(frozen=True, slots=True)
class FittedPipeline:
    """A recipe with what it learned from the survey; `simulate` makes populations of it.

    Attributes
    ----------
    stages : tuple of stages
        Those that run block by block.
    survey : Survey
        As the stages saw it: with corrected ages where the recipe has `CorrectHeaping`.
    seed : int
    preparations, finishers : tuples
        The first and last steps of the recipe, on the survey and on the finished population.
    prepared : tuple of dict
        What the preparations did.
    """

    stages: tuple[Stage, ...]
    models: tuple[Any, ...] = field(repr=False)
    layout: Layout = field(repr=False)
    sample: Sample = field(repr=False)
    survey: Survey
    seed: int
    preparations: tuple[Preparation, ...] = ()
    finishers: tuple[Finisher, ...] = ()
    prepared: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What the fit had to fall back to."""
        return tuple(item for model in self.models for item in model.fallbacks)

    def derived_survey(self) -> Survey:
        """Return the survey with the columns that `Derive` stages add, its rows in their order."""
        survey, back = self.survey, np.argsort(self.survey.household_order, kind="stable")
        for stage in self.stages:
            if isinstance(stage, Derive):
                values = self.sample.columns[stage.name][back]
                column = restore_column(self.sample.fields[stage.name], values)
                survey = survey.with_column(stage.name, column)
        return survey

    def simulate(
        self,
        *,
        seed: int | None = None,
        scale: float = 1.0,
        out: Path | str | None = None,
        workers: Workers = 1,
        rows_per_block: int = ROWS_PER_BLOCK,
        on_event: Listener | None = None,
    ) -> Population:
        """Simulate a population.

        Parameters
        ----------
        seed : int, optional
            Default: the seed of the fit.
        scale : float
            Factor on the weights: 0.1 makes a population of a tenth of the size.
        out : path, optional
            Folder to write Parquet to, block by block; a run that was stopped resumes there.
            Without it the population is held in memory. A recipe with finishers (`Distribute`,
            `Anneal`) is simulated and finished in memory first and written at the end; stopped
            before, it starts again. Measured: 2.2 million persons with 8 columns need 0.8 GB.
        workers : int or str
            Threads, ``"processes:4"`` or ``"dask://host:port"``. Results do not depend on it.
            Finishers run region by region in as many threads of this process.
        rows_per_block : int
            Most persons in a block; part of the recipe: another value gives another population.
        on_event : callable, optional
            Receives an `Event` for each block.

        Returns
        -------
        Population

        Raises
        ------
        InputError
            An argument makes no sense.
        OutputError
            The folder holds another run, or cannot be written.
        """
        _check_arguments(scale, rows_per_block)
        check_workers(workers)
        seed = self.seed if seed is None else resolve_seed(seed)
        streams = Streams(seed)
        structure, model = self.stages[0], self.models[0]
        assert isinstance(structure, Structure)
        plans = make_plan(model, structure.method, scale, streams, rows_per_block)
        notes = structure_fallbacks(model, _household_table(model, plans), scale)
        layout = sized(self.layout, plans)
        recipe = Recipe(self.stages, self.models, layout, self.sample.strata_levels, streams)
        identity = {
            "version": __version__,
            "seed": seed,
            "fit_seed": self.seed,
            "scale": scale,
            "rows_per_block": rows_per_block,
            "recipe": [
                stage_to_dict(step) for step in (*self.preparations, *self.stages, *self.finishers)
            ],
            "survey": _fingerprint(self.sample),
        }
        identity = json.loads(json.dumps(identity, default=str))
        run = _Run(self, recipe, plans, identity, workers, on_event or silent, tuple(notes))
        if out is None:
            return run.finished(None, seed, rows_per_block) if self.finishers else run.in_memory()
        root = Path(out)
        with claim(root, identity):
            if self.finishers:
                return run.finished(root, seed, rows_per_block)
            return run.to_folder(root)


@dataclass(frozen=True, slots=True)
class _Run:
    """One call of `simulate`: the same blocks into memory or into a folder."""

    fitted: FittedPipeline
    recipe: Recipe
    plans: list[BlockPlan]
    identity: dict[str, Any]
    workers: Workers
    listener: Listener
    notes: tuple[Fallback, ...] = ()

    def in_memory(self) -> Population:
        total = sum(plan.n_persons for plan in self.plans)
        columns = {f.name: np.empty(total, dtype=f.dtype) for f in self.recipe.fields}
        found: list[Fallback] = [*self.fitted.fallbacks, *self.notes]
        if isinstance(self.workers, int):
            fill = partial(_fill, self.recipe, columns)
        else:  # other processes cannot write into our arrays
            fill = partial(simulate_block, self.recipe)
        for done, result in enumerate(map_blocks(fill, self.plans, self.workers), 1):
            if isinstance(result, Simulated):
                _copy(result, columns)
                result = result.fallbacks
            found.extend(result)
            self.listener(Event("progress", "simulate", done, len(self.plans)))
        for values in columns.values():
            values.flags.writeable = False
        blocks = [
            {"n_households": plan.n_households, "n_persons": plan.n_persons} for plan in self.plans
        ]
        manifest = self._manifest(blocks, found)
        return Population(self.recipe.fields, manifest, merge_fallbacks(found), columns=columns)

    def to_folder(self, root: Path) -> Population:
        held = read_manifest(root)
        write = WriteBlock(root, self.recipe)
        records = []
        for done, record in enumerate(map_blocks(write, self.plans, self.workers), 1):
            records.append(record)
            event = Event("progress", "simulate", done, len(self.plans), record["file"])
            self.listener(event)
        order = {part: i for i, part in enumerate(self._files())}
        records.sort(key=lambda record: order[record["file"]])
        found = [*self.fitted.fallbacks, *self.notes, *fallbacks_of(records)]
        blocks = [{k: v for k, v in r.items() if k != "fallbacks"} for r in records]
        manifest = self._manifest(blocks, found)
        if held != manifest:
            write_text(root / MANIFEST, dump(manifest))
        return Population(self.recipe.fields, manifest, merge_fallbacks(found), path=root)

    def finished(self, root: Path | None, seed: int, rows_per_block: int) -> Population:
        """Simulate in memory, run the finishers, and write the result where a folder is given."""
        if root is not None:
            there = completed(root)
            if there is not None:
                return there
        layout = self.recipe.layout
        population = finish_population(
            self.in_memory(),
            self.fitted.finishers,
            layout,
            seed=seed,
            rows_per_block=rows_per_block,
            workers=self.workers,
            on_event=self.listener,
        )
        if root is None:
            return population
        return write_population(population, layout, root, rows_per_block, self.listener)

    def _files(self) -> list[str]:
        from synthpop.storage import part_name

        return [part_name(self.recipe, plan) for plan in self.plans]

    def _manifest(self, blocks: list[dict[str, Any]], found: Sequence[Fallback]) -> dict[str, Any]:
        layout, roles = self.recipe.layout, self.fitted.survey.roles
        names = {
            "household": layout.household,
            "strata": layout.strata,
            "size": layout.size,
            "person": layout.person,
        }
        manifest = {
            "format": FORMAT,
            "status": "complete",
            "identity": self.identity,
            "roles": {role: item.name if item else None for role, item in names.items()},
            "sample": {
                "n_persons": self.fitted.survey.n_persons,
                "n_households": self.fitted.survey.n_households,
                "weight": roles.weight,
            },
            "columns": [item.to_dict() for item in self.recipe.fields],
            "n_persons": sum(block["n_persons"] for block in blocks),
            "n_households": sum(block["n_households"] for block in blocks),
            "blocks": blocks,
            "fallbacks": [asdict(item) for item in merge_fallbacks(found)],
        }
        if self.fitted.prepared:
            manifest["prepared"] = list(self.fitted.prepared)
        plain: dict[str, Any] = json.loads(json.dumps(manifest, default=str))
        plain["columns"] = manifest["columns"]
        return plain


def _fill(recipe: Recipe, columns: dict[str, np.ndarray], plan: BlockPlan) -> Any:
    simulated = simulate_block(recipe, plan)
    _copy(simulated, columns)
    return simulated.fallbacks


def _copy(simulated: Simulated, columns: dict[str, np.ndarray]) -> None:
    start = simulated.plan.first_person
    for name, values in simulated.columns.items():
        columns[name][start : start + len(values)] = values


def stage_to_dict(stage: Any) -> dict[str, Any]:
    """Return a stage as plain values, as a run file has them: ``type`` and its options.

    Margins come as their options, the number of their cells and a hash of their table.
    """
    kinds = {cls: name for name, cls in STAGES.items()}
    margins = getattr(stage, "margins", None)
    options = asdict(stage if margins is None else replace(stage, margins=()))
    if margins is not None:
        options["margins"] = [margin_to_dict(margin) for margin in margin_list(margins)]
    return {"type": kinds[type(stage)], **{k: v for k, v in options.items() if v is not None}}


def margin_to_dict(margin: Margin) -> dict[str, Any]:
    """Return what tells a margin from others: its options, its columns, a hash of its table."""
    text = margin.frame.to_csv(index=False)
    options = {
        name: getattr(margin, name)
        for name in ("level", "total", "importance", "variable", "size", "name")
        if getattr(margin, name) is not None
    }
    return {
        **options,
        "columns": list(margin.columns),
        "n_cells": len(margin.frame),
        "hash": blake2b(text.encode(), digest_size=20).hexdigest(),
    }


def _storable(survey: Survey) -> Survey:
    """Return the survey with levels that a population can hold, so that both have the same."""
    if not isinstance(survey, Survey):
        return survey  # a fault, told by the check of the recipe
    roles = survey.roles
    frame = with_storable_levels(survey.frame, (roles.household, roles.person, roles.psu))
    return survey if frame is survey.frame else Survey(frame, **roles.named())


def _extended(sample: Sample, stage: Stage, model: Any, first: bool) -> Sample:
    """Return the sample with the columns that the population has after this stage."""
    observed = stage.observed(model, sample)
    fields = {f.name: f for f in model.fields if f.name in observed}
    sample = sample.with_columns(fields, observed)
    return replace(sample, basic=sample.available) if first else sample


def _household_table(model: Any, plans: Sequence[BlockPlan]) -> np.ndarray:
    """Return how many households are made, by stratum and size; none at all is a fault."""
    counts = np.zeros(model.totals.shape, dtype=np.int64)
    for plan in plans:
        counts[plan.stratum, np.searchsorted(model.sizes, plan.sizes)] += plan.counts
    if not counts.any():
        faults = Faults("simulate")
        what = f"leaves no household: {model.totals.sum():,.3g} are expected at scale 1"
        faults.add("scale", what, remedy="Give a larger scale.")
        faults.raise_if_any()
    return counts


def _is_a(value: object, *kinds: type) -> bool:
    """Whether a value is a number of these kinds; True and False are none."""
    number = value.item() if isinstance(value, np.number) else value
    return isinstance(number, kinds) and not isinstance(number, bool)


def _check_arguments(scale: float, rows_per_block: int) -> None:
    faults = Faults("simulate")
    if not (_is_a(scale, int, float) and np.isfinite(scale) and scale > 0):
        faults.add("scale", f"is {scale!r}", remedy="Give a positive number.")
    if not (_is_a(rows_per_block, int) and rows_per_block >= 1):
        remedy = "Give a whole number, 1 or more."
        faults.add("rows_per_block", f"is {rows_per_block!r}", remedy=remedy)
    faults.raise_if_any()


def _fingerprint(sample: Sample) -> str:
    """Hash of all that the fit saw: columns, levels, weights, households."""
    digest = blake2b(digest_size=20)
    for name in sorted(sample.columns):
        item = json.dumps(sample.fields[name].to_dict(), default=str)
        digest.update(item.encode() + np.ascontiguousarray(sample.columns[name]).tobytes())
    for values in (sample.weights, sample.household_weights, sample.offsets, sample.strata):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
