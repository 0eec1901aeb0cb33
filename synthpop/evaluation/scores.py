"""Proper scores of predictive distributions: of classes, and of numbers that are told by draws.

A score is proper where nobody gains by announcing another distribution than the one believed in.
All scores here are losses: lower is better.
"""

from __future__ import annotations

import numpy as np


def log_scores(probabilities: np.ndarray, classes: np.ndarray, smallest: float) -> np.ndarray:
    """Return minus the log of the probability (n, R) of what happened (n,), cut at the smallest."""
    predicted = probabilities[np.arange(len(classes)), classes]
    return -np.log(np.maximum(predicted, smallest))


def brier_scores(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the squared distance from the distribution to what happened, shape (n,); 0 to 2."""
    predicted = probabilities[np.arange(len(classes)), classes]
    return np.sum(probabilities**2, axis=1) - 2 * predicted + 1


def crps_of_draws(draws: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Estimate the continuous ranked probability score from draws (M, n) and values (n,).

    ``E|X - y| - E|X - X'| / 2`` in the unit of the values, without bias for any number of draws
    from two on (the second mean runs over distinct pairs); NaN with fewer draws or no value.

    Gneiting and Raftery (2007), equation 21, doi:10.1198/016214506000001437; unbiased form: Ferro
    (2014), doi:10.1002/qj.2270.
    """
    ordered = np.sort(draws, axis=0)
    has_value = ~np.isnan(ordered)
    count = has_value.sum(axis=0).astype(np.float64)
    x = np.where(has_value, ordered, 0.0)
    rank = np.arange(1, len(draws) + 1)[:, None]
    pairs = np.sum((2 * rank - count - 1) * x, axis=0)
    apart = np.sum(np.where(has_value, np.abs(x - values), 0.0), axis=0)
    enough = count > 1
    m = np.where(enough, count, 2.0)
    scores: np.ndarray = np.where(enough, apart / m - pairs / (m * (m - 1)), np.nan)
    scores[np.isnan(values)] = np.nan
    return scores


def pinball_of_draws(draws: np.ndarray, values: np.ndarray, p: float) -> np.ndarray:
    """Return the pinball (quantile) score of the p-quantile of the draws, shape (n,).

    ``(p - 1[y < q]) (y - q)`` in the unit of the values; NaN as in `crps_of_draws`.
    """
    ordered = np.sort(draws, axis=0)
    count = (~np.isnan(ordered)).sum(axis=0)
    position = np.clip(np.ceil(p * count - 1e-9).astype(np.int64) - 1, 0, None)
    q = ordered[position, np.arange(len(values))]
    scores: np.ndarray = (p - (values < q)) * (values - q)
    scores[(count < 2) | np.isnan(values)] = np.nan
    return scores
