"""Every table, key and stage of the run file of synthpop, run on every source."""

from __future__ import annotations

from collections.abc import Callable
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
    QUICK,
    ROLES,
    SCALE,
    Journey,
    JourneyOf,
    keys_of,
    keys_of_schema,
    slow_unless,
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


def calibrated(it: Journey) -> Tables:
    """Calibrate the weights to the sexes, with no option."""
    return {"calibrate": {"margin": [total(it, "rb090")]}}


def wide_file(it: Journey, areas: pd.DataFrame) -> Tables:
    """Women by area in a file with a column for them, of two years; areas: GEO and share."""
    women = pd.DataFrame(cells(it, "db040", "rb090")).query("rb090 == 'female'")
    table = areas.merge(women, on="db040")
    table = table.assign(F=table["total"] * table["share"])[["GEO", "F"]]
    both = pd.concat([table.assign(YEAR=2025), table.assign(YEAR=2020, F=1.0)])
    both.to_csv(it.folder / "wide.csv", index=False)
    return {"file": "wide.csv", "where": {"YEAR": 2025}, "wide": {"F": {"rb090": "F"}},
            "codes": {"rb090": {"F": "female"}}, "importance": 0.1}  # fmt: skip


def margins(it: Journey) -> Tables:
    """Known totals of each kind, one in a file whose column of totals has another name."""
    pd.DataFrame(cells(it, "rb090")).rename(columns={"total": "persons"}).to_csv(
        it.folder / "totals.csv", index=False
    )
    regions = pd.DataFrame(cells(it, "db040")).assign(GEO=lambda t: t["db040"], share=1.0)
    regions = regions[["db040", "GEO", "share"]]
    income = float(it.survey.weights @ it.survey.frame["netIncome"].fillna(0).astype(float))
    shares = [{**cell, "total": cell["total"] / 12_069} for cell in cells(it, "pb220a")]
    tables = [
        {"file": "totals.csv", "total": "persons"},
        total(it, "db040", level="household", importance=0.5),
        {"table": income, "variable": "netIncome", "name": "income", "importance": 0.1},
        {"table": shares, "size": 12_069, "importance": 0.1},
        {**wide_file(it, regions), "columns": {"GEO": "db040"}},
    ]
    return {"calibrate": {"margin": tables}}


def bounded(it: Journey) -> Tables:
    """Calibrate by other options than those of `calibrated`."""
    options = {
        "method": "logit", "bounds": [0.5, 2.0], "weight_bounds": [1.0, 500.0], "tolerance": 1e-4,
        "max_iterations": 50, "household_equal": False, "distance_over": "person",
    }  # fmt: skip
    return {"calibrate": {"margin": [total(it, "rb090")], **options}}


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


def zoned(it: Journey) -> Tables:
    """Two zones in every region, with totals of each kind, at a tenth, on a map of points."""
    homes = pd.DataFrame(cells(it, "db040", households=True))
    table = pd.concat([homes.assign(zone=homes["db040"] + f" {k}", x=k, y=homes.index)
                       for k in (1, 2)])  # fmt: skip
    table[["db040", "zone"]].to_csv(it.folder / "zones.csv", index=False)
    table[["zone", "x", "y"]].to_csv(it.folder / "places.csv", index=False)
    halves = table[["zone"]].assign(homes=(table["total"] / 2).round())
    halves.to_csv(it.folder / "homes.csv", index=False)
    old = {"table": float(it.survey.weights.sum() * 40), "variable": "age", "importance": 0.5}
    margins = [
        {"file": "homes.csv", "total": "homes", "level": "household", "name": "homes"},
        {**old, "name": "sum of ages"},
        {"table": [{"rb090": "male", "total": 0.5}], "size": 12_069, "importance": 0.1},
        {
            **wide_file(it, table[["db040"]].assign(GEO=table["zone"], share=0.5)),
            "columns": {"GEO": "zone"},
        },
    ]
    options = {
        "geography": "zones.csv", "within": "db040", "households": "survey", "ratio": [0.0, 50.0],
        "weight": [0.0, 500.0], "places": "places.csv", "page": "areas.html",
    }  # fmt: skip
    return {"zones": {"margin": margins, **options}, "run": {"scale": 0.1}}


def exchanged(it: Journey) -> Tables:
    """Exchange households to meet a table."""
    tables = one_more("anneal", margins=[total(it, "rb090", scale=0.1)])(it)
    return {**tables, "run": {"scale": 0.1}}


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
    survey = dict.fromkeys(it.tables["survey"]) | {"population": "learned"}
    return {"survey": survey, "run": {"scale": 1.0}}


def correction(it: Journey) -> Tables:
    """Design of the sample: units, strata and how large they are."""
    frame = it.survey.frame.assign(fraction=0.02)
    synthpop.write_table(frame, it.folder / "design.parquet")
    design = {"psu": "db030", "design_strata": "db040", "fpc": "fraction"}
    return {"survey": {"file": "design.parquet", **design}}


PARTS = ["py010n", "py050n", "py090n", "py100n", "py110n", "py120n", "py130n", "py140n"]
MAIN: dict[str, Block] = {
    "risk": fixed(risk=RISK),
    "known totals": known(1.0),
    "known totals, scaled": known(0.1),
    "calibrate": calibrated,
}
"""On every recipe and source."""
OF_STAGES: dict[str, Block] = {
    "correct_heaping": one_more("correct_heaping", 0, name="age"),
    "impute": one_more("impute", 0, variables=["pl030"], given=["age"]),
    "derive": one_more("derive", 1, name="old", source="age", breaks=[-1, 64, 120]),
    "relation": one_more("relation", name="pb220a", relationship="rb090", head="female"),
    "gibbs_pass": one_more("gibbs_pass", variables=["pl030"]),
    "components": one_more("components", total="netIncome", parts=PARTS, by=["pl030"]),
    "distribute": areas,
    "anneal": exchanged,
}
"""On the minimal recipe, which has the others, on csv and spss."""
OF_KEYS: dict[str, tuple[str, str, Block]] = {
    "csv": ("minimal", "csv", other_csv),
    "dictionary": ("minimal", "csv", own_dictionary),
    "user missing": ("minimal", "spss", fixed(survey={"user_missing": "level"})),
    "population": ("minimal", "csv", of_population),
    "demo": (
        "minimal",
        "embedded",
        fixed(survey=dict.fromkeys(("file", *ROLES)) | {"demo": True}, run={"scale": 0.001}),
    ),
    "unweighted": (
        "minimal",
        "csv",
        fixed(
            survey={"weight": None, "household_weight": None, "unweighted": True},
            run={"scale": 1.0},
        ),
    ),
    "weight of members": (
        "minimal",
        "csv",
        fixed(survey={"household_weight": "mean of members"}),
    ),
    "persons alone": (
        "minimal",
        "csv",
        fixed(
            survey=dict.fromkeys(("household", "household_size", "household_weight", "person"))
        ),
    ),
    "design": ("minimal", "csv", correction),
    "zones": ("minimal", "csv", zoned),
    "calibrate options": ("minimal", "csv", bounded),
    "margins": ("minimal", "csv", margins),
    "run options": (
        "minimal",
        "csv",
        fixed(run={"rows_per_block": 50, "strata": ["Lowlands"], "out": "out", "seed": None}),
    ),
    "risk options": (
        "readme",
        "csv",
        fixed(
            risk={
                **RISK, "accuracy": [0.1], "intervals": ["income_low", "income_high"],
                "replicates": 1,
            },
            report={"audience": "external"},
        ),
    ),
    "report": (
        "minimal",
        "csv",
        fixed(
            report={"title": "People", "date": "2025", "file": "people.html", "language": "de"}
        ),
    ),
    "rules": ("minimal", "csv", fixed(rules=["age >= 0"])),
}  # fmt: skip
"""Keys that are no default: recipe and source on which they are run."""
BLOCKS = MAIN | OF_STAGES | {name: make for name, (*_, make) in OF_KEYS.items()}
NOT_RUN = {
    **{
        (name, *cell): "a stage is added to the minimal recipe"
        for name in OF_STAGES
        for cell in CELLS
        if cell[0] != "minimal"
    },
    **{
        (name, *cell): f"of reading, weights or the page: on {recipe} and {source} only"
        for name, (recipe, source, _) in OF_KEYS.items()
        for cell in CELLS
        if cell != (recipe, source)
    },
}
"""Block, recipe and source that are not run -> the reason."""
RUN = [(name, *cell) for name in BLOCKS for cell in CELLS if (name, *cell) not in NOT_RUN]
WITH_PAGE = {"risk", "zones", "risk options", "run options", "report"}
TOTALS_WITH_PAGE = ("known totals, scaled", "minimal", "csv")
"""Blocks that are run by the command, with its page; the others without it."""


def test_every_key_and_stage_is_in_the_matrix(journey_of: JourneyOf) -> None:
    it = journey_of("minimal", "embedded")
    as_written = journey_of("init", "embedded").tables  # not with every default, as `it.tables`
    found = set(keys_of(as_written)).union(*(keys_of(make(it)) for make in BLOCKS.values()))
    schema = runfile_schema()
    asked = {key for key in keys_of_schema(schema, schema) if not key.startswith("known_")}
    asked |= {f"stage {kind}" for kind in STAGES} | {"known_totals"}
    assert sorted(asked - found) == []


def test_what_is_not_run_has_a_reason() -> None:
    assert {(name, *cell) for name in BLOCKS for cell in CELLS} >= NOT_RUN.keys()
    assert {name for name, *_ in RUN} == set(BLOCKS)


def is_quick(block: str, *cell: str) -> bool:
    """Return whether a pair is in the quick tests: of stages those on csv, of pages two."""
    if block == "risk":
        return cell == ("init", "csv")  # and `risk options`, of the README's recipe
    return block in OF_KEYS or cell in ((("minimal", "csv"),) if block in OF_STAGES else QUICK)


@pytest.mark.parametrize(
    ("block", "recipe", "source"),
    [pytest.param(*one, id="-".join(one), marks=slow_unless(is_quick(*one))) for one in RUN],
)
def test_a_block_runs(block: str, recipe: str, source: str, journey_of: JourneyOf) -> None:
    it = journey_of(recipe, source)
    file = it.run_file(block, BLOCKS[block](it))
    if block == "calibrate" and recipe != "minimal":
        done = call(synthpop.cli.main, "calibrate", file, cwd=it.folder)
        assert "Wrote" in done.stdout, done.stderr
        return
    if block not in WITH_PAGE and (block, recipe, source) != TOTALS_WITH_PAGE:
        assert synthpop.run(file).n_persons > 0
        return
    done = call(synthpop.cli.main, "run", file, cwd=it.folder)
    assert done.returncode == 0, done.stderr
    folder = it.folder / ("out" if block == "run options" else block)
    done = call(synthpop.cli.main, "verify", folder, cwd=it.folder)
    assert "complete and unchanged" in done.stdout, done.stderr
