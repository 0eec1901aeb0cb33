"""A recipe of stages: checked as a whole, fitted once on the sample, simulated in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synthpop.calibration.margins import Margin, margin_list
from synthpop.conditional.rules.enforce import (
    households_that_break,
    plan_rules,
)
from synthpop.conditional.rules.parse import parse_rules
from synthpop.microdata.events import Event, Listener
from synthpop.microdata.frames import listed_names
from synthpop.microdata.output import listener_of
from synthpop.microdata.show import diagram, step_text, view
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import plural
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.pipeline.known_totals import calibrate_coarsely, with_annealing
from synthpop.pipeline.model_hash import model_hash
from synthpop.pipeline.pilot import Pilot, make_pilot, needs_pilot
from synthpop.pipeline.postprocess import (
    seed_of,
)
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population
from synthpop.stages.base import BlockStage
from synthpop.stages.population_stages import PopulationStage, SurveyStage
from synthpop.stages.recipe import (
    check_recipe,
    extended,
    make_layout,
    make_sample,
    storable,
    take_apart,
)
from synthpop.stages.structure import without_households


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
        rules = listed_names(self.rules)
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
