"""Whole numbers stay whole numbers; residuals drawn around the fitted value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Components,
    Continuous,
    Derive,
    Pipeline,
    Regressed,
    Structure,
    Survey,
    open_population,
)
from tests.continuous import continuous
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import frame_with_income, income, simulate


@pytest.mark.parametrize(
    ("method", "original", "expected"),
    [
        ("poisson", "int64", "int64"),
        ("negative-binomial", "int8", "int64"),
        ("negative-binomial", "Int16", "Int64"),
        ("pmm", "Int16", "Int64"),
    ],
)
def test_counts_are_whole_numbers_where_the_survey_has_such(
    method: str, original: str, expected: str
) -> None:
    frame = frame_with_income()
    frame["children"] = frame["children"].astype(original)
    if original == "Int16":
        frame["children"] = frame["children"].where(frame["age"] >= 16)
    population = income(frame, name="children", method=method)
    people = population.frame()
    assert people["children"].dtype == expected
    assert people["children"].isna().any() == (original == "Int16")
    assert people["children"].max() > 2
    field = next(field for field in population.fields if field.name == "children")
    assert field.dtype.kind == ("f" if original == "Int16" else "i")


def test_the_same_from_a_folder_and_for_later_steps(tmp_path) -> None:
    frame = frame_with_income()
    frame["a"] = frame["children"] // 2
    frame["b"] = frame["children"] - frame["a"]
    steps = [
        Structure(["age", "sex"]),
        Continuous("children", method="poisson", predictors=["sex"]),
        Derive("many", source="children", breaks=[0, 1, 99], labels=["few", "many"]),
        Components("children", parts=["a", "b"], by=["sex"]),
    ]
    fitted = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1)
    one, two = (fitted.simulate(key=bytes(16), out=out) for out in (None, tmp_path / "p"))
    assert_same_frame(one.frame(), open_population(tmp_path / "p").frame())
    people = two.frame()
    assert people["children"].dtype == "int64"
    assert (people["a"] + people["b"] == people["children"]).all()
    assert ((people["many"] == "many") == (people["children"] > 1)).all()


@pytest.mark.parametrize("options", [{"method": "binned"}, {"method": "regression"}])
def test_values_are_not_whole_where_fractions_are_asked_for(options: dict) -> None:
    people = income(name="children", decimals=None, **options).frame()
    assert people["children"].dtype == "float64"
    assert (people["children"] % 1 != 0).any()
    assert income(name="children", **options).frame()["children"].dtype == "int64"


def test_one_value_for_a_household_keeps_the_kind_of_number() -> None:
    for form, expected in (("sum", "int64"), ("shared", "int64"), ("mean", "float64")):
        people = income(name="children", method="poisson", by_household=form).frame()
        assert people["children"].dtype == expected
        assert (people.groupby("hid")["children"].nunique() == 1).all()


def test_counts_of_a_column_of_floats_stay_floats() -> None:
    frame = frame_with_income().assign(children=lambda d: d["children"].astype("float64"))
    assert income(frame, name="children", method="poisson").frame()["children"].dtype == "float64"


# local residuals


def spread_frame(n: int = 1500) -> pd.DataFrame:
    """An amount whose spread is a tenth of its mean, which depends on age."""
    frame = small_frame(n)
    rng = np.random.default_rng(8)
    mean = 100.0 + 20 * frame["age"].to_numpy()
    return frame.assign(amount=mean * (1 + 0.1 * rng.normal(size=len(frame))))


def amounts(residuals: str, **options) -> pd.DataFrame:
    stage = continuous(
        "amount",
        method=options.pop("method", "regression"),
        predictors=["age"],
        residuals=residuals,
        trim=(0, 0),
        numeric="values",
        **options,
    )
    return simulate(stage, survey=Survey(spread_frame(), **ROLES)).frame()


def spread(frame: pd.DataFrame, young: bool) -> float:
    here = frame[frame["age"].between(18, 28) if young else frame["age"].between(78, 88)]
    return float((here["amount"] - 100 - 20 * here["age"]).std())


@pytest.mark.parametrize("method", ["regression", "forest"])
def test_local_residuals_keep_a_spread_that_differs(method: str) -> None:
    sample, local = spread_frame(), amounts("local", method=method)
    for young in (True, False):
        assert abs(spread(local, young) / spread(sample, young) - 1) < 0.25
    same = amounts("empirical", method=method)
    assert spread(same, True) > 1.5 * spread(sample, True)


def test_local_residuals_respect_bounds() -> None:
    people = amounts("local", upper=1500.0)
    assert people["amount"].max() <= 1500.0
    assert people["amount"].min() >= spread_frame()["amount"].min()
    old = people["amount"][people["age"] > 60]
    assert (old == 1500.0).mean() < 0.05  # only where no residual stays below the bound
    assert old.max() > 1499


def test_local_residuals_do_not_repeat_values_of_persons() -> None:
    sample, people = spread_frame(), amounts("local")
    assert np.isin(people["amount"].round(6), sample["amount"].round(6)).mean() < 0.001
    frame = sample.assign(amount=sample["amount"].round(-3))  # heaps, which are nobody's own
    stage = Continuous("amount", method=Regressed(trim=(0, 0)), predictors=["sex"])
    drawn = simulate(stage, survey=Survey(frame, **ROLES)).frame()["amount"]
    assert np.isin(drawn.round(6), frame["amount"]).mean() > 0.9


def test_local_residuals_reach_persons_alike_from_outside_of_trimming() -> None:
    frame = spread_frame()
    rich = (frame["age"] > 80) & (frame.index % 5 == 0)
    frame.loc[rich, "amount"] *= 100
    options = {"method": "regression", "predictors": ["age"], "numeric": "values"}
    stage = continuous("amount", **options, trim=(0, 0.1))
    people = simulate(stage, survey=Survey(frame, **ROLES)).frame()
    old = people["age"] > 80
    share = np.average(rich[frame["age"] > 80], weights=frame.loc[frame["age"] > 80, "w"])
    assert abs((people.loc[old, "amount"] > 1e5).mean() - share) < 0.06
    assert (people.loc[people["age"] < 50, "amount"] < 5000).all()
    fitted = continuous("amount", **options, trim=(0, 0.1), residuals="empirical")
    none = simulate(fitted, survey=Survey(frame, **ROLES)).frame()["amount"]
    assert none.max() < 5000


def test_local_is_the_default_and_leaves_that_of_trees() -> None:
    assert amounts(None).equals(amounts("local"))
    assert amounts(None, method="tree").equals(amounts("leaves", method="tree"))
    assert not amounts(None, method="tree").equals(amounts("local", method="tree"))
