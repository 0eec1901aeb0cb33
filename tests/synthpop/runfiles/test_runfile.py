"""Run files: what they say, what is wrong with them, and the way there and back."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from synthpop import Pipeline, dump_runfile, load_runfile, run
from synthpop.microdata.messages.errors import InputError, RunFileError
from synthpop.runfiles.checks import check_risk
from synthpop.runfiles.demo import demo_runfile
from synthpop.runfiles.runfile import parse_runfile
from tests.same import assert_same_frame
from tests.small import small_frame, small_stages, small_survey

TEXT = """
[survey]
file = "survey.parquet"
weight = "w"
household = "hid"
household_size = "size"
strata = "region"
person = "pid"

[run]
seed = 7
scale = 2.0

[[stage]]
type = "structure"
variables = ["age", "sex"]

[[stage]]
type = "derive"
name = "age_class"
source = "age"
breaks = [0, 15, 39, 64, 120]

[[stage]]
type = "categorical"
name = "status"
predictors = ["age_class", "sex"]
impossible = [{levels = ["retired"], when = {age_class = ["[0, 15]"]}}]
"""


@pytest.fixture
def runfile(tmp_path):
    small_frame().to_parquet(tmp_path / "survey.parquet")
    path = tmp_path / "run.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('type = "derive"', 'type = ["x"]'), "type ['x'] is unknown"),
        (("[run]", '[report]\nfile = "manifest.json"\n[run]'), "[report] file"),
    ],
)
def test_values_of_a_wrong_kind(runfile, change: tuple[str, str], message: str) -> None:
    runfile.write_text(TEXT.replace(*change), encoding="utf-8")
    with pytest.raises(RunFileError) as caught:
        load_runfile(runfile)
    assert message in str(caught.value)


def test_a_stage_that_is_not_a_table() -> None:
    with pytest.raises(RunFileError, match="not a table"):
        parse_runfile({"survey": {"demo": True}, "stage": ["x"]})


def test_variables_of_risk_are_checked_before_anything_is_simulated(runfile) -> None:
    risk = '\n[risk]\nkeys = ["agee", "region", "hid"]\ntarget = "income"\n'
    runfile.write_text(TEXT + risk, encoding="utf-8")
    with pytest.raises(RunFileError) as caught:
        check_risk(load_runfile(runfile), small_survey())
    text = str(caught.value)
    assert "[risk] keys: 'agee'" in text
    assert "Did you mean 'age'?" in text
    assert "'hid'" in text
    assert "[risk] target: 'income'" in text
    assert "'region'" not in text
    for intervals, what in (('["low", "agee"]', "'agee'"), ('["age"]', "are ['age']")):
        runfile.write_text(f"{TEXT}{risk}intervals = {intervals}\n", encoding="utf-8")
        with pytest.raises(RunFileError) as caught:
            check_risk(load_runfile(runfile), small_survey())
        assert "[risk] intervals: " + what in str(caught.value)
    runfile.write_text(
        TEXT
        + risk.replace("agee", "age_class").replace('"hid"', '"size"').replace("income", "status"),
        encoding="utf-8",
    )
    check_risk(load_runfile(runfile), small_survey())


def test_a_run_file_is_the_pipeline_in_python(runfile) -> None:
    plan = load_runfile(runfile)
    by_hand = Pipeline(plan.stages).fit(small_survey(), seed=7).simulate(scale=2.0)
    assert_same_frame(run(runfile).frame(), by_hand.frame())


def test_out_of_the_file_is_relative_to_it_and_the_argument_wins(runfile, tmp_path) -> None:
    runfile.write_text(TEXT.replace("seed = 7", 'seed = 7\nout = "there"'))
    assert run(runfile).path == tmp_path / "there"
    assert run(runfile, out=tmp_path / "here").path == tmp_path / "here"


def test_run_reports_events_and_takes_workers(runfile) -> None:
    seen = []
    run(runfile, workers=2, on_event=seen.append)
    assert {event.job for event in seen} == {"fit", "simulate"}


def test_there_and_back(runfile, tmp_path) -> None:
    plan = load_runfile(runfile)
    text = dump_runfile(plan, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == text
    again = load_runfile(tmp_path / "again.toml")
    assert again.stages == plan.stages
    assert (again.survey, again.run, again.risk, again.report) == (
        plan.survey,
        plan.run,
        plan.risk,
        plan.report,
    )


def test_every_stage_goes_there_and_back() -> None:
    plan = demo_runfile()
    again = parse_runfile(tomllib.loads(dump_runfile(plan)))
    assert again.stages == plan.stages
    small = parse_runfile(
        {"survey": {"demo": True}, "stage": tomllib.loads(dump_runfile(plan))["stage"]}
    )
    assert small.stages == plan.stages
    assert len(small_stages()) == len({type(stage) for stage in plan.stages})


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("[run]", "[rum]", ["[rum]: is unknown. Did you mean 'run'?"]),
        ("seed = 7", "sed = 7", ["[run] sed: is unknown. Did you mean 'seed'?"]),
        ("predictors =", "predictor =", ["predictor: is unknown. Did you mean 'predictors'?"]),
        (
            '"categorical"',
            '"categoric"',
            ["type 'categoric' is unknown. Did you mean 'categorical'?"],
        ),
        ('type = "derive"', "", ["has no type"]),
        ("scale = 2.0", "scale = -1", ["[run] scale: is -1. Give a number greater than 0"]),
        ("seed = 7", 'seed = "x"', ["[run] seed"]),
        ('file = "survey.parquet"', "", ["needs file, population or demo = true"]),
        (
            'file = "survey.parquet"',
            'file = "x.csv"\ndemo = true',
            ["needs file, population or demo = true"],
        ),
        ('weight = "w"', "", ["[survey] weight: is not given"]),
        ('name = "status"', "", ["(categorical) name"]),
        (TEXT[TEXT.index("[[stage]]") :], "", ["[[stage]]: there is none"]),
        ("seed = 7", "seed = = 7", ["is not TOML"]),
        (
            "scale = 2.0",
            "scale = 0\nworkers = 4\nrows_per_block = 0",
            ["scale", "workers: is unknown", "rows_per_block"],
        ),
    ],
)
def test_faults_come_together_and_name_the_place(runfile, old, new, messages) -> None:
    assert old in TEXT
    runfile.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RunFileError) as caught:
        load_runfile(runfile)
    for message in messages:
        assert message in str(caught.value)


def test_a_level_that_the_data_do_not_have(runfile) -> None:
    runfile.write_text(TEXT.replace('["retired"]', '["retird"]'), encoding="utf-8")
    with pytest.raises(InputError, match=r"the level 'retird'.*Did you mean 'retired'"):
        run(runfile)


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(RunFileError, match="no such file"):
        load_runfile(tmp_path / "none.toml")


def test_strata_of_a_run_file(runfile, tmp_path) -> None:
    whole = run(runfile).frame()
    runfile.write_text(TEXT.replace("seed = 7", 'seed = 7\nstrata = ["west"]'), encoding="utf-8")
    plan = load_runfile(runfile)
    expected = whole[whole["region"] == "west"].reset_index(drop=True)
    assert_same_frame(run(plan).frame(), expected)
    dump_runfile(plan, tmp_path / "again.toml")
    assert load_runfile(tmp_path / "again.toml").run == plan.run


def test_a_missing_value_in_a_rule_goes_there_and_back(runfile) -> None:
    given = 'levels = ["retired"], when = {age_class = ["[0, 15]"]}'
    text = TEXT.replace(given, 'levels = [nan, "retired"], when = {sex = ["f", nan]}')
    runfile.write_text(text, encoding="utf-8")
    plan = load_runfile(runfile)
    expected = ({"levels": (None, "retired"), "when": {"sex": ("f", None)}},)
    assert plan.stages[2].impossible == expected
    assert "nan" in dump_runfile(plan, runfile)
    assert load_runfile(runfile).stages == plan.stages
    women = run(runfile).frame().query("sex == 'f'")
    assert set(women["status"]) == {"works", "idle"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "9" * 5000, "cannot be read"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply|is not TOML"),
        ("a = 1\0", "is not TOML"),
    ],
)
def test_hostile_toml_is_a_fault_of_the_file(tmp_path, text: str, message: str) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(RunFileError, match=message):
        load_runfile(tmp_path / "run.toml")


def test_a_path_with_a_zero_byte_is_a_fault() -> None:
    with pytest.raises(RunFileError, match="cannot be read"):
        load_runfile("a\0b.toml")


def test_zones_of_a_run_file(runfile, tmp_path) -> None:
    """A trial run at a tenth of the totals; what has no meaning there is a fault."""
    (tmp_path / "zones.csv").write_text("zone\na\nb\n", encoding="utf-8")
    table = """
[zones]
geography = "zones.csv"
[[zones.margin]]
file = "homes.csv"
level = "household"
total = "n"
columns = {GEO = "zone"}
where = {Y = 2025}
"""
    (tmp_path / "homes.csv").write_text("GEO,Y,n\na,2025,200\nb,2025,300\nb,2020,9\n", "utf-8")
    runfile.write_text(TEXT + table, encoding="utf-8")
    plan = load_runfile(runfile)
    assert plan.zones is not None
    assert parse_runfile(tomllib.loads(dump_runfile(plan)), folder=tmp_path) == plan
    scaled = replace(plan, run=plan.run.model_copy(update={"scale": 0.1}))
    with pytest.raises(InputError, match="written to a folder"):
        run(replace(scaled, run=scaled.run.model_copy(update={"out": None})))
    made = run(scaled, out=tmp_path / "trial")
    assert made.frame().groupby("zone")[made.roles.household].nunique().to_dict() == {
        "a": 20, "b": 30,
    }  # fmt: skip
    bad = TEXT.replace("seed = 7", 'seed = 7\nstrata = ["west"]') + table
    runfile.write_text(bad, encoding="utf-8")
    with pytest.raises(RunFileError, match="cannot be chosen where"):
        load_runfile(runfile)
