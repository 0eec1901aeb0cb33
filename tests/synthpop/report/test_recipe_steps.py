"""How a step of the recipe is described, method by its name or with options."""

from __future__ import annotations

import pytest

from synthpop import Binned, Continuous, Derive, Gpd, Regressed
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


def test_a_number_that_an_expression_gives_is_told() -> None:
    children = Derive("children", expression="age < 16", within="household", aggregate="count")
    assert _described("derive", stage_to_dict(children), FigureNames()) == (
        "children",
        "calculated: age < 16 (count over the household)",
    )
    age_class = Derive("old", source="age", breaks=[0, 60, 120])
    assert (
        _described("derive", stage_to_dict(age_class), FigureNames())[1] == "from age, in classes"
    )
