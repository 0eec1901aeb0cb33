"""The threshold with the least asymptotic mean squared error of Hill's estimator."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.amse import amse_threshold, least_error_k
from synthpop.microdata.statistics.tails import fit_pareto
from tests.reference_data import survey_data


def burr(rng: np.random.Generator, n: int, shape: float, rho: float) -> np.ndarray:
    return (rng.random(n) ** rho - 1) ** (-1 / (shape * rho))


def test_published_number_of_values() -> None:
    # Danish fire losses (n = 2,167) in the documentation of R's tea, dAMSE: k0 = 546
    assert int(least_error_k(2167, -1.268783, 0.349962)) == 546


def test_the_formula_has_the_least_error() -> None:
    n, rho, beta = 4000, -0.7, 0.6
    k = np.arange(2, n, dtype=float)
    error = 1 / k + (beta / (1 - rho)) ** 2 * (n / k) ** (2 * rho)
    assert k[np.argmin(error)] == pytest.approx(least_error_k(n, rho, beta), abs=1)


@pytest.mark.parametrize(("rho", "shape"), [(-1.0, 2.0), (-2.0, 10 / 3)])
def test_parameters_of_known_tails(rho: float, shape: float) -> None:
    rng = np.random.default_rng(1)
    tails = [amse_threshold(burr(rng, 5000, shape, rho)) for _ in range(10)]
    assert np.mean([t.rho for t in tails]) == pytest.approx(rho, rel=0.25)
    assert np.mean([t.beta for t in tails]) == pytest.approx(1, rel=0.15)
    assert np.mean([t.shape for t in tails]) == pytest.approx(shape, rel=0.05)


def test_nearer_to_the_truth_than_fixed_shares() -> None:
    rng = np.random.default_rng(2)
    errors = {"amse": 0.0, "1 %": 0.0, "40 %": 0.0}
    for _ in range(20):
        x = burr(rng, 3000, 2.0, -1.0)
        errors["amse"] += (1 / amse_threshold(x).shape - 0.5) ** 2
        errors["1 %"] += (1 / fit_pareto(x, k=30, method="hill").shape - 0.5) ** 2
        errors["40 %"] += (1 / fit_pareto(x, k=1200, method="hill").shape - 0.5) ** 2
    assert errors["amse"] < 0.5 * min(errors["1 %"], errors["40 %"])


def test_scale_order_and_missing_values_change_nothing() -> None:
    rng = np.random.default_rng(3)
    x = burr(rng, 800, 2.0, -1.0)
    tail = amse_threshold(x)
    other = amse_threshold(np.concatenate([100 * x[::-1], [np.nan, 0.0, -7.0]]))
    assert (other.k, other.n) == (tail.k, tail.n)
    assert other.threshold == pytest.approx(100 * tail.threshold)
    assert other.shape == pytest.approx(tail.shape)
    assert fit_pareto(x, threshold=tail.threshold, method="hill").shape == pytest.approx(tail.shape)
    assert f"{tail.k} largest of 800" in tail.summary()


def test_too_few_or_equal_values() -> None:
    with pytest.raises(InputError, match="Give 50 or more"):
        amse_threshold(np.arange(40.0))
    with pytest.raises(InputError, match="no upper tail"):
        amse_threshold(np.full(100, 3.0))


def test_incomes_of_a_survey() -> None:
    incomes = survey_data("laeken_eusilc").drop_duplicates("db030")["eqIncome"]
    tail = amse_threshold(incomes)
    assert 30_000 < tail.threshold < 48_459  # below van Kerm's
    assert 3 < tail.shape < 5
