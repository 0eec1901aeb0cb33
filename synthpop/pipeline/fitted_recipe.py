"""A recipe with its fitted models: what a run reads of a fitted pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from synthpop.conditional.rules.enforce import RulePlan, broken_in_survey
from synthpop.microdata.frame.block import Fallback, Sample
from synthpop.microdata.roles.survey import Survey
from synthpop.pipeline.origin import Origin
from synthpop.population.manifest import SurveyStepRecord
from synthpop.stages.base import BlockStage, StratumPooling
from synthpop.stages.id_columns import IdColumns
from synthpop.stages.population_stages import PopulationStage, SurveyStage


@dataclass(frozen=True, slots=True)
class FittedRecipe:
    """The steps, the models and the survey that they come from; see `FittedPipeline`."""

    stages: tuple[BlockStage, ...]
    models: tuple[Any, ...] = field(repr=False)
    layout: IdColumns = field(repr=False)
    sample: Sample = field(repr=False)
    survey: Survey
    seed: int
    survey_stages: tuple[SurveyStage, ...] = ()
    population_stages: tuple[PopulationStage, ...] = ()
    prepared: tuple[SurveyStepRecord, ...] = field(default=(), repr=False)
    learned: str = field(default="", repr=False)
    rules: RulePlan = field(default_factory=RulePlan, repr=False)
    replicate: dict[str, Any] | None = field(default=None, repr=False)
    places: tuple[int, ...] = field(default=(), repr=False)
    kept: Origin | None = field(default=None, repr=False)

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
        if self.kept is not None:
            return (*of_models, *self.kept.broken)
        return (*of_models, *broken_in_survey(self.rules, self.sample))

    @property
    def origin(self) -> Origin:
        """What is known of the survey, which a fit that was read from a folder does not have."""
        return self.kept or Origin.of(self.survey, self.sample, self.rules)

    @property
    def pooling(self) -> dict[str, StratumPooling]:
        """How strata borrowed from each other: stage (and part of it) -> what was chosen."""
        fits = zip(self.stages, self.models, strict=True)
        return {
            stage.label + part: pooling
            for stage, model in fits
            for part, pooling in model.poolings().items()
        }
