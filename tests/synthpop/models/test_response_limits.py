"""Numbers are cut where a response begins or ends to exist."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.models.encoding import FEWEST_BEYOND, numeric_digits, response_limits


def ages() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 90, 3000).astype(float)


def test_limits_on_both_sides() -> None:
    age = ages()
    found = response_limits(age, (age < 16) | (age >= 75))
    assert found.tolist() == [15.5, 74.5]


def test_no_limit_without_a_clear_side() -> None:
    age = ages()
    assert response_limits(age, np.random.default_rng(2).random(3000) < 0.5).size == 0
    assert response_limits(age, np.ones(3000, dtype=bool)).size == 0
    assert response_limits(age, np.zeros(3000, dtype=bool)).size == 0


@pytest.mark.parametrize(("n", "limits"), [(FEWEST_BEYOND - 1, []), (FEWEST_BEYOND, [0.5])])
def test_a_few_persons_are_no_limit(n: int, limits: list[float]) -> None:
    values = np.repeat([0.0, 1.0, 2.0], [n, 500, 500])
    assert response_limits(values, values == 0).tolist() == limits


def test_missing_values_of_the_number_are_left_out() -> None:
    age = ages()
    age[:10] = np.nan
    without = np.nan_to_num(age) < 16
    digits = numeric_digits("age", age, np.ones(3000), without=without)
    assert digits.breaks is not None
    assert 15.5 in digits.breaks
    assert digits.size == len(digits.breaks) + 2


@pytest.fixture(scope="module")
def survey() -> Survey:
    rng = np.random.default_rng(3)
    age = rng.integers(0, 90, 3000)
    adult = age >= 16
    frame = pd.DataFrame(
        {
            "household": np.repeat(np.arange(1500), 2),
            "age": age,
            "status": np.where(adult, rng.choice(["works", "other"], 3000), None),
            "income": np.where(adult, rng.lognormal(9, 1, 3000), np.nan),
            "w": 2.0,
        }
    )
    return Survey(frame, weight="w", household="household")


@pytest.mark.parametrize("numeric", ["classes", "values"])
@pytest.mark.parametrize("model", ["multinomial", "empirical", "tree"])
def test_no_child_has_a_status_or_an_income(survey: Survey, model: str, numeric: str) -> None:
    recipe = [
        Structure(["age"]),
        Categorical("status", predictors=["age"], model=model, numeric=numeric),
        Continuous("income", predictors=["age"], numeric=numeric),
    ]
    people = Pipeline(recipe).fit(survey, seed=1).simulate(seed=1).frame()
    child = people["age"] < 16
    assert child.sum() > 500
    assert people.loc[child, ["status", "income"]].isna().all(axis=None)
    assert people.loc[~child, ["status", "income"]].notna().all(axis=None)
