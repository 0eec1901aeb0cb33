"""Disclosure risk, protection and utility of released microdata, synthetic or perturbed.

Names are imported when they are first used, so that ``import riskeval`` costs almost nothing.
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
        "Assessment.figures": "riskeval.report.assessment_figures:draw_assessment",
        "Assessment.plot": "riskeval.report.assessment_figures:draw_first",
        "Assessment.save": "riskeval.report.assessment_folder:write_folder",
        "Assessment.to_markdown": "riskeval.report.assessment_folder:markdown_of",
        "Comparison.plot": "riskeval.report.comparison_figures:draw_comparison",
        "Comparison.report": "riskeval.report.comparison:write_comparison",
        "PlanSearch.figure": "riskeval.report.search_figure:draw_search",
        "PlanSearch.plot": "riskeval.report.search_figure:draw_search",
        "ProtectionSession.plot": "riskeval.report.protection_figure:draw_changes",
        "ProtectionSession.report": "riskeval.report.protection:write_protection",
        "RiskUtilityMap.figure": "riskeval.report.comparison_figures:draw_map",
        "RiskUtilityMap.plot": "riskeval.report.comparison_figures:draw_map",
    }
)

if TYPE_CHECKING:
    from riskeval import protect as protect
    from riskeval import utility as utility
    from riskeval.attacks.assess_synthetic import assess_synthetic as assess_synthetic
    from riskeval.attacks.counting.attribution import tcap as tcap
    from riskeval.attacks.counting.copies import copied_values as copied_values
    from riskeval.attacks.counting.disco import disco as disco
    from riskeval.attacks.counting.replicated_uniques import (
        replicated_uniques as replicated_uniques,
    )
    from riskeval.attacks.counting.subsets import fewer_keys as fewer_keys
    from riskeval.attacks.distance.closest_record import distance_screen as distance_screen
    from riskeval.attacks.distance.linkability import linkability as linkability
    from riskeval.attacks.distance.membership import membership as membership
    from riskeval.attacks.distance.singling_out import singling_out as singling_out
    from riskeval.attacks.guessed_seeds import guessed_seeds as guessed_seeds
    from riskeval.attacks.matching.replicates import scenario_replicates as scenario_replicates
    from riskeval.attacks.matching.scenarios import intruder_scenarios as intruder_scenarios
    from riskeval.attacks.prediction.rapid import rapid as rapid
    from riskeval.attacks.scenario import Scenario as Scenario
    from riskeval.auditing.audit import audit as audit
    from riskeval.auditing.result import Audit as Audit
    from riskeval.comparison.compare import compare as compare
    from riskeval.comparison.map import RiskUtilityMap as RiskUtilityMap
    from riskeval.comparison.releases import Release as Release
    from riskeval.comparison.request import Indicators as Indicators
    from riskeval.comparison.request import Regression as Regression
    from riskeval.comparison.request import SampleSizes as SampleSizes
    from riskeval.comparison.result import Comparison as Comparison
    from riskeval.keys.suggest import RoleSuggestions as RoleSuggestions
    from riskeval.keys.suggest import suggest_roles as suggest_roles
    from riskeval.ledger.judgement import LedgerCheck as LedgerCheck
    from riskeval.ledger.ledger import Ledger as Ledger
    from riskeval.ledger.ledger import ReleaseFacts as ReleaseFacts
    from riskeval.measures.alpha_k import alpha_k_anonymity as alpha_k_anonymity
    from riskeval.measures.amount_groups import amount_groups as amount_groups
    from riskeval.measures.assess import assess as assess
    from riskeval.measures.attacker_risk import attacker_risk as attacker_risk
    from riskeval.measures.beta_likeness import beta_likeness as beta_likeness
    from riskeval.measures.classification import classification_risk as classification_risk
    from riskeval.measures.delta_disclosure import delta_disclosure as delta_disclosure
    from riskeval.measures.delta_presence import delta_presence as delta_presence
    from riskeval.measures.dominance import dominance as dominance
    from riskeval.measures.frequencies import frequency_counts as frequency_counts
    from riskeval.measures.individual import individual_risk as individual_risk
    from riskeval.measures.interval_disclosure import interval_disclosure as interval_disclosure
    from riskeval.measures.k_anonymity import k_anonymity as k_anonymity
    from riskeval.measures.l_diversity import l_diversity as l_diversity
    from riskeval.measures.linkage.linkage import record_linkage as record_linkage
    from riskeval.measures.loglinear.model import loglinear_risk as loglinear_risk
    from riskeval.measures.loglinear.select import choose_model as choose_model
    from riskeval.measures.mahalanobis_disclosure import (
        mahalanobis_disclosure as mahalanobis_disclosure,
    )
    from riskeval.measures.outlier_risk import outlier_risk as outlier_risk
    from riskeval.measures.population_risk import population_risk as population_risk
    from riskeval.measures.request import Limits as Limits
    from riskeval.measures.risky_cells import risky_cells as risky_cells
    from riskeval.measures.shared_amounts import shared_amounts as shared_amounts
    from riskeval.measures.suda import suda as suda
    from riskeval.measures.t_closeness import t_closeness as t_closeness
    from riskeval.measures.uniqueness import population_uniqueness as population_uniqueness
    from riskeval.recovery.recover import recover as recover
    from riskeval.report.assessment import write_assessment as write_assessment
    from riskeval.report.audit import write_audit as write_audit
    from riskeval.report.judgement import write_judgement as write_judgement
    from riskeval.runfiles.compare import load_compare_plan as load_compare_plan
    from riskeval.runfiles.intruders import load_intruders_plan as load_intruders_plan
    from riskeval.runfiles.judge import load_judge_plan as load_judge_plan
    from riskeval.runfiles.runfile import assess_file as assess_file
    from riskeval.session.plans import PlanSearch as PlanSearch
    from riskeval.session.search import search_plans as search_plans
    from riskeval.session.session import ProtectionSession as ProtectionSession
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
    from synthpop.microdata.roles.microdata import Microdata as Microdata
else:
    __getattr__, __dir__, __all__ = attach(__name__, "__version__")
