"""Every table, key and stage of the run file of synthpop, run on every source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import synthpop
import synthpop.cli
from synthpop.runfiles.schema import runfile_schema
from synthpop.stages.registry import STAGES
from tests.console import call
from tests.journeys.journey import (
    CELLS,
    KEYS,
    ROLES,
    SCALE,
    SOURCES,
    Journey,
    JourneyOf,
    demo_slice,
)

Tables = dict[str, Any]
Block = Callable[[Journey], Tables]
RISK = {"keys": KEYS, "target": "netIncome"}
FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".sav", ".zsav", ".dta", ".xpt", ".rds")


def cells(it: Journey, *names: str, scale: float = 1.0, households: bool = False) -> list[Any]:
    """Count what the survey stands for: the cells of a table of known totals."""
    survey = it.survey
    frame, weights = survey.frame[list(names)], pd.Series(survey.weights)
    if households:
        first = survey.household_order[survey.household_offsets[:-1]]
        frame, weights = frame.iloc[first], pd.Series(survey.household_weights, first)
    sums = weights.groupby([frame[name].astype(str) for name in names]).sum() * scale
    return sums.round().rename("total").reset_index().to_dict("records")


def total(it: Journey, *names: str, scale: float = 1.0, **keys: Any) -> Tables:
    """A table of known totals with its options."""
    households = keys.get("level") == "household"
    return {"table": cells(it, *names, scale=scale, households=households), **keys}


def known(scale: float) -> Block:
    """Totals of the population of this scale: persons by sex, households by region."""

    def tables(it: Journey) -> Tables:
        homes = total(it, "db040", scale=scale, level="household")
        return {"run": {"scale": scale}, "known_totals": [total(it, "rb090", scale=scale), homes]}

    return tables


def fixed(**tables: Any) -> Block:
    """Change keys that need nothing of the survey."""
    return lambda it: tables


def calibrated(**options: Any) -> Block:
    """Calibrate the weights to the sexes."""
    return lambda it: {"calibrate": {"margin": [total(it, "rb090")], **options}}


def margin_of(**keys: Any) -> Block:
    """Calibrate the weights to the sexes and to one table more."""
    names = () if "variable" in keys else ("db040",)

    def tables(it: Journey) -> Tables:
        more = total(it, *names, **keys) if names else {"table": 3e8, **keys}
        return {"calibrate": {"margin": [total(it, "rb090"), more]}}

    return tables


def one_more(kind: str, at: int | None = None, **keys: Any) -> Block:
    """Put one more stage into the recipe."""

    def tables(it: Journey) -> Tables:
        stages = list(it.tables["stage"])
        stages.insert(len(stages) if at is None else at, {"type": kind, **keys})
        return {"stage": stages}

    return tables


def areas(it: Journey) -> Tables:
    """Two districts in every region."""
    table = [
        {**cell, "district": f"{cell['db040']} {part}", "total": cell["total"] / 2}
        for cell in cells(it, "db040", scale=SCALE, households=True)
        for part in (1, 2)
    ]
    margins = [{"table": table, "level": "household"}]
    return one_more("distribute", name="district", within="db040", margins=margins)(it)


def exchanged(it: Journey) -> Tables:
    """Exchange households to meet a table."""
    return one_more("anneal", margins=[total(it, "rb090", scale=SCALE)])(it)


def margin_file(it: Journey) -> Tables:
    """Read known totals from a file whose column of totals has another name."""
    pd.DataFrame(cells(it, "rb090")).rename(columns={"total": "persons"}).to_csv(
        it.folder / "totals.csv", index=False
    )
    return {"calibrate": {"margin": [{"file": "totals.csv", "total": "persons"}]}}


def other_csv(it: Journey) -> Tables:
    """Read text as a German spreadsheet writes it, with a code for no answer."""
    frame = it.survey.frame.assign(netIncome=it.survey.frame["netIncome"].fillna(-9))
    frame.to_csv(it.folder / "german.csv", sep=";", decimal=",", encoding="latin-1", index=False)
    csv = {
        "separator": ";", "decimal": ",", "thousands": ".", "encoding": "latin-1",
        "missing": {"netIncome": [-9]}, "types": {"pl030": "category"},
    }  # fmt: skip
    return {"survey": {"file": "german.csv", "csv": csv}}


def own_dictionary(it: Journey) -> Tables:
    """Read the labels of a file that ``synthpop dictionary`` wrote."""
    done = call(synthpop.cli.main, "dictionary", it.file, "--to", "labels.toml", cwd=it.folder)
    assert done.returncode == 0, done.stderr
    return {"survey": {"dictionary": "labels.toml"}}


def of_population(it: Journey) -> Tables:
    """Learn from a population on disk, which knows its roles."""
    it.fitted.simulate(scale=SCALE, out=it.folder / "learned")
    return {"survey": {name: None for name in it.tables["survey"]} | {"population": "learned"}}


def correction(it: Journey) -> Tables:
    """Design of the sample: units, strata and how large they are."""
    frame = it.survey.frame.assign(fraction=0.02)
    synthpop.write_table(frame, it.folder / "design.parquet")
    design = {"psu": "db030", "design_strata": "db040", "fpc": "fraction"}
    return {"survey": {"file": "design.parquet", **design}}


ON_EVERY_RECIPE: dict[str, Block] = {
    "risk": fixed(risk=RISK),
    "known totals": known(1.0),
    "known totals of a scale": known(0.1),
    "calibrate": calibrated(),
}
NO_RECIPE = "is about reading, the weights, the page or one stage: run on the minimal recipe"
ON_THE_MINIMAL: dict[str, Block] = {
    "survey.csv": other_csv,
    "survey.dictionary": own_dictionary,
    "survey.user_missing": fixed(survey={"user_missing": "level"}),
    "survey.population": of_population,
    "survey.demo": fixed(
        survey=dict.fromkeys(("file", *ROLES)) | {"demo": True}, run={"scale": 0.001}
    ),
    "survey.unweighted": fixed(
        survey={"weight": None, "household_weight": None, "unweighted": True}, run={"scale": 1.0}
    ),
    "survey.household_weight": fixed(survey={"household_weight": "mean of members"}),
    "survey without households": fixed(
        survey=dict.fromkeys(("household", "household_size", "household_weight", "person"))
    ),
    "survey.psu": correction,
    "calibrate.method": calibrated(method="linear"),
    "calibrate.bounds": calibrated(method="logit", bounds=[0.5, 2.0]),
    "calibrate.weight_bounds": calibrated(method="linear", weight_bounds=[1.0, 500.0]),
    "calibrate.tolerance": calibrated(tolerance=1e-4, max_iterations=50),
    "calibrate.household_equal": calibrated(household_equal=False),
    "calibrate.distance_over": calibrated(distance_over="household"),
    "margin.file": margin_file,
    "margin.level": margin_of(level="household"),
    "margin.importance": margin_of(importance=0.5),
    "margin.variable": margin_of(variable="netIncome", name="income", importance=0.1),
    "margin.size": margin_of(size=12_000),
    "run.rows_per_block": fixed(run={"rows_per_block": 50}),
    "run.strata": fixed(run={"strata": ["Lowland"]}),
    "run.out": fixed(run={"out": "elsewhere"}),
    "run without a seed": fixed(run={"seed": None}),
    "risk.accuracy": fixed(risk={**RISK, "accuracy": [0.1]}),
    "risk.intervals": fixed(risk={**RISK, "intervals": ["py010n", "netIncome"]}),
    "risk.replicates": fixed(risk={**RISK, "replicates": 1}),
    "report.title": fixed(report={"title": "People", "date": "2025", "file": "people.html"}),
    "report.audience": fixed(report={"audience": "external"}, risk=RISK),
    "report.language": fixed(report={"language": "de"}),
    "rules": fixed(rules=["age >= 0"]),
    "stage correct_heaping": one_more("correct_heaping", 0, name="age"),
    "stage impute": one_more("impute", 0, variables=["pl030"], given=["age"]),
    "stage derive": one_more("derive", 1, name="old", source="age", breaks=[-1, 64, 120]),
    "stage relation": one_more(
        "relation", name="pb220a", relationship="rb090", head="female"
    ),
    "stage gibbs_pass": one_more("gibbs_pass", variables=["pl030"]),
    "stage components": one_more(
        "components", total="netIncome", parts=["py010n", "py050n", "py090n", "py100n", "py110n",
        "py120n", "py130n", "py140n"], by=["pl030"]
    ),
    "stage distribute": areas,
    "stage anneal": exchanged,
}  # fmt: skip
BLOCKS = ON_EVERY_RECIPE | ON_THE_MINIMAL
NOT_RUN: dict[tuple[str, str, str], str] = {
    (name, recipe, source): NO_RECIPE
    for name in ON_THE_MINIMAL
    for recipe, source in CELLS
    if recipe != "minimal"
} | {
    ("survey.csv", "minimal", "embedded"): "is not read from text",
    ("survey.csv", "minimal", "spss"): "is not read from text",
    ("survey.demo", "minimal", "csv"): "is the embedded survey itself",
    ("survey.demo", "minimal", "spss"): "is the embedded survey itself",
}
"""Block, recipe and source that are not run -> the reason."""


def keys_of(tables: Any, prefix: str = "") -> Iterator[str]:
    """Name every table and key of a run file; stages by their type."""
    items = tables if isinstance(tables, list) else [tables]
    for item in items:
        for key, value in item.items() if isinstance(item, Mapping) else ():
            yield f"{prefix}{key}"
            if prefix + key == "stage":
                yield from (f"stage {stage['type']}" for stage in value)
            elif key not in ("table", "missing", "types"):
                yield from keys_of(value, f"{prefix}{key}.")


def keys_of_schema(schema: Mapping[str, Any], whole: Mapping[str, Any], prefix: str) -> Any:
    """Name every table and key that a schema knows, but for the options of the stages."""
    inner = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
    for part in [*inner, *(one.get("items", {}) for one in inner)]:
        part = whole["$defs"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
        for key, item in part.get("properties", {}).items():
            yield f"{prefix}{key}"
            if prefix + key != "stage":
                yield from keys_of_schema(item, whole, f"{prefix}{key}.")


def test_every_key_and_stage_is_in_the_matrix(journey_of: JourneyOf) -> None:
    it = journey_of("minimal", "embedded")
    found = set(keys_of(it.tables)).union(*(keys_of(make(it)) for make in BLOCKS.values()))
    schema = runfile_schema()
    asked = {key for key in keys_of_schema(schema, schema, "") if not key.startswith("known_")}
    asked |= {f"stage {kind}" for kind in STAGES} | {"known_totals"}
    assert sorted(asked - found) == []


def test_what_is_not_run_has_a_reason() -> None:
    assert all(NOT_RUN.values())
    assert {name for name, *_ in NOT_RUN} <= set(BLOCKS)
    for name in BLOCKS:
        assert any((name, *cell) not in NOT_RUN for cell in CELLS), name


RUN = [(name, *cell) for name in BLOCKS for cell in CELLS if (name, *cell) not in NOT_RUN]


@pytest.mark.parametrize(("block", "recipe", "source"), RUN, ids="-".join)
def test_a_block_runs(block: str, recipe: str, source: str, journey_of: JourneyOf) -> None:
    it = journey_of(recipe, source)
    name = block.replace(" ", "-").replace(".", "-")
    file = it.run_file(name, BLOCKS[block](it))
    if recipe != "minimal" and block != "risk":  # the page is that of the others
        assert synthpop.run(file).n_persons > 0
        return
    done = call(synthpop.cli.main, "run", file, cwd=it.folder)
    assert done.returncode == 0, done.stderr
    folder = it.folder / ("elsewhere" if block == "run.out" else name)
    done = call(synthpop.cli.main, "verify", folder, cwd=it.folder)
    assert "complete and unchanged" in done.stdout, done.stderr
