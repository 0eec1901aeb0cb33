"""A run file in memory: survey, recipe, known totals, calibration and the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as data_field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.calibration.margins import Margin
from synthpop.microdata.formats.places import place
from synthpop.microdata.formats.tomlfile import faults_of
from synthpop.microdata.roles.survey import Survey
from synthpop.pipeline.pipeline import Pipeline
from synthpop.population.population import open_population
from synthpop.runfiles.stage_tables import read_margins
from synthpop.runfiles.tables import (
    CalibrateOptions,
    ReportOptions,
    RiskOptions,
    RunOptions,
    SurveyInput,
)
from synthpop.stages.base import BlockStage
from synthpop.stages.population_stages import PopulationStage, SurveyStage

if TYPE_CHECKING:
    from synthpop.calibration.result import Calibration


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run file in memory."""

    survey: SurveyInput
    stages: tuple[BlockStage | SurveyStage | PopulationStage, ...]
    run: RunOptions
    risk: RiskOptions | None
    report: ReportOptions
    calibrate: CalibrateOptions | None = None
    folder: Path = Path()  # where relative paths start: the folder of the file
    rules: tuple[str, ...] = ()  # edit rules of the population; see `synthpop.conditional.rules`
    # tables ``[[known_totals]]``: counts of the whole population; see `Pipeline`
    known_totals: tuple[Margin, ...] = ()
    # Mapping: the content of the file, which may know its lines
    source: Mapping[str, Any] = data_field(default_factory=dict, compare=False, repr=False)

    def pipeline(self) -> Pipeline:
        """Return the recipe with its rules and known totals."""
        return Pipeline(self.stages, self.rules, self.known_totals)

    def read_survey(self) -> Survey:
        """Read the survey that the file names."""
        if self.survey.population is not None:
            return open_population(place(self.survey.population, self.folder)).survey()
        if self.survey.demo:
            from synthpop.microdata.roles.demo_survey import load_demo_survey

            return load_demo_survey()
        return Survey(self.survey.read(self.folder), **self.survey.roles())

    def calibration_margins(self) -> tuple[Margin, ...]:
        """Read the known totals of ``[calibrate]``; none where the file has no such table."""
        faults = faults_of("run file", self.source)
        items = [] if self.calibrate is None else self.calibrate.margin
        margins = read_margins(faults, "[[calibrate.margin]]", items, self.folder)
        faults.raise_if_any()
        return margins

    def calibration(self, survey: Survey) -> Calibration | None:
        """Calibrate the weights as the file says; None where it has no ``[calibrate]``."""
        if self.calibrate is None:
            return None
        from synthpop.calibration.calibrate_survey import calibrate

        margins = list(self.calibration_margins())
        options = self.calibrate.model_dump(exclude={"margin"})
        return calibrate(survey, margins, **options)
