"""Synthetic populations of households and persons from a survey sample.

Names are imported when they are first used, so that ``import synthpop`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from synthpop._version import __version__

# name -> module that defines it
_WHERE = {
    "Anneal": "stages.annealing",
    "Balanced": "sampling.designs",
    "Categorical": "stages.categorical",
    "Cluster": "sampling.designs",
    "Components": "stages.components",
    "Continuous": "stages.continuous.stage",
    "CorrectHeaping": "stages.heaping",
    "Derive": "stages.derive",
    "Distribute": "stages.distribute",
    "FittedPipeline": "pipeline.pipeline",
    "Impute": "stages.impute",
    "Margin": "calibration.margins",
    "Pipeline": "pipeline.pipeline",
    "Population": "population.population",
    "ProbabilityProportionalToSize": "sampling.designs",
    "Relation": "stages.relation",
    "Revisit": "stages.gibbs",
    "SimpleRandom": "sampling.designs",
    "Stratified": "sampling.designs",
    "Structure": "stages.structure",
    "Survey": "microdata.survey",
    "Systematic": "sampling.designs",
    "TwoStage": "sampling.designs",
    "anneal": "stages.annealing",
    "assess_fit": "evaluation.assess_fit",
    "breaks": "models.breaks",
    "calibrate": "calibration.calibrate_survey",
    "cross_validate": "evaluation.crossvalidation",
    "draw_sample": "sampling.draw",
    "dump_runfile": "runfiles.runfile",
    "load_demo_population": "datasets",
    "load_demo_survey": "datasets",
    "load_runfile": "runfiles.runfile",
    "open_population": "population.population",
    "read_survey": "microdata.files",
    "run": "runfiles.runfile",
    "simulate_study": "sampling.study",
    "write_report": "report.write",
}
# name -> module of its own name, wherever it lies
_MODULES = {
    "heaping": "heaping",
    "indicators": "indicators",
    "tails": "microdata.tails",
    "sampling": "sampling",
    "weighted": "weighted",
}

__all__ = ["__version__", *sorted(_WHERE), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"synthpop.{_WHERE[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"synthpop.{_MODULES[name]}")
    raise AttributeError(f"module 'synthpop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
