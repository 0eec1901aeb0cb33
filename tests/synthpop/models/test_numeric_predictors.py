"""Columns of models and learners: worked cases of levels, numbers and missing values."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.models.numeric_predictors import (
    N_CLASSES,
    are_seen,
    in_classes,
    learner_columns,
    level_terms,
    levels_seen,
    model_columns,
    number_classes,
    scaled_numbers,
    with_numbers,
)

NAN = np.nan
NUMBERS = (None, np.array([NAN, 10.0, 20.0, 40.0]), None)
# a predictor with levels, a number that is missing once, an ordered predictor
DIGITS = np.array([[1, 3, 2], [3, 0, 1], [1, 1, 2]])
SIZES = (4, 4, 3)
SEEN = levels_seen(DIGITS, SIZES, NUMBERS)


def test_levels_that_occur_and_all_values_of_a_number() -> None:
    told = [levels.tolist() for levels in SEEN]
    assert told == [[False, True, False, True], [True] * 4, [False, True, True]]
    present = levels_seen(DIGITS[[0, 2]], SIZES, NUMBERS)
    assert present[1].tolist() == [False, True, True, True]
    # a number that is always missing tells nothing of its values
    assert levels_seen(DIGITS[[1]], SIZES, NUMBERS)[1].tolist() == [True, False, False, False]
    assert with_numbers(NUMBERS)
    assert not with_numbers((None, None))
    cells = np.array([[1, 2, 1], [2, 2, 1], [1, 2, 0], [3, 0, 2]])
    assert are_seen(cells, SEEN).tolist() == [True, False, False, True]
    assert are_seen(cells, present).tolist() == [False, False, False, False]


def test_columns_of_a_learner() -> None:
    """A constant column, levels 1 and 3, missing and value of the number, the ordered digit."""
    columns = learner_columns(DIGITS, SEEN, (False, False, True), NUMBERS)
    expected = [[0, 1, 0, 0, 40, 2], [0, 0, 1, 1, 10, 1], [0, 1, 0, 0, 10, 2]]
    assert columns.tolist() == expected
    rows = DIGITS[[0, 2]]
    present = learner_columns(rows, levels_seen(rows, SIZES, NUMBERS), (False,) * 3, NUMBERS)
    assert present.tolist() == [[0, 1, 40, 1], [0, 1, 10, 1]]
    levels = learner_columns(DIGITS, levels_seen(DIGITS, SIZES), (False, True, True))
    assert levels.tolist() == [[0, 1, 0, 3, 2], [0, 0, 1, 0, 1], [0, 1, 0, 1, 2]]


def test_scaled_numbers_have_mean_zero_and_variance_one_where_they_are_not_missing() -> None:
    """40 with weight 1 and 10 with weight 3: mean 17.5, variance 168.75."""
    weights = np.array([1.0, 9.0, 3.0])
    scaled = scaled_numbers(DIGITS, weights, NUMBERS)
    assert scaled[0] is None
    assert scaled[2] is None
    spread = np.sqrt(168.75)
    expected = [0, -7.5 / spread, 2.5 / spread, 22.5 / spread]
    np.testing.assert_allclose(scaled[1], expected, rtol=1e-12)
    constant = scaled_numbers(DIGITS[[0, 0]], np.ones(2), NUMBERS)[1]
    assert constant.tolist() == [0.0] * 4
    assert scaled_numbers(DIGITS[[1]], np.ones(1), NUMBERS)[1].tolist() == [0.0] * 4


def test_columns_of_a_model_and_what_each_digit_adds() -> None:
    table = np.array([0.0, -1.0, 0.5, 2.0])
    tables = (None, table, None)
    columns = model_columns(DIGITS, SEEN, tables)
    expected = [[1, 1, 0, 0, 2, 0, 1], [1, 0, 1, 1, 0, 1, 0], [1, 1, 0, 0, -1, 0, 1]]
    assert columns.tolist() == expected
    coefficients = np.array([100.0, 1, 2, 4, 8, 16, 32])
    terms = level_terms(coefficients, SEEN, tables)
    assert terms[0].tolist() == [0, 1, 0, 2]
    assert terms[1].tolist() == [4, -8, 4, 16]
    assert terms[2].tolist() == [0, 16, 32]
    sums = 100 + sum(of_level[DIGITS[:, j]] for j, of_level in enumerate(terms))
    np.testing.assert_array_equal(sums, columns @ coefficients)
    two = np.column_stack([coefficients, -coefficients])
    for one, both in zip(terms, level_terms(two, SEEN, tables), strict=True):
        np.testing.assert_array_equal(both, np.column_stack([one, -one]))


def test_classes_of_a_number_have_equal_weight() -> None:
    """Eleven values of weights 1 to 11, of 66 in all; middles 0.5, 2, 4.5 ... in tenths of 66."""
    values = np.append(NAN, np.arange(12.0))
    digits = np.append(np.arange(1, 12), 0)[:, None]
    weights = np.append(np.arange(1.0, 12.0), 50.0)
    middles = np.cumsum(weights[:11]) - weights[:11] / 2
    tenths = np.floor(10 * middles / 66)
    dense = [1 + len(set(tenths[tenths < x])) for x in tenths]
    classes = number_classes(digits, weights, [values])[0]
    # the last value does not occur: it is in the class of the next smaller
    assert classes.tolist() == [0, *dense, dense[-1]]
    assert dense[0] == dense[1] == dense[2] == 1
    ten = number_classes(digits[1:], weights[1:], [values])[0]
    assert N_CLASSES == 10
    assert ten.tolist() == [0, 1, *range(1, 11), 10]  # ten values have a class each
    few = number_classes(digits, weights, [values], n_classes=2)[0]
    assert few.tolist() == [0, *[1 + int(2 * middle >= 66) for middle in middles], 2]


def test_a_number_without_weight_has_one_class() -> None:
    classes = number_classes(np.array([[0], [1]]), np.array([1.0, 0.0]), [np.array([NAN, 1, 2])])
    assert classes[0].tolist() == [0, 1, 1]
    assert number_classes(np.array([[1]]), np.ones(1), [None]) == (None,)
    digits = np.array([[1, 2]])
    assert in_classes(digits, (None, None)) is digits
    assert in_classes(digits, (None, classes[0])).tolist() == [[1, 1]]


@pytest.mark.parametrize("smallest", [10.0, -3.0])
def test_a_missing_number_stands_at_the_smallest_value(smallest: float) -> None:
    numbers = (np.array([NAN, 50.0, smallest]),)
    digits = np.array([[0], [1]])
    columns = learner_columns(digits, levels_seen(digits, (3,), numbers), (False,), numbers)
    assert columns.tolist() == [[0, 1, smallest], [0, 0, 50]]
