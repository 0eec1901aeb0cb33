"""Propensity scores as a measure of utility: the pMSE and its two readings beside chance.

The words are those of Snoke, Raab, Nowok, Dibben and Slavkovic (2018), doi:10.1111/rssa.12358:
the *pMSE ratio* is the error over its expectation when nothing but chance tells the files apart,
the *standardised pMSE* is its distance from that expectation in standard deviations.
"""

from __future__ import annotations

import numpy as np


def pmse(scores: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Weighted mean of (p - c)^2 over the records of both files.

    scores: p, estimated probability to be of the release
    share: c, the weight of the release among both files
    """
    return float(np.average((scores - share) ** 2, weights=weights))


def null_of_pmse(coefficients: int, share: float, part: float) -> tuple[float, float]:
    """Expectation and standard deviation of the pMSE when only chance tells the files apart.

    coefficients: parameters of the logistic model with the intercept
    share: the weight of the release among both files
    part: 1 / m for m records drawn from the right model ("synthesis"), 1 / n + 1 / m for two
        independent samples; effective numbers where there are weights
    """
    free = max(coefficients - 1, 0)
    unit = (share * (1 - share)) ** 2 * part
    return free * unit, float(np.sqrt(2 * free)) * unit


def pmse_ratio(error: float, expected: float) -> float:
    """Error over its expectation; about 1 where nothing but chance tells the files apart."""
    return error / expected if expected > 0 else float("nan")


def standardised_pmse(error: float, expected: float, deviation: float) -> float:
    """Distance of the error from its expectation in standard deviations."""
    return (error - expected) / deviation if deviation > 0 else float("nan")
