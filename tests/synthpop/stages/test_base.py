"""The base classes of stages: what a new stage has to bring, and what it has by default."""

from __future__ import annotations

import inspect

import pytest

from synthpop import Continuous, Pipeline, Structure
from synthpop.microdata.messages.errors import InputError
from synthpop.stages.base import BlockStage
from synthpop.stages.population_stages import PopulationStage, SurveyStage
from synthpop.stages.registry import STAGES
from tests.small import small_survey

BASES = (SurveyStage, BlockStage, PopulationStage)


@pytest.mark.parametrize("kind", STAGES)
def test_every_stage_has_one_base_and_nothing_abstract(kind: str) -> None:
    assert sum(issubclass(STAGES[kind], base) for base in BASES) == 1
    assert not inspect.isabstract(STAGES[kind])


def test_a_stage_that_lacks_a_method_cannot_be_made() -> None:
    class Mine(PopulationStage):
        label, provides = "mine", ()

        def expect(self, faults, schema):
            pass

        def finsh(self, frame):
            pass

    with pytest.raises(TypeError, match="finish"):
        Mine()


def test_what_is_no_stage_is_refused_by_the_recipe() -> None:
    class Lookalike:
        label, provides = "mine", ("x",)

    for step in (Lookalike(), Continuous, 3):
        with pytest.raises(InputError, match="is not a step"):
            Pipeline([Structure(["age"]), step]).fit(small_survey(), seed=1)


def test_defaults_of_a_stage_of_blocks() -> None:
    stage = Continuous("income")
    assert stage.expand() == (stage,)
    assert stage.revises == stage.sources == stage.structural_zeros == ()
    assert not stage.is_revisable
    assert not stage.needs_pilot
