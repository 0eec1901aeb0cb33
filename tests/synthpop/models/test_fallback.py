"""The back-off from the stratum's model to the pooled one, the marginal and equal shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synthpop.conditional.fallback import (
    LevelFactors,
    ModelDesign,
    cumulative,
    predict_with_fallback,
)
from synthpop.conditional.fit_fallback import fit_with_fallback


def design(n_classes: int = 4) -> ModelDesign:
    """Two strata; the second has 3 persons. Nobody has class 3, cell 3 is in neither."""
    digits = np.array([[1], [1], [2], [2], [1], [2], [1], [1], [1]])
    return ModelDesign(
        digits=digits,
        classes=np.array([0, 1, 1, 2, 0, 1, 0, 0, 2]),
        weights=np.array([1.0, 3, 1, 1, 2, 2, 4, 1, 5]),
        strata=np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]),
        sizes=(4,),
        ordered=(False,),
        n_classes=n_classes,
        n_strata=2,
    )


@pytest.fixture(scope="module")
def sequence():
    return fit_with_fallback("empirical", design(), smallest_stratum=1, pooling="none")


def test_each_cell_takes_the_first_model_that_knows_it(sequence) -> None:
    got, level = predict_with_fallback(sequence, 1, np.array([[1], [2], [3]]))
    assert level.tolist() == [0, 1, 2]
    assert np.allclose(got[0], [0.5, 0, 0.5, 0])  # the stratum's weights: 5 and 5
    assert np.allclose(got[1], [0, 0.75, 0.25, 0])  # those of both strata in cell 2
    assert np.allclose(got[2], [0.5, 0, 0.5, 0])  # the stratum's weighted marginal


def test_impossible_classes_are_scaled_out_at_each_level(sequence) -> None:
    allowed = np.array([[False, True, True, True]] * 3)
    got, level = predict_with_fallback(sequence, 1, np.array([[1], [2], [3]]), allowed)
    assert level.tolist() == [0, 1, 2]
    assert np.allclose(got, [[0, 0, 1, 0], [0, 0.75, 0.25, 0], [0, 0, 1, 0]])


def test_where_no_observed_class_is_possible_the_possible_ones_are_equally_likely(sequence) -> None:
    allowed = np.array([[False, True, False, True], [False, False, False, True]])
    got, level = predict_with_fallback(sequence, 1, np.array([[3], [3]]), allowed)
    assert level.tolist() == [3, 3]
    assert np.allclose(got, [[0, 0.5, 0, 0.5], [0, 0, 0, 1.0]])


def test_a_stratum_that_is_too_small_has_no_model_and_its_marginal_is_its_own() -> None:
    pooled = fit_with_fallback("empirical", design(), smallest_stratum=4, pooling="none")
    assert pooled.by_stratum[1] is None
    got, level = predict_with_fallback(pooled, 1, np.array([[1], [3]]))
    assert level.tolist() == [1, 2]
    assert np.allclose(got[0], np.array([8, 3, 5, 0]) / 16)
    assert np.allclose(got[1], [0.5, 0, 0.5, 0])


def test_the_pooled_model_is_no_step_down_where_pooling_is_complete() -> None:
    complete = fit_with_fallback("empirical", design(), smallest_stratum=1, pooling="complete")
    assert complete.by_stratum == (None, None)
    assert predict_with_fallback(complete, 1, np.array([[2]]))[1].tolist() == [0]


def test_a_cell_that_nobody_has_is_asked_without_its_optional_predictor() -> None:
    """The second predictor may be missing (0): cell (1, 3) takes the shares of (1, 0)."""
    digits = np.array([[1, 0], [1, 0], [1, 1], [1, 2], [2, 3]])
    cells = ModelDesign(
        digits, np.array([0, 1, 2, 2, 2]), np.array([1.0, 3, 1, 1, 6]), np.zeros(5, dtype=int),
        (3, 4), (False, False), 3, 1,
    )  # fmt: skip
    plain = fit_with_fallback("empirical", cells, smallest_stratum=1, pooling="none")
    asked = np.array([[1, 3], [1, 1], [2, 1]])
    shares, step = predict_with_fallback(plain, 0, asked)
    assert step.tolist() == [2, 0, 2]
    shares, step = predict_with_fallback(replace(plain, optional=(1,)), 0, asked)
    assert step.tolist() == [1, 0, 2]
    assert np.allclose(shares[0], [0.25, 0.75, 0])
    assert np.allclose(shares[1], [0, 0, 1])


def test_factors_of_a_level_keep_the_share_of_the_first_class() -> None:
    factors = LevelFactors(0, np.array([[1.0, 1, 1], [1.0, 3, 0]]))
    shares = np.array([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.4, 0, 0.6], [1.0, 0, 0]])
    moved = factors.applied(shares, np.array([[0], [1], [1], [1]]))
    assert np.allclose(moved, [[0.4, 0.3, 0.3], [0.4, 0.6, 0], [0.4, 0, 0], [1.0, 0, 0]])


def test_classes_after_the_last_possible_one_are_never_drawn() -> None:
    """Ten tenths sum to less than one in floating-point numbers: the last takes the rest."""
    probabilities = np.array([[0.1] * 10 + [0.0, 0.0], [0.0] + [0.1] * 10 + [0.0]])
    table = cumulative(probabilities)
    sums = np.cumsum(probabilities, axis=1)
    assert sums[0, 9] < 1
    assert np.array_equal(table[0], [*sums[0, :9], 1.0, 1.0, 1.0])
    assert np.array_equal(table[1], [*sums[1, :10], 1.0, 1.0])
