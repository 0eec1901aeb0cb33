"""Degrees of freedom of intervals: few where one household decides, many where none does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, estimate_over_replicates
from synthpop.microdata.messages.errors import SparseDataWarning
from synthpop.microdata.statistics.design_variance import t_quantile
from synthpop.variance.freedom import (
    delete_a_group,
    joint_degrees_of_freedom,
    sample_degrees_of_freedom,
)
from tests.small import small_survey


def mean_of(name: str):  # type: ignore[no-untyped-def]
    return lambda data, weights: float(np.average(data[name], weights=weights))


def survey_of(values: np.ndarray, strata: np.ndarray | None = None) -> Survey:
    frame = pd.DataFrame({"y": values, "w": 2.0})
    if strata is None:
        return Survey(frame, weight="w")
    return Survey(frame.assign(h=strata), weight="w", strata="h")


def test_normal_values_leave_about_the_number_of_groups() -> None:
    values = np.random.default_rng(1).normal(10, 1, 5000)
    freedom = sample_degrees_of_freedom(mean_of("y"), survey_of(values))["value"]
    assert 70 < freedom < 140


def test_one_large_value_leaves_two() -> None:
    values = np.random.default_rng(1).normal(10, 1, 5000)
    values[17] = 1e6
    freedom = sample_degrees_of_freedom(mean_of("y"), survey_of(values))["value"]
    assert freedom == pytest.approx(2, rel=0.05)


def test_only_the_units_of_a_domain_count() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"y": rng.normal(10, 1, 2000), "w": 1.0, "domain": np.arange(2000) < 12})

    def mean(data: pd.DataFrame, weights: np.ndarray) -> float:
        used = data["domain"].to_numpy()
        return float(np.average(data["y"][used], weights=weights[used]))

    assert sample_degrees_of_freedom(mean, Survey(frame, weight="w"))["value"] < 25


def test_groups_keep_the_total_of_each_stratum() -> None:
    strata = np.repeat([0, 1, 2], [1, 7, 30])
    with pytest.warns(SparseDataWarning):
        units = survey_of(np.ones(38), strata).sampled_units
    left_out = np.zeros(38, dtype=int)
    for factors in delete_a_group(units, 5):
        np.testing.assert_allclose(np.bincount(strata, weights=factors), [1, 7, 30])
        left_out += factors == 0
    assert left_out.tolist() == [0] + [1] * 37  # a stratum of one unit keeps it


def test_intervals_are_wider_where_few_households_decide() -> None:
    survey = small_survey(150)
    rng = np.random.default_rng(3)
    survey = survey.with_column("wealth", rng.pareto(1.1, survey.n_persons))
    recipe = Pipeline([Structure(["age", "sex", "wealth"]), Categorical("status", ["sex"])])
    populations = list(recipe.fit(survey, seed=1).replicates(8, refit="bootstrap"))
    without = estimate_over_replicates(mean_of("wealth"), populations)
    with_survey = estimate_over_replicates(
        mean_of("wealth"), populations, survey=survey, bootstrap_samples=10, seed=1
    )
    sample = sample_degrees_of_freedom(mean_of("wealth"), survey)["value"]
    freedom = with_survey.table.loc["value", "degrees_of_freedom"]
    assert without.table.loc["value", "degrees_of_freedom"] == pytest.approx(7)
    assert freedom == pytest.approx(joint_degrees_of_freedom(7, sample))
    assert freedom < 6
    low, high = with_survey.interval
    half = t_quantile(0.975, freedom) * with_survey.standard_error
    assert (low, high) == pytest.approx((with_survey.estimate - half, with_survey.estimate + half))


def test_totals_of_a_small_population_are_those_of_the_country() -> None:
    survey = small_survey(150)
    fitted = Pipeline([Structure(["age", "sex"])]).fit(survey, seed=1)

    def persons(data: pd.DataFrame, weights: np.ndarray) -> float:
        return float(weights.sum())

    result = estimate_over_replicates(
        persons, fitted.replicates(6, refit="bootstrap", scale=0.5), survey=survey, seed=1,
        bootstrap_samples=10,
    )  # fmt: skip
    assert result.estimate == pytest.approx(survey.weights.sum(), rel=0.1)


def test_an_estimate_that_never_changes_bounds_nothing() -> None:
    freedom = sample_degrees_of_freedom(lambda data, w: 3.0, survey_of(np.arange(50.0)))
    assert freedom["value"] == np.inf
