"""Propensity scores: how well a logistic model tells the population from the weighted sample.

Main effects of categories only, so that all that a fit needs are crossed counts: no matrix of
persons by levels is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from synthpop.evaluation.factors import Factor, make_classes
from synthpop.evaluation.request import MOST_LEVELS, FitRequest
from synthpop.evaluation.source import every_kth
from synthpop.microdata.statistics.logistic import Categories, fit_logistic
from synthpop.microdata.statistics.propensity import null_of_pmse, pmse, pmse_ratio

LEAST_PERSONS = 100_000
RIDGE = 1e-4  # keeps levels that one side alone has from going to infinity


@dataclass(frozen=True, slots=True)
class Pmse:
    """Propensity mean squared error and what it is beside chance."""

    # weighted mean of (p - 1/2)^2; 0 where no person can be told apart, 1/4 where all can
    pmse: float
    coefficients: int
    # (k - 1) / (16 m): expected of m persons drawn independently from the sample's own weighted
    # distribution
    expected_simulation_error: float
    expected_sampling_error: float  # the same with the effective size of the sample in place of m
    # pMSE ratio of Snoke and others: what a subsample of the population as large as the sample
    # would have, over its expectation. About 1 is perfect.
    ratio: float
    n_persons: int  # m, persons of the population that were used
    converged: bool


def pmse_of_codes(
    sample: Sequence[np.ndarray],
    population: Sequence[np.ndarray],
    weights: np.ndarray,
    effective: float,
) -> Pmse:
    """Return the propensity mean squared error of a weighted sample and persons of a population.

    sample, population: codes of the same variables, shapes (n,) and (m,)

    Both sides count alike: sample weights have mean 1, every person of the population n / m. With
    c = 1/2 a fit is close to a linear one, so pMSE = d' S^-1 d / 16, d the difference of the means
    and S their covariance. Independent draws given the sample make it (k - 1) / (16 m) on average;
    for m = n that is (k - 1) (1/2)^3 / (2 n), the expectation of Snoke, Raab, Nowok, Dibben and
    Slavkovic (2018), doi:10.1111/rssa.12358, section 3.
    """
    n, m = len(weights), len(population[0]) if population else 0
    w = np.concatenate([weights * (n / weights.sum()), np.full(m, n / m)])
    member = np.repeat([0.0, 1.0], [n, m])
    codes = [np.concatenate(pair) for pair in zip(sample, population, strict=True)]
    fit = fit_logistic(Categories(codes, n + m), member, w, ridge=RIDGE)
    error = pmse(fit.probabilities, w, 0.5)
    of_population, _ = null_of_pmse(fit.rank, 0.5, 1 / m)
    of_sample, _ = null_of_pmse(fit.rank, 0.5, 1 / n)
    return Pmse(
        pmse=error,
        coefficients=fit.rank,
        expected_simulation_error=of_population,
        expected_sampling_error=null_of_pmse(fit.rank, 0.5, 1 / effective)[0],
        ratio=pmse_ratio(error + of_sample - of_population, of_sample),
        n_persons=m,
        converged=fit.converged,
    )


def propensity_table(request: FitRequest, n_population: int) -> pd.DataFrame:
    """Propensity distance of all variables of a comparison; no row where nothing can be compared.

    Columns: `variables` (their number), `n_population` (persons used), and those of `Pmse`.
    """
    factors = _factors(request)
    weights, n = request.survey.weights, request.survey.n_persons
    if not factors or not n_population:
        return pd.DataFrame(columns=COLUMNS)
    columns = list(dict.fromkeys(factor.name for factor in factors))
    share = min(1.0, max(n, LEAST_PERSONS) / n_population)
    population = every_kth(request.source, columns, share)
    drawn = [factor.code(population[factor.name]) for factor in factors]
    codes = [factor.code(request.frame[factor.name]) for factor in factors]
    result = pmse_of_codes(codes, drawn, weights, request.effective)
    row = {"variables": len(factors), "n_population": result.n_persons, **asdict(result)}
    return pd.DataFrame([row], columns=COLUMNS)


COLUMNS = ["variables", "coefficients", "n_population", "pmse",
           "expected_simulation_error", "expected_sampling_error", "ratio",
           "converged"]  # fmt: skip


def _factors(request: FitRequest) -> list[Factor]:
    """Factors with few levels, and numbers in classes unless they are parts of a total."""
    weights = request.survey.weights
    classes = [make_classes(request.frame[name], weights) for name in request.main_numbers]
    return [*request.categories(MOST_LEVELS).values(), *classes]
