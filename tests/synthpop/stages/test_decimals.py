"""Amounts have as many decimals as those of the survey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthpop import Categorical, Components, Continuous, Pipeline, Structure, Survey
from synthpop.microdata.messages.errors import InputError
from synthpop.models.decimals import decimals_of, rounded
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import frame_with_income, income


@pytest.mark.parametrize("method", ["binned", "regression", "binned+regression", "pmm"])
def test_amounts_have_the_decimals_of_the_survey(method) -> None:
    frame = frame_with_income()
    assert decimals_of(frame["income"].to_numpy()) == 2
    assert decimals_of(income(frame, method=method).frame()["income"].to_numpy()) == 2
    zeros = frame["income"] == 0
    share = np.average(zeros, weights=frame["w"])
    frame["income"] = frame["income"].round(-2)
    made = income(frame, method=method).frame()["income"]
    assert decimals_of(made.to_numpy()) == 0
    assert (made == 0).mean() == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("method", ["binned", "regression", "tree"])
def test_whole_numbers_stay_whole(method) -> None:
    frame = frame_with_income()
    frame["x"] = frame["income"].fillna(0).round().astype("int64")
    assert income(frame, "x", method=method).frame()["x"].dtype == "int64"
    assert income(frame, "x", method=method, decimals=None).frame()["x"].dtype == "float64"
    mean = np.average(frame["x"], weights=frame["w"])
    assert income(frame, "x", method="binned").frame()["x"].mean() == pytest.approx(mean, rel=0.01)


def test_decimals_are_those_given() -> None:
    assert decimals_of(income(decimals=1).frame()["income"].to_numpy()) == 1
    assert decimals_of(income(decimals=None).frame()["income"].to_numpy()) is None
    for decimals in (-1, 1.5, True, "all"):
        with pytest.raises(InputError, match="decimals: is"):
            income(decimals=decimals)


def test_six_decimals_can_be_told() -> None:
    for decimals in range(7):
        assert decimals_of(np.array([0.0, 10.0**-decimals, -5.0, np.inf])) == decimals
        assert decimals_of(np.array([123456.0 + 10.0**-decimals])) == decimals
    assert decimals_of(np.array([1e-7])) is None
    assert decimals_of(np.array([np.nan])) == 0
    assert decimals_of(np.array([1 + 5e-13, 1e6 + 1e-7])) == 0  # rounding errors of sums
    assert decimals_of(np.array([1 + 2e-12])) is None


def test_values_at_the_ends_of_a_class_are_moved_inwards() -> None:
    """Classes (0, 1], (1, 2], [-2, -1) and (1, 1.5], to whole numbers; the last is too narrow."""
    ends = np.array([0.0, 1.0, -1.0, 1.0]), np.array([1.0, 2.0, -2.0, 1.5])
    values = np.array([0.2, 0.9, 1.1, 1.9, 2.0, -1.2, -1.7, 1.2, 1.5])
    classes = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])
    moved = rounded(values, 0, classes, ends)
    assert moved.tolist() == [1, 1, 2, 2, 2, -2, -2, 1.2, 1.5]
    # a class without ends, and a value that stays what it was
    free = rounded(np.array([1.4, -0.4]), 0, np.array([0, 0]), (np.full(1, np.nan),) * 2)
    assert free.tolist() == [1, -1]
    assert rounded(np.array([0.0, 0.04, -0.04, 0.05]), 1).tolist() == [0, 0.1, -0.1, 0.1]


def test_parts_have_decimals_and_add_up() -> None:
    frame = small_frame(800)
    steps = [
        Structure(["age", "sex"]),
        Categorical("status", predictors=["age", "sex"]),
        Continuous("income", predictors=["status"]),
    ]
    for options, decimals in (({}, 2), ({"decimals": 0}, 0)):
        split = Components("income", parts=["wage", "other"], by=["status"], **options)
        people = Pipeline([*steps, split]).fit(Survey(frame, **ROLES), seed=1).simulate().frame()
        gap = people["wage"] + people["other"] - people["income"]
        assert np.nanmax(np.abs(gap)) < 1e-8
        smaller = people[["wage", "other"]].abs().min(axis=1)
        assert decimals_of(smaller.to_numpy()) <= decimals
        if not options:
            assert decimals_of(people["wage"].to_numpy()) == 2


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.integers(0, 3),
    st.floats(0.1, 50),
    st.sampled_from([-1.0, 1.0]),
)
def test_no_value_leaves_its_class(values, decimals: int, width: float, sign: float) -> None:
    low = np.round(np.array(values), decimals)
    high = low + sign * np.maximum(np.round(width, decimals), 10.0**-decimals)
    for share in (0.001, 0.5, 1.0):
        x = low + share * (high - low)
        inside = sign * (x - low) > 0
        out = rounded(x, decimals, np.arange(len(x)), (low, high))
        assert (sign * (out - low) > 0)[inside].all()
        assert (sign * (high - out) >= -1e-9).all()
