"""Weighted logistic regression on arrays, by Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_STEPS = 50
CHUNK = 100_000
LARGEST = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """A fitted logistic regression.

    Attributes
    ----------
    coefficients : float64, shape (k,)
    probabilities : float64, shape (n,)
    information : float64, shape (k, k)
        Sum of w p (1 - p) z z'.
    rank : int
        Number of columns that are not combinations of others.
    converged : bool
    """

    coefficients: np.ndarray
    probabilities: np.ndarray
    information: np.ndarray
    rank: int
    converged: bool


def fit_logistic(z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Logistic:
    """Fit by maximum likelihood; columns that depend on others and separation do no harm.

    Parameters
    ----------
    z : float64, shape (n, k)
        With a column of ones for the intercept.
    y : float64, shape (n,)
        0 or 1.
    weights : float64, shape (n,)

    Examples
    --------
    >>> z = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> fit = fit_logistic(z, np.array([0.0, 1.0, 1.0, 1.0]), np.array([3.0, 1.0, 1.0, 1.0]))
    >>> fit.probabilities.round(3).tolist()[:2]
    [0.25, 0.25]
    """
    k = z.shape[1]
    beta = np.zeros(k)
    rank = int(np.linalg.matrix_rank(_cross(z, weights), hermitian=True))
    loss, gradient, information = _evaluate(z, y, weights, beta)
    converged = False
    for _ in range(MOST_STEPS):
        step = np.linalg.lstsq(information, gradient, rcond=1e-12)[0]
        factor = 1.0
        while True:
            trial = beta + factor * step
            new = _evaluate(z, y, weights, trial)
            if new[0] <= loss + 1e-12 * abs(loss) or factor < 1e-4:
                break
            factor /= 2
        gain, beta = loss - new[0], trial
        loss, gradient, information = new
        if abs(gain) <= 1e-10 * (abs(loss) + 1e-3):
            converged = True
            break
    return Logistic(beta, _sigmoid(z @ beta), information, rank, converged)


def _sigmoid(score: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -LARGEST, LARGEST))))


def _cross(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = np.zeros((z.shape[1], z.shape[1]))
    for start in range(0, len(z), CHUNK):
        part = z[start : start + CHUNK]
        total += (part * weights[start : start + CHUNK, None]).T @ part
    return total


def _evaluate(
    z: np.ndarray, y: np.ndarray, weights: np.ndarray, beta: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Negative log likelihood, its downhill gradient, and the information."""
    score = np.clip(z @ beta, -LARGEST, LARGEST)
    p = _sigmoid(score)
    loss = float(weights @ (np.logaddexp(0.0, score) - y * score))
    return loss, z.T @ (weights * (y - p)), _cross(z, weights * p * (1 - p))
