"""Numbers as predictors of a stage: cut into classes, or as they are."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from synthpop import Binned, Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.conditional import fallback as sequence
from synthpop.conditional.pooling import partial as partial_pooling
from synthpop.microdata.messages.errors import InputError
from synthpop.models.encoding import numeric_digits
from synthpop.models.linear_multinomial import fit_linear_multinomial
from tests.continuous import continuous
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame


def frame_of_ages(n: int = 1500) -> pd.DataFrame:
    """A flag whose log-odds, and an amount whose mean, are linear in age."""
    frame = small_frame(n)
    rng = np.random.default_rng(2)
    age = frame["age"].to_numpy()
    frame["flag"] = np.where(rng.random(len(frame)) < 1 / (1 + np.exp(3 - age / 12)), "yes", "no")
    frame["amount"] = 100.0 + 5 * age + rng.normal(0, 3, len(frame))
    frame["visits"] = rng.poisson(np.exp(age / 40))
    return frame


def people(*steps, frame: pd.DataFrame | None = None, **options) -> pd.DataFrame:
    survey = Survey(frame_of_ages() if frame is None else frame, **ROLES)
    fitted = Pipeline([Structure(["age", "sex"]), *steps]).fit(survey, seed=1)
    return fitted.simulate(scale=5, **options).frame()


def slope_inside_classes(found: pd.DataFrame, values: pd.Series) -> float:
    """Slope of the values on age inside the classes of the default."""
    sample = frame_of_ages()
    breaks = numeric_digits("age", sample["age"].to_numpy(), sample["w"].to_numpy()).breaks
    group = np.searchsorted(breaks, found["age"], side="left")
    age = found["age"] - found.groupby(group)["age"].transform("mean")
    return float((age * values).sum() / (age**2).sum())


def slope_of_flag(found: pd.DataFrame) -> float:
    """About 0.013 in the model that made the sample."""
    return slope_inside_classes(found, found["flag"] == "yes")


@pytest.mark.parametrize("method", ["regression", "pmm"])
def test_a_number_has_one_slope(method: str) -> None:
    options = {"method": method, "predictors": ["age"], "trim": (0, 0)}
    values = people(continuous("amount", numeric="values", **options))
    classes = people(continuous("amount", **options))
    assert 4.5 < slope_inside_classes(values, values["amount"]) < 5.5
    assert abs(slope_inside_classes(classes, classes["amount"])) < 0.5


def test_counts_follow_the_number() -> None:
    found = people(Continuous("visits", method="poisson", predictors=["age"], numeric="values"))
    for age in (20, 70):
        near = found["age"].between(age - 2, age + 2)
        expected = np.exp(found.loc[near, "age"] / 40).mean()
        assert abs(found.loc[near, "visits"].mean() / expected - 1) < 0.1


@pytest.mark.parametrize("model", ["multinomial", DecisionTreeClassifier(min_samples_leaf=60)])
def test_the_chance_of_a_class_follows_the_number(model) -> None:
    values = people(Categorical("flag", predictors=["age"], model=model, numeric="values"))
    expected = slope_of_flag(frame_of_ages())
    assert expected > 0.01
    assert abs(slope_of_flag(values) / expected - 1) < 0.4
    classes = people(Categorical("flag", predictors=["age"], model=model))
    assert abs(slope_of_flag(classes)) < expected / 5


def test_kinds_of_value_follow_the_number_too() -> None:
    frame = frame_of_ages()
    frame["amount"] = frame["amount"].where(frame["flag"] == "yes", 0.0)
    stage = Continuous("amount", method="regression", predictors=["age"], numeric="values")
    found = people(stage, frame=frame).assign(flag=lambda d: np.where(d["amount"] > 0, "yes", "no"))
    assert abs(slope_of_flag(found) / slope_of_flag(frame_of_ages()) - 1) < 0.4


def test_simulated_numbers_beyond_the_sample_enter_as_the_nearest() -> None:
    steps = [
        Continuous("amount", method=Binned(upper=5_000.0), predictors=["age"]),
        Categorical("flag", predictors=["amount", "sex"], numeric="values"),
    ]
    found = people(*steps)
    beyond = found["amount"] > frame_of_ages()["amount"].max()
    assert beyond.sum() > 100
    assert (found.loc[beyond, "flag"] == "yes").mean() > 0.9


def test_interactions_have_classes() -> None:
    formula = "~ sex + age + age:sex"
    a = people(Categorical("flag", predictors=formula, numeric="values"))
    assert a["flag"].notna().all()
    only = "~ age:sex"
    b = people(Categorical("flag", predictors=only, numeric="values"))
    c = people(Categorical("flag", predictors=only))
    assert_same_frame(b, c)


def test_rules_on_few_numbers_hold() -> None:
    rule = {"levels": ["yes"], "when": {"size": [2, 4]}}
    stage = Categorical("flag", predictors=["size", "age"], numeric="values", impossible=[rule])
    found = people(stage)
    assert set(found.loc[found["size"].isin([2, 4]), "flag"]) == {"no"}
    assert (found.loc[found["size"] == 3, "flag"] == "yes").any()


def test_rules_hold_where_nobody_beyond_a_value_has_the_variable() -> None:
    frame = frame_of_ages()
    frame["stage"] = np.select([frame["age"] < 16, frame["age"] < 40], [1.0, 2.0], 5.0)
    frame.loc[frame["age"] < 16, "flag"] = None
    rule = {"levels": ["yes"], "when": {"stage": [5.0]}}
    stage = Categorical("flag", predictors=["stage"], numeric="values", impossible=[rule])
    survey = Survey(frame, **ROLES)
    found = Pipeline([Structure(["stage", "sex"]), stage]).fit(survey, seed=1).simulate(scale=5)
    flag = found.frame().groupby("stage")["flag"].agg(lambda values: set(values.dropna()))
    assert flag.to_dict() == {1.0: set(), 2.0: {"no", "yes"}, 5.0: {"no"}}


def test_workers_draw_the_same_and_the_option_is_recorded() -> None:
    stage = Categorical("flag", predictors=["age", "sex"], numeric="values")
    one, two = people(stage, rows_per_block=900), people(stage, rows_per_block=900, workers=2)
    assert_same_frame(one, two)
    survey = Survey(frame_of_ages(), **ROLES)
    fitted = Pipeline([Structure(["age", "sex"]), stage]).fit(survey, seed=1)
    assert fitted.simulate().manifest.identity.recipe[1]["numeric"] == "values"


@pytest.mark.parametrize("stage", [Categorical, Continuous])
def test_faults(stage) -> None:
    name = "flag" if stage is Categorical else "amount"
    with pytest.raises(InputError, match="numeric: 'value' is not allowed"):
        people(stage(name, predictors=["age"], numeric="value"))


@pytest.mark.parametrize(
    ("pooling", "where", "told"),
    [("none", sequence, {"north", "south", "west", "all"}), (20.0, partial_pooling, {"all"})],
)
def test_a_fit_that_ends_early_is_recorded(monkeypatch, pooling, where, told) -> None:
    monkeypatch.setattr(
        where, "fit_linear_multinomial", partial(fit_linear_multinomial, max_steps=1)
    )
    survey = Survey(frame_of_ages(), **ROLES)
    stage = Categorical("flag", predictors=["age"], numeric="values", pooling=pooling)
    fitted = Pipeline([Structure(["age", "sex"]), stage]).fit(survey, seed=1)
    notes = [f for f in fitted.fallbacks if "stopped before its maximum" in f.what]
    assert {f.stratum for f in notes} == told
    monkeypatch.undo()
    assert not Pipeline([Structure(["age", "sex"]), stage]).fit(survey, seed=1).fallbacks
