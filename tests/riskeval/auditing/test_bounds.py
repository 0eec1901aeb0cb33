"""Bounds of epsilon against mechanisms whose epsilon is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom

from riskeval.auditing.bounds import bound_of_rates, guesses, lower_bound_of_epsilon, success_at


@pytest.mark.parametrize(("right", "n"), [(100, 100), (75, 100), (600, 1000), (9, 10)])
def test_a_bound_is_where_as_many_right_guesses_have_the_probability_that_is_left(
    right: int, n: int
) -> None:
    """The naive reading: the smallest epsilon that is not refuted at 5 %."""
    epsilon = lower_bound_of_epsilon(right, n, 0.95)
    share = np.exp(epsilon) / (1 + np.exp(epsilon))
    assert epsilon > 0
    assert binom.sf(right - 1, n, share) == pytest.approx(0.05)


def test_half_right_proves_nothing() -> None:
    assert lower_bound_of_epsilon(50, 100, 0.95) == 0.0
    assert bound_of_rates(10, 100, 10, 100, 0.95) == 0.0


def test_rates_are_bounded_by_two_limits() -> None:
    low, high = beta.ppf(0.025, 60, 41), beta.ppf(0.975, 3, 98)
    assert bound_of_rates(60, 100, 2, 100, 0.95) == pytest.approx(np.log(low / high))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_randomised_response_is_seldom_refuted(epsilon: float) -> None:
    """It is private with exactly this epsilon, and its best attack reads the answer."""
    rng = np.random.default_rng(1)
    bounds = []
    for _ in range(400):
        present = rng.random(300) < 0.5
        true = rng.random(300) < np.exp(epsilon) / (1 + np.exp(epsilon))
        scores = np.where(true, present, ~present) + 1e-3 * rng.random(300)
        bounds.append(lower_bound_of_epsilon(*guesses(scores, present, 1.0, rng), 0.95))
    refuted = np.mean(np.array(bounds) > epsilon)
    assert refuted <= 0.08
    assert np.median(bounds) >= 0.5 * epsilon


def test_guesses_are_made_on_the_most_extreme_scores() -> None:
    scores = np.arange(100.0)
    present = scores >= 95
    assert guesses(scores, present, 0.1, np.random.default_rng(0)) == (10, 10)
    assert guesses(scores, present, 1.0, np.random.default_rng(0)) == (55, 100)


def test_success_counts_no_more_false_alarms_than_allowed() -> None:
    present = np.arange(200) % 2 == 0
    scores = np.where(present, 2.0, 1.0)
    scores[1] = 3.0  # one of a hundred that were out
    assert success_at(scores, present, 0.01) == (100, 100, 1, 100)
    assert success_at(scores, present, 0.0) == (0, 100, 0, 100)
