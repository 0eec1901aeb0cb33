"""Small calls of `propensity` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.statistics.propensity import (
    null_of_pmse,
    pmse,
    pmse_ratio,
    standardised_pmse,
)


def test_example_of_pmse() -> None:
    assert pmse(np.array([0.0, 1.0]), np.ones(2), 0.5) == 0.25


def test_example_of_null_of_pmse() -> None:
    expected, deviation = null_of_pmse(5, 0.5, 1 / 100)
    assert (expected, round(deviation, 6)) == (0.0025, 0.001768)


def test_example_of_pmse_ratio() -> None:
    assert repr((pmse_ratio(0.005, 0.0025), pmse_ratio(0.005, 0.0))) == "(2.0, nan)"


def test_example_of_standardised_pmse() -> None:
    assert standardised_pmse(0.005, 0.0025, 0.0005) == 5.0
