"""Numbers as predictors: of classes, of values, and for learners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

from synthpop.conditional.fallback import ModelDesign, predict_with_fallback
from synthpop.conditional.fit_fallback import fit_with_fallback
from synthpop.models.encoding import cell_codes, split_cells, value_digits
from synthpop.models.learners import PredictorCodes, fit_learner, predict_learner
from synthpop.models.linear_multinomial import fit_linear_multinomial
from synthpop.models.multinomial import MultinomialModel, fit_multinomial, predict_multinomial
from synthpop.models.numeric_predictors import level_terms, model_columns, scaled_numbers
from synthpop.models.regression import fit_regression, fit_regressor, predict_regression
from tests.reference_data import golden, survey_data

AGES = np.concatenate([[np.nan], np.arange(16.0, 96)])


def codes(digits: np.ndarray, ages: np.ndarray) -> PredictorCodes:
    return PredictorCodes(digits, [len(AGES), 3], [True, False], [ages, None])


def some_data(n: int = 600, seed: int = 0):
    """Encoding of age and sex, classes whose log-odds are linear in age, weights."""
    rng = np.random.default_rng(seed)
    digits = np.column_stack([rng.integers(1, len(AGES), n), rng.integers(1, 3, n)])
    z = (AGES[digits[:, 0]] - 50) / 20
    logits = np.column_stack([np.zeros(n), z, (digits[:, 1] == 2) - 0.5 * z])
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return digits, classes, rng.uniform(1, 5, n)


def naive(digits: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted maximum likelihood as it reads in a book: plain Newton steps, class 0 as reference.

    P(r) = exp(x b_r) / sum_s exp(x b_s) with x = (1, age, sex), b_0 = 0.
    """
    x = np.column_stack([np.ones(len(digits)), (AGES[digits[:, 0]] - 50) / 20, digits[:, 1] == 2])
    n_classes = classes.max() + 1
    b = np.zeros((x.shape[1], n_classes))
    for _ in range(50):
        p = np.exp(x @ b)
        p /= p.sum(axis=1, keepdims=True)
        y = np.eye(n_classes)[classes]
        gradient = (x.T @ (weights[:, None] * (y - p)))[:, 1:].T.ravel()
        blocks = [
            [-(x.T * (weights * p[:, r] * ((r == s) - p[:, s]))) @ x for s in range(1, n_classes)]
            for r in range(1, n_classes)
        ]
        step = np.linalg.solve(-np.block(blocks), gradient)
        b[:, 1:] += step.reshape(n_classes - 1, -1).T
    p = np.exp(x @ b)
    return p / p.sum(axis=1, keepdims=True)


def test_it_is_the_maximum_of_the_likelihood() -> None:
    digits, classes, weights = some_data()
    model = fit_linear_multinomial(digits, classes, weights, [len(AGES), 3], [AGES, None], 3)
    ours, known = predict_multinomial(model, digits)
    assert known.all()
    assert model.gap < 1e-7
    assert np.allclose(ours, naive(digits, classes, weights), atol=1e-6)


@pytest.mark.parametrize("region", ["Burgenland", "Vienna", "Tyrol"])
def test_probabilities_of_the_reference(region: str) -> None:
    case = golden("pop", "g_models.json")["multinom"][region]
    reference, levels = case["numeric_age"], case["levels"]
    frame = survey_data("eusilcS")
    numbers = np.concatenate([[np.nan], np.arange(16.0, frame["age"].max() + 1)])
    frame = frame[(frame["db040"] == region) & (frame["age"] >= 16)]
    digits = np.column_stack([frame["age"] - 15, 1 + (frame["rb090"].astype(str) == "female")])
    classes = np.array([levels.index(str(value)) for value in frame["pl030"].astype(str)])
    assert len(frame) == case["n"]
    weights = frame["db090"].to_numpy()
    sizes = [len(numbers), 3]
    model = fit_linear_multinomial(digits, classes, weights, sizes, [numbers, None], len(levels))
    grid = np.array(
        [[row["age"] - 15, 1 + (row["rb090"] == "female")] for row in reference["grid"]]
    )
    found, known = predict_multinomial(model, grid)
    assert known.all()
    assert np.allclose(found, reference["probs"], rtol=0, atol=1e-5)


def test_without_numbers_it_is_the_model_of_levels() -> None:
    digits, classes, weights = some_data()
    digits = np.column_stack([1 + digits[:, 0] // 20, digits[:, 1]])
    grid = np.array([[a, b] for a in range(1, 6) for b in (1, 2)])
    one = fit_linear_multinomial(digits, classes, weights, [6, 3], [None, None], 3)
    two = fit_multinomial(digits, classes, weights, [6, 3], 3, tolerance=1e-12)
    assert np.allclose(
        predict_multinomial(one, grid)[0], predict_multinomial(two, grid)[0], atol=1e-6
    )


def test_levels_without_a_class_give_exactly_zero_and_classes_may_be_absent() -> None:
    digits, classes, weights = some_data()
    classes = np.where((classes == 1) & (digits[:, 1] == 2), 0, classes)
    model = fit_linear_multinomial(digits, classes, weights, [len(AGES), 3], [AGES, None], 5)
    p, known = predict_multinomial(model, np.array([[5, 2], [5, 1], [5, 0]]))
    assert known.tolist() == [True, True, False]
    assert p[0, 1] == 0
    assert p[1, 1] > 0
    assert (p[:, 3:] == 0).all()


def test_values_that_the_sample_does_not_have_are_known_and_missing_is_a_level() -> None:
    digits, classes, weights = some_data()
    digits[digits[:, 0] == 30, 0] = 31
    model = fit_linear_multinomial(digits, classes, weights, [len(AGES), 3], [AGES, None], 3)
    p, known = predict_multinomial(model, np.array([[30, 1], [29, 1], [31, 1], [0, 1]]))
    assert known.tolist() == [True, True, True, False]
    assert ((p[0] - p[1]) * (p[2] - p[0]) > 0).all()
    digits[:200, 0] = 0
    classes[:200] = 2
    model = fit_linear_multinomial(digits, classes, weights, [len(AGES), 3], [AGES, None], 3)
    p, known = predict_multinomial(model, np.array([[0, 1], [30, 1]]))
    assert known.all()
    assert p[0].tolist() == [0, 0, 1]


def test_a_number_that_separates_ends_and_tells_its_gap() -> None:
    digits = np.array([[1], [2], [3], [4]])
    age = np.array([np.nan, 10.0, 20, 30, 40])
    model = fit_linear_multinomial(
        digits, np.array([0, 0, 1, 1]), np.ones(4), [5], [age], 2, max_steps=7
    )
    assert model.sweeps <= 7
    assert 0 < model.gap < 0.5
    p = predict_multinomial(model, digits)[0]
    assert np.isfinite(p).all()
    assert p[0, 0] > 0.9 > 0.1 > p[3, 0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_probabilities_sum_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    digits = np.column_stack([rng.integers(0, 6, n), rng.integers(0, 3, n)])
    numbers = np.concatenate([[np.nan], np.sort(rng.normal(size=5))])
    classes, weights = rng.integers(0, 4, n), rng.uniform(0.1, 9, n)
    model = fit_linear_multinomial(digits, classes, weights, [6, 3], [numbers, None], 4)
    grid = np.array([[a, b] for a in range(6) for b in range(3)])
    p, known = predict_multinomial(model, grid)
    assert np.allclose(p[known].sum(axis=1), 1)
    assert (p[~known] == 0).all()


def test_digits_of_values_go_to_the_nearest() -> None:
    encodings = value_digits("x", np.array([30.0, 20.0, np.nan, 60.0, 30.0]))
    codes = cell_codes((encodings,), [np.array([np.nan, -5.0, 24.9, 26.0, 44.0, 46.0, 1e9])], 7)
    found = encodings.numbers[split_cells(codes, (encodings,))[:, 0]]
    assert found.tolist()[1:] == [20, 20, 30, 30, 60, 60]
    assert np.isnan(found[0])
    many = value_digits("x", np.random.default_rng(0).normal(size=30_000))
    assert many.size == 4097
    assert (np.diff(many.numbers[1:]) > 0).all()
    assert value_digits("x", np.array([np.nan])).size == 2


def test_columns_and_their_terms_agree() -> None:
    digits, _, weights = some_data(50)
    digits[:5, 0] = 0
    tables = scaled_numbers(digits, weights, [AGES, None])
    seen = [np.arange(len(AGES)) >= 0, np.array([False, True, True])]
    x = model_columns(digits, seen, tables)
    assert x.shape[1] == 1 + 2 + 2
    inside = digits[:, 0] > 0
    assert np.isclose(np.average(x[inside, 2], weights=weights[inside]), 0)
    assert np.isclose(np.average(x[inside, 2] ** 2, weights=weights[inside]), 1)
    b = np.arange(10.0).reshape(5, 2)
    terms = level_terms(b, seen, tables)
    total = b[0] + sum(term[digits[:, j]] for j, term in enumerate(terms))
    assert np.allclose(total, x @ b)


@pytest.mark.parametrize("kind", ["linear", "counts"])
def test_a_regression_has_one_coefficient_for_a_number(kind: str) -> None:
    digits, _, weights = some_data(2000)
    mean = 2 + 0.02 * AGES[digits[:, 0]] - 0.3 * (digits[:, 1] == 2)
    y = np.exp(mean) if kind == "counts" else mean
    model = fit_regression(kind, digits, y, weights, [len(AGES), 3], [AGES, None])
    assert model.rank == 3
    fitted, known = predict_regression(model, np.array([[1, 1], [80, 2], [0, 1]]))
    assert known.tolist() == [True, True, False]
    expected = np.array([2 + 0.02 * 16, 2 + 0.02 * 95 - 0.3])
    assert np.allclose(fitted[:2], np.exp(expected) if kind == "counts" else expected)


@pytest.mark.parametrize("region", ["Burgenland", "Vienna", "Tyrol"])
@pytest.mark.parametrize("kind", ["lm_log", "lm_raw", "poisson"])
def test_fitted_values_of_the_reference_with_household_size_as_a_number(
    region: str, kind: str
) -> None:
    reference = golden("pop", "g_models.json")["regression"][region]
    frame = survey_data("eusilcS")
    frame = frame[(frame["db040"] == region) & (frame["netIncome"] > 0) & frame["pl030"].notna()]
    if kind != "poisson":
        low, high = reference["trim_bounds"]
        frame = frame[(frame["netIncome"] > low) & (frame["netIncome"] < high)]
    income = frame["netIncome"].to_numpy()
    y = {"lm_log": np.log(income), "lm_raw": income, "poisson": np.round(income / 1000)}[kind]
    status, sizes = frame["pl030"].astype(int).to_numpy(), frame["hsize"].astype(int).to_numpy()
    female = (frame["rb090"].astype(str) == "female").to_numpy()
    digits = np.column_stack([1 + female, sizes, status])
    size = np.concatenate([[np.nan], np.arange(1.0, 10)])
    weights = frame["rb050"].to_numpy()
    name = "counts" if kind == "poisson" else "linear"
    model = fit_regression(name, digits, y, weights, [3, 10, 8], [None, size, None])
    found, known = predict_regression(model, digits)
    b = reference[kind]["coef"]
    expected = b["(Intercept)"] + b["rb090female"] * female + b["hsize"] * sizes
    expected = expected + np.array([b.get(f"pl030{code}", 0.0) for code in status])
    assert known.all()
    assert np.allclose(
        np.log(found) if kind == "poisson" else found, expected, rtol=1e-6, atol=1e-6
    )


def test_learners_see_the_values() -> None:
    digits, classes, weights = some_data(2000)
    numbers = [np.exp(AGES / 10), None]
    x = np.column_stack([numbers[0][digits[:, 0]], digits[:, 1] == 1, digits[:, 1] == 2])
    y = x[:, 0] / 1000 + x[:, 1]
    model, _ = fit_regressor(
        LinearRegression(), digits, y, weights, [len(AGES), 3], [True, False], 1, numbers
    )
    found, known = predict_regression(model, np.array([[70, 1], [3, 2]]))
    assert known.all()
    assert np.allclose(found, [numbers[0][70] / 1000 + 1, numbers[0][3] / 1000])
    by_digit, _ = fit_regressor(
        LinearRegression(), digits, y, weights, [len(AGES), 3], [True, False], 1
    )
    assert abs(predict_regression(by_digit, np.array([[70, 1]]))[0][0] - found[0]) > 0.1
    classifier = LogisticRegression(max_iter=1000)
    a, b = (
        fit_learner(classifier, codes(digits, ages), classes, weights, 3, 1)
        for ages in (AGES, AGES**2)
    )
    grid = np.array([[10, 1], [70, 1]])
    assert np.abs(predict_learner(a, grid)[0] - predict_learner(b, grid)[0]).max() > 1e-3


def test_a_learner_knows_missing_numbers_where_it_saw_them() -> None:
    digits, classes, weights = some_data(500)
    grid = np.array([[0, 1], [40, 1]])
    model = fit_learner("tree", codes(digits, AGES), classes, weights, 3, 1)
    assert predict_learner(model, grid)[1].tolist() == [False, True]
    digits[:250, 0] = 0
    classes[:250] = 2
    model = fit_learner("tree", codes(digits, AGES), classes, weights, 3, 1)
    p, known = predict_learner(model, grid)
    assert known.all()
    assert p[0].tolist() == [0, 0, 1]


def test_the_fallback_hands_numbers_on() -> None:
    digits, classes, weights = some_data(800)
    strata = np.repeat([0, 1], 400)
    options = (classes, weights, strata, (len(AGES), 3), (True, False), 3, 2)
    design = ModelDesign(digits, *options, numbers=(AGES, None))
    sequence = fit_with_fallback("multinomial", design, smallest_stratum=1)
    here = strata == 0
    own = fit_linear_multinomial(
        digits[here], classes[here], weights[here], [len(AGES), 3], [AGES, None], 3
    )
    grid = np.array([[20, 1], [60, 2]])
    found, step = predict_with_fallback(sequence, 0, grid)
    assert step.tolist() == [0, 0]
    assert np.allclose(found, predict_multinomial(own, grid)[0])
    pooled = fit_with_fallback("multinomial", design, smallest_stratum=10_000)
    found, step = predict_with_fallback(pooled, 0, grid)
    assert step.tolist() == [1, 1]
    assert np.isfinite(found).all()


def test_small_factors_of_many_predictors_do_not_underflow() -> None:
    m = 40
    factors = np.vstack([[1.0, 0.5], np.full((m, 2), 1e-30)])
    model = MultinomialModel(np.arange(m + 2), factors, np.ones(m + 1, dtype=bool), 1, 0.0)
    p, known = predict_multinomial(model, np.zeros((1, m), dtype=np.int64))
    assert known.all()
    np.testing.assert_allclose(p, [[2 / 3, 1 / 3]])
