"""A recipe of stages: checked as a whole, fitted once on the sample, simulated in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop._version import __version__
from synthpop.calibration.margins import Margin, margin_list
from synthpop.conditional.rules.enforce import (
    RulePlan,
    broken_in_survey,
    households_that_break,
    plan_rules,
)
from synthpop.conditional.rules.parse import parse_rules
from synthpop.microdata.block import Fallback, Sample
from synthpop.microdata.dataset import restore_column
from synthpop.microdata.dictionary import Dictionary, dictionary_of
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.output import listener_of
from synthpop.microdata.show import diagram, view
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import plural
from synthpop.pipeline.engines import Workers, map_blocks
from synthpop.pipeline.environment import environment
from synthpop.pipeline.fingerprint import (
    check_arguments,
    check_count,
    check_run,
    chosen_strata,
    described,
    fingerprint,
    replicate_seed,
    stage_to_dict,
)
from synthpop.pipeline.known_totals import calibrate_coarsely, with_annealing
from synthpop.pipeline.model_hash import model_hash
from synthpop.pipeline.pilot import Pilot, make_pilot, needs_pilot
from synthpop.pipeline.postprocess import (
    completed,
    finish_population,
    seed_of,
    write_population,
)
from synthpop.pipeline.replicates import (
    NOISE_ONLY,
    BootstrapReplicates,
    check_design,
    check_refit,
    in_order,
)
from synthpop.pipeline.simulate import Recipe, Simulated, merge_fallbacks, simulate_block
from synthpop.pipeline.write_blocks import WriteBlock, plan_file
from synthpop.population.manifest import (
    BlockRecord,
    Manifest,
    RunIdentity,
    SampleRecord,
    StoredRoles,
)
from synthpop.population.plain_values import content_hash, json_values
from synthpop.population.population import Population
from synthpop.population.storage import claim, fallbacks_of, read_manifest, write_manifest
from synthpop.stages.base import BlockStage, StratumPooling
from synthpop.stages.blocks import BlockPlan, household_table, make_plan
from synthpop.stages.derive import Derive
from synthpop.stages.id_columns import IdColumns, sized
from synthpop.stages.population_stages import PopulationStage, SurveyStage
from synthpop.stages.recipe import (
    check_recipe,
    extended,
    make_layout,
    make_sample,
    storable,
    take_apart,
)
from synthpop.stages.structure import Structure, structure_fallbacks, without_households

ROWS_PER_BLOCK = 250_000


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A recipe: the stages in the order in which they run, `Structure` first.

    Parameters
    ----------
    stages : sequence of stages
        `Distribute` and `Anneal` come last: they work on the finished population, which is held in
        memory then. `CorrectHeaping` comes before `Structure`: it works on the survey.
    rules : sequence of str
        Edit rules that every person and household of the population keeps, such as
        ``"spouse: age >= 16"`` or ``"exactly one head"``; see `synthpop.conditional.rules`. They
        are checked on the survey first; households that break one are drawn again, and
        `check_rules` verifies the result. What the survey breaks, how many were drawn again and
        what could not be kept is in ``fallbacks``.

    known_totals : list of Margin
        Counts that are known of the whole population, as fine as they are published: the weights
        of the survey are calibrated to coarse tables of them, and whole households are exchanged
        (`Anneal`) until all are met, behind the last step whose variables they name. The
        population comes nearer to the truth in tables of other variables too.

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

    stages: Sequence[BlockStage | SurveyStage | PopulationStage]
    rules: Sequence[str] = ()
    known_totals: Sequence[Margin] = ()

    def __post_init__(self) -> None:
        """Keep lists of steps, rules and totals as tuples of their own."""
        object.__setattr__(self, "known_totals", tuple(margin_list(self.known_totals)))
        if isinstance(self.stages, list):
            object.__setattr__(self, "stages", tuple(self.stages))
        rules = (self.rules,) if isinstance(self.rules, str) else tuple(self.rules)
        object.__setattr__(self, "rules", rules)

    def summary(self) -> str:
        """Return the steps in a sentence."""
        labels = [step.label for step in take_apart(self.stages).stages]
        return f"Recipe of {plural(len(labels), 'stage')}: {', '.join(labels)}."

    def _repr_html_(self) -> str:
        return view(self.summary(), None, diagram([step_text(step) for step in self.stages]))

    def fit(
        self,
        survey: Survey | Population,
        *,
        seed: int | None = None,
        on_event: Listener | None = None,
    ) -> FittedPipeline:
        """Learn every stage from the survey.

        Parameters
        ----------
        survey : Survey or Population
            A population counts every person once; see `Population.survey`.
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
        listener = listener_of(on_event)
        seed = resolve_seed(seed)
        streams = Streams(seed)
        survey = storable(survey.survey() if isinstance(survey, Population) else survey)
        rules, recipe = parse_rules(self.rules), self.stages
        if self.known_totals and isinstance(survey, Survey):
            recipe = with_annealing(recipe, self.known_totals, survey.roles.strata)
        steps, stages = take_apart(recipe), take_apart(recipe).stages
        columns = check_recipe(recipe, survey, rules)
        prepared = []
        for number, step in enumerate(steps.survey_stages):
            survey, record = step.prepare(survey, seed_of(seed, steps.survey_stages, number))
            prepared.append(record)
        if prepared:
            columns = check_recipe(recipe, survey, rules)
        layout = make_layout(survey, columns)
        sample = make_sample(survey, columns, layout)
        if self.known_totals:
            survey, record = calibrate_coarsely(survey, sample, stages, self.known_totals)
            prepared.append(record)
            sample = make_sample(survey, columns, layout)
        models: list[Any] = []
        pilot: Pilot | None = None
        for number, stage in enumerate(stages):
            listener(Event("progress", "fit", number, len(stages), stage.label))
            model = stage.fit(sample, streams.at("fit", stage.label))
            if number == 0 and needs_pilot(stages):
                pilot = make_pilot(stages, model, sample, layout, streams)
            if pilot is not None:
                model = pilot.held(stage, model)
                if needs_pilot(stages[number + 1 :]):
                    pilot = pilot.after(stage, model)
            models.append(model)
            sample = extended(sample, stage, model, number == 0)
        plan = plan_rules(rules, stages, models, sample)
        if 0 in plan.at:
            models[0] = without_households(models[0], households_that_break(plan, sample))
        listener(Event("end", "fit", len(stages), len(stages)))
        return FittedPipeline(
            stages,
            tuple(models),
            layout,
            sample,
            survey,
            seed,
            steps.survey_stages,
            steps.population_stages,
            tuple(json_values(prepared, lambda _: None)),
            model_hash((layout, tuple(models))),
            plan,
            places=steps.places,
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
    places : tuple of int
        How many stages come before each population_stage.
    survey_stages, population_stages : tuples
        The first and last steps of the recipe, on the survey and on the finished population.
    prepared : tuple of dict
        What the survey stages did.
    learned : str
        Hash of all models; empty where one of them cannot be described.
    rules : RulePlan
        Edit rules, and the steps after which they are looked at.
    replicate : dict or None
        Which replicate its populations are, for their manifest (see `replicates`).
    """

    stages: tuple[BlockStage, ...]
    models: tuple[Any, ...] = field(repr=False)
    layout: IdColumns = field(repr=False)
    sample: Sample = field(repr=False)
    survey: Survey
    seed: int
    survey_stages: tuple[SurveyStage, ...] = ()
    population_stages: tuple[PopulationStage, ...] = ()
    prepared: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    learned: str = field(default="", repr=False)
    rules: RulePlan = field(default_factory=RulePlan, repr=False)
    replicate: dict[str, Any] | None = field(default=None, repr=False)
    places: tuple[int, ...] = field(default=(), repr=False)

    def summary(self) -> str:
        """Return what was learned, from what, in a few sentences."""
        labels = [getattr(step, "label", type(step).__name__) for step in self.steps]
        return (
            f"Recipe of {plural(len(labels), 'step')}, learned from a survey of "
            f"{plural(self.survey.n_persons, 'person')} with seed {self.seed}: "
            f"{', '.join(labels)}. {plural(len(self.fallbacks), 'fallback')}."
        )

    def __repr__(self) -> str:
        return f"<FittedPipeline: {self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return the fallbacks of the fit: stage, stratum, what was used, persons."""
        names = ["stage", "stratum", "what", "n_persons"]
        return pd.DataFrame([asdict(item) for item in self.fallbacks], columns=names)

    def _repr_html_(self) -> str:
        table = self.to_frame()
        steps = diagram([step_text(step) for step in self.steps])
        return view(self.summary(), table if len(table) else None, steps)

    @property
    def steps(self) -> tuple[Any, ...]:
        """The recipe in its order, steps for several variables taken apart."""
        order: list[Any] = [*self.survey_stages]
        for number in range(len(self.stages) + 1):
            pairs = zip(self.population_stages, self.places, strict=True)
            order += [step for step, place in pairs if place == number]
            order += self.stages[number : number + 1]
        return tuple(order)

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What the fit had to fall back to."""
        of_models = tuple(item for model in self.models for item in model.fallbacks)
        return (*of_models, *broken_in_survey(self.rules, self.sample))

    @property
    def pooling(self) -> dict[str, StratumPooling]:
        """How strata borrowed from each other: stage (and part of it) -> what was chosen."""
        fits = zip(self.stages, self.models, strict=True)
        return {
            stage.label + part: pooling
            for stage, model in fits
            for part, pooling in model.poolings().items()
        }

    def derived_survey(self, strata: Sequence[Any] | str | None = None) -> Survey:
        """Return the survey with the columns that `Derive` stages add, its rows in their order.

        With `strata` only the rows of these, for a population of these strata.
        """
        survey, back = self.survey, np.argsort(self.survey.household_order, kind="stable")
        for stage in self.stages:
            if isinstance(stage, Derive):
                values = self.sample.columns[stage.name][back]
                column = restore_column(self.sample.fields[stage.name], values)
                survey = survey.with_column(stage.name, column)
        if strata is None:
            return survey
        kept = np.isin(self.sample.strata[back], self._wanted(strata))
        return Survey(survey.frame[kept], **survey.roles.named())

    def simulate(
        self,
        *,
        seed: int | None = None,
        scale: float = 1.0,
        strata: Sequence[Any] | str | None = None,
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
        strata : list of levels, optional
            Simulate these strata only. They are what they are in the whole population, byte for
            byte, ids of households included. Not with population_stages, which need all strata.
        out : path, optional
            Folder to write Parquet to, block by block; a run that was stopped resumes there.
            Without it the population is held in memory. A recipe with population stages
            (`Distribute`, `Anneal`) is simulated and finished in memory first and written at the
            end; stopped before, it starts again. Measured: 2.2 million persons with 8 columns need
            0.8 GB.
        workers : int or str
            Threads, ``"processes:4"`` or ``"dask://host:port"``. Results do not depend on it.
            Population stages run region by region in as many threads of this process.
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
            Lists every argument that makes no sense.
        OutputError
            The folder holds another run, or cannot be written.
        """
        faults = Faults("simulate")
        with faults.gathering():
            check_run(workers, out, on_event)
        seed, wanted, every, plans = self._planned(faults, seed, scale, strata, rows_per_block)
        counts = household_table(self.models[0], plans)
        notes = structure_fallbacks(self.models[0], counts, scale, wanted)
        layout, levels = sized(self.layout, every), self.sample.strata_levels
        stop = self.places[0] if self.places else None
        recipe = Recipe(
            self.stages, self.models, layout, levels, Streams(seed), self.rules, stop,
            dictionary_of(self.survey.frame),
        )  # fmt: skip
        identity = self._identity(seed, scale, rows_per_block)
        if strata is not None:
            identity = replace(identity, strata=tuple(str(levels[k]) for k in wanted))
        run = _Run(self, recipe, plans, identity, workers, listener_of(on_event), tuple(notes))
        if out is None:
            return (
                run.finished(None, seed, rows_per_block)
                if self.population_stages
                else run.in_memory()
            )
        root = Path(out)
        self._check_described()
        with claim(root, identity) as token:
            if self.population_stages:
                return run.finished(root, seed, rows_per_block)
            return run.to_folder(root, token)

    def _identity(self, seed: int, scale: float, rows_per_block: int) -> RunIdentity:
        return RunIdentity(
            version=__version__,
            seed=seed,
            fit_seed=self.seed,
            scale=scale,
            rows_per_block=rows_per_block,
            recipe=tuple(json_values([described(stage_to_dict(step)) for step in self.steps])),
            survey=fingerprint(self.sample),
            models=self.learned,
            environment=environment(),
            rules=tuple(rule.text for rule in self.rules.rules),
            replicate=None if self.replicate is None else json_values(self.replicate),
            dictionary=self._dictionary_hash(),
        )

    def _dictionary_hash(self) -> str:
        dictionary = dictionary_of(self.survey.frame)
        return content_hash(dictionary.to_dict()) if len(dictionary) else ""

    def _check_described(self) -> None:
        """Refuse to write what cannot be told from another run."""
        if not self.learned:
            faults = Faults("simulate")
            what = "holds a model that cannot be described, so that its folder could be mixed up"
            remedy = "Use an estimator that can be copied, or leave out."
            faults.add("recipe", what, remedy=remedy)
            faults.raise_if_any()

    def refit(
        self, survey: Survey, *, seed: int | None = None, on_event: Listener | None = None
    ) -> FittedPipeline:
        """Learn the same recipe from another survey with the same columns and roles.

        Parameters
        ----------
        survey : Survey
            Survey stages (`CorrectHeaping`) are not repeated: it is a survey as the stages see it.
        seed : int, optional
            Default: the seed of this fit.
        on_event : callable, optional
        """
        rules = tuple(rule.text for rule in self.rules.rules)
        recipe = Pipeline(self.steps[len(self.survey_stages) :], rules=rules)
        fitted = recipe.fit(survey, seed=self.seed if seed is None else seed, on_event=on_event)
        return replace(fitted, survey_stages=self.survey_stages, prepared=self.prepared)

    def replicates(
        self,
        n: int,
        *,
        refit: str | None = None,
        margins: Sequence[Margin] | Margin | None = None,
        seed: int | None = None,
        scale: float = 1.0,
        strata: Sequence[Any] | str | None = None,
        out: Path | str | None = None,
        workers: Workers = 1,
        rows_per_block: int = ROWS_PER_BLOCK,
        on_event: Listener | None = None,
    ) -> Iterator[Population]:
        """Simulate several populations, one after the other.

        Parameters
        ----------
        n : int
        refit : {"bootstrap"}, optional
            Each replicate learns from a bootstrap sample of the survey, so that the spread of the
            replicates is the uncertainty of the survey, of the models and of the simulation.
            **Without it all replicates are of one fit and show the noise of the simulation only:**
            their spread is no standard error (it is a tenth of one), and for the number of persons
            it is next to nothing.
        margins : list of Margin, optional
            Known totals: each bootstrap sample is calibrated to them before it is learned from.
            Give those to which the survey itself was calibrated. Only with `refit`.
        seed : int, optional
            Default: the seed of the fit. Replicate k has the seed that `replicate_seed` makes of
            it: the same whatever `n` is, and in its manifest.
        out : path, optional
            Folder; replicate k goes to ``out/replicate-000k``. Each resumes as any other run;
            those that are finished are not learned again.
        workers : int or str
            See `simulate`. With `refit` replicates are made side by side, an integer is a number
            of processes, and each replicate is simulated by one thread.
        scale, strata, rows_per_block, on_event
            See `simulate`.

        Yields
        ------
        Population
            In memory only the one at hand is held, unless the caller keeps them. Its manifest has
            the replicate under ``identity``.

        Raises
        ------
        InputError
            Lists every argument that makes no sense, before the first population is made.

        Notes
        -----
        Bootstrap: rescaled (Rao and Wu 1988, doi:10.1080/01621459.1988.10478591), of the primary
        sampling units, households or persons within design strata, with finite population
        correction, all from the roles of the survey (psu, design_strata, fpc). A bootstrap sample
        that cannot be calibrated or fitted is replaced by another one, ten times at most.
        `estimate_over_replicates` makes standard errors and intervals of the replicates.
        """
        faults = Faults("replicates")
        with faults.gathering():
            check_count("replicates", n)
        with faults.gathering():
            check_run(workers, out, on_event)
        known = check_refit(faults, refit, margins)
        if refit is not None:
            with faults.gathering():
                check_design(self.survey)
        seed, *_ = self._planned(faults, seed, scale, strata, rows_per_block)
        root = None if out is None else Path(out)
        options: dict[str, Any] = {
            "scale": scale,
            "strata": strata,
            "rows_per_block": rows_per_block,
        }
        if refit is not None:
            task = BootstrapReplicates(self, seed, known, options, root)
            return in_order(task, int(n), workers, on_event or silent)
        return (
            replace(self, replicate={"number": number, "note": NOISE_ONLY}).simulate(
                seed=replicate_seed(seed, number),
                out=None if root is None else root / f"replicate-{number:04d}",
                workers=workers,
                on_event=on_event,
                **options,
            )
            for number in range(1, int(n) + 1)
        )

    def _planned(
        self,
        faults: Faults,
        seed: int | None,
        scale: float,
        strata: Sequence[Any] | str | None,
        rows_per_block: int,
    ) -> tuple[int, list[int], list[BlockPlan], list[BlockPlan]]:
        """Return seed, wanted strata, and the blocks of all and of the wanted strata.

        What is wrong with the arguments is raised together with the faults found before.
        """
        structure, model = self.stages[0], self.models[0]
        assert isinstance(structure, Structure)
        used, wanted = self.seed, list(range(len(self.sample.strata_levels)))
        every: list[BlockPlan] = []
        plans: list[BlockPlan] = []
        with faults.gathering():
            used = self.seed if seed is None else resolve_seed(seed)
        with faults.gathering():
            wanted = self._wanted(strata)
        with faults.gathering():
            check_arguments(scale, rows_per_block)
            every = make_plan(model, structure.method, scale, Streams(used), rows_per_block)
            plans = [plan for plan in every if plan.stratum in wanted]
            household_table(model, plans)
        faults.raise_if_any()
        return used, wanted, every, plans

    def _wanted(self, strata: Sequence[Any] | str | None) -> list[int]:
        """Return the strata to simulate, as positions."""
        if strata is None:
            return list(range(len(self.sample.strata_levels)))
        if self.population_stages:
            faults = Faults("simulate")
            what = f"cannot be chosen: {self.population_stages[0].label} needs the whole population"
            faults.add("strata", what, remedy="Leave it out, or take such steps out of the recipe.")
            faults.raise_if_any()
        return chosen_strata(strata, self.sample.strata_levels, self.sample.strata_name)


def step_text(step: Any) -> tuple[str, str]:
    """Return the kind of a step and what it makes, for the diagram of a recipe."""
    kind, _, variable = str(getattr(step, "label", type(step).__name__)).partition(" ")
    made = getattr(step, "provides", ()) or ((variable,) if variable else ())
    return kind, ", ".join(map(str, made))


@dataclass(frozen=True, slots=True)
class _Run:
    """One call of `simulate`: the same blocks into memory or into a folder."""

    fitted: FittedPipeline
    recipe: Recipe
    plans: list[BlockPlan]
    identity: RunIdentity
    workers: Workers
    listener: Listener
    notes: tuple[Fallback, ...] = ()

    def in_memory(self) -> Population:
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

    def to_folder(self, root: Path, token: str) -> Population:
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
            write_manifest(root, new)
        return Population(new, path=root)

    def finished(self, root: Path | None, seed: int, rows_per_block: int) -> Population:
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
