"""One logistic fit, on matrices and on codes; the pMSE in the words of Snoke and others (2018)."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from synthpop.microdata.statistics.logistic import Categories, Matrix, fit_logistic
from synthpop.microdata.statistics.propensity import (
    null_of_pmse,
    pmse,
    pmse_ratio,
    standardised_pmse,
)


def cases(n: int = 400) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, 3, n), rng.integers(0, 2, n)]
    p = 1 / (1 + np.exp(-(codes[0] - 1 + codes[1])))
    return codes, (rng.random(n) < p).astype(float), rng.uniform(0.5, 2, n)


def test_both_designs_agree_with_statsmodels() -> None:
    codes, y, w = cases()
    dummies = [codes[0] == 1, codes[0] == 2, codes[1] == 1]
    z = np.column_stack([np.ones(len(y)), *dummies]).astype(float)
    reference = sm.GLM(y, z, family=sm.families.Binomial(), var_weights=w).fit(tol=1e-12)
    dense = fit_logistic(z, y, w)
    np.testing.assert_allclose(dense.coefficients, reference.params, atol=1e-8)
    np.testing.assert_allclose(
        np.linalg.inv(dense.information), reference.normalized_cov_params, rtol=1e-6
    )
    by_codes = fit_logistic(Categories(codes, len(y)), y, w)
    np.testing.assert_allclose(by_codes.probabilities, reference.fittedvalues, atol=1e-8)
    assert dense.rank == by_codes.rank == 4
    assert dense.converged
    assert by_codes.converged


def test_the_designs_do_the_same_sums() -> None:
    codes, _, w = cases(50)
    design = Categories(codes, 50)
    z = np.column_stack([np.ones(50), *(codes[0] == k for k in range(3)),
                         *(codes[1] == k for k in range(2))]).astype(float)  # fmt: skip
    dense, beta = Matrix(z), np.arange(6.0)
    np.testing.assert_allclose(design.scores(beta), dense.scores(beta))
    np.testing.assert_allclose(design.sums(w), dense.sums(w))
    np.testing.assert_allclose(design.crossed(w), dense.crossed(w))


def test_separation_and_dependence_do_no_harm() -> None:
    _, _, w = cases(60)
    x = np.linspace(-1, 1, 60)
    z = np.column_stack([np.ones(60), x, 2 * x, np.zeros(60)])
    fit = fit_logistic(z, (x > 0).astype(float), w)
    assert fit.rank == 2
    assert np.abs(fit.probabilities - (x > 0)).max() < 1e-3
    assert np.isfinite(fit.coefficients).all()
    strong = fit_logistic(z, (x > 0).astype(float), w, ridge=10.0)
    assert np.abs(strong.coefficients).max() < np.abs(fit.coefficients).max()


def test_rank_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(1)
    z = np.column_stack([np.ones(100), rng.normal(0, 1e6, 100), rng.normal(0, 1e-6, 100)])
    assert fit_logistic(z, (rng.random(100) < 0.5).astype(float), np.ones(100)).rank == 3


def test_the_two_readings_of_the_pmse() -> None:
    expected, deviation = null_of_pmse(coefficients=9, share=0.5, part=1 / 200)
    assert expected == pytest.approx(8 * 0.5**3 * 0.5 / (200))  # (k - 1) (1 - c)^2 c / N, N = 400
    assert deviation == pytest.approx(np.sqrt(16) * 0.5**3 / 400)
    assert pmse_ratio(3 * expected, expected) == pytest.approx(3)
    assert standardised_pmse(expected + 2 * deviation, expected, deviation) == pytest.approx(2)
    assert pmse(np.array([0.2, 0.4]), np.array([3.0, 1.0]), 0.2) == pytest.approx(0.01)


def test_example_of_categories() -> None:
    design = Categories([np.array([0, 1, 1])], 3)
    assert design.crossed(np.ones(3)).tolist() == [
        [3.0, 1.0, 2.0],
        [1.0, 1.0, 0.0],
        [2.0, 0.0, 2.0],
    ]


def test_example_of_fit_logistic() -> None:
    z = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    fit = fit_logistic(z, np.array([0.0, 1.0, 1.0, 1.0]), np.array([3.0, 1.0, 1.0, 1.0]))
    assert fit.probabilities.round(3).tolist()[:2] == [0.25, 0.25]
