"""Folders of PopulationSim: read, balanced and written as its users know them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmarks.populationsim import invent
from synthpop.cli import app
from synthpop.microdata.messages.errors import InputError
from synthpop.runfiles.populationsim import evaluate, read_zone_folder
from tests.reference_data import SHARED

EXAMPLE = SHARED / "zoo" / "populationsim_example_test"
needs_zoo = pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the folder ../shared/zoo is not here")

SETTINGS = """
geographies: [REGION, PUMA, TAZ]
seed_geography: PUMA
household_weight_col: WGTP
household_id_col: hh_id
total_hh_control: num_hh
input_table_list:
  - {tablename: households, filename: h.csv, rename_columns: {SERIALNO: hh_id}}
  - {tablename: persons, filename: p.csv, rename_columns: {SERIALNO: hh_id}}
  - {tablename: geo_cross_walk, filename: walk.csv}
  - {tablename: TAZ_control_data, filename: taz.csv}
  - {tablename: REGION_control_data, filename: region.csv}
output_tables: {action: include, tables: [expanded_household_ids]}
output_synthetic_population:
  household_id: household_id
  households: {filename: synthetic_households.csv, columns: [NP]}
  persons: {filename: synthetic_persons.csv, columns: [AGE]}
"""
CONTROLS = """target,geography,seed_table,importance,control_field,expression
num_hh,TAZ,households,1000000,HH,(households.WGTP > 0) & (households.WGTP < np.inf)
alone,TAZ,households,1000,ALONE,households.NP == 1
old,REGION,persons,500,OLD,persons.AGE >= 65
"""


def small_folder(home: Path, controls: str = CONTROLS, settings: str = SETTINGS) -> Path:
    (home / "configs").mkdir(parents=True)
    (home / "data").mkdir()
    (home / "configs" / "settings.yaml").write_text(settings)
    (home / "configs" / "controls.csv").write_text(controls)
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5, 60)
    ids = np.arange(1, 61)
    tables = {
        "h": pd.DataFrame({"SERIALNO": ids, "NP": sizes, "WGTP": 20, "PUMA": 1 + ids % 2}),
        "p": pd.DataFrame(
            {"SERIALNO": np.repeat(ids, sizes), "AGE": rng.integers(0, 90, sizes.sum())}
        ),
        "walk": pd.DataFrame({"TAZ": [10, 11, 12, 20, 21], "PUMA": [1, 1, 1, 2, 2], "REGION": 1}),
        "taz": pd.DataFrame(
            {"TAZ": [10, 11, 12, 20], "HH": [50, 70, 0, 90], "ALONE": [20, 0, 0, 30]}
        ),
        "region": pd.DataFrame({"REGION": [1], "OLD": [140]}),
    }
    tables["p"]["AGE"] = rng.integers(0, 90, sizes.sum())
    tables["taz"]["ALONE"] = [20, 0, 0, 30]
    for name, table in tables.items():
        table.to_csv(home / "data" / f"{name}.csv", index=False)
    return home


def test_a_folder_is_balanced_and_written_by_the_command(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "run")
    outcome = CliRunner().invoke(app, ["zones", str(folder), "--seed", "1"])
    assert outcome.exit_code == 0, outcome.output
    households = pd.read_csv(folder / "output" / "synthetic_households.csv")
    persons = pd.read_csv(folder / "output" / "synthetic_persons.csv")
    assert households["TAZ"].value_counts().to_dict() == {10: 50, 11: 70, 20: 90}
    assert set(households.columns) == {"household_id", "REGION", "PUMA", "TAZ", "NP"}
    expanded = pd.read_csv(folder / "output" / "final_expanded_household_ids.csv")
    assert expanded.columns.tolist() == ["TAZ", "PUMA", "REGION", "hh_id"]
    seed = pd.read_csv(folder / "data" / "h.csv").set_index("SERIALNO")["NP"]
    assert expanded["hh_id"].map(seed).tolist() == households["NP"].tolist()
    alone = households[households["NP"] == 1].groupby("TAZ").size()
    assert alone.to_dict() == {10: 20, 20: 30}
    assert persons.groupby("household_id").size().tolist() == households["NP"].tolist()
    assert abs((persons["AGE"] >= 65).sum() - 140) <= 1
    summary = pd.read_csv(folder / "output" / "final_summary_TAZ.csv")
    assert (summary["num_hh_diff"] == 0).all()
    again = CliRunner().invoke(app, ["zones", str(folder)])
    assert again.exit_code != 0  # what is there stays


def test_every_fault_of_the_controls_is_told_with_its_line(tmp_path: Path) -> None:
    lines = CONTROLS + (
        "a,BLOCK,households,1,HH,households.NP == 1\nb,TAZ,cars,1,HH,households.NP == 1\n"
    )
    with pytest.raises(InputError) as caught:
        read_zone_folder(small_folder(tmp_path / "one", lines))
    assert len(caught.value.faults) == 2
    assert "line 5" in str(caught.value)
    lines = CONTROLS + (
        "c,TAZ,households,1,NIX,households.NP == 1\n"
        "d,TAZ,households,1,HH,__import__('os').getcwd()\n"
        "e,TAZ,persons,1,HH,households.NP == 1\n"
    )
    with pytest.raises(InputError) as caught:
        read_zone_folder(small_folder(tmp_path / "two", lines))
    assert len(caught.value.faults) == 3
    with pytest.raises(InputError, match="household_id_col"):
        read_zone_folder(small_folder(tmp_path / "three", settings="geographies: [TAZ]"))
    with pytest.raises(InputError, match="is not there"):
        read_zone_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "expression",
    ["open('x')", "households.NP.__class__", "(lambda: 1)()", "households['NP'].to_csv('x')",
     "[].append(1)", "households.NP == ", "(" * 3_000 + "1" + ")" * 3_000, "nix.NP == 1"],
)  # fmt: skip
def test_expressions_run_no_code(expression: str) -> None:
    with pytest.raises(ValueError, match=r"understood|not a column|longer"):
        evaluate(expression, {"households": pd.DataFrame({"NP": [1, 2]})})


def test_expressions_compare_combine_and_count() -> None:
    tables = {"persons": pd.DataFrame({"AGE": [3, 20, 70], "SEX": ["f", "m", "f"]})}
    for expression, wanted in (
        ("persons.AGE.between(10, 30) | (persons.SEX == 'f')", [True, True, True]),
        ("~(persons['AGE'] > 10)", [True, False, False]),
        ("persons.AGE.isin([3, 70]) & (persons.SEX != 'm')", [True, False, True]),
        ("persons.AGE * 2 - 6 <= 34", [True, True, False]),
    ):
        assert evaluate(expression, tables).tolist() == wanted


@needs_zoo
@pytest.mark.parametrize(
    ("arguments", "totals"),
    [((), 237), (("--configs", "configs_flex", "--data", "data_flex"), 202),
     (("--configs", "configs_mp"), 237)],
)  # fmt: skip
def test_examples_of_populationsim_run_unedited(
    arguments: tuple[str, ...], totals: int, tmp_path: Path
) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")
    outcome = CliRunner().invoke(app, ["zones", str(folder), "--seed", "1", *arguments])
    assert outcome.exit_code == 0, outcome.output
    assert f"{totals} known totals" in " ".join(outcome.output.split())
    summary = pd.read_csv(folder / "output" / "final_summary_TAZ.csv")
    assert (summary["num_hh_diff"] == 0).all()


@needs_zoo
def test_some_zones_get_new_households(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")
    for name, more in (("before", ()), ("after", ("--repop",))):
        call = ["zones", str(folder), "--seed", "1", "--out", str(tmp_path / name), *more]
        assert CliRunner().invoke(app, call).exit_code == 0
    before, after = (
        pd.read_csv(tmp_path / name / "synthetic_households.csv") for name in ("before", "after")
    )
    new = pd.read_csv(EXAMPLE / "data" / "repop_taz_controls.csv")
    counts = after.groupby("TAZ").size()
    assert counts[new["TAZ"]].tolist() == new["HHBASE"].tolist()
    others = [frame[~frame["TAZ"].isin(new["TAZ"])] for frame in (before, after)]
    sizes = [frame.groupby(["TAZ", "NP"]).size() for frame in others]
    pd.testing.assert_series_equal(*sizes)


@needs_zoo
def test_of_totals_that_contradict_each_other_the_important_ones_are_met() -> None:
    """Zones ask for more students than their sizes of households allow."""
    folder = read_zone_folder(EXAMPLE)
    students = "students_by_housing_type"
    gaps = {}
    for importance in (1_000.0, 10_000_000.0):
        margins = [
            replace(item, importance=importance) if item.label == students else item
            for item in folder.margins
        ]
        controls = replace(folder, margins=margins).balance(seed=1).controls
        gaps[importance] = controls["gap"].abs().groupby(controls["margin"]).sum()
        assert gaps[importance]["num_hh"] == 0
    assert gaps[1_000.0][students] > 400
    assert gaps[10_000_000.0][students] <= 10


def test_a_travel_model_gets_its_tables_too(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "run")
    homes, persons = (pd.read_csv(folder / "data" / f"{name}.csv") for name in "hp")
    homes.assign(HINC=30_000, HHT=4, VEH=1).to_csv(folder / "data" / "h.csv", index=False)
    persons.assign(sex="f", ESR=6, SCH="no").to_csv(folder / "data" / "p.csv", index=False)
    file = tmp_path / "columns.toml"
    file.write_text(
        '[columns]\nage = "AGE"\nincome = "HINC"\nauto_ownership = "VEH"\npemploy = "ESR"\n'
        'pstudent = "SCH"\n[codes.sex]\nf = 2\n[codes.pemploy]\n6 = 3\n[codes.pstudent]\nno = 3\n'
    )
    call = ["zones", str(folder), "--seed", "1", "--for", "activitysim"]
    outcome = CliRunner().invoke(app, call)
    assert "income" in str(outcome.exception)  # what is absent is told, and nothing written
    assert not (folder / "output").exists()
    outcome = CliRunner().invoke(app, [*call, "--columns", str(file)])
    assert outcome.exit_code == 0, outcome.output
    written = pd.read_csv(folder / "output" / "households.csv")
    assert written["home_zone_id"].value_counts().to_dict() == {10: 50, 11: 70, 20: 90}
    members = pd.read_csv(folder / "output" / "persons.csv")
    assert members.groupby("household_id").size().tolist() == written["hhsize"].tolist()
    assert set(members["ptype"]) == {4, 5, 7, 8}
    outcome = CliRunner().invoke(app, ["zones", str(folder), "--columns", str(file)])
    assert "--for" in str(outcome.exception)


def test_expansion_factors_hold_where_they_are_of_the_zones(tmp_path: Path) -> None:
    """As in the example of survey weighting: the seed geography is the zone."""
    settings = (
        SETTINGS.replace("[REGION, PUMA, TAZ]", "[REGION, PUMA]")
        .split("output_synthetic_population")[0]
        .replace("TAZ_control_data, filename: taz", "PUMA_control_data, filename: puma")
        .replace("filename: p.csv,", "filename: p.csv, dtypes: {COMM: str}, drop_columns: [X],")
    )  # fmt: skip
    controls = CONTROLS.replace("TAZ", "PUMA").replace(
        "old,REGION,persons,500,OLD,persons.AGE >= 65",
        "silent,PUMA,persons,1000,SILENT,persons.COMM.isna()",
    )
    folder = small_folder(tmp_path / "run", controls, settings)
    persons = pd.read_csv(folder / "data" / "p.csv")
    persons = persons.assign(COMM=np.where(persons["AGE"] < 16, None, "01"), X=1)
    persons.to_csv(folder / "data" / "p.csv", index=False)
    totals = pd.DataFrame({"PUMA": [1, 2], "HH": 900, "ALONE": [400, 300], "SILENT": 350})
    totals.to_csv(folder / "data" / "puma.csv", index=False)
    free = read_zone_folder(folder)
    assert free.limits() is None
    assert set(free.persons["COMM"].dropna()) == {"01"}
    assert "X" not in free.persons
    factors = {"min_expansion_factor": 0.8, "max_expansion_factor": 2}
    bounds = {"absolute_lower_bounds": 25, "absolute_upper_bounds": 38}
    least, most = [], []
    for more in ({}, factors, {**factors, **bounds}):
        result = replace(free, settings={**free.settings, **more}).balance(seed=1)
        counts = result.survey.household_weights
        least.append(counts.min())
        most.append(counts.max())
        assert (result.controls["gap"][result.controls["margin"] == "num_hh"] == 0).all()
    assert least[0] < 16 <= least[1] < 25 <= least[2]
    assert most[0] > 40 >= most[1] > 38 >= most[2]
    assert set(free.tables(result)["synthetic_households.csv"]) >= {"REGION", "PUMA", "NP"}


def test_a_folder_of_the_shape_of_calm_is_met_control_by_control(tmp_path: Path) -> None:
    """31 controls at three geographies that one population meets, from a seed of one in twenty."""
    invent(tmp_path / "calm", 40)
    outcome = CliRunner().invoke(app, ["zones", str(tmp_path / "calm"), "--seed", "1"])
    assert outcome.exit_code == 0, outcome.output
    gaps = {}
    for area, areas in (("TAZ", 40), ("TRACT", 5), ("REGION", 1)):
        table = pd.read_csv(tmp_path / "calm" / "output" / f"final_summary_{area}.csv")
        assert len(table) == areas
        for name in table.columns[table.columns.str.endswith("_diff")]:
            gaps[name.removesuffix("_diff")] = table[name].abs().max()
    assert len(gaps) == 31
    assert all(not gap for name, gap in gaps.items() if not name.startswith(("OSUTAG", "OCCP")))
    assert max(gaps.values()) <= 1  # students of zones and occupations of the region
