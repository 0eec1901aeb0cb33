"""Multinomial model, observed distributions, the sequence, and cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier

import synthpop.models.learners as learners
from synthpop.conditional.fallback import MODELS, ModelDesign, cumulative, predict_with_fallback
from synthpop.conditional.fit_fallback import fit_with_fallback
from synthpop.models.empirical import fit_empirical, predict_empirical
from synthpop.models.encoding import (
    Encoding,
    cell_codes,
    coded_digits,
    distinct_cells,
    numeric_digits,
    split_cells,
)
from synthpop.models.learners import PredictorCodes, fit_learner, make_estimator, predict_learner
from synthpop.models.multinomial import fit_multinomial, predict_multinomial


def some_data(n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    digits = np.column_stack([rng.integers(1, 4, n), rng.integers(1, 3, n)])
    logits = np.column_stack([np.zeros(n), digits[:, 0] * 0.5, digits[:, 1] - digits[:, 0] * 0.7])
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return digits, classes, rng.uniform(1, 5, n)


def maximum_likelihood(digits, classes, weights, n_classes):
    """Weighted maximum likelihood by a general optimiser, reference class 0."""
    from scipy.optimize import minimize

    columns = [np.ones(len(digits))]
    for j in range(digits.shape[1]):
        columns += [digits[:, j] == level for level in np.unique(digits[:, j])[1:]]
    x = np.column_stack(columns).astype(float)
    y = np.eye(n_classes)[classes]

    def objective(beta):
        b = np.column_stack([np.zeros(x.shape[1]), beta.reshape(x.shape[1], -1)])
        eta = x @ b
        top = eta.max(axis=1, keepdims=True)
        log_p = eta - top - np.log(np.exp(eta - top).sum(axis=1, keepdims=True))
        gradient = x.T @ (weights[:, None] * (np.exp(log_p) - y))
        return -np.sum(weights[:, None] * y * log_p), gradient[:, 1:].ravel()

    start = np.zeros(x.shape[1] * (n_classes - 1))
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-7})
    b = np.column_stack([np.zeros(x.shape[1]), found.x.reshape(x.shape[1], -1)])
    p = np.exp(x @ b)
    return p / p.sum(axis=1, keepdims=True)


def test_scaling_gives_the_maximum_likelihood_probabilities() -> None:
    digits, classes, weights = some_data()
    model = fit_multinomial(digits, classes, weights, [4, 3], 3, tolerance=1e-12)
    ours, known = predict_multinomial(model, digits)
    assert known.all()
    assert np.allclose(ours, maximum_likelihood(digits, classes, weights, 3), atol=1e-5)


def test_weights_matter() -> None:
    digits, classes, weights = some_data()
    one = fit_multinomial(digits, classes, weights, [4, 3], 3)
    two = fit_multinomial(digits, classes, np.ones(len(weights)), [4, 3], 3)
    repeated = np.repeat(np.arange(len(weights)), 3)
    three = fit_multinomial(digits[repeated], classes[repeated], weights[repeated], [4, 3], 3)
    cells = np.array([[1, 1], [3, 2]])
    p1, p2, p3 = (predict_multinomial(model, cells)[0] for model in (one, two, three))
    assert np.abs(p1 - p2).max() > 1e-3
    assert np.allclose(p1, p3, atol=1e-6)


def test_fitted_margins_are_the_observed_ones() -> None:
    digits, classes, weights = some_data(seed=4)
    model = fit_multinomial(digits, classes, weights, [4, 3], 3)
    p, _ = predict_multinomial(model, digits)
    for j in range(2):
        for level in np.unique(digits[:, j]):
            here = digits[:, j] == level
            observed = np.bincount(classes[here], weights=weights[here], minlength=3)
            assert np.allclose(weights[here] @ p[here], observed, rtol=1e-5)


def test_separation_gives_zero_not_a_failure() -> None:
    digits = np.array([[1], [1], [2], [2], [2]])
    classes = np.array([0, 0, 1, 2, 1])
    model = fit_multinomial(digits, classes, np.ones(5), [3], 3)
    p, known = predict_multinomial(model, np.array([[1], [2], [0]]))
    assert p[0].tolist() == [1.0, 0.0, 0.0]
    assert np.allclose(p[1], [0, 2 / 3, 1 / 3])
    assert known.tolist() == [True, True, False]


def test_levels_that_exclude_each_other_are_unknown() -> None:
    digits = np.array([[1, 1], [2, 2]])
    model = fit_multinomial(digits, np.array([0, 1]), np.ones(2), [3, 3], 2)
    p, known = predict_multinomial(model, np.array([[1, 2]]))
    assert not known[0]
    assert p[0].tolist() == [0.0, 0.0]


def test_quasi_separation_stays_bounded_and_tells_its_gap() -> None:
    digits = np.array([[1, 1], [1, 2], [2, 1], [2, 2], [1, 1]])
    classes = np.array([0, 1, 1, 1, 1])
    model = fit_multinomial(digits, classes, np.ones(5), [3, 3], 2, max_sweeps=50)
    assert model.sweeps <= 53
    assert 0 <= model.gap < 0.01
    p, known = predict_multinomial(model, digits)
    assert known.all()
    assert np.isfinite(p).all()


def test_no_predictors_give_the_marginal() -> None:
    model = fit_multinomial(
        np.empty((3, 0), int), np.array([0, 1, 1]), np.array([2.0, 1, 1]), [], 2
    )
    assert predict_multinomial(model, np.empty((1, 0), int))[0].tolist() == [[0.5, 0.5]]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_probabilities_sum_to_one_where_known(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    digits, classes = rng.integers(0, 3, (n, 2)), rng.integers(0, 4, n)
    for fit, predict in MODELS.values():
        model = fit(digits, classes, rng.uniform(0.1, 9, n), [3, 3], 4)
        grid = np.array([[a, b] for a in range(3) for b in range(3)])
        p, known = predict(model, grid)
        assert np.allclose(p[known].sum(axis=1), 1)
        assert (p[~known] == 0).all()
        assert (p >= 0).all()


def test_empirical_shares_are_weighted() -> None:
    model = fit_empirical(np.array([[1], [1]]), np.array([0, 1]), np.array([1.0, 4.0]), [2], 2)
    assert predict_empirical(model, np.array([[1]]))[0].tolist() == [[0.2, 0.8]]


def sequence_of(model: str, smallest: int):
    digits = np.array([[1], [1], [2], [1]])
    classes = np.array([0, 0, 1, 1])
    strata = np.array([0, 0, 1, 1])
    weights = np.array([1.0, 1, 1, 2])
    design = ModelDesign(digits, classes, weights, strata, (3,), (False,), 2, 3)
    return fit_with_fallback(model, design, smallest_stratum=smallest)


@pytest.mark.parametrize("model", list(MODELS))
def test_each_cell_takes_the_first_step_with_an_answer(model: str) -> None:
    sequence = sequence_of(model, 1)
    p, step = predict_with_fallback(sequence, 0, np.array([[1], [2], [0]]))
    assert step.tolist()[0] == 0
    assert step.tolist()[2] == 2  # missing was never seen: the marginal of the stratum
    assert np.allclose(p.sum(axis=1), 1)
    assert p[0].tolist() == [1.0, 0.0]


def test_a_small_stratum_uses_the_pooled_model() -> None:
    _, step = predict_with_fallback(sequence_of("multinomial", 10), 1, np.array([[1]]))
    assert step.tolist() == [1]


def test_an_empty_stratum_uses_all_others() -> None:
    p, step = predict_with_fallback(sequence_of("empirical", 1), 2, np.array([[2], [0]]))
    assert step.tolist() == [1, 2]
    assert p.tolist() == [[0.0, 1.0], [0.4, 0.6]]


def test_structural_zeros_are_never_possible() -> None:
    sequence = sequence_of("empirical", 1)
    allowed = np.array([[False, True], [False, True]])
    p, step = predict_with_fallback(sequence, 0, np.array([[1], [0]]), allowed)
    assert p.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert step.tolist() == [1, 3]  # the stratum only has the forbidden class


def test_cumulative_ends_at_the_last_possible_class() -> None:
    table = cumulative(np.array([[0.1, 0.9 - 1e-17, 0.0]]))
    assert table[0, 1] == 1.0


def test_numbers_become_classes() -> None:
    few = numeric_digits("x", np.array([3, 1, 1, 2]), np.ones(4))
    assert few.breaks.tolist() == [1.5, 2.5]
    assert few.size == 4
    many = numeric_digits("x", np.arange(1000.0), np.ones(1000))
    assert many.size == 11
    weighted = numeric_digits("x", np.arange(1000.0), np.arange(1000.0))
    assert weighted.breaks[0] > many.breaks[0] + 100


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
def test_cells_go_back_to_digits(dtype) -> None:
    encodings = (coded_digits("a", 3), Encoding("b", 4, np.array([10.5, 20.5])))
    a = np.array([-1, 0, 2], dtype=np.int8)
    b = np.array([5, 11, 100], dtype=dtype)
    cells = cell_codes(encodings, [a, b], 3)
    assert split_cells(cells, encodings).tolist() == [[0, 1], [1, 2], [3, 3]]


def test_wide_breaks_of_whole_numbers() -> None:
    encodings = (Encoding("x", 4, np.array([0.0, 100_000.0])),)
    cells = cell_codes(encodings, [np.array([-1, 0, 5, 200_000])], 4)
    assert cells.tolist() == [1, 1, 2, 3]


def test_distinct_cells_with_huge_radix() -> None:
    digits = np.array([[10**6, 10**6, 1], [0, 0, 0], [10**6, 10**6, 1]])
    first, inverse = distinct_cells(digits, [2 * 10**6] * 3)
    assert len(first) == 2
    assert inverse[0] == inverse[2] != inverse[1]


@pytest.mark.parametrize("model", ["tree", "forest", "boosting"])
def test_learners_follow_the_data_and_their_weights(model: str) -> None:
    digits = np.tile([[1, 1], [1, 2], [2, 1], [2, 2]], (200, 1))
    rng = np.random.default_rng(0)
    classes = np.where(digits[:, 0] == digits[:, 1], 2, rng.integers(0, 2, len(digits)))
    weights = np.where(classes == 0, 9.0, 1.0)
    fitted = fit_learner(
        model, PredictorCodes(digits, [3, 3], [True, False]), classes, weights, 4, 1
    )
    grid = np.array([[1, 1], [1, 2], [2, 1], [0, 1]])
    p, known = predict_learner(fitted, grid)
    assert known.tolist() == [True, True, True, False]
    assert p.shape == (4, 4)
    assert p[0, 2] > 0.95
    assert 0.8 < p[1, 0] < 0.97
    assert (p[:, 3] == 0).all()
    again = fit_learner(
        model, PredictorCodes(digits, [3, 3], [True, False]), classes, weights, 4, 1
    )
    assert np.array_equal(p, predict_learner(again, grid)[0])


def test_a_forest_tries_most_predictors_at_each_split() -> None:
    assert make_estimator("forest", 2, 1).max_features == 1
    assert make_estimator("forest", 6, 1).max_features == 4


def test_a_classifier_of_the_user_is_copied_and_seeded() -> None:
    from sklearn.tree import DecisionTreeClassifier

    own = DecisionTreeClassifier(max_depth=1)
    made = make_estimator(own, 2, 5)
    assert made is not own
    assert (made.max_depth, made.random_state) == (1, 5)
    assert make_estimator(DecisionTreeClassifier(random_state=3), 2, 5).random_state == 3


def test_one_class_needs_no_classifier() -> None:
    fitted = fit_learner(
        "tree", PredictorCodes(np.array([[1]]), [2], [True]), np.array([2]), np.ones(1), 3, 0
    )
    assert predict_learner(fitted, np.array([[1]]))[0].tolist() == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize("model", ["tree", "forest", "boosting"])
def test_learners_keep_who_has_a_value_at_all(model: str) -> None:
    """Children (level 1) have none, men and women above always; level 3 has too few to tell."""
    rng = np.random.default_rng(2)
    level = np.repeat([1, 2, 3], [60, 200, 12])
    digits = np.column_stack([level, rng.integers(1, 3, len(level))])
    classes = np.where(level == 1, 0, rng.integers(1, 4, len(level)))
    fitted = fit_learner(
        model, PredictorCodes(digits, [4, 3], [True, False]), classes, np.ones(len(level)), 4, 1
    )
    grid = np.array([[1, 1], [1, 2], [2, 1], [2, 2], [3, 1]])
    p, _ = predict_learner(fitted, grid)
    assert p[:2].tolist() == [[1.0, 0.0, 0.0, 0.0]] * 2
    assert (p[2:4, 0] == 0).all()
    assert p.sum(axis=1) == pytest.approx(np.ones(5))
    loose = replace(fitted, existence=())
    plain, _ = predict_learner(loose, grid)
    assert p[2, 1:] == pytest.approx(plain[2, 1:] / (1 - plain[2, 0]))
    assert p[4].tolist() == plain[4].tolist()


@pytest.mark.parametrize("model", ["tree", "forest", "boosting"])
@pytest.mark.parametrize("share", [0.03, 0.97])
def test_rare_values_and_rare_gaps_keep_their_share(model: str, share: float) -> None:
    """Of 50 persons of a level many have all or none by chance."""
    rng = np.random.default_rng(5)
    digits = rng.integers(0, 40, (2_000, 3))
    classes = np.where(rng.random(2_000) < share, rng.integers(1, 3, 2_000), 0)
    fitted = fit_learner(
        model, PredictorCodes(digits, [40] * 3, [True] * 3), classes, np.ones(2_000), 3, 1
    )
    rare = 0.03 * 2_000
    gap = predict_learner(fitted, digits)[0][:, 0].sum() - (classes == 0).sum()
    assert abs(gap) < 0.1 * rare


def test_levels_that_contradict_leave_the_classifier_its_word() -> None:
    digits = np.repeat([[1, 1], [2, 2]], 30, axis=0)
    classes = np.repeat([0, 1], 30)
    fitted = fit_learner(
        "tree", PredictorCodes(digits, [3, 3], [True, True]), classes, np.ones(60), 2, 1
    )
    apart = predict_learner(fitted, np.array([[1, 2]]))[0]
    assert (
        apart.tolist()
        == predict_learner(replace(fitted, existence=()), np.array([[1, 2]]))[0].tolist()
    )


def test_boosting_of_many_classes_has_fewer_rounds_and_keeps_their_shares() -> None:
    rng = np.random.default_rng(5)
    digits = rng.integers(0, 6, (1500, 2))
    classes = (6 * digits[:, 0] + rng.integers(0, 6, 1500)) % 30
    predictors = PredictorCodes(digits, (6, 6), (True, True))
    fitted = fit_learner("boosting", predictors, classes, np.ones(1500), 30, 1)
    assert fitted.note == ""
    assert fitted.estimator.n_iter_ == 33
    few = fit_learner("boosting", predictors, classes % 3, np.ones(1500), 3, 1)
    assert few.estimator.n_iter_ == learners.BOOSTING["max_iter"]
    others = rng.integers(0, 6, (3000, 2))
    truth = (6 * others[:, 0] + rng.integers(0, 6, 3000)) % 30
    predicted = predict_learner(fitted, others)[0][np.arange(3000), truth]
    assert np.log(predicted).mean() > np.log(1 / 10)  # at random 1 / 30, at best 1 / 6


def test_a_boosting_that_diverges_gives_way_to_a_forest(monkeypatch) -> None:
    """With steps far too long the shares of classes are missed; they are told and not used."""
    digits, classes, weights = some_data(600)
    fit = ("boosting", PredictorCodes(digits, (4, 3), (True, True)), classes, weights, 3, 1)
    good = fit_learner(*fit)
    assert good.note == ""
    monkeypatch.setitem(learners.BOOSTING, "learning_rate", 40.0)
    monkeypatch.setitem(learners.BOOSTING, "l2_regularization", 0.0)
    fallen = fit_learner(*fit)
    assert isinstance(fallen.estimator, RandomForestClassifier)
    assert "a forest was used" in fallen.note
    shares = np.bincount(classes, weights) / weights.sum()
    for model in (good, fallen):
        predicted = np.average(predict_learner(model, digits)[0], axis=0, weights=weights)
        assert np.abs(predicted - shares).sum() / 2 < 0.02


def test_a_classifier_that_misses_the_shares_of_its_sample_is_told_of() -> None:
    digits, classes, weights = some_data(600)
    constant = DummyClassifier(strategy="constant", constant=1)
    model = fit_learner(
        constant, PredictorCodes(digits, (4, 3), (True, True)), classes, weights, 3, 1
    )
    assert isinstance(model.estimator, DummyClassifier)
    assert "miss those of the sample by" in model.note


def test_one_stratum_is_learned_once() -> None:
    digits, classes, weights = some_data(600)
    one = np.zeros(600, dtype=np.int64)
    design = ModelDesign(digits, classes, weights, one, (4, 3), (True, True), 3, 1)
    fitted = fit_with_fallback("tree", design, smallest_stratum=30)
    assert fitted.pooled is fitted.by_stratum[0]
    few = fit_with_fallback("tree", design, smallest_stratum=601)
    assert few.by_stratum == (None,)
    assert few.pooled is not None
