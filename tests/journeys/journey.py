"""Three recipes on three sources: what a user has in his hand before he takes the next step."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w

import riskeval
import synthpop
import synthpop.cli
from synthpop import Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.microdata.roles.demo_survey import load_demo_survey
from tests.console import call

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SOURCES = ("embedded", "csv", "spss")
RECIPES = ("readme", "init", "minimal")
CELLS = tuple(product(RECIPES, SOURCES))
QUICK = (("readme", "spss"), ("init", "csv"), ("minimal", "embedded"))
"""A Latin square: each recipe and each source once. The other cells are in the slow tests."""
N_HOUSEHOLDS, SCALE = 110, 0.01
KEYS = ["db040", "rb090", "pl030"]
AMOUNTS = ["netIncome", "py010n", "py050n", "py090n", "py100n", "py110n", "py120n", "py130n"]
AMOUNTS += ["py140n"]
ROLES = load_demo_survey().roles.named()


def demo_slice(first: int = 0) -> pd.DataFrame:
    """Return the persons of some households of the embedded survey, from all its strata."""
    frame = load_demo_survey().frame
    homes = frame["db030"].drop_duplicates().to_numpy()
    drawn = np.random.default_rng(7).permutation(homes)[first : first + N_HOUSEHOLDS]
    return frame[frame["db030"].isin(drawn)].reset_index(drop=True)


def with_holes(frame: pd.DataFrame) -> pd.DataFrame:
    """Take away answers of every eleventh person, and every amount of some households."""
    holed, adult = frame.copy(), np.flatnonzero(frame["age"] >= 16)
    for start, name in enumerate(("pl030", "pb190", "pe040")):
        holed.loc[adult[start::11], name] = np.nan
    holed.loc[holed["db030"] % 11 == 0, [*AMOUNTS, "hincome", "eqIncome"]] = np.nan
    return holed.astype(dict.fromkeys(AMOUNTS, "Int64"))  # written as 15297, not as 15297.0


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Give columns questions, codes and a code for no answer, as a file of SPSS has them."""
    variables = [synthpop.Variable("netIncome", label="Net income", unit="EUR a year")]
    for name in frame.select_dtypes("category"):
        codes = enumerate(frame[name].cat.categories, 1)
        pairs = tuple((code, str(level)) for code, level in codes)
        missing = ((99, "not asked"),) if frame[name].isna().any() else ()
        variables.append(
            synthpop.Variable(
                name, f"Question {name}", pairs, missing, missing_code=99 if missing else None
            )
        )
    return synthpop.with_dictionary(frame, synthpop.Dictionary(variables))


def write_sources(folder: Path) -> dict[str, Path]:
    """Write a file of each source."""
    frame = demo_slice()
    frames = {
        "embedded.parquet": frame, "csv.csv": with_holes(frame), "spss.sav": labelled(frame),
    }  # fmt: skip
    for name, one in frames.items():
        synthpop.write_table(one, folder / name)
    return {Path(name).stem: folder / name for name in frames}


@dataclass
class Journey:
    """A recipe learned from a source, and what came of it."""

    recipe: str
    source: str
    file: Path
    folder: Path  # of its own

    @cached_property
    def survey(self) -> Survey:
        """The survey, as a user reads it."""
        if self.source == "embedded":
            return Survey(demo_slice(), **ROLES)
        return synthpop.read_survey(self.file, **ROLES)

    @cached_property
    def starter(self) -> Path:
        """What ``synthpop init`` writes for the file, for a small population: once a source."""
        target = self.folder.parent / f"starter-{self.source}" / "starter.toml"
        if target.exists():
            return target
        target.parent.mkdir()
        done = call(synthpop.cli.main, "init", self.file, "--out", target, cwd=target.parent)
        assert done.returncode == 0, done.stderr
        text = target.read_text(encoding="utf-8")
        assert "scale = 1.0 " in text
        target.write_text(text.replace("scale = 1.0 ", f"scale = {SCALE} "), encoding="utf-8")
        return target

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The run file of the recipe as a user goes on with it: of `starter`, or its stages."""
        plan = synthpop.load_runfile(self.starter)
        text = self.starter.read_text(encoding="utf-8")
        if self.recipe != "init":
            # rules of what is not simulated go with its stages
            text = synthpop.dump_runfile(replace(plan, stages=self.fitted.steps, rules=()))
        return tomllib.loads(text)

    def run_file(self, name: str, changes: Mapping[str, Any]) -> Path:
        """Write the run file with other tables: keys of a table are merged, None takes one out."""
        target = self.folder / f"{name}.toml"
        target.write_text(tomli_w.dumps(merged(self.tables, changes)), encoding="utf-8")
        return target

    @cached_property
    def fitted(self) -> Any:
        """The fitted pipeline."""
        if self.recipe == "readme":
            return self._blocks_of_readme()["fitted"]
        if self.recipe == "init":
            return synthpop.load_runfile(self.starter).pipeline().fit(self.survey, seed=1)
        return minimal().fit(self.survey, seed=1)

    def _blocks_of_readme(self) -> dict[str, Any]:
        """Run the first block of the README word for word, on this survey."""
        names: dict[str, Any] = {"__name__": "readme"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(synthpop, "load_demo_survey", lambda: self.survey, raising=False)
            exec(BLOCK.findall(README.read_text(encoding="utf-8"))[0], names)
        return names

    @cached_property
    def population(self) -> synthpop.Population:
        """A population in memory."""
        return self.fitted.simulate(scale=SCALE)

    @cached_property
    def fit(self) -> Any:
        """The population beside the survey."""
        return synthpop.assess_fit(self.survey, self.population)

    @cached_property
    def learned_from(self) -> Survey:
        """The survey with what the recipe derives."""
        return self.fitted.derived_survey()

    @property
    def session(self) -> riskeval.ProtectionSession:
        """A new protection of the survey, one step done and one undone."""
        session = riskeval.ProtectionSession(
            self.learned_from.frame, keys=KEYS, numeric=["netIncome", "py010n"], weights="rb050",
            household="db030", sensitive=["pb190"], pram=["pb220a"],
        )  # fmt: skip
        session.top_bottom_code("age", upper=80)
        session.top_bottom_code("age", lower=1)
        return session.undo()

    @cached_property
    def comparison(self) -> riskeval.Comparison:
        """The population and a coarser file beside the survey."""
        coarse = self.learned_from.frame.assign(db040="everywhere")
        releases = {"synthetic": self.population, "coarse": coarse}
        return riskeval.compare(self.learned_from, releases, keys=KEYS, numeric=["netIncome"])


JourneyOf = Callable[[str, str], Journey]  # recipe and source -> journey


def slow_unless(quick: bool) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a pair: what is not met in the quick tests is in the slow ones."""
    return () if quick else (pytest.mark.slow,)


def merged(tables: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables with changes; None takes a key out."""
    result = dict(tables)
    for key, value in changes.items():
        before = result.pop(key, {})
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = merged(before, value)
        if value is not None:
            result[key] = value
    return result


def keys_of(tables: Any, prefix: str = "") -> Iterator[str]:
    """Name every table and key of a run file; kinds of stages and verbs of steps by theirs."""
    for item in tables if isinstance(tables, list) else [tables]:
        for key, value in item.items() if isinstance(item, Mapping) else ():
            yield f"{prefix}{key}"
            if key in ("stage", "step"):
                yield from (f"{key} {one.get('type') or one['verb']}" for one in value)
            elif key not in OF_NAMES:
                yield from keys_of(value, f"{prefix}{key}.")


OF_NAMES = ("table", "missing", "types", "linked", "components", "levels", "key_errors", "limits")
OF_NAMES += ("intervals", "options")
"""Tables whose keys are names of the data or of measures."""


def keys_of_schema(schema: Mapping[str, Any], whole: Mapping[str, Any], prefix: str = "") -> Any:
    """Name every table and key that a schema knows, but for the options of stages and verbs."""
    first = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
    for part in [*first, *(one.get("items", {}) for one in first)]:
        part = whole["$defs"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
        for key, item in part.get("properties", {}).items():
            yield f"{prefix}{key}"
            if key not in ("stage", "step", *OF_NAMES):
                yield from keys_of_schema(item, whole, f"{prefix}{key}.")


def minimal() -> Pipeline:
    """The least that simulates a category and an amount: no option at all."""
    return Pipeline([Structure(["age", "rb090"]), Categorical("pl030"), Continuous("netIncome")])


def assert_an_answer(value: Any) -> None:
    """A file is written, a population has persons, a sentence has words."""
    assert value is not None
    if isinstance(value, Path):
        assert value.exists()
    elif isinstance(value, synthpop.Population | Survey):
        assert value.n_persons > 0
    elif isinstance(value, str):
        assert value
    elif isinstance(value, list):
        assert value
        for one in value:
            assert_an_answer(one)
    elif hasattr(value, "summary"):
        assert value.summary()
