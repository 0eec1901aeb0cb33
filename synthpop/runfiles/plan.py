"""A run file in memory: survey, recipe, known totals, calibration and the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as data_field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.calibration.margins import Margin
from synthpop.calibration.zone_solver import WeightLimits
from synthpop.microdata.formats.files import read_table
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.formats.tomlfile import faults_of
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.engines import Workers
from synthpop.microdata.statistics.secret_key import Key
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.pipeline.pipeline import Pipeline
from synthpop.pipeline.zone_population import populate_zones
from synthpop.population.population import Population, open_population
from synthpop.runfiles.stage_tables import read_margins
from synthpop.runfiles.tables import (
    CalibrateOptions,
    ReportOptions,
    RiskOptions,
    RunOptions,
    SurveyInput,
    ZonesOptions,
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
    zones: ZonesOptions | None = None
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

    def make(
        self, fitted: FittedPipeline, *, key: Key | None = None, out: Place | str | None = None,
        workers: Workers = 1, on_event: Listener | None = None,
    ) -> Population:  # fmt: skip
        """Simulate the population of the file, in zones where it has a table ``[zones]``."""
        rows = self.run.rows_per_block
        if self.zones is None:
            return fitted.simulate(
                key=key, scale=self.run.scale, strata=self.run.strata, out=out, workers=workers,
                rows_per_block=rows, on_event=on_event,
            )  # fmt: skip
        if out is None:
            hint = "Give out, or write it into the table [run]."
            raise InputError.of("zones", "out", "zones are written to a folder", hint)
        faults = faults_of("run file", self.source)
        items = read_margins(faults, "[[zones.margin]]", self.zones.margin, self.folder)
        faults.raise_if_any()
        limits = {
            name: value for name in ("ratio", "weight")
            if (value := getattr(self.zones, name)) is not None
        }  # fmt: skip
        return populate_zones(
            fitted if self.zones.households == "recipe" else fitted.survey,
            read_table(self.folder / self.zones.geography),
            [item.scaled(self.run.scale) for item in items], out, within=self.zones.within,
            bounds=WeightLimits(**limits) if limits else None, seed=fitted.seed, key=key,
            workers=workers, rows_per_block=rows, on_event=on_event,
        )  # fmt: skip
