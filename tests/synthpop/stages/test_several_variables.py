"""Several categorical variables in one step: as many steps, in the order given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, dump_runfile, load_runfile
from synthpop.microdata.messages.errors import InputError
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame


def frame_of_pairs(n: int = 800) -> pd.DataFrame:
    """Two variables that go together, whatever age and sex are."""
    frame = small_frame(n)
    rng = np.random.default_rng(3)
    frame["one"] = rng.choice(["p", "q"], len(frame))
    frame["two"] = np.where(rng.random(len(frame)) < 0.9, frame["one"], "q")
    return frame


def people(*steps) -> pd.DataFrame:
    survey = Survey(frame_of_pairs(), **ROLES)
    return Pipeline([Structure(["age", "sex"]), *steps]).fit(survey, seed=4).simulate().frame()


def test_a_list_is_as_many_steps() -> None:
    together = people(Categorical(["one", "two"], predictors=["sex"]))
    apart = people(Categorical("one", predictors=["sex"]), Categorical("two", predictors=["sex"]))
    assert_same_frame(together, apart)
    alone = people(Categorical(["one"], predictors=["sex"]))
    pd.testing.assert_series_equal(alone["one"], apart["one"])


def agreement(frame: pd.DataFrame) -> float:
    return float((frame["one"].astype(str) == frame["two"].astype(str)).mean())


def test_in_the_order_given_or_each_from_the_basic_ones() -> None:
    sample = frame_of_pairs()
    expected = float(np.average(sample["one"] == sample["two"], weights=sample["w"]))
    assert abs(agreement(people(Categorical(["one", "two"], predictors="all"))) - expected) < 0.03
    assert agreement(people(Categorical(["one", "two"], predictors="basic"))) < expected - 0.2
    turned = people(Categorical(["two", "one"], predictors="all"))
    assert turned.columns.tolist().index("two") < turned.columns.tolist().index("one")


def test_rules_hold_for_each_variable() -> None:
    rule = {"levels": ["q"], "when": {"sex": ["f"]}}
    found = people(Categorical(["one", "two"], predictors="basic", impossible=[rule]))
    women = found[found["sex"] == "f"]
    assert set(women["one"]) == set(women["two"]) == {"p"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "has no name"),
        (["one", "one"], "makes 'one', which the population already has"),
        (["one", "tow"], "Did you mean 'two'"),
        ([1], "name: is"),
        (5, "name: is 5"),
    ],
)
def test_faults(names, message: str) -> None:
    with pytest.raises(InputError) as caught:
        people(Categorical(names, predictors=["sex"]))
    assert message in str(caught.value)


def test_the_way_to_a_run_file_and_back(tmp_path) -> None:
    text = """
[survey]
demo = true
[[stage]]
type = "structure"
variables = ["age"]
[[stage]]
type = "categorical"
name = ["pl030", "pb220a"]
predictors = "basic"
"""
    (tmp_path / "run.toml").write_text(text)
    plan = load_runfile(tmp_path / "run.toml")
    assert plan.stages[1] == Categorical(["pl030", "pb220a"], predictors="basic")
    dump_runfile(plan, tmp_path / "again.toml")
    assert load_runfile(tmp_path / "again.toml").stages == plan.stages
