"""Numbers and classes computed from several variables, of persons and households."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    GibbsPass,
    Pipeline,
    Structure,
    Survey,
    indicators,
)
from synthpop.microdata.messages.errors import InputError
from tests.small import ROLES, small_frame

FIRST = Structure(["age", "sex"])
INCOME = Continuous("income", predictors=["sex"])


def people(*stages) -> pd.DataFrame:
    return fit(*stages).simulate(scale=0.5).frame()


def fit(*stages, frame: pd.DataFrame | None = None):
    survey = Survey(small_frame() if frame is None else frame, **ROLES)
    return Pipeline([FIRST, *stages]).fit(survey, seed=1)


@pytest.mark.parametrize("aggregate", ["sum", "mean", "min", "max"])
def test_aggregates_over_the_household_are_those_of_its_members(aggregate: str) -> None:
    derived = Derive("of_home", expression="income", within="household", aggregate=aggregate)
    frame = people(INCOME, derived)
    options = {"min_count": 1} if aggregate == "sum" else {}
    expected = frame.groupby("hid")["income"].agg(aggregate, **options).reindex(frame["hid"])
    np.testing.assert_allclose(frame["of_home"], expected, rtol=1e-12)


def test_counts_are_whole_numbers_and_predict_later_variables() -> None:
    children = Derive("children", expression="age < 16", within="household", aggregate="count")
    sample = small_frame(600)
    many = sample["age"].lt(16).groupby(sample["hid"]).transform("sum")
    sample["status"] = np.where(many > 0, "works", "idle")
    status = Categorical("status", predictors=["children"])
    frame = fit(children, status, frame=sample).simulate().frame()
    expected = (frame["age"] < 16).groupby(frame["hid"]).transform("sum")
    assert frame["children"].dtype == "int64"
    assert (frame["children"] == expected).all()
    assert ((frame["status"] == "works") == (expected > 0)).mean() > 0.999


def test_differences_to_a_member_and_classes_of_an_expression() -> None:
    sample = small_frame()
    sample["kin"] = np.where(sample["pid"] == 1, "head", "other")
    gap = Derive("gap", expression="age - head.age")
    old = Derive("old", expression="count(age >= 65) / count(age >= 0)", breaks=[0, 0.2, 0.5, 1])
    steps = [Structure(["age", "kin"]), gap, old]
    fitted = Pipeline(steps).fit(Survey(sample, **ROLES), seed=1)
    frame = fitted.simulate().frame()
    of_head = frame[frame["kin"] == "head"].set_index("hid")["age"].reindex(frame["hid"])
    assert (frame["gap"].to_numpy() == frame["age"].to_numpy() - of_head.to_numpy()).all()
    share = (frame["age"] >= 65).groupby(frame["hid"]).transform("mean")
    expected = pd.cut(share, [0, 0.2, 0.5, 1], include_lowest=True).cat.codes
    assert (frame["old"].cat.codes == expected).all()
    survey = fitted.derived_survey().frame
    assert (survey["gap"] == survey["age"] - survey.groupby("hid")["age"].transform("first")).all()


def test_equivalised_income_is_that_of_the_function() -> None:
    derived = Derive("eq", expression="sum(income) / equivalised_size(age)")
    frame = people(INCOME, derived)
    expected = indicators.equivalised_income(frame["income"], frame["age"], frame["hid"])
    np.testing.assert_allclose(frame["eq"], expected, rtol=1e-12)
    size = indicators.equivalised_size([40, 38, 17, 13, 2, 50, 5], [1, 1, 1, 1, 1, 2, 3])
    np.testing.assert_allclose(size, [2.6] * 5 + [1.0, 1.3])
    missing = indicators.equivalised_size([40, np.nan, 30], [1, 1, 2])
    assert np.isnan(missing[:2]).all()
    assert missing[2] == 1.0
    with pytest.raises(InputError, match="2 values for 3 household ids"):
        indicators.equivalised_size([40, 3], [1, 1, 2])


def test_values_outside_of_breaks_are_recorded() -> None:
    population = fit(Derive("young", source="age", breaks=[0, 15, 30])).simulate()
    (note,) = population.fallbacks
    outside = int((population.frame()["age"] > 30).sum())
    assert note.n_persons == outside == int(population.frame()["young"].isna().sum())
    assert note.what == "values outside the breaks 0 to 30: missing"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs either source or expression"),
        ({"source": "age", "expression": "age"}, "needs either source or expression"),
        ({"expression": "agee"}, "Did you mean 'age'?"),
        ({"expression": "age +"}, "needs a name or a number at its end"),
        ({"expression": "age", "within": "household"}, "within and aggregate go together"),
        ({"expression": "age", "within": "town", "aggregate": "sum"}, "'town' is not allowed"),
        ({"expression": "age", "within": "household", "aggregate": "any"}, "'any' is not allowed"),
        ({"expression": "age", "mapping": {"a": "b"}}, "mapping has no meaning"),
        ({"source": "age", "breaks": [0, 9], "aggregate": "sum"}, "without an expression"),
        ({"expression": "__import__('os')"}, "needs one of the functions"),
        ({"expression": "income"}, "is neither a column nor a level"),
    ],
)
def test_faults(options: dict, message: str) -> None:
    with pytest.raises(InputError) as caught:
        fit(Derive("new", **options))
    assert message in str(caught.value)


def test_a_second_pass_over_a_variable_that_was_used_is_refused() -> None:
    workers = Derive("workers", expression="status = works", within="household", aggregate="count")
    steps = [Categorical("status", predictors=["sex"]), workers, GibbsPass(["status"])]
    with pytest.raises(InputError, match="derive workers before it has used 'status'"):
        fit(*steps)


@pytest.mark.parametrize(
    ("expression", "dtype"), [("2", "int64"), ("2.5", "float64"), ("-(3 + 4)", "int64"),
                              ("3 - 0.5", "float64"), ("4 / 2", "float64")],
)  # fmt: skip
def test_only_whole_constants_make_whole_numbers(expression: str, dtype: str) -> None:
    derived = people(Derive("constant", expression=expression))["constant"]
    assert derived.dtype == dtype
    assert (derived == eval(expression)).all()


@pytest.mark.parametrize("limits", [np.array([0, 18, 65, 120]), np.array([0.0, 18, 65, 120])])
def test_class_limits_as_an_array_are_those_of_a_list(limits: np.ndarray) -> None:
    classes = people(Derive("stage", "age", breaks=limits))["stage"]
    assert classes.equals(people(Derive("stage", "age", breaks=limits.tolist()))["stage"])


@pytest.mark.parametrize("limits", [np.array([[0, 18], [65, 120]]), np.array(["0", "18"])])
def test_class_limits_are_numbers_in_a_row(limits: np.ndarray) -> None:
    with pytest.raises(InputError, match="breaks"):
        people(Derive("stage", "age", breaks=limits))


def test_class_limits_increase_by_any_amount() -> None:
    halves = people(Derive("stage", "age", breaks=[0, 40, 40.25, 40.5, 120]))["stage"]
    assert len(halves.cat.categories) == 4
    two = people(Derive("stage", "age", breaks=[0, 120]))["stage"]
    assert len(two.cat.categories) == 1
    for limits in ([0, 40, 40, 120], [0, 40, 39, 120], [40]):
        with pytest.raises(InputError, match="breaks do not increase"):
            people(Derive("stage", "age", breaks=limits))


@pytest.mark.parametrize(
    ("operator", "below", "equal", "above"),
    [("<", 1, 0, 0), ("<=", 1, 1, 0), ("=", 0, 1, 0), ("!=", 1, 0, 1), (">=", 0, 1, 1),
     (">", 0, 0, 1)],
)  # fmt: skip
def test_comparisons_at_equality(operator: str, below: int, equal: int, above: int) -> None:
    """At zero too, and with sums that differ by rounding errors only."""
    sample = small_frame()
    counts = {}
    for name, limit, expression in (
        ("whole", 30, "age"), ("zero", 0, "age - 30"), ("sum", 3, "age / 10 + 0.1 + 0.2 - 0.3"),
    ):  # fmt: skip
        derived = Derive(name, expression=f"{expression} {operator} {limit}",
                         within="household", aggregate="count")  # fmt: skip
        people = fit(derived, frame=sample).simulate(scale=0.5).frame()
        age = people["age"]
        holds = below * (age < 30) + equal * (age == 30) + above * (age > 30)
        expected = holds.groupby(people["hid"]).transform("sum")
        assert (people[name] == expected).all()
        counts[name] = int((age == 30).sum())
    assert min(counts.values()) > 0
