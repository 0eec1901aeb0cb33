"""Classes of predictors that enter a model as numbers."""

from __future__ import annotations

import numpy as np

from synthpop.models.numeric_predictors import in_classes, number_classes


def test_classes_have_about_equal_weight() -> None:
    rng = np.random.default_rng(1)
    digits = rng.integers(1, 101, (5000, 2))
    weights = rng.uniform(1, 9, 5000)
    values = np.append(np.nan, np.arange(100.0))
    table, none = number_classes(digits, weights, [values, None])
    assert none is None
    assert table[0] == 0
    assert (np.diff(table) >= 0).all()
    shares = np.bincount(table[digits[:, 0]], weights=weights) / weights.sum()
    assert shares[0] == 0
    assert len(shares) == 11
    assert np.allclose(shares[1:], 0.1, atol=0.02)
    heavy = np.where(digits[:, 0] <= 10, 100.0, 1.0)
    assert number_classes(digits, heavy, [values, None])[0][11] >= 8


def test_few_values_have_a_class_each() -> None:
    digits = np.repeat([[2], [5], [7]], [900, 50, 50], axis=0)
    values = np.append(np.nan, np.arange(8.0))
    (table,) = number_classes(digits, np.ones(1000), [values])
    assert table.tolist() == [0, 1, 1, 1, 1, 2, 2, 3, 3]
    (two,) = number_classes(digits, np.ones(1000), [values], n_classes=2)
    assert two.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2]


def test_a_number_that_nobody_has() -> None:
    (table,) = number_classes(np.zeros((3, 1), dtype=int), np.ones(3), [np.array([np.nan, 1.0])])
    assert table.tolist() == [0, 1]


def test_digits_become_classes() -> None:
    digits = np.array([[0, 3], [2, 1]])
    assert in_classes(digits, (np.array([0, 1, 1]), None)).tolist() == [[0, 3], [1, 1]]
    assert in_classes(digits, (None, None)) is digits
    assert in_classes(digits, ()) is digits
