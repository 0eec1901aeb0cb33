"""Regressions of `Continuous` that borrow from other strata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Continuous, Pipeline, Regressed, Structure, Survey
from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.pooling.regression_methods import RegressionPooling
from synthpop.models.regression import predict_regression
from synthpop.stages.continuous.methods import METHODS
from synthpop.stages.continuous.values import ValueRule, fit_values
from tests.continuous import continuous
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import income

RULE = ValueRule("linear", "empirical")


def slopes_frame() -> pd.DataFrame:
    """The gap between sexes differs a little between regions, in a sample that is small."""
    frame = small_frame(300)
    rng = np.random.default_rng(0)
    region = pd.factorize(frame["region"])[0]
    gap = 50.0 + 10 * (region - 1)
    frame["x"] = 200 + gap * (frame["sex"] == "f") + 5 * region + rng.normal(0, 30, len(frame))
    return frame


def fit(**options):
    stage = continuous("x", **{"method": "regression", "predictors": ["sex"], **options})
    survey = Survey(slopes_frame(), **ROLES)
    return Pipeline([Structure(["sex"]), stage]).fit(survey, seed=1)


def gaps(fitted) -> np.ndarray:
    """Fitted gap between the sexes in each stratum that has a regression."""
    model = fitted.models[-1]
    digits = model.encodings.term_digits(np.arange(3))
    found = []
    for source in filter(None, model.values.by_stratum):
        women, men = source.predict(digits[1:])[0]
        found.append(women - men)
    return np.array(found)


def small_design() -> tuple[ModelDesign, np.ndarray]:
    rng = np.random.default_rng(1)
    n = 120
    digits, strata = rng.integers(1, 4, (n, 1)), rng.integers(0, 3, n)
    none = np.zeros(n, dtype=np.int64)
    design = ModelDesign(digits, none, rng.uniform(1, 5, n), strata, (4,), (False,), 1, 3)
    return design, 10.0 * digits[:, 0] * (1 + strata) + rng.normal(0, 3, n)


def test_no_weight_of_others_is_the_stratum_alone_to_the_last_digit() -> None:
    design, y = small_design()
    alone, notes = fit_values(RULE, design, y, smallest_stratum=1, seed=1)
    zero, others = fit_values(RULE, design, y, smallest_stratum=1, seed=1, pooling=0.0)
    assert notes == others == {}
    for a, b in zip(alone.by_stratum, zero.by_stratum, strict=True):
        assert a is not None
        assert b is not None
        assert np.array_equal(a.model.coefficients, b.model.coefficients)
        assert np.array_equal(a.table, b.table)


def test_amounts_go_from_the_stratum_to_all_strata() -> None:
    held = {amount: gaps(fit(pooling=amount)) for amount in ("none", 20.0, 1e4, np.inf)}
    spread = [float(np.ptp(gap)) for gap in held.values()]
    assert spread[0] > spread[1] > spread[2] > spread[3]
    assert spread[3] < 1e-9
    model = fit(pooling="complete").models[-1].values
    assert model.by_stratum == (None,) * 3
    assert model.pooling.kind == "complete"


def test_partial_pooling_is_the_default_and_is_told() -> None:
    fitted = fit()
    told = fitted.pooling["continuous x (values)"]
    assert isinstance(told, RegressionPooling)
    assert told == fitted.models[-1].values.pooling
    assert (told.kind, told.chosen) == ("partial", "cross-validated")
    assert fit(pooling=25.0).pooling["continuous x (values)"].amount == 25.0
    assert fit(pooling="none").pooling["continuous x (values)"].kind == "none"
    population = fit(pooling=25.0).simulate(scale=0.1)
    assert population.manifest.pooling["continuous x (values)"]["amount"] == 25.0


def test_members_given_the_first_one_are_pooled_too() -> None:
    fitted = fit(by_household="first", pooling=np.inf)
    assert fitted.pooling["continuous x (values)"].amount == np.inf
    women = np.array(
        [source.model.coefficients[1:] for source in fitted.models[-1].values.by_stratum]
    )
    assert np.allclose(women, women[0])


def test_levels_of_by_take_the_place_of_strata() -> None:
    frame = slopes_frame()
    frame["half"] = pd.Categorical(np.where(frame["age"] > 40, "old", "young"))
    frame["x"] = 100 + np.where(frame["half"] == "old", 80.0, 20.0) * (frame["sex"] == "f")
    half = Categorical("half", predictors=["sex"])
    found = {}
    for amount in ("none", np.inf):
        stage = Continuous(
            "x", method=Regressed(trim=(0, 0)), predictors=["sex"], by="half", pooling=amount
        )
        steps = [Structure(["age", "sex"]), half, stage]
        found[amount] = gaps(Pipeline(steps).fit(Survey(frame, **ROLES), seed=1))
    assert np.allclose(sorted(np.abs(found["none"])), [20, 80])
    assert np.allclose(*found[np.inf])


@pytest.mark.parametrize(
    ("method", "expected"),
    [("regression", "cross-validated"), ("pmm", "cross-validated"), ("poisson", "cross-validated"),
     ("binned+regression", "cross-validated"), ("forest", "none")],
)  # fmt: skip
def test_defaults(method: str, expected: str) -> None:
    assert METHODS[method]().pooling_of_values(None) == expected
    assert METHODS[method]().pooling_of_values("complete") == "complete"


@pytest.mark.parametrize("method", ["poisson", "negative-binomial"])
def test_counts_are_pooled(method: str) -> None:
    frame = small_frame(400)
    rng = np.random.default_rng(0)
    slope = np.where(frame["region"] == "north", 4.0, 1.0)
    frame["n"] = rng.poisson(1 + slope * (frame["sex"] == "f"))

    def ratio(pooling: float) -> float:
        options = {"method": method, "predictors": ["sex"], "pooling": pooling}
        people = income(frame, "n", **options).frame().query("region == 'north'")
        mean = people.groupby("sex")["n"].mean()
        return float(mean["f"] / mean["m"])

    assert ratio(1.0) > 4
    assert ratio(np.inf) < 3.5


def test_a_forest_can_be_one_for_all_strata() -> None:
    fitted = fit(method="forest", pooling="complete")
    assert fitted.models[-1].values.by_stratum == (None,) * 3
    assert fit(method="forest").models[-1].values.by_stratum[0] is not None
    assert fitted.simulate(scale=0.1).frame()["x"].notna().all()


def test_one_stratum_has_nothing_to_borrow() -> None:
    frame = slopes_frame().assign(region="north")
    stage = Continuous("x", method="regression", predictors=["sex"])
    fitted = Pipeline([Structure(["sex"]), stage]).fit(Survey(frame, **ROLES), seed=1)
    assert fitted.pooling["continuous x (values)"].kind == "none"


def test_numbers_enter_by_their_values() -> None:
    frame = slopes_frame()
    frame["x"] = 3.0 * frame["age"] + np.random.default_rng(0).normal(0, 9, len(frame))
    stage = Continuous(
        "x", method="regression", predictors=["age"], numeric="values", pooling=np.inf
    )
    fitted = Pipeline([Structure(["age"]), stage]).fit(
        Survey(frame, **ROLES).with_column("y", frame["x"]), seed=1
    )
    model = fitted.models[-1].values
    slopes = {round(float(source.model.coefficients[-1]), 9) for source in model.by_stratum}
    assert len(slopes) == 1


@pytest.mark.parametrize("n_strata", [1, 2, 3])
def test_the_model_of_all_strata_has_the_stratum_among_its_predictors(n_strata: int) -> None:
    design, y = small_design()
    strata = design.strata % n_strata
    design = replace(design, strata=strata, n_strata=n_strata)
    values, notes = fit_values(RULE, design, y + 100 * strata, smallest_stratum=10**6, seed=1)
    assert values.by_stratum == (None,) * n_strata
    assert len(notes) == n_strata
    model = values.pooled.model
    assert len(model.seen) == (1 if n_strata == 1 else 2)
    if n_strata > 1:
        cells = np.column_stack([np.full(n_strata, 2), np.arange(n_strata)])
        fitted, known = predict_regression(model, cells)
        assert known.all()
        assert (np.diff(fitted) > 80).all()
