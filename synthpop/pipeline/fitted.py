"""A fitted pipeline: what was learned, and the populations that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin
from synthpop.conditional.class_models import with_earlier_pooling
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.frame.dataset import restore_column
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.show import diagram, step_text, view
from synthpop.microdata.messages.suppression import SMALLEST_COUNT
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.engines import Workers
from synthpop.microdata.runs.output import listener_of
from synthpop.microdata.statistics.secret_key import Key, secret_key
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.pipeline.fingerprint import (
    check_arguments,
    check_replicates,
    check_run,
    chosen_strata,
    replicate_seed,
)
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.pipeline.identity import check_described, identity_of
from synthpop.pipeline.known_totals import at_scale, scales_of
from synthpop.pipeline.learn import Earlier, learn
from synthpop.pipeline.refits import RecipeRefits
from synthpop.pipeline.replicates import (
    NOISE_ONLY,
    BootstrapReplicates,
    check_design,
    check_refit,
    in_order,
)
from synthpop.pipeline.run import Run
from synthpop.pipeline.simulate import Recipe
from synthpop.population.population import Population
from synthpop.population.storage import claim
from synthpop.stages.blocks import BlockPlan, household_table, make_plan
from synthpop.stages.derive import Derive
from synthpop.stages.id_columns import sized
from synthpop.stages.structure import Structure, structure_fallbacks

if TYPE_CHECKING:
    from synthpop.pipeline.disclosed import Disclosed

ROWS_PER_BLOCK = 250_000


@dataclass(frozen=True, slots=True)
class FittedPipeline(FittedRecipe):
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
    prepared : tuple of SurveyStepRecord
        What the survey stages did: stage, summary, seed, details.
    learned : str
        Hash of all models; empty where one of them cannot be described.
    rules : RulePlan
        Edit rules, and the steps after which they are looked at.
    replicate : dict or None
        Which replicate its populations are, for their manifest (see `replicates`).
    kept : Origin or None
        What is known of the survey where the fit was read from a folder (`load_fitted`).
    """

    def summary(self) -> str:
        """Return what was learned, from what, in a few sentences."""
        labels = [getattr(step, "label", type(step).__name__) for step in self.steps]
        return message(
            "Recipe of {n}, learned from a survey of {n_persons} with seed {seed}: "
            "{labels}. {fallbacks}.",
            n=plural(len(labels), "step"),
            n_persons=plural(self.origin.n_persons, "person"),
            seed=self.seed,
            labels=", ".join(labels),
            fallbacks=plural(len(self.fallbacks), "fallback"),
        )

    def __repr__(self) -> str:
        return f"<FittedPipeline: {self.summary()}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled: a file of it would be a file of the survey."""
        what = (
            "cannot be pickled: it carries the whole survey, columns that no stage uses included, "
            "and what it has learned shows single respondents"
        )
        hint = (
            "Keep recipe and survey and fit again, or fitted.save(folder), which says what it "
            "discloses; give away what synthpop release makes."
        )
        raise InputError.of("fitted pipeline", "pickle", what, hint)

    def __copy__(self) -> FittedPipeline:
        return self

    def __deepcopy__(self, memo: Any) -> FittedPipeline:
        return self

    def disclosed(self, *, minimum: int = SMALLEST_COUNT) -> Disclosed:
        """Return what the numbers of the fit disclose about respondents, step by step.

        Parameters
        ----------
        minimum : int
            Persons (households) behind a number that discloses nobody.

        Notes
        -----
        Each number is compared with the survey (`synthpop.pipeline.disclosed`); no randomness.

        Examples
        --------
        >>> from synthpop import Pipeline, load_demo_survey
        >>> fitted = Pipeline([Structure(["age", "rb090"])]).fit(load_demo_survey(), seed=1)
        >>> fitted.disclosed().copies
        ('structure',)
        """
        from synthpop.pipeline.disclosed import disclosed

        return disclosed(self, minimum)

    def save(
        self, folder: Path | str, *, minimum: int = SMALLEST_COUNT, accept: str | None = None
    ) -> Disclosed:
        """Write what simulation needs into a folder, without the survey; `load_fitted` reads it.

        Parameters
        ----------
        folder : path
            New, empty, or one that holds a saved fit, which is replaced as a whole. Only its user
            may read the files.
        minimum : int
            See `disclosed`.
        accept : str, optional
            Why a fit that copies records may be saved nevertheless: who takes it, who has decided.
            Written into the folder, with the table of what is disclosed. `Structure` copies
            households, so that most recipes need it.

        Returns
        -------
        Disclosed

        Raises
        ------
        InputError
            The fit copies records and no reason is given; it holds an object that is neither of
            this package nor of scikit-learn; or it was itself read from a folder.
        OutputError
            The folder holds other files, or cannot be written.

        Notes
        -----
        Arrays and JSON, no pickle. The hash of the survey is kept, with which whoever has the
        whole survey can confirm that the fit is of it. See `load_fitted` for an example.
        """
        from synthpop.pipeline.saved_fit import save_fit

        return save_fit(self, folder, minimum, accept)

    def to_frame(self) -> pd.DataFrame:
        """Return the fallbacks of the fit: stage, stratum, what was used, persons."""
        names = ["stage", "stratum", "what", "n_persons"]
        return pd.DataFrame([asdict(item) for item in self.fallbacks], columns=names)

    def _repr_html_(self) -> str:
        table = self.to_frame()
        steps = diagram([step_text(step) for step in self.steps])
        return view(self.summary(), table if len(table) else None, steps)

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
        rows = np.isin(self.sample.strata[back], self._wanted(strata))
        return survey.with_frame(survey.frame[rows])

    def simulate(
        self,
        *,
        seed: int | None = None,
        key: Key | None = None,
        scale: float = 1.0,
        strata: Sequence[Any] | str | None = None,
        out: Place | str | None = None,
        workers: Workers = 1,
        rows_per_block: int = ROWS_PER_BLOCK,
        on_event: Listener | None = None,
    ) -> Population:
        """Simulate a population.

        Parameters
        ----------
        seed : int, optional
            Default: the seed of the fit.
        key : bytes, hexadecimal text or path of a ``run.key``, optional
            16 to 64 secret bytes, from which all draws of persons and households come; the seed
            alone then undoes nothing, and both together give the same bytes again. Without one: a
            population in a folder has that of the folder, or a fresh one from the operating system;
            one in memory draws from the seed alone, the same in every call, for teaching and
            studies: it is not to be released.
        scale : float
            Factor on the weights: 0.1 makes a population of a tenth of the size. Known totals of
            the country are scaled with it; those of a population of this scale stay as they are.
        strata : list of levels, optional
            Simulate these strata only. They are what they are in the whole population, byte for
            byte, ids of households included. Not with population_stages, which need all strata.
        out : path, optional
            Folder to write Parquet to, block by block; a run that was stopped resumes there. On a
            disk, or in object storage: ``s3://bucket/folder`` (see `open_population`).
            The key is written to ``run.key`` in the folder, mode 0600, with the seeds, which the
            manifest does not have; a run resumes with it. It stays in the office, as does the
            folder: ``synthpop release`` makes the one that may leave.
            Without `out` the population is held in memory. A recipe with population stages
            (`Distribute`, `Anneal`) needs whole strata in memory: a few at a time where all of them
            work within the strata (``within`` or ``split``), with the households of other strata
            that cells lack (``split_upper``), else everybody. Stopped before its end, it goes on
            behind the last strata that were finished; what is in memory at once (at most a million
            persons, or one larger stratum) begins again.
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
        with faults.gathering():
            key = secret_key(key)
        seed, wanted, every, plans = self._planned(faults, seed, scale, strata, rows_per_block)
        counts = household_table(self.models[0], plans)
        of_weights, _ = scales_of(self.prepared, scale)
        notes = structure_fallbacks(self.models[0], counts, of_weights, wanted)
        layout, levels = sized(self.layout, every), self.sample.strata_levels
        stop = self.places[0] if self.places else None
        recipe = Recipe(
            self.stages, self.models, layout, levels, Streams(seed, key), self.rules, stop,
            self.origin.dictionary,
        )  # fmt: skip
        identity = identity_of(self, seed, scale, rows_per_block)
        if strata is not None:
            identity = replace(identity, strata=tuple(str(levels[k]) for k in wanted))
        fitted, listener = at_scale(self, scale), listener_of(on_event)
        if out is None:
            sealed = identity.sealed_with(key)
            run = Run(fitted, recipe, plans, sealed, workers, listener, tuple(notes))
            whole = bool(self.population_stages)
            return run.finished(None, seed, rows_per_block) if whole else run.in_memory()
        root = place(out)
        check_described(self.learned)
        with claim(root, identity, key) as held:
            recipe = replace(recipe, streams=Streams(seed, held.key))
            run = Run(fitted, recipe, plans, held.identity, workers, listener, tuple(notes))
            if self.population_stages:
                return run.finished(root, seed, rows_per_block)
            return run.to_folder(root, held.token)

    def refit(
        self,
        survey: Survey,
        *,
        seed: int | None = None,
        same_pooling: bool = False,
        on_event: Listener | None = None,
    ) -> FittedPipeline:
        """Learn the same recipe from another survey with the same columns and roles.

        Parameters
        ----------
        survey : Survey
            Survey stages (`CorrectHeaping`) are not repeated: it is a survey as the stages see it.
        seed : int, optional
            Default: the seed of this fit.
        same_pooling : bool
            Whether models of classes take over how strongly strata and pairs of predictors are
            shrunk, which this fit has chosen by cross-validation; else it is chosen again. Shares
            and means of groups are then calibrated in a smaller pilot too (3, not 16 times the
            households), from the factors of this fit on.
        on_event : callable, optional
        """
        rules = tuple(rule.text for rule in self.rules.rules)
        steps = self.steps[len(self.survey_stages) :]
        if same_pooling:
            fits = zip(self.stages, self.models, strict=True)
            poolings = {stage.label: model.poolings() for stage, model in fits}
            steps = tuple(with_earlier_pooling(x, poolings.get(x.label, {})) for x in steps)
        seed = self.seed if seed is None else seed
        earlier = Earlier(self.models, self.sample) if same_pooling else None
        fitted = learn(FittedPipeline, steps, rules, (), survey, seed, on_event, earlier)
        return replace(
            fitted, stages=self.stages, survey_stages=self.survey_stages, prepared=self.prepared
        )

    def refits(self) -> RecipeRefits:
        """Return what learns the recipe again from other surveys, in other processes too.

        `riskeval.audit` makes use of it.
        """
        return RecipeRefits(self, self.refit)

    def replicates(
        self,
        n: int,
        *,
        refit: str | None = None,
        margins: Sequence[Margin] | Margin | None = None,
        seed: int | None = None,
        key: Key | None = None,
        scale: float = 1.0,
        strata: Sequence[Any] | str | None = None,
        out: Place | str | None = None,
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
        key : bytes, hexadecimal text or path of a ``run.key``, optional
            See `simulate`; without one each replicate in a folder has a key of its own.
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
            In memory one at a time, unless the caller keeps them. Its manifest has
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
        that cannot be calibrated or fitted is replaced by another one, ten times at most. How
        strongly strata and pairs of predictors are shrunk is that of the fit, as smoothing
        parameters are in most bootstraps: all else is learned again.
        `estimate_over_replicates` makes standard errors and intervals of the replicates.
        """
        faults = Faults("replicates")
        with faults.gathering():
            check_replicates(n)
        with faults.gathering():
            check_run(workers, out, on_event)
        known = check_refit(faults, refit, margins)
        if refit is not None:
            with faults.gathering():
                check_design(self.survey)
        with faults.gathering():
            key = secret_key(key)
        seed, *_ = self._planned(faults, seed, scale, strata, rows_per_block)
        root = None if out is None else place(out)
        options: dict[str, Any] = {"scale": scale, "strata": strata, "key": key}
        options["rows_per_block"] = rows_per_block
        if refit is not None:
            task = BootstrapReplicates(self, self.refit, seed, known, options, root)
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
        used_seed, wanted = self.seed, list(range(len(self.sample.strata_levels)))
        all_plans: list[BlockPlan] = []
        plans: list[BlockPlan] = []
        with faults.gathering():
            used_seed = self.seed if seed is None else resolve_seed(seed)
        with faults.gathering():
            wanted = self._wanted(strata)
        with faults.gathering():
            check_arguments(scale, rows_per_block)
            of_weights, _ = scales_of(self.prepared, scale)
            all_plans = make_plan(
                model, structure.method, of_weights, Streams(used_seed), rows_per_block
            )
            plans = [plan for plan in all_plans if plan.stratum in wanted]
            household_table(model, plans)
        faults.raise_if_any()
        return used_seed, wanted, all_plans, plans

    def _wanted(self, strata: Sequence[Any] | str | None) -> list[int]:
        if strata is None:
            return list(range(len(self.sample.strata_levels)))
        if self.population_stages:
            what = f"cannot be chosen: {self.population_stages[0].label} needs the whole population"
            hint = "Leave it out, or take such steps out of the recipe."
            raise InputError.of("simulate", "strata", what, hint)
        return chosen_strata(strata, self.sample.strata_levels, self.sample.strata_name)
