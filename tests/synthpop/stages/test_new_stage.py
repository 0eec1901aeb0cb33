"""A new stage is one class with its entry: run files, pages and forms know it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from synthpop import (
    Pipeline,
    Structure,
    dump_runfile,
    load_runfile,
    open_population,
    run,
)
from synthpop.app.create.recipe_page import forms
from synthpop.conditional.schema import Schema
from synthpop.figures.names import FigureNames
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import Between, check
from synthpop.report.recipe import steps
from synthpop.runfiles.schema import runfile_schema
from synthpop.stages import registry
from synthpop.stages.base import BlockStage, StageModel
from synthpop.stages.entry import StageEntry
from tests.small import small_survey


@dataclass(frozen=True, slots=True)
class CoinModel(StageModel):
    fields: tuple[Field, ...]
    fallbacks: tuple[Fallback, ...] = ()


@dataclass(frozen=True, slots=True)
class Coin(BlockStage):
    """Toss a coin for each person.

    Parameters
    ----------
    name : str
        Column to add.
    heads : float
        Probability of heads.

    Examples
    --------
    >>> Coin("coin", heads=0.3).label
    'coin coin'
    """

    entry: ClassVar[StageEntry] = StageEntry(
        name="coin",
        title="Coin",
        question="Heads?",
        blind_spots="the edge",
        example={"name": "coin"},
    )
    name: str
    heads: float = 0.5

    def uses(self) -> tuple[str, ...]:
        return ()

    def check(self, faults: Faults, schema: Schema) -> None:
        check(faults, {"heads": Between(0, 1)}, {"heads": self.heads})

    def makes(self, name: str, schema: Schema) -> Field:
        return Field.categorical(name, ("heads", "tails"))

    def fit(self, sample: Sample, rng: np.random.Generator) -> CoinModel:
        return CoinModel((Field.categorical(self.name, ("heads", "tails")),))

    def observed(self, model: CoinModel, sample: Sample) -> dict[str, np.ndarray]:
        return {self.name: np.zeros(len(sample.weights), dtype=model.fields[0].dtype)}

    def simulate(
        self, model: CoinModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        tails = rng.random(block.n_persons) >= self.heads
        return {self.name: tails.astype(model.fields[0].dtype)}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.STAGES, "coin", Coin)


def test_it_simulates_and_is_on_the_page(tmp_path: Path) -> None:
    survey = small_survey()
    fitted = Pipeline([Structure(["age"]), Coin("coin", heads=0.9)]).fit(survey, seed=1)
    population = fitted.simulate(out=tmp_path / "p")
    assert 0.8 < population.frame()["coin"].eq("heads").mean() < 0.97
    assert "coin" in fitted.summary()
    assert "coin" in fitted._repr_html_()
    rows = steps(population.manifest.identity.recipe, FigureNames())["rows"]
    assert rows[1] == ["2", "Coin", "coin", "heads 0.9"]
    assert open_population(tmp_path / "p").frame().equals(population.frame())


def test_run_files_schema_and_forms_know_it(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'survey = {demo = true}\nrun = {seed = 1, scale = 0.01}\n[[stage]]\ntype = "structure"\n'
        'variables = ["age"]\n[[stage]]\ntype = "coin"\nname = "coin"\nheads = 0.2\n'
    )
    plan = load_runfile(file)
    assert plan.stages[1] == Coin("coin", heads=0.2)
    assert "heads = 0.2" in dump_runfile(plan)
    assert run(file).frame()["coin"].value_counts().idxmax() == "tails"
    assert "coin" in str(runfile_schema())
    forms.cache_clear()
    assert [option.name for option in forms()["coin"].options] == ["name", "heads"]
    forms.cache_clear()
    file.write_text(file.read_text().replace("heads = 0.2", "heds = 0.2"))
    with pytest.raises(InputError, match="Did you mean 'heads'"):
        load_runfile(file)
