"""Distances between the distribution of a weighted sample and that of a population.

q is the share of the weighted sample, p the share of the population, N the number of persons.
"""

from __future__ import annotations

import numpy as np

KOLMOGOROV_MEAN = float(np.sqrt(np.pi / 2) * np.log(2))
NOTABLE_ERRORS, LARGE_ERRORS = 2.0, 4.0


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Total variation distance, 0.5 sum |p - q|: the share of persons in the wrong cell."""
    return float(0.5 * np.abs(p - q).sum())


def expected_total_variation(q: np.ndarray, n: float) -> float:
    """Total variation distance to expect of `n` independent draws from `q`.

    0.5 sum sqrt(2 q (1 - q) / (pi n)): each count is close to normal, whose mean absolute
    deviation is sqrt(2 / pi) standard deviations. Very small cells make it a little too large.
    """
    if n <= 0:
        return float("nan")
    spread = np.sqrt(np.clip(2 * q * (1 - q), 0, None) / (np.pi * n))
    return float(0.5 * spread.sum())


def expected_ks(n: float) -> float:
    """Kolmogorov-Smirnov distance to expect of `n` independent draws: 0.8687 / sqrt(n).

    The mean of the Kolmogorov distribution, sqrt(pi / 2) log 2, holds for a continuous variable;
    where many values are equal (zeros) the distance to expect is smaller.
    """
    return KOLMOGOROV_MEAN / float(np.sqrt(n)) if n > 0 else float("nan")


def ks_of_cells(p: np.ndarray, q: np.ndarray) -> float:
    """Largest difference of two distribution functions, from the counts in the same cells.

    p, q: arrays, shape (cells,); counts or weights in cells in the order of the values. Exact where
        one of the two changes at the cell limits only.
    """
    total_p, total_q = p.sum(), q.sum()
    if total_p <= 0 or total_q <= 0:
        return float("nan")
    return float(np.abs(np.cumsum(p) / total_p - np.cumsum(q) / total_q).max())


def known_ranges(columns: np.ndarray) -> np.ndarray:
    """Range of the known values of each column, shape (p,); 0 where there is none."""
    return np.array([np.ptp(x[~np.isnan(x)]) if (~np.isnan(x)).any() else 0.0 for x in columns.T])


def effective_size(weights: np.ndarray) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / np.square(weights).sum()) if len(weights) else 0.0


def gini(values: np.ndarray, weights: np.ndarray) -> float:
    """Gini coefficient of max(x, 0) of a weighted sample, a share; NaN where the total is zero."""
    from synthpop.microdata.statistics.indicators import formulas

    order = np.argsort(values)
    return formulas.gini(np.maximum(values[order], 0.0), weights[order]) / 100


def gini_of_cells(counts: np.ndarray, totals: np.ndarray) -> float:
    """Gini coefficient of max(x, 0) from numbers of persons and totals by cell, lowest first.

    No cell holds values of both signs. The Lorenz curve is exact at the cell limits and straight in
    between, so the result is a lower bound; with thousands of cells it is off by less than 1e-5.
    """
    positive = np.maximum(totals, 0.0)
    product = counts.sum() * positive.sum()
    if not product > 0:
        return float("nan")
    before = np.cumsum(counts) - counts
    return float(np.sum(positive * (2 * before + counts)) / product - 1)


def share_errors(shares: np.ndarray, effective: float) -> np.ndarray:
    """Return standard errors of shares in a sample of this effective size."""
    n = max(effective, 1.0)
    smoothed = (shares * n + 0.5) / (n + 1)
    return np.asarray(np.sqrt(smoothed * (1 - smoothed) / n))


def standardised_differences(
    sample: np.ndarray, population: np.ndarray, effective: float
) -> np.ndarray:
    """Return (p - q) / se of each cell, se that of a share of the sample."""
    return np.asarray((population - sample) / share_errors(sample, effective))
