"""One value for all members of a household."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Continuous, Survey
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import AGE_CLASS, frame_with_income, income, simulate


def test_sum_and_mean_by_household() -> None:
    frame = frame_with_income()
    single = income(frame, method="regression").frame()
    totals = single.groupby("hid")["income"].transform("sum", min_count=1)
    means = single.groupby("hid")["income"].transform("mean")
    a = income(frame, method="regression", by_household="sum").frame()
    b = income(frame, method="regression", by_household="mean").frame()
    pd.testing.assert_series_equal(a["income"], totals, check_names=False)
    pd.testing.assert_series_equal(b["income"], means, check_names=False)


def test_the_value_of_a_random_member() -> None:
    frame = frame_with_income()
    single = income(frame, method="regression").frame()
    drawn = income(frame, method="regression", by_household="random").frame()
    assert (drawn.groupby("hid")["income"].nunique(dropna=False) == 1).all()
    both = single[["hid", "income"]].assign(drawn=drawn["income"])
    some = both["income"].notna().groupby(both["hid"]).transform("any")
    is_own = (both["income"] == both["drawn"]) | (~some & both["drawn"].isna())
    assert is_own.groupby(both["hid"]).any().all()
    place = (drawn["income"] == single["income"]).groupby(single["hid"]).idxmax()
    first = single.groupby("hid").head(1).index
    several = single.groupby("hid")["income"].transform("count").loc[first].to_numpy() > 1
    assert 0.2 < (place.to_numpy() == first)[several].mean() < 0.7


@pytest.mark.parametrize("method", ["binned", "regression", "pmm"])
def test_a_shared_value_is_one_per_household(method: str) -> None:
    frame = small_frame(800)
    rng = np.random.default_rng(0)
    rooms = frame["size"] * 20.0 + rng.normal(0, 3, len(frame))
    frame["area"] = rooms.groupby(frame["hid"]).transform("first")
    population = income(frame, "area", method=method, predictors=["size"], by_household="shared")
    people = population.frame()
    assert (people.groupby("hid")["area"].nunique() == 1).all()
    heads = people.drop_duplicates("hid")
    assert (heads.groupby("size")["area"].mean() - 20 * np.arange(1, 5)).abs().max() < 2.5
    assert not population.fallbacks
    every = income(frame, "area", method=method, predictors=["size"]).frame()
    assert (every.groupby("hid")["area"].nunique() > 1).any()


def test_a_shared_value_uses_the_head_and_says_when_members_differ() -> None:
    frame = small_frame(800)
    first = ~frame.duplicated("hid")
    frame["x"] = np.where(first, np.where(frame["sex"] == "f", 10.0, 20.0), 99.0)
    population = income(frame, "x", method="pmm", predictors=["sex"], by_household="shared")
    people = population.frame()
    heads = people.groupby("hid")[["sex", "x"]].transform("first")
    assert (people["x"] == np.where(heads["sex"] == "f", 10.0, 20.0)).all()
    several = (frame.groupby("hid").size() > 1).sum()
    assert any(f"members of {several} sample households" in f.what for f in population.fallbacks)


def test_later_steps_learn_from_the_joined_values() -> None:
    frame = frame_with_income(800)
    total = frame.groupby("hid")["income"].transform("sum")
    frame["rich"] = np.where(total > 30_000, "yes", "no")
    frame["income"] = frame["income"].fillna(0.0)
    stages = [
        AGE_CLASS,
        Categorical("status", predictors=["age_class", "sex"]),
        Continuous("income", predictors=["status"], by_household="sum"),
        Categorical("rich", predictors=["income"]),
    ]
    people = simulate(*stages, survey=Survey(frame, **ROLES)).frame()
    assert people.loc[people["income"] > 70_000, "rich"].eq("yes").mean() > 0.95
    assert people.loc[people["income"] < 15_000, "rich"].eq("no").mean() > 0.95


def test_intervals_of_a_shared_value() -> None:
    frame = small_frame(300)
    frame["area"] = frame["size"] * 20.0 + frame["hid"] % 7
    people = income(
        frame, "area", by_household="shared", intervals=("low", "high"), predictors=["size"]
    ).frame()
    assert (people["low"] <= people["area"]).all()
    assert (people["area"] <= people["high"]).all()
