"""How a step of the recipe is described, method by its name or with options."""

from __future__ import annotations

import pytest

from synthpop import Binned, Continuous, Gpd, Regressed
from synthpop.figures.names import FigureNames
from synthpop.pipeline.fingerprint import stage_to_dict
from synthpop.report.recipe import _described


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("pmm", "pmm on all"),
        (Binned(tail="pareto"), "binned on all; Pareto tail in the top class"),
        (Binned(tail=Gpd(upper=5e5)), "generalised Pareto tail in the top class; at most 500,000"),
        (Binned(upper=7.0), "binned on all; at most 7"),
        (Regressed("forest", upper=9.0), "forest on all; at most 9"),
    ],
)
def test_method_tail_and_bound_are_told(method: object, words: str) -> None:
    stage = stage_to_dict(Continuous("income", method))
    assert words in _described("continuous", stage, FigureNames())[1]
