"""Densities that one parameter moves, against integrals and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from synthpop.models.tilted import (
    LARGEST_RATE,
    mean_of_rate,
    ranks_and_shares,
    rate_of_mean,
    rate_of_ranks,
    tilted_uniforms,
)

RATES = (-40.0, -3.0, -0.5, -2e-3, -1e-4, 1e-4, 2e-3, 0.5, 3.0, 40.0)


def integral_mean(rate: float) -> float:
    mass = quad(lambda x: np.exp(-rate * x), 0, 1, epsabs=0)[0]
    return quad(lambda x: x * np.exp(-rate * x), 0, 1, epsabs=0)[0] / mass


@pytest.mark.parametrize("rate", RATES)
def test_the_mean_is_that_of_the_density(rate: float) -> None:
    assert float(mean_of_rate(np.array(rate))) == pytest.approx(integral_mean(rate), rel=1e-9)


def test_the_mean_of_no_rate_is_one_half() -> None:
    assert mean_of_rate(np.array([0.0, 0.0])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("rate", RATES)
def test_uniform_numbers_become_draws_of_the_density(rate: float) -> None:
    """The share below a draw is the uniform number: (1 - exp(-rate x)) / (1 - exp(-rate)) = u."""
    uniforms = np.array([0.001, 0.2, 0.5, 0.8, 0.999])
    drawn = tilted_uniforms(uniforms, rate)
    below = [quad(lambda x: np.exp(-rate * x), 0, x, epsabs=0)[0] for x in drawn]
    mass = quad(lambda x: np.exp(-rate * x), 0, 1, epsabs=0)[0]
    np.testing.assert_allclose(np.array(below) / mass, uniforms, rtol=1e-6)


def test_draws_keep_the_ends_and_each_has_its_rate() -> None:
    assert tilted_uniforms(np.array([0.0, 1.0]), -5.0).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(tilted_uniforms(np.array([0.0, 1.0]), 5.0), [0.0, 1.0], atol=1e-15)
    uniforms, rates = np.array([0.3, 0.3, 0.3]), np.array([0.0, 2.0, -2.0])
    each = [float(tilted_uniforms(uniforms[:1], rate)[0]) for rate in rates]
    assert tilted_uniforms(uniforms, rates).tolist() == each
    assert each[0] == 0.3
    assert each[1] < 0.3 < each[2]
    # without an overflow at immense rates; mirrored, since the density is
    low, high = tilted_uniforms(np.array([0.5]), 1e4), tilted_uniforms(np.array([0.5]), -600.0)
    assert float(low[0]) == pytest.approx(np.log(2) / 1e4)
    assert float(high[0]) == pytest.approx(1 - np.log(2) / 600)


def test_rates_and_means_are_inverse_up_to_the_largest_rate() -> None:
    rates = np.array([-99.0, -7.0, -0.01, 0.0, 0.01, 7.0, 99.0])
    np.testing.assert_allclose(rate_of_mean(mean_of_rate(rates)), rates, rtol=1e-7)
    ends = rate_of_mean(np.array([0.0, 1.0]))
    np.testing.assert_allclose(ends, [LARGEST_RATE, -LARGEST_RATE], rtol=1e-12)
    assert float(rate_of_mean(np.array(0.5))) == 0.0


def test_ranks_are_dense_near_one_and_their_shares_make_one() -> None:
    """Rank 1 - (1 - t)^3 at the 4000 midpoints t, with the share of its derivative."""
    ranks, shares = ranks_and_shares()
    t = np.array([0.5, 2000.5, 3999.5]) / 4000
    np.testing.assert_allclose(ranks[[0, 2000, 3999]], 1 - (1 - t) ** 3, rtol=1e-15)
    np.testing.assert_allclose(shares[[0, 2000, 3999]], 3 * (1 - t) ** 2 / 4000, rtol=1e-12)
    assert shares.sum() == pytest.approx(1.0, abs=1e-7)
    assert shares @ ranks == pytest.approx(0.5, abs=1e-7)


def test_the_rate_of_ranks_moves_two_values_to_a_mean() -> None:
    """Values 10 and 20 at ranks 1/4 and 3/4: the odds of the second are exp(-rate / 2).

    Means beyond both values get the largest rate.
    """
    values, ranks, shares = np.array([10.0, 20.0]), np.array([0.25, 0.75]), np.array([0.5, 0.5])
    means = np.array([[12.0, 15.0], [18.0, 9.0], [21.0, 15.0]])
    rates = rate_of_ranks(values, ranks, shares, means)
    expected = [[2 * np.log(4), 0.0], [-2 * np.log(4), LARGEST_RATE], [-LARGEST_RATE, 0.0]]
    np.testing.assert_allclose(rates, expected, atol=1e-9)
    one = rate_of_ranks(values, ranks, shares, 12.0)
    assert isinstance(one, float)
    assert one == pytest.approx(2 * np.log(4))
    # shares count: with three quarters of the second value, the odds are 3 exp(-rate / 2)
    rate = rate_of_ranks(values, ranks, np.array([1.0, 3.0]), 15.0)
    assert rate == pytest.approx(2 * np.log(3))
