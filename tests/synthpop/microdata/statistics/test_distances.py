"""Small calls of `distances` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.statistics.distances import (
    effective_size,
    expected_ks,
    expected_total_variation,
    gini,
    gini_of_cells,
    ks_of_cells,
    share_errors,
    standardised_differences,
    total_variation,
)


def test_example_of_total_variation() -> None:
    assert total_variation(np.array([0.5, 0.5]), np.array([0.25, 0.75])) == 0.25


def test_example_of_expected_total_variation() -> None:
    assert round(expected_total_variation(np.array([0.5, 0.5]), 10_000), 5) == 0.00399


def test_example_of_expected_ks() -> None:
    assert round(expected_ks(10_000), 6) == 0.008687


def test_example_of_ks_of_cells() -> None:
    assert ks_of_cells(np.array([0, 2, 2]), np.array([1, 1, 2])) == 0.25


def test_example_of_effective_size() -> None:
    assert effective_size(np.array([1.0, 1.0, 2.0])) == 2.6666666666666665


def test_example_of_gini() -> None:
    assert (
        gini(np.array([1.0, 1.0, 1.0]), np.ones(3)),
        gini(np.array([0.0, 5.0]), np.ones(2)),
    ) == (0.0, 0.5)


def test_example_of_gini_of_cells() -> None:
    assert gini_of_cells(np.array([1, 1]), np.array([0.0, 5.0])) == 0.5


def test_example_of_share_errors() -> None:
    assert share_errors(np.array([0.5, 0.0]), 100.0).round(4).tolist() == [0.05, 0.007]


def test_example_of_standardised_differences() -> None:
    z = standardised_differences(np.array([0.5]), np.array([0.6]), 100.0)
    assert z.round(2).tolist() == [2.0]
