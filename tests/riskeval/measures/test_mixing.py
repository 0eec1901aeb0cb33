"""Match risks of cells with a factor, against sums over the distribution of the rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from riskeval.measures.loglinear.mixing import (
    LARGEST_COUNT,
    estimated_dispersion,
    log_transform,
    match_risks,
    unique_probabilities,
)

K = np.arange(5000)


def one(distribution: str, dispersion: float, f: float, mean: float, pi: float) -> float:
    found = match_risks(distribution, dispersion, *(np.array([x]) for x in (f, mean, pi)))
    return float(found[0])


def rest(dispersion: float, f: int, mean: float, pi: float):
    """Law of the persons outside of the sample: with a gamma factor negative binomial."""
    if dispersion == 0:
        return poisson((1 - pi) * mean)
    rate = 1 / dispersion + pi * mean
    return nbinom(1 / dispersion + f, rate / (rate + (1 - pi) * mean))


@pytest.mark.parametrize("dispersion", [0.0, 0.3, 4.0])
@pytest.mark.parametrize("f", [1, 2, 7, 40])
@pytest.mark.parametrize(("mean", "pi"), [(0.5, 0.1), (20.0, 0.02), (20.0, 0.5), (3.0, 1.0)])
def test_the_mean_of_one_over_the_count(dispersion: float, f: int, mean: float, pi: float) -> None:
    distribution = "negative-binomial" if dispersion else "poisson"
    law = rest(dispersion, f, mean, pi)
    expected = float((law.pmf(K) / (f + K)).sum())
    assert one(distribution, dispersion, f, mean, pi) == pytest.approx(expected, rel=1e-6)
    if f == 1:
        alone = unique_probabilities(distribution, dispersion, np.array([mean]), np.array([pi]))
        assert alone[0] == pytest.approx(law.pmf(0), rel=1e-9)


def test_cells_of_more_than_four_hundred_records() -> None:
    """One over the mean of the count, with a factor of mean one."""
    assert LARGEST_COUNT == 400
    law = rest(0.0, 400, 1000.0, 0.4)
    expected = float((law.pmf(K) / (400 + K)).sum())
    assert one("poisson", 0.0, 400.0, 1000.0, 0.4) == pytest.approx(expected, rel=1e-8)
    assert one("poisson", 0.0, 401.0, 1000.0, 0.4) == 1 / (401 + 600)
    assert one("negative-binomial", 2.0, 500.0, 100.0, 0.5) == 1 / 550
    both = match_risks("poisson", 0.0, np.array([401.0, 1.0]), np.array([10.0, 10.0]),
                       np.array([1.0, 1.0]))  # fmt: skip
    np.testing.assert_allclose(both, [1 / 401, 1.0])


@pytest.mark.parametrize("dispersion", [0.2, 3.0])
def test_derivatives_of_the_inverse_gaussian_transform(dispersion: float) -> None:
    """L(s) = exp((1 - r) / a), r the root of 1 + 2 a s, with -L' = L / r."""
    s = np.array([0.0, 0.4, 5.0])
    root = np.sqrt(1 + 2 * dispersion * s)
    transform = np.exp((1 - root) / dispersion)
    second = transform * (1 / root**2 + dispersion / root**3)
    for f, expected in ((0, transform), (1, transform / root), (2, second)):
        found = log_transform("poisson-inverse-gaussian", dispersion, np.full(3, float(f)), s)
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-10)


def test_the_dispersion_has_the_greatest_likelihood() -> None:
    """Of truncated negative binomial counts with means 2 and 5."""
    f, mean = np.array([1.0, 1, 2, 3, 9, 1, 4, 6, 14, 2]), np.repeat([2.0, 5.0], 5)

    def likelihood(a: float) -> float:
        law = nbinom(1 / a, 1 / (1 + a * mean))
        return float((law.logpmf(f) - np.log(1 - law.pmf(0))).sum())

    found = estimated_dispersion("negative-binomial", f, mean)
    assert likelihood(found) > max(likelihood(found * 0.99), likelihood(found * 1.01))
