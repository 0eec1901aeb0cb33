"""Synthetic populations of households and persons from a survey sample.

Names are imported when they are first used, so that ``import synthpop`` costs almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.lazy import attach
from synthpop.microdata.messages.presenters import register
from synthpop.microdata.runs.compiling import COMPILE_NOTICE
from synthpop.microdata.runs.installed import warn_of_others
from synthpop.microdata.version import __version__ as __version__

warn_of_others(__file__)
COMPILE_NOTICE.watch()
register(
    {
        "FitReport.figures": "synthpop.report.gallery:titled_pictures",
        "FitReport.plot": "synthpop.report.gallery:distances_picture",
        "Population.__arrow_c_stream__": "synthpop.population.export:arrow_stream",
        "Population.guessed_draws": "synthpop.evaluation.guessed_draws:quickly_guessed",
        "Population.households": "synthpop.population.export:household_table",
        "Population.to_arrow": "synthpop.population.export:to_arrow",
        "Population.to_csv": "synthpop.population.export:write_csv",
        "Population.to_parquet": "synthpop.population.export:write_parquet",
        "Population.plot": "synthpop.report.household_sizes:draw_population",
        "SampleSetup.write": "synthpop.sampling.setup_file:write_setup",
        "Study.figure": "synthpop.sampling.study_figures:draw_study",
        "Study.plot": "synthpop.sampling.study_figures:draw_study",
        "Survey.plot": "synthpop.report.household_sizes:draw_survey",
        "app": "synthpop.app.serve:run_app",
        "load_runfile": "synthpop.runfiles.runfile:load_runfile",
    }
)

if TYPE_CHECKING:
    from synthpop import heaping as heaping
    from synthpop import indicators as indicators
    from synthpop import sampling as sampling
    from synthpop import weighted as weighted
    from synthpop.calibration.calibrate_survey import calibrate as calibrate
    from synthpop.calibration.margins import Margin as Margin
    from synthpop.conditional.class_models import PoolingOptions as PoolingOptions
    from synthpop.datasets.demo import load_demo_population as load_demo_population
    from synthpop.evaluation.assess_fit import assess_fit as assess_fit
    from synthpop.evaluation.check_rules import check_rules as check_rules
    from synthpop.evaluation.combinations import compare_combinations as compare_combinations
    from synthpop.evaluation.crossvalidation import cross_validate as cross_validate
    from synthpop.evaluation.guessed_draws import guessed_draws as guessed_draws
    from synthpop.logic.of_survey import learned_rules as learned_rules
    from synthpop.microdata.formats.delimited import CsvOptions as CsvOptions
    from synthpop.microdata.formats.dictionary_file import read_dictionary as read_dictionary
    from synthpop.microdata.formats.dictionary_file import write_dictionary as write_dictionary
    from synthpop.microdata.formats.files import read_survey as read_survey
    from synthpop.microdata.formats.files import read_table as read_table
    from synthpop.microdata.formats.files import write_table as write_table
    from synthpop.microdata.frame.dictionary import Dictionary as Dictionary
    from synthpop.microdata.frame.dictionary import Variable as Variable
    from synthpop.microdata.frame.dictionary import dictionary_of as dictionary_of
    from synthpop.microdata.frame.dictionary import with_dictionary as with_dictionary
    from synthpop.microdata.frame.native import like as like
    from synthpop.microdata.messages.budget import budget as budget
    from synthpop.microdata.messages.errors import ConvergenceWarning as ConvergenceWarning
    from synthpop.microdata.messages.errors import GuaranteeError as GuaranteeError
    from synthpop.microdata.messages.errors import InputError as InputError
    from synthpop.microdata.messages.errors import MicrodataError as MicrodataError
    from synthpop.microdata.messages.errors import MicrodataWarning as MicrodataWarning
    from synthpop.microdata.messages.errors import ModelWarning as ModelWarning
    from synthpop.microdata.messages.errors import OutputError as OutputError
    from synthpop.microdata.messages.errors import RunFileError as RunFileError
    from synthpop.microdata.messages.errors import SparseDataWarning as SparseDataWarning
    from synthpop.microdata.messages.errors import WorkerError as WorkerError
    from synthpop.microdata.roles.demo_survey import load_demo_survey as load_demo_survey
    from synthpop.microdata.roles.microdata import Microdata as Microdata
    from synthpop.microdata.roles.survey import Survey as Survey
    from synthpop.microdata.statistics import tails as tails
    from synthpop.models.breaks import breaks as breaks
    from synthpop.pipeline.fitted import FittedPipeline as FittedPipeline
    from synthpop.pipeline.load_fit import load_fitted as load_fitted
    from synthpop.pipeline.pipeline import Pipeline as Pipeline
    from synthpop.pipeline.zone_population import populate_zones as populate_zones
    from synthpop.pipeline.zone_population import zone_controls as zone_controls
    from synthpop.pipeline.zone_population import zone_copies as zone_copies
    from synthpop.population.population import Population as Population
    from synthpop.population.population import open_population as open_population
    from synthpop.population.travel_models import TravelTables as TravelTables
    from synthpop.population.travel_models import travel_tables as travel_tables
    from synthpop.profile.mock import mock as mock
    from synthpop.profile.profile import profile_survey as profile_survey
    from synthpop.report.profile import write_profile as write_profile
    from synthpop.report.study import write_study as write_study
    from synthpop.report.write import write_report as write_report
    from synthpop.report.zones import write_zones as write_zones
    from synthpop.runfiles.runfile import dump_runfile as dump_runfile
    from synthpop.runfiles.runfile import load_runfile as load_runfile
    from synthpop.runfiles.runfile import run as run
    from synthpop.sampling.designs import Balanced as Balanced
    from synthpop.sampling.designs import (
        ProbabilityProportionalToSize as ProbabilityProportionalToSize,
    )
    from synthpop.sampling.designs import SimpleRandom as SimpleRandom
    from synthpop.sampling.designs import Systematic as Systematic
    from synthpop.sampling.draw import draw_sample as draw_sample
    from synthpop.sampling.stage_designs import Cluster as Cluster
    from synthpop.sampling.stage_designs import Stratified as Stratified
    from synthpop.sampling.stage_designs import TwoStage as TwoStage
    from synthpop.sampling.study import simulate_study as simulate_study
    from synthpop.stages.annealing import Anneal as Anneal
    from synthpop.stages.annealing import anneal as anneal
    from synthpop.stages.categorical import Categorical as Categorical
    from synthpop.stages.components import Components as Components
    from synthpop.stages.continuous.binned_method import Binned as Binned
    from synthpop.stages.continuous.binned_method import Gpd as Gpd
    from synthpop.stages.continuous.binned_method import Pareto as Pareto
    from synthpop.stages.continuous.regression_methods import BinnedRegressed as BinnedRegressed
    from synthpop.stages.continuous.regression_methods import Counted as Counted
    from synthpop.stages.continuous.regression_methods import Matched as Matched
    from synthpop.stages.continuous.regression_methods import Regressed as Regressed
    from synthpop.stages.continuous.stage import Continuous as Continuous
    from synthpop.stages.derive import Derive as Derive
    from synthpop.stages.distribute import Distribute as Distribute
    from synthpop.stages.gibbs import GibbsPass as GibbsPass
    from synthpop.stages.heaping import CorrectHeaping as CorrectHeaping
    from synthpop.stages.impute import Impute as Impute
    from synthpop.stages.relation import Relation as Relation
    from synthpop.stages.structure import Structure as Structure
    from synthpop.stages.table_pass import TablePass as TablePass
    from synthpop.variance.combine import combine as combine
    from synthpop.variance.over_replicates import (
        estimate_over_replicates as estimate_over_replicates,
    )
else:
    __getattr__, __dir__, __all__ = attach(__name__, "__version__")
