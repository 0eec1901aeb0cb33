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
    "ProtectionSession": "session.session",
    "Regression": "comparison.request",
    "Release": "comparison.releases",
    "RiskUtilityMap": "comparison.map",
    "Scenario": "attacks.scenario",
    "alpha_k_anonymity": "measures.alpha_k",
    "assess": "measures.assess",
    "assess_file": "runfiles.runfile",
    "beta_likeness": "measures.beta_likeness",
    "choose_model": "measures.loglinear.select",
    "classification_risk": "measures.classification",
    "compare": "comparison.compare",
    "delta_presence": "measures.delta_presence",
    "disco": "attacks.counting.attribution",
    "distance_screen": "attacks.distance.membership",
    "frequency_counts": "measures.frequencies",
    "individual_risk": "measures.individual",
    "interval_disclosure": "measures.numeric_disclosure",
    "intruder_scenarios": "attacks.matching.scenarios",
    "judge_synthetic": "attacks.assess_synthetic",
    "k_anonymity": "measures.k_anonymity",
    "l_diversity": "measures.l_diversity",
    "load_compare_plan": "runfiles.compare",
    "loglinear_risk": "measures.loglinear.model",
    "mahalanobis_disclosure": "measures.numeric_disclosure",
    "membership": "attacks.distance.membership",
    "outlier_risk": "measures.outlier_risk",
    "population_uniqueness": "measures.uniqueness",
    "rapid": "attacks.prediction.rapid",
    "recover": "recovery.recover",
    "record_linkage": "measures.linkage.linkage",
    "replicated_uniques": "attacks.counting.attribution",
    "risky_cells": "measures.risky_cells",
    "scenario_replicates": "attacks.matching.replicates",
    "suda": "measures.suda",
    "t_closeness": "measures.t_closeness",
    "tcap": "attacks.counting.attribution",
    "write_assessment": "report.assessment",
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
