"""How the embedded survey was made: the truth it was drawn from. All data are invented."""

from __future__ import annotations

from synthpop.datasets.demo import load_demo_population
from synthpop.datasets.truth import DEMO_TRUTH, DemoTruth
from synthpop.datasets.variables import DEMO_VARIABLES, DemoVariable, variables_frame
from synthpop.microdata.roles.demo_survey import load_demo_survey

__all__ = [
    "DEMO_TRUTH",
    "DEMO_VARIABLES",
    "DemoTruth",
    "DemoVariable",
    "load_demo_population",
    "load_demo_survey",
    "variables_frame",
]
