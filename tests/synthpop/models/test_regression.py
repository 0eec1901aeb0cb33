"""Regressions on digits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, PoissonRegressor

from synthpop.microdata.messages.errors import InputError
from synthpop.models.learners import make_estimator
from synthpop.models.numeric_predictors import levels_seen, model_columns
from synthpop.models.regression import (
    fit_regression,
    fit_regressor,
    least_squares,
    log_linear,
    negative_binomial_size,
    predict_regression,
)
from synthpop.models.residuals import median_and_mad, trimmed
from tests.reference_data import golden, survey_data

SIZES = [4, 3]


def some_data(n: int = 300, seed: int = 0):
    rng = np.random.default_rng(seed)
    digits = np.column_stack([rng.integers(1, 4, n), rng.integers(1, 3, n)])
    y = 10.0 * digits[:, 0] - 3 * digits[:, 1] + rng.normal(0, 2, n)
    return digits, y, rng.uniform(1, 5, n)


def every_cell() -> np.ndarray:
    return np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])


def reference_columns(digits: np.ndarray) -> np.ndarray:
    """Constant and all levels but the first: a design without aliases."""
    columns = [np.ones(len(digits))]
    for j in range(digits.shape[1]):
        columns += [digits[:, j] == level for level in np.unique(digits[:, j])[1:]]
    return np.column_stack(columns).astype(float)


def test_least_squares_solves_the_normal_equations() -> None:
    digits, y, w = some_data()
    model = fit_regression("linear", digits, y, w, SIZES)
    x = reference_columns(digits)
    beta = np.linalg.solve(x.T @ (w[:, None] * x), x.T @ (w * y))
    fitted, known = predict_regression(model, digits)
    assert known.all()
    assert model.rank == x.shape[1]
    assert np.allclose(fitted, x @ beta)


@pytest.mark.parametrize("kind", ["linear", "counts"])
def test_weights_matter_and_repetition_does_not(kind: str) -> None:
    digits, y, w = some_data()
    y = np.maximum(np.round(y), 0)
    twice = np.repeat(np.arange(len(y)), 2)
    one = predict_regression(fit_regression(kind, digits, y, w, SIZES), every_cell())[0]
    two = predict_regression(fit_regression(kind, digits, y, w * 0 + 1, SIZES), every_cell())[0]
    three = fit_regression(kind, digits[twice], y[twice], w[twice], SIZES)
    assert np.abs(one - two).max() > 1e-3
    assert np.allclose(one, predict_regression(three, every_cell())[0], rtol=1e-8)


def test_an_aliased_predictor_changes_no_fitted_value() -> None:
    digits, y, w = some_data()
    doubled = np.column_stack([digits, digits[:, 0]])
    one = fit_regression("linear", digits, y, w, SIZES)
    two = fit_regression("linear", doubled, y, w, [*SIZES, 4])
    fitted, known = predict_regression(two, doubled)
    assert known.all()
    assert np.allclose(fitted, predict_regression(one, digits)[0])
    torn = np.array([[1, 1, 2]])  # what the sample says nothing about
    assert not predict_regression(two, torn)[1].any()


def test_unseen_levels_have_no_answer() -> None:
    digits, y, w = some_data()
    model = fit_regression("linear", digits, y, w, SIZES)
    assert predict_regression(model, np.array([[0, 1], [1, 1], [1, 0]]))[1].tolist() == [
        False,
        True,
        False,
    ]


def test_without_predictors_the_weighted_mean_is_fitted() -> None:
    _, y, w = some_data()
    model = fit_regression("linear", np.empty((len(y), 0), dtype=int), y, w, [])
    fitted, known = predict_regression(model, np.empty((1, 0), dtype=int))
    assert known.all()
    assert np.isclose(fitted[0], np.average(y, weights=w))


def test_log_linear_meets_its_margins() -> None:
    digits, y, w = some_data(seed=3)
    y = np.random.default_rng(1).poisson(np.maximum(y / 5, 0.2)).astype(float)
    fitted = predict_regression(fit_regression("counts", digits, y, w, SIZES), digits)[0]
    for j in range(2):
        for level in np.unique(digits[:, j]):
            here = digits[:, j] == level
            assert np.isclose(np.dot(w[here], fitted[here]), np.dot(w[here], y[here]), rtol=1e-8)


def test_a_level_of_zeros_has_a_mean_of_nearly_zero() -> None:
    digits, y, w = some_data()
    y = np.where(digits[:, 0] == 2, 0.0, np.round(np.abs(y)))
    model = fit_regression("counts", digits, y, w, SIZES)
    fitted = predict_regression(model, every_cell())[0]
    assert fitted[every_cell()[:, 0] == 2].max() < 1e-4
    others = digits[:, 0] != 2
    alone = fit_regression("counts", digits[others], y[others], w[others], SIZES)
    rest = every_cell()[every_cell()[:, 0] != 2]
    assert np.allclose(
        predict_regression(model, rest)[0], predict_regression(alone, rest)[0], rtol=1e-5
    )


def test_all_zero_counts() -> None:
    digits, y, w = some_data()
    fitted = predict_regression(fit_regression("counts", digits, 0 * y, w, SIZES), digits)[0]
    assert fitted.max() < 1e-10


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_log_linear_agrees_with_another_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    digits, y, w = some_data(60, seed)
    y = rng.poisson(np.maximum(y / 8, 0.3)).astype(float)
    glm = sm.GLM(y, reference_columns(digits), family=sm.families.Poisson(), freq_weights=w)
    expected = glm.fit(tol=1e-12).fittedvalues
    ours = predict_regression(fit_regression("counts", digits, y, w, SIZES), digits)[0]
    assert np.allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_negative_binomial_size_maximises_the_likelihood() -> None:
    from scipy.stats import nbinom

    rng = np.random.default_rng(0)
    mean, w = rng.uniform(1, 8, 4000), rng.uniform(1, 3, 4000)
    y = rng.poisson(rng.gamma(2.5, mean / 2.5)).astype(float)
    found = negative_binomial_size(y, mean, w)
    assert abs(found - 2.5) < 0.4

    def likelihood(size: float) -> float:
        return float(np.dot(w, nbinom(size, size / (size + mean)).logpmf(y)))

    assert likelihood(found) > max(likelihood(found * 1.02), likelihood(found / 1.02))
    heavy = np.where(y > mean, 9.0, 1.0)
    assert negative_binomial_size(y, mean, heavy) != pytest.approx(found, rel=0.05)


REGIONS = ["Burgenland", "Vienna", "Tyrol"]


def income_of(region: str) -> tuple[pd.DataFrame, pd.DataFrame, dict]:
    frame = survey_data("eusilcS")
    frame = frame[frame["db040"] == region]
    reference = golden("pop", "g_models.json")["regression"][region]
    positive = frame[(frame["netIncome"] > 0) & frame["pl030"].notna()]
    low, high = reference["trim_bounds"]
    kept = positive[(positive["netIncome"] > low) & (positive["netIncome"] < high)]
    return positive, kept, reference


def design_of(frame: pd.DataFrame, coefficients: dict) -> np.ndarray:
    columns = []
    for name in coefficients:
        if name == "(Intercept)":
            columns.append(np.ones(len(frame)))
        elif name == "hsize":
            columns.append(frame["hsize"].astype(float))
        elif name.startswith("rb090"):
            columns.append(frame["rb090"].astype(str) == name.removeprefix("rb090"))
        else:
            columns.append(frame["pl030"].astype(str) == name.removeprefix("pl030"))
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("kind", ["lm_log", "lm_raw", "poisson"])
def test_coefficients_of_the_reference(region: str, kind: str) -> None:
    positive, kept, reference = income_of(region)
    expected = reference[kind]["coef"]
    frame = positive if kind == "poisson" else kept
    y = frame["netIncome"].to_numpy()
    x, w = design_of(frame, expected), frame["rb050"].to_numpy()
    if kind == "poisson":
        found, basis = log_linear(x, np.round(y / 1000), w)
    else:
        found, basis = least_squares(x, np.log(y) if kind == "lm_log" else y, w)
    assert basis.shape[1] == x.shape[1]
    assert np.allclose(found, list(expected.values()), rtol=1e-6, atol=1e-6)
    if kind == "lm_log":
        middle, spread = median_and_mad(np.log(y) - x @ found, np.ones(len(y)))
        assert len(y) == reference[kind]["n"]
        assert np.isclose(spread, reference[kind]["residual_mad"], rtol=0.01)
        assert np.isclose(middle, reference[kind]["residual_median"], atol=5e-3)


@pytest.mark.parametrize("region", REGIONS)
def test_trimming_keeps_what_the_reference_keeps(region: str) -> None:
    positive, kept, _ = income_of(region)
    keep = trimmed(positive["netIncome"].to_numpy(), positive["rb050"].to_numpy(), (0.01, 0.01))
    assert positive.index[keep].equals(kept.index)


# learners


def test_learners_see_order_and_weights() -> None:
    digits, y, w = some_data(500)
    model, of_sample = fit_regressor(LinearRegression(), digits, y, w, SIZES, (True, False), 1)
    fitted, known = predict_regression(model, digits)
    assert known.all()
    assert np.array_equal(of_sample, fitted)
    assert model.estimator.n_features_in_ == 1 + 1 + 2
    unweighted = fit_regressor(LinearRegression(), digits, y, w * 0 + 1, SIZES, (True, False), 1)
    assert np.abs(predict_regression(unweighted[0], digits)[0] - fitted).max() > 1e-3
    assert not predict_regression(model, np.array([[0, 1]]))[1].any()


def test_forests_are_repeatable_and_seeds_matter() -> None:
    digits, y, w = some_data(120)
    a, b, c = (
        fit_regressor("forest", digits, y, w, SIZES, (True, False), seed)[1] for seed in (1, 1, 2)
    )
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert make_estimator("forest", 9, 4, of_numbers=True).max_features == 6
    assert make_estimator("forest", 9, 4, of_numbers=True).random_state == 4


def test_a_forest_with_extreme_weights() -> None:
    digits, y, w = some_data(400)
    w[:5] = 1e5
    fitted = fit_regressor("forest", digits, y, w, SIZES, (True, False), 1)[1]
    assert np.isfinite(fitted).all()


def test_what_a_regressor_refuses_is_told() -> None:
    digits, y, w = some_data(50)
    with pytest.raises(InputError, match="PoissonRegressor: cannot be fitted"):
        fit_regressor(PoissonRegressor(), digits, y - 100, w, SIZES, (True, False), 1)


def test_one_person_is_enough_for_a_learner() -> None:
    one = np.array([[1, 1]])
    model, fitted = fit_regressor(
        LinearRegression(), one, np.array([5.0]), np.ones(1), SIZES, (False, False), 1
    )
    assert fitted.tolist() == [5.0]
    assert np.isclose(predict_regression(model, one)[0][0], 5.0)


def test_indicator_columns_of_levels_seen() -> None:
    digits = np.array([[1, 2], [3, 2]])
    seen = levels_seen(digits, SIZES)
    assert model_columns(digits, seen).tolist() == [[1, 1, 0, 1], [1, 0, 1, 1]]
