"""All faults of a run file at once, in its words and with its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthpop import load_runfile, run
from synthpop.cli import main
from synthpop.microdata.formats.toml_lines import lines_of_keys
from synthpop.microdata.messages.errors import RunFileError
from tests.console import call
from tests.small import small_frame

TEXT = """# a run file
[survey]
file = "survey.parquet"
weight = "w"
household = "hid"

[run]
sed = 1

[[stage]]
type = "structure"
variables = ["age", "sexx"]

[[stage]]
type = "categorical"
name = "status"
predictors = [
  "agee",   # in a list over lines = [
]

[[stage]]
type = "categorical"
nam = "income"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_frame(40).to_parquet(tmp_path / "survey.parquet")
    return tmp_path


def faults(folder: Path, text: str) -> dict[str, tuple[int, str]]:
    (folder / "run.toml").write_text(text)
    with pytest.raises(RunFileError) as caught:
        load_runfile(folder / "run.toml")
    return {fault.where: (fault.line, fault.what) for fault in caught.value.faults}


def test_faults_of_the_file_and_of_the_recipe_come_together(folder: Path) -> None:
    lines = {where: line for where, (line, _) in faults(folder, TEXT).items()}
    assert lines["[run] sed"] == 8
    assert lines["[[stage]] 1 (structure)"] == 10
    assert lines["[[stage]] 2 (categorical)"] == 14
    assert lines["[[stage]] 3 (categorical) nam"] == 23
    assert list(lines.values()) == sorted(lines.values())


def test_faults_of_the_survey_are_those_of_its_table(folder: Path) -> None:
    text = TEXT.replace('"w"', '"ww"').replace('"hid"', '"hidd"')
    found = faults(folder, text)
    assert found["[survey] weight"][0] == 4
    assert found["[survey] household"][0] == 5
    assert "'ww'" in found["[survey] weight"][1]


def test_a_valid_file_whose_recipe_does_not_fit(folder: Path) -> None:
    text = TEXT.replace("sed = 1", "seed = 1").rpartition("[[stage]]")[0]
    (folder / "run.toml").write_text(text)
    done = call(main, "run", "run.toml", cwd=folder)
    assert done.returncode == 1
    assert "line 10: [[stage]] 1 (structure): variable 'sexx'" in done.stderr
    assert "line 14: [[stage]] 2 (categorical): predictor 'agee'" in done.stderr


OF_EVERY_KIND = """rules = ["agge >= 0"]
[survey]
file = "survey.parquet"
weight = "w"
household = "hid"

[risk]
keys = ["agee"]
target = "status"

[[known_totals]]
table = [{sexx = "f", total = 10}]

[[calibrate.margin]]
table = [{sexy = "f", total = 10}]

[[stage]]
type = "structure"
variables = ["age", "sexx"]

[[stage]]
type = "categorical"
name = "status"
predictors = ["agee", "hsize"]
"""
LINES = {
    "rules 'agge >= 0'": 1, "[risk] keys": 8, "[[known_totals]] 1": 11,
    "[[calibrate.margin]] 1": 14, "[[stage]] 1 (structure)": 17, "[[stage]] 2 (categorical)": 21,
}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ('"w"', '"w"', {}),
        ('weight = "w"', "", {"[survey] weight": 2}),
        ('"w"', '"ww"', {"[survey] weight": 4}),
        ('"w"', '"sex"', {"[survey] weight": 4}),
        ('"hid"', '"hidd"', {"[survey] household": 5}),
        ('"hid"', '"hid"\nstrata = "age"', {"[survey] strata": 6}),
    ],
)
def test_faults_of_every_kind_come_together(folder: Path, old: str, new: str, more) -> None:
    text = OF_EVERY_KIND.replace(old, new)
    (folder / "run.toml").write_text(text)
    with pytest.raises(RunFileError) as caught:
        run(folder / "run.toml")
    later = text.count("\n") - OF_EVERY_KIND.count("\n")
    lines = {where: line + later * (line > 5) for where, line in LINES.items()}
    assert {fault.where: fault.line for fault in caught.value.faults} == lines | more


def test_a_stage_that_cannot_be_read_keeps_its_number(folder: Path) -> None:
    found = faults(folder, OF_EVERY_KIND.replace('["age", "sexx"]', '"age"'))
    assert found["[[stage]] 1 (structure) variables"][0] == 19
    assert found["[[stage]] 2 (categorical)"][0] == 21
    assert "[[stage]]" not in found  # no Structure: follows from the first stage


def test_files_of_totals_that_are_not_there(folder: Path) -> None:
    text = OF_EVERY_KIND.replace(
        '[{sexy = "f", total = 10}]', '3\n[[calibrate.margin]]\nfile = "x.csv"'
    )
    found = faults(folder, text.replace("[risk]", "[rissk]"))
    assert found[f"[[calibrate.margin]] 2 {folder / 'x.csv'}"] == (16, "there is no such file")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"region"', '"nowhere"', "[survey] strata"),
        ('"region"', '"age"', "[survey] strata"),
        ('"size"', '"nowhere"', "[survey] household_size"),
        ('"hid"', '"nowhere"', "[survey] household"),
        ('"structure"', '"structur"', "[[stage]] 1 (structur)"),
        ('"categorical"', '"kategorical"', "[[stage]] 2 (kategorical)"),
    ],
)
def test_one_mistake_is_one_fault(folder: Path, old: str, new: str, fault: str) -> None:
    text = (
        'rules = ["works: age >= 0", "f: age >= 0"]\n[survey]\nfile = "survey.parquet"\n'
        'weight = "w"\nhousehold = "hid"\nhousehold_size = "size"\nstrata = "region"\n'
        '[risk]\nkeys = ["region", "size"]\ntarget = "status"\n'
        '[[stage]]\ntype = "structure"\nvariables = ["age", "sex"]\n'
        '[[stage]]\ntype = "categorical"\nname = "status"\n'
        'predictors = ["age", "region", "size"]\n'
    )
    (folder / "run.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(RunFileError) as caught:
        run(folder / "run.toml")
    assert [item.where for item in caught.value.faults] == [fault]


def test_what_follows_from_households_in_doubt_is_left_out(folder: Path) -> None:
    text = OF_EVERY_KIND.replace('"hid"', '"hidd"').replace("agee", "age").replace("sexx", "sex")
    assert "[[stage]] 2 (categorical)" not in faults(folder, text.replace("[risk]", "[rissk]"))


def test_a_recipe_without_structure_hides_nothing(folder: Path) -> None:
    first = '[[stage]]\ntype = "structure"\nvariables = ["age", "sexx"]\n\n'
    text = TEXT.replace(first, "").replace("sed = 1", "seed = 1").rpartition("[[stage]]")[0]
    (folder / "run.toml").write_text(text)
    done = call(main, "run", "run.toml", cwd=folder)
    assert "does not begin with Structure" in done.stderr
    assert "predictor 'agee' is unknown" in done.stderr


def test_a_mark_at_the_start_and_paths_of_windows(folder: Path) -> None:
    good = '[survey]\ndemo = true\n[[stage]]\ntype = "structure"\nvariables = ["age"]\n'
    (folder / "bom.toml").write_bytes(b"\xef\xbb\xbf" + good.encode())
    assert len(load_runfile(folder / "bom.toml").stages) == 1
    (folder / "win.toml").write_text('[survey]\nfile = "C:\\data\\s.csv"\n')
    with pytest.raises(RunFileError, match="single quotes"):
        load_runfile(folder / "win.toml")


def test_values_are_told_without_words_of_a_library(folder: Path) -> None:
    found = faults(folder, TEXT.replace("sed = 1", 'scale = "x"\n[report]\nfile = "a.txt"'))
    assert found["[run] scale"] == (8, "is 'x'")
    assert found["[report] file"] == (10, "is 'a.txt'")


def test_lines_of_nested_tables_and_long_strings() -> None:
    text = (
        'a = """\n[x]\nb = 1\n"""\n[[calibrate.margin]]\nfile = "f"\n[[calibrate.margin]]\n'
        'file = "g" # [\n[calibrate.margin.more]\n"two words" = {c = [\n1]}\nd.e = 2\n'
    )
    lines = lines_of_keys(text)
    assert ("x",) not in lines
    assert lines["calibrate", "margin", 1, "file"] == 8
    assert lines["calibrate", "margin", 1, "more", "two words"] == 10
    assert lines["calibrate", "margin", 1, "more", "d", "e"] == 12
