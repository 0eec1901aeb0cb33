"""Synthetic populations of households and persons from a survey sample.

Names are imported when they are first used, so that ``import synthpop`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from synthpop._version import __version__

# name -> module that defines it
_WHERE = {
    "Categorical": "stages.categorical",
    "Components": "stages.components",
    "Continuous": "stages.continuous",
    "Derive": "stages.derive",
    "FittedPipeline": "pipeline",
    "Pipeline": "pipeline",
    "Population": "population",
    "Relation": "stages.relation",
    "Structure": "stages.structure",
    "Survey": "microdata.survey",
    "load_demo_population": "datasets",
    "load_demo_survey": "datasets",
    "open_population": "population",
    "dump_runfile": "runfile",
    "load_runfile": "runfile",
    "read_survey": "microdata.io",
    "run": "runfile",
    "breaks": "models.breaks",
}
# name -> module of its own name, wherever it lies
_MODULES = {"indicators": "indicators", "tails": "models.tails", "weighted": "weighted"}


__all__ = ["__version__", *sorted(_WHERE), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"synthpop.{_WHERE[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"synthpop.{_MODULES[name]}")
    raise AttributeError(f"module 'synthpop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
