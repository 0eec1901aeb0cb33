"""Sampling designs, samples from a population, and design-based simulation studies."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "Balanced": "designs",
    "Cluster": "designs",
    "ContaminateAtRandom": "contamination",
    "ContaminateDependent": "contamination",
    "Fixed": "allocation",
    "MissingItems": "nonresponse",
    "MissingUnits": "nonresponse",
    "Neyman": "allocation",
    "Power": "allocation",
    "ProbabilityProportionalToSize": "designs",
    "Proportional": "allocation",
    "SampleSetup": "setup",
    "SimpleRandom": "designs",
    "Stratified": "designs",
    "Study": "study",
    "Systematic": "designs",
    "TwoStage": "designs",
    "allocate": "allocation",
    "draw_balanced": "balanced",
    "draw_sample": "draw",
    "draw_setup": "setup",
    "draw_unequal": "pps",
    "horvitz_thompson": "estimate",
    "inclusion_probabilities": "pps",
    "inclusion_probabilities_of": "draw",
    "joint_probabilities": "pps",
    "joint_probabilities_of": "draw",
    "levels_of_rate": "study",
    "read_setup": "setup",
    "simulate_study": "study",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module = importlib.import_module(f"synthpop.sampling.{_WHERE[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'synthpop.sampling' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
