"""Ratios of the distances at worked arguments, inside the bounds and at them."""

import numpy as np
import pytest

from synthpop.calibration.distances import Exponential, Linear, Logit
from synthpop.calibration.problem import constraint_matrix


@pytest.mark.parametrize(
    ("distance", "arguments", "ratios"),
    [
        (Linear(0.5, 2.0), [-1.0, 0.25, 3.0], [0.5, 1.25, 2.0]),
        (Exponential(), np.log([0.5, 3.0]), [0.5, 3.0]),
        (Logit(0.5, 2.0), [-1e3, 0.0, 1e3], [0.5, 1.0, 2.0]),
    ],
)
def test_ratios(distance, arguments, ratios):
    np.testing.assert_allclose(distance.ratio(np.asarray(arguments)), ratios, rtol=1e-12)


def test_a_household_counts_its_members():
    household = np.array([0, 0, 1])
    matrix = constraint_matrix(
        [household], [None], [False], 2, household_index=household, household_equal=True
    )
    assert matrix.toarray().tolist() == [[2.0, 0.0], [0.0, 1.0]]
