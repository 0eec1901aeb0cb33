"""Disclosure risk, protection and utility of released microdata, synthetic or perturbed.

Names are imported when they are first used, so that ``import riskeval`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from synthpop._version import __version__

# name -> module that defines it
_WHERE = {
    "Comparison": "comparison.result",
    "Effort": "comparison.request",
    "Indicators": "comparison.request",
    "Limits": "measures.request",
    "ProtectionSession": "session",
    "Regression": "comparison.request",
    "Release": "comparison.releases",
    "RiskUtilityMap": "comparison.map",
    "Scenario": "intruders.scenario",
    "alpha_k_anonymity": "measures.likeness",
    "assess": "assessment",
    "assess_file": "runfile",
    "beta_likeness": "measures.likeness",
    "choose_model": "measures.model_choice",
    "classification_risk": "measures.classification",
    "compare": "comparison.compare",
    "delta_presence": "measures.presence",
    "disco": "intruders.attribution",
    "distance_screen": "intruders.nearness",
    "frequency_counts": "measures.frequencies",
    "individual_risk": "measures.individual",
    "interval_disclosure": "measures.continuous",
    "intruder_scenarios": "intruders.scenarios",
    "judge_synthetic": "intruders.judge",
    "k_anonymity": "measures.anonymity",
    "l_diversity": "measures.diversity",
    "load_compare_plan": "compare_file",
    "loglinear_risk": "measures.loglinear",
    "mahalanobis_disclosure": "measures.continuous",
    "membership": "intruders.nearness",
    "population_uniqueness": "measures.uniqueness",
    "rapid": "intruders.prediction",
    "record_linkage": "measures.linkage",
    "replicated_uniques": "intruders.attribution",
    "risky_cells": "measures.risky_cells",
    "scenario_replicates": "intruders.replicates",
    "suda": "measures.suda",
    "t_closeness": "measures.closeness",
    "tcap": "intruders.attribution",
    "write_assessment": "report",
}
# name -> module of its own name
_MODULES = {"protect": "protect", "utility": "utility"}

__all__ = ["__version__", *sorted(_WHERE), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"riskeval.{_WHERE[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"riskeval.{_MODULES[name]}")
    raise AttributeError(f"module 'riskeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
