"""Run files say how a data file is written."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from riskeval.runfiles.runfile import load_assess_plan
from synthpop.microdata.formats.tomlfile import read_toml
from synthpop.microdata.messages.errors import InputError, RunFileError
from synthpop.runfiles.runfile import dump_runfile, load_runfile

GERMAN = "hid;w;age;income;sex\n1;10,5;40;1.250,50;1\n1;10,5;9;-9;2\n2;20,0;33;900,00;1\n"
RECIPE = """
[survey]
file = "s.csv"
weight = "w"
household = "hid"
dictionary = "d.toml"
user_missing = "level"

[survey.csv]
decimal = ","
thousands = "."
missing = {income = [-9]}

[[stage]]
type = "structure"
variables = ["age", "sex"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text(GERMAN)
    (tmp_path / "d.toml").write_text('[sex]\nvalues = [[1, "male"], [2, "female"]]\n')
    (tmp_path / "run.toml").write_text(RECIPE)
    return tmp_path


def test_a_recipe_reads_its_file_as_it_says(folder: Path) -> None:
    plan = load_runfile(folder / "run.toml")
    frame = plan.read_survey().frame
    assert frame["income"].tolist()[::2] == [1250.5, 900.0]
    assert pd.isna(frame["income"].tolist()[1])
    assert frame["sex"].tolist() == ["male", "female", "male"]
    (folder / "again.toml").write_text(dump_runfile(plan))
    assert load_runfile(folder / "again.toml").survey == plan.survey


def test_a_plan_reads_its_file_as_it_says(folder: Path) -> None:
    text = RECIPE.replace("survey", "data").split("[[stage]]")[0]
    for role in ('weight = "w"\n', 'household = "hid"\n'):
        text = text.replace(role, "")
    (folder / "plan.toml").write_text(text + '[assess]\nkeys = ["sex"]\nweights = "w"\n')
    assessment = load_assess_plan(folder / "plan.toml").run()
    assert "2-anonymity" in assessment.summary()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('decimal = ","', 'decimal = ";"', "decimal: ';' is not allowed"),
        ("{income = [-9]}", "{incme = [-9]}", "Did you mean 'income'"),
        ('"d.toml"', '"none.toml"', "cannot be read"),
    ],
)
def test_faulty_ways_to_read(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "run.toml").write_text(RECIPE.replace(old, new))
    with pytest.raises(InputError, match=message):
        load_runfile(folder / "run.toml").read_survey()


def test_unknown_keys_are_named(folder: Path) -> None:
    (folder / "run.toml").write_text(RECIPE.replace("thousands =", "thousand ="))
    with pytest.raises(RunFileError, match="thousand"):
        load_runfile(folder / "run.toml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'a = "C:\\data\\new"', "single quotes"),
        (b'a = "C:\\Users\\me"', "single quotes"),
        (b"a = " + b"[" * 5000, "nested too deeply|is not TOML"),
        (b"a = " + b"9" * 5000, "Check path and numbers"),
        (b"a = ", "is not TOML"),
    ],
)
def test_text_that_is_no_toml(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "r.toml").write_bytes(content)
    with pytest.raises(RunFileError, match=message):
        read_toml(tmp_path / "r.toml")


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml(tmp_path / "r.toml") == {"a": 1}
