"""The run file that init writes runs unedited and keeps what the survey shows."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthpop import Components, Pipeline, assess_fit, load_demo_survey, run
from synthpop.cli import app
from synthpop.microdata.formats.atomic import relative_path
from synthpop.microdata.messages.errors import InputError
from synthpop.profile.profile import profile_survey, simulation_order
from synthpop.runfiles.checks import faults_of_data
from synthpop.runfiles.runfile import load_runfile
from synthpop.runfiles.template import starter_runfile, template_text
from synthpop.runfiles.template_text import profile_table
from tests.reference_data import survey_data
from tests.small import small_frame
from tests.synthpop.profile.test_profile import households


def of_frame(frame: pd.DataFrame, folder: Path) -> Path:
    """Write a survey and its run file; return the run file."""
    frame.to_parquet(folder / "survey.parquet")
    path = folder / "survey.toml"
    path.write_text(starter_runfile(folder / "survey.parquet", folder), encoding="utf-8")
    return path


def test_the_recipe_of_a_survey_keeps_what_it_shows(tmp_path: Path) -> None:
    frame = households(500)
    path = of_frame(frame, tmp_path)
    plan = load_runfile(path)
    assert [x.empty for x in plan.stages if isinstance(x, Components)] == ["sequential"]
    population = Pipeline(plan.stages).fit(plan.read_survey(), seed=1).simulate(scale=0.15)
    made = population.frame()
    parts = made[["wage", "pension", "rest"]].sum(axis=1)
    assert np.allclose(parts[made["age"] >= 16], made["income"][made["age"] >= 16], atol=0.01)
    heads = (made["relation"] == "head").groupby(made["hid"]).sum()
    assert (heads == 1).all()
    assert made.groupby("hid")[["tenure", "rent"]].nunique(dropna=False).max().tolist() == [1, 1]
    sums = made.groupby("hid")["income"].transform("sum")
    assert np.allclose(made["household_income"], sums, atol=0.01)
    assert "old_weight" not in made.columns
    assert set(made["country"]) == {"X"}
    codes = frame.groupby("sex")["sex_code"].first()
    assert (made["sex"].map(codes) == made["sex_code"].astype(int)).all()
    assert made.loc[made["age"] < 16, "job"].isna().all()
    assert ((made["income"] == 0) == (made["income_class"] == "(-1.0, 0.0]")).all()
    means = made.groupby(made["job"].astype(str))["income"].mean()
    survey = (
        frame.dropna(subset="job")
        .groupby("job")
        .apply(lambda rows: np.average(rows["income"], weights=rows["weight"]))
    )
    assert (means[survey.index] / survey - 1).abs().max() < 0.05


def test_many_variables_of_households_are_not_all_copied(tmp_path: Path) -> None:
    frame = small_frame(120)
    rng = np.random.default_rng(1)
    for number in range(30):
        answers = pd.Series(rng.integers(1, 6, frame["hid"].nunique()))
        frame[f"h{number}"] = frame.groupby("hid").ngroup().map(answers)
    plan = load_runfile(of_frame(frame, tmp_path))
    structure, *others = plan.stages
    copied = [name for name in structure.variables if name.startswith("h")]
    assert 3 <= len(copied) <= 9
    shared = [x.name for x in others if getattr(x, "by_household", None) == "shared"]
    assert sorted([*copied, *shared]) == sorted(f"h{number}" for number in range(30))
    Pipeline([structure]).fit(plan.read_survey(), seed=1)


def test_classes_of_classes_are_derived_from_what_is_simulated(tmp_path: Path) -> None:
    frame = small_frame(150)
    rooms = np.arange(len(frame)) % 48
    frame["two"] = rooms // 24  # coarse classes come before the finer ones in the file
    frame["four"] = rooms // 12
    frame["rooms"] = rooms
    assert faults_of_data(load_runfile(of_frame(frame, tmp_path))) == []
    profile = profile_survey(frame)
    assert [profile.column(name).detail for name in ("two", "four")] == ["rooms", "rooms"]


def test_predictors_have_no_more_combinations_than_models_can_tell_apart() -> None:
    rng = np.random.default_rng(1)
    frame = small_frame(600)
    group = rng.integers(0, 30, len(frame))
    for number in range(11):
        moved = np.where(rng.random(len(frame)) < 0.1, rng.integers(0, 30, len(frame)), group)
        frame[f"q{number}"] = pd.Series(moved).map("a{}".format)
    predictors = profile_survey(frame).predictors["q10"]
    assert 3 <= sum(name.startswith("q") for name in predictors) <= 7  # 30^7 < 2^36


def mean_by_status(frame: pd.DataFrame, status: str, number: str, weights: np.ndarray) -> pd.Series:
    table = pd.DataFrame({"s": frame[status].astype(str), "x": frame[number], "w": weights})
    table = table.dropna(subset="x")
    sums = (table["x"] * table["w"]).groupby(table["s"]).sum()
    means = sums / table.groupby("s")["w"].sum()
    return means[table.groupby("s").size() >= 100]


def some_households(frame: pd.DataFrame, household: str, share: float) -> pd.DataFrame:
    ids = frame[household].drop_duplicates().sample(frac=share, random_state=2)
    return frame[frame[household].isin(ids)].reset_index(drop=True)


@pytest.mark.parametrize("name", [pytest.param("demo", marks=pytest.mark.slow), "eusilcS"])
def test_incomes_by_status_are_those_of_the_survey(name: str, tmp_path: Path) -> None:
    frame = load_demo_survey().frame if name == "demo" else survey_data(name)
    path = of_frame(some_households(frame, "db030", 0.25), tmp_path)
    plan = load_runfile(path)
    survey = plan.read_survey()
    made = Pipeline(plan.stages).fit(survey, seed=1).simulate()  # single high incomes count less
    frame = made.frame()
    wanted = mean_by_status(survey.frame, "pl030", "netIncome", survey.weights)
    means = mean_by_status(frame, "pl030", "netIncome", np.ones(len(frame)))[wanted.index]
    assert (means / wanted - 1).abs().max() < 0.05
    parts = [name for name in frame.columns if name.startswith("py")]
    off = (frame[parts].sum(axis=1) - frame["netIncome"].fillna(0)).abs()
    assert off.max() < 0.01
    fit = assess_fit(survey, made)
    assert fit.auc["persons"] < 0.62


def test_the_starter_run_file_runs(tmp_path: Path) -> None:
    frame = small_frame().rename(columns={"region": "db040", "hid": "db030", "w": "rb050"})
    frame.to_csv(tmp_path / "survey.csv", index=False)
    path = tmp_path / "survey.toml"
    path.write_text(starter_runfile(tmp_path / "survey.csv", tmp_path), encoding="utf-8")
    plan = load_runfile(path)
    assert (plan.survey.strata, plan.survey.household, plan.survey.weight) == (
        "db040",
        "db030",
        "rb050",
    )
    kinds = [type(stage).__name__ for stage in plan.stages]
    assert kinds[:2] == ["Structure", "Derive"]
    assert run(path).n_persons > 5000


def test_what_has_too_many_values_is_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"weight": [1.0] * 140, "name": [f"n{i // 2}" for i in range(140)]})
    frame["kind"] = ["a", "b"] * 70
    text = of_frame(frame, tmp_path).read_text(encoding="utf-8")
    assert "# name: is left out, 70 levels" in text
    assert "by_household" not in text


def test_what_is_offered_as_a_comment_runs_too(tmp_path: Path) -> None:
    frame = small_frame().rename(columns={"region": "db040", "hid": "db030"})
    rng = np.random.default_rng(1)
    frame = frame.drop(columns="w").assign(flag=rng.choice(["x", "y"], len(frame)))
    path = of_frame(frame, tmp_path)
    text = path.read_text(encoding="utf-8")
    for key in ("[[stage]]", "type", "variables", "given", "passes"):
        text = text.replace(f"# {key}", key)
    path.write_text(text.replace('# strata = ["..."]', 'strata = ["north"]'), encoding="utf-8")
    plan = load_runfile(path)
    kinds = [type(stage).__name__ for stage in plan.stages]
    assert (kinds[0], kinds[1], kinds[-1]) == ("Impute", "Structure", "GibbsPass")
    assert "status" in plan.stages[0].variables
    population = run(path)
    assert set(population.frame()["db040"]) == {"north"}
    assert population.n_persons < len(frame)


@pytest.mark.parametrize(
    ("change", "predictor"),
    [
        (lambda f: f.assign(age=40), "sex"),
        (lambda f: f.assign(age=np.nan), "sex"),
        (lambda f: f.assign(age_class=np.arange(len(f)) % 3), "age_class_"),
        (lambda f: f.rename(columns={"status": 'two\n"lines"\x7f'}), "age_class"),
        (lambda f: f.assign(**{"many\nvalues": [f"n{i}" for i in range(len(f))]}), "age_class"),
    ],
)
def test_the_run_file_of_an_odd_file_runs(tmp_path: Path, change, predictor: str) -> None:
    path = of_frame(change(small_frame(200)), tmp_path)
    plan = load_runfile(path)
    plan = replace(plan, run=plan.run.model_copy(update={"scale": 0.2}))
    drawn = [stage for stage in plan.stages if hasattr(stage, "predictors")]
    assert drawn[-1].predictors[0] == predictor
    assert run(plan).n_persons > 100


def test_a_file_with_a_head_only_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "head.csv").write_text("weight,age,sex\n", encoding="utf-8")
    with pytest.raises(InputError, match="no row"):
        starter_runfile(tmp_path / "head.csv", tmp_path)


def test_a_survey_on_another_drive_keeps_its_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object, start: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("os.path.relpath", refuse)
    assert Path(relative_path(Path("survey.csv"), Path("/elsewhere"))).is_absolute()


def test_the_table_for_the_screen_has_each_column() -> None:
    frame = households(80)
    lines = profile_table(profile_survey(frame)).splitlines()
    assert len(lines) == 1 + len(frame.columns)
    assert any(line.startswith("wage") and "a part of income" in line for line in lines)


def test_codes_for_no_answer_can_be_switched_on(tmp_path: Path) -> None:
    frame = households().assign(
        work=lambda rows: np.where(rows["age"] > 60, -9, 1 + rows["hid"] % 4)
    )
    frame.to_csv(tmp_path / "survey.csv", index=False)
    text = starter_runfile(tmp_path / "survey.csv", tmp_path)
    path = tmp_path / "survey.toml"
    path.write_text(text, encoding="utf-8")
    assert (load_runfile(path).read_survey().frame["work"] == -9).any()
    text = text.replace("# [survey.csv]", "[survey.csv]").replace("# missing = {", "missing = {")
    path.write_text(text, encoding="utf-8")
    survey = load_runfile(path).read_survey().frame
    assert survey["work"].isna().equals(survey["age"] > 60)


def test_a_file_made_again_has_its_weights_and_its_codes_within_their_groups(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(100, 300, 3_000)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 90, 3_000), "sex": rng.choice(["m", "f"], 3_000),
            "occupation": code, "branch": [f"b{c % 7}" for c in code],
            "weight": rng.integers(20, 90, 3_000),
        }
    )  # fmt: skip
    profile = profile_survey(frame, known={"weight": None})
    uses = {item.name: item.use for item in profile.columns}
    assert profile.roles == {}
    assert uses["weight"] == "continuous"
    assert profile.column("occupation").within == "branch"
    assert simulation_order(list(profile.columns))[:2] == ["branch", "occupation"]
    file = tmp_path / "survey.parquet"
    frame.to_parquet(file)
    target = tmp_path / "made.toml"
    target.write_text(template_text(frame, profile, "survey.parquet"))
    fitted = load_runfile(target).pipeline().fit(load_runfile(target).read_survey(), seed=1)
    people = fitted.simulate(seed=1).frame()
    assert len(people) == 3_000
    assert set(frame.columns) <= set(people.columns)
    assert (people["branch"].astype(str) == [f"b{int(c) % 7}" for c in people["occupation"]]).all()


def test_init_counts_every_row_once_where_it_is_asked_to(tmp_path: Path) -> None:
    ages = {"age": list(range(60)), "sex": ["m", "f"] * 30, "weight": [2.0, 3.0, 4.0] * 20}
    pd.DataFrame(ages).to_csv(tmp_path / "survey.csv", index=False)
    for option, weight in (([], "weight"), (["--unweighted"], None)):
        target = tmp_path / f"{len(option)}.toml"
        arguments = ["init", str(tmp_path / "survey.csv"), "--out", str(target), *option]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        assert tomllib.loads(target.read_text())["survey"].get("weight") == weight


def test_an_immense_population_begins_with_a_part() -> None:
    frame = pd.DataFrame({"w": 350_000.0, "sex": list("fm") * 100})
    text = template_text(frame, profile_survey(frame), "s.csv")
    assert "scale = 0.1            # a part of 70,000,000 persons" in text
    small = frame.assign(w=1000.0)
    assert "scale = 1.0            #" in template_text(small, profile_survey(small), "s.csv")


def test_a_file_with_nothing_to_simulate_is_an_error() -> None:
    frame = pd.DataFrame({"id": range(50), "text": [f"{k} street" for k in range(50)]})
    with pytest.raises(InputError, match=r"none can be simulated \(id: an id"):
        template_text(frame, profile_survey(frame), "s.csv")
