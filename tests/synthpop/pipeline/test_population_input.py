"""A population as input: every row counts 1, and what is learned from it is the population."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, load_runfile, read_survey, run
from synthpop.microdata.messages.errors import InputError, RunFileError
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame, small_pipeline, small_survey


@pytest.fixture(scope="module")
def population():
    return small_pipeline().fit(small_survey(), seed=7).simulate()


def test_without_weights_every_row_counts_one() -> None:
    roles = {k: v for k, v in ROLES.items() if k != "weight"}
    survey = Survey(small_frame().drop(columns="w"), weight=None, **roles)
    assert survey.weights.tolist() == [1.0] * survey.n_persons
    assert survey.household_weights.tolist() == [1.0] * survey.n_households
    made = Pipeline([Structure(["age", "sex"])]).fit(survey, seed=1).simulate()
    assert (made.n_persons, made.n_households) == (survey.n_persons, survey.n_households)


def test_the_column_of_ones_has_a_name_of_its_own() -> None:
    frame = pd.DataFrame({"weight": [70.0, 12.5], "weight_1": [1, 2]})
    survey = Survey(frame, weight=None)
    assert survey.roles.weight == "weight_2"
    assert survey.frame["weight"].tolist() == [70.0, 12.5]
    assert frame.columns.tolist() == ["weight", "weight_1"]
    assert survey.with_column("a", [1, 2]).roles.weight == "weight_2"


def test_weights_must_be_told_one_way_or_the_other() -> None:
    with pytest.raises(TypeError, match="weight"):
        Survey(small_frame())  # type: ignore[call-arg]


def test_a_population_is_a_survey_with_its_roles(population) -> None:
    survey = population.survey()
    roles = survey.roles
    assert (roles.household, roles.household_size, roles.strata, roles.person) == (
        "hid",
        "size",
        "region",
        "pid",
    )
    assert survey.weights.sum() == population.n_persons
    some = population.survey(["status"])
    assert set(some.frame.columns) == {"hid", "size", "region", "pid", "status", "weight"}
    by_hand = Survey(population, weight=None, household="hid")
    assert_same_frame(by_hand.frame, survey.frame)


def test_what_is_learned_from_a_population_is_the_population(population) -> None:
    stages = [Structure(["age", "sex"]), Categorical("status", predictors=["sex"])]
    fitted = Pipeline(stages).fit(population, seed=2)
    again = fitted.simulate()
    assert again.n_persons == population.n_persons
    a, b = population.frame(), again.frame()
    counts = [f.groupby(["region", "size"], observed=True).size() for f in (a, b)]
    assert (counts[0] == counts[1]).all()
    shares = [f["status"].value_counts(normalize=True, dropna=False) for f in (a, b)]
    assert (shares[0] - shares[1]).abs().max() < 0.015
    same = Pipeline(stages).fit(population.survey(), seed=2).simulate()
    assert_same_frame(same.frame(), b)


def test_a_population_without_households(population) -> None:
    frame = small_frame().drop(columns=["hid", "pid", "size", "w"])
    first = Pipeline([Structure(["age"])]).fit(Survey(frame, weight=None), seed=1).simulate()
    survey = first.survey()
    assert (survey.roles.household, survey.roles.person) == (None, "pid")
    second = Pipeline([Structure(["age"])]).fit(first, seed=1).simulate(scale=2)
    assert second.n_persons == 2 * len(frame)


TEXT = """
[survey]
{source}
[run]
seed = 2
[[stage]]
type = "structure"
variables = ["age", "sex"]
[[stage]]
type = "categorical"
name = "status"
predictors = ["sex"]
"""


def written(tmp_path, source: str):
    file = tmp_path / "run.toml"
    file.write_text(TEXT.format(source=source), encoding="utf-8")
    return file


def test_a_run_file_names_a_population_or_a_file_without_weights(tmp_path) -> None:
    stages = small_pipeline()
    there = stages.fit(small_survey(), seed=7).simulate(out=tmp_path / "first")
    plan = load_runfile(written(tmp_path, 'population = "first"'))
    expected = Pipeline(plan.stages).fit(there, seed=2).simulate().frame()
    assert_same_frame(run(plan).frame(), expected)
    small_frame().to_parquet(tmp_path / "people.parquet")
    source = 'file = "people.parquet"\nunweighted = true\nhousehold = "hid"'
    plan = load_runfile(written(tmp_path, source))
    assert plan.read_survey().weights.max() == 1.0
    assert run(plan).n_persons == len(small_frame())
    survey = read_survey(tmp_path / "people.parquet", weight=None)
    assert np.all(survey.weights == 1)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('population = "p"\nfile = "f.csv"', "needs file, population or demo = true"),
        ('population = "p"\nhousehold = "hid"', "household cannot be given"),
        ('file = "f.csv"\nweight = "w"\nunweighted = true', "[survey] unweighted"),
        ("demo = true\nunweighted = true", "[survey] unweighted"),
        ('file = "f.csv"', "or set unweighted = true"),
    ],
)
def test_faults_of_the_source(tmp_path, source: str, message: str) -> None:
    with pytest.raises(RunFileError) as caught:
        load_runfile(written(tmp_path, source))
    assert message in str(caught.value)


def test_a_population_that_cannot_be_learned_from_is_told(population) -> None:
    with pytest.raises(InputError, match="'nothing' is not a column"):
        Pipeline([Structure(["nothing"])]).fit(population, seed=1)
