"""Loops of our own give what statsmodels and scikit-learn give (see docs/design.md)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from benchmarks.own_and_libraries import jobs


@pytest.fixture(scope="module")
def small_jobs():
    return jobs(3_000)


@pytest.mark.slow
@pytest.mark.parametrize("position", range(10))
def test_results_are_those_of_the_library(position: int, small_jobs) -> None:
    name, own, library, other = small_jobs[position]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, reference = np.ravel(own()), np.ravel(other())
    tolerance = 1e-3 if library == "scikit-learn" else 1e-8
    assert len(small_jobs) == 10
    np.testing.assert_allclose(result, reference, rtol=tolerance, atol=tolerance, err_msg=name)
