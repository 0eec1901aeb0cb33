"""Learn a recipe from a survey: check it as a whole, prepare the survey, fit stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from synthpop.calibration.margins import Margin
from synthpop.conditional.rules.enforce import households_that_break, plan_rules
from synthpop.conditional.rules.parse import parse_rules
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.output import listener_of
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.pipeline.known_totals import calibrate_coarsely, with_annealing
from synthpop.pipeline.model_hash import model_hash
from synthpop.pipeline.pilot import (
    TIMES_FOR_MEANS,
    TIMES_IN_REPLICATES,
    Pilot,
    make_pilot,
    needs_pilot,
    pilot_size,
)
from synthpop.pipeline.postprocess import seed_of
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population
from synthpop.stages.base import BlockStage
from synthpop.stages.id_columns import IdColumns
from synthpop.stages.population_stages import PopulationStage, SurveyStage
from synthpop.stages.recipe import (
    check_recipe,
    extended,
    make_layout,
    make_sample,
    split_recipe,
    storable,
)
from synthpop.stages.structure import without_households

FittedT = TypeVar("FittedT")


@dataclass(frozen=True, slots=True)
class Earlier:
    """What another fit of the same stages has learned, and its sample."""

    models: tuple[Any, ...]
    sample: Sample

    def digits(self, sample: Sample, name: str) -> np.ndarray:
        """Return the digit in the earlier fit of each digit of a column; 0 (missing) for none."""
        levels, before = sample.fields[name].levels, self.sample.fields[name].levels
        place = {level: digit for digit, level in enumerate(before, 1)}
        return np.array([0, *(place.get(level, 0) for level in levels)])


@dataclass(frozen=True, slots=True)
class TrialFit:
    """A fit that only shows whether the stages work."""

    households: int  # of its pilot


def learn(
    make: Callable[..., FittedT],
    recipe: Sequence[BlockStage | SurveyStage | PopulationStage],
    rules: Sequence[str],
    known_totals: Sequence[Margin],
    survey: Survey | Population,
    seed: int | None,
    on_event: Listener | None,
    earlier: Earlier | TrialFit | None = None,
) -> FittedT:
    """Learn every stage from the survey; `make` holds what was learned (`FittedPipeline`).

    Shares and means are calibrated in a pilot of the population, which is smaller with an earlier
    fit and starts from its factors, or in a trial.
    """
    listener = listener_of(on_event)
    seed = resolve_seed(seed)
    streams = Streams(seed)
    survey = storable(survey.survey() if isinstance(survey, Population) else survey)
    edit_rules = parse_rules(rules)
    if known_totals and isinstance(survey, Survey):
        recipe = with_annealing(recipe, known_totals, survey.roles.strata)
    steps, stages = split_recipe(recipe), split_recipe(recipe).stages
    columns = check_recipe(recipe, survey, edit_rules)
    prepared = []
    for number, step in enumerate(steps.survey_stages):
        survey, record = step.prepare(survey, seed_of(seed, steps.survey_stages, number))
        prepared.append(record)
    if prepared:
        columns = check_recipe(recipe, survey, edit_rules)
    layout = make_layout(survey, columns)
    sample = make_sample(survey, columns, layout)
    if known_totals:
        survey, record = calibrate_coarsely(survey, sample, stages, known_totals)
        prepared.append(record)
        sample = make_sample(survey, columns, layout)
    models, sample = _fit_stages(
        stages, sample, layout, streams, listener=listener, earlier=earlier
    )
    plan = plan_rules(edit_rules, stages, models, sample)
    if 0 in plan.at:
        models[0] = without_households(models[0], households_that_break(plan, sample))
    listener(Event("end", "fit", len(stages), len(stages)))
    return make(
        stages,
        tuple(models),
        layout,
        sample,
        survey,
        seed,
        steps.survey_stages,
        steps.population_stages,
        tuple(replace(one, details=json_values(one.details, lambda _: None)) for one in prepared),
        model_hash((layout, tuple(models))),
        plan,
        places=steps.places,
    )


def _fit_stages(
    stages: Sequence[BlockStage],
    sample: Sample,
    layout: IdColumns,
    streams: Streams,
    *,
    listener: Listener,
    earlier: Earlier | TrialFit | None,
) -> tuple[list[Any], Sample]:
    """Return a fitted model for each stage, and the sample with what the stages add to it."""
    models: list[Any] = []
    pilot: Pilot | None = None
    for number, stage in enumerate(stages):
        listener(Event("progress", "fit", number, len(stages), stage.label))
        model = stage.fit(sample, streams.at("fit", stage.label))
        if isinstance(earlier, Earlier):
            model = stage.calibrate_as(
                model, earlier.models[number], partial(earlier.digits, sample)
            )
        if number == 0 and needs_pilot(stages):
            times = TIMES_IN_REPLICATES if isinstance(earlier, Earlier) else TIMES_FOR_MEANS
            n = earlier.households if isinstance(earlier, TrialFit) else None
            size = pilot_size(stages, sample, times, n)
            pilot = make_pilot(stages, model, sample, layout, streams, *size)
        if pilot is not None:
            model = pilot.calibrated(stage, model)
            if needs_pilot(stages[number + 1 :]):
                pilot = pilot.after(stage, model)
        models.append(model)
        sample = extended(sample, stage, model, number == 0)
    return models, sample
