"""Location and covariance of the numeric part of a file, classical and robust."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

MOST_POINTS = 6_000
CUT = 0.975
SINGULAR = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Location, shape (p,), and covariance, shape (p, p); `fallback` says why not robust."""

    center: np.ndarray
    covariance: np.ndarray
    fallback: str = ""


def classical(values: np.ndarray, weights: np.ndarray | None, fallback: str = "") -> Scatter:
    """Weighted mean and covariance of complete rows (divisor sum of weights).

    Examples
    --------
    >>> classical(np.array([[0.0], [3.0]]), np.array([2.0, 1.0])).covariance.tolist()
    [[2.0]]
    """
    w = np.ones(len(values)) if weights is None else weights
    center = w @ values / w.sum()
    centred = values - center
    return Scatter(center, (centred * w[:, None]).T @ centred / w.sum(), fallback)


def correlations(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weighted correlation matrix of complete rows; NaN for a variable without spread."""
    covariance = classical(values, weights).covariance
    deviations = np.sqrt(np.diag(covariance))
    scale = np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    deviations = np.where(deviations > 1e-12 * scale, deviations, np.nan)
    matrix = covariance / np.outer(deviations, deviations)
    np.fill_diagonal(matrix, np.where(np.isnan(deviations), np.nan, 1.0))
    return np.asarray(matrix)


def robust(values: np.ndarray, rng: np.random.Generator) -> Scatter:
    """Minimum covariance determinant of complete rows, reweighted (scikit-learn).

    At most 6,000 rows, drawn at random, are searched; all rows inside the 0.975 quantile of the
    result enter the final estimate, which is made consistent at the normal distribution. Where
    there are too few rows, or half of them lie in a plane (a variable that is mostly zero), the
    classical estimate stands in and `fallback` says so.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> values = np.r_[rng.normal(size=(300, 2)), rng.normal(50, 1, size=(30, 2))]
    >>> bool(np.abs(robust(values, rng).center).max() < 0.3)
    True
    """
    from scipy.stats import chi2

    n, p = values.shape
    if n <= max(2 * p, 10):
        return classical(values, None, f"{n} complete records are too few for {p} variables")
    spread = np.median(np.abs(values - np.median(values, axis=0)), axis=0)
    if not (spread > 0).all():
        return classical(values, None, "half of the records or more have the same value")
    searched = values[rng.choice(n, MOST_POINTS, replace=False)] if n > MOST_POINTS else values
    # searched in units of the spread: variables of very different size stay well conditioned
    found = _search(searched / spread, int(rng.integers(2**31 - 1)))
    if found is None:
        return classical(values, None, "half of the records or more lie in a plane")
    start = Scatter(found.center * spread, found.covariance * np.outer(spread, spread))
    inside = squared_distances(values, start) <= chi2.ppf(CUT, p)
    final = classical(values[inside], None)
    share = float(inside.mean())
    factor = 1.0 if share >= 1 else share / chi2.cdf(chi2.ppf(share, p), p + 2)
    return Scatter(final.center, final.covariance * factor)


def _search(values: np.ndarray, seed: int) -> Scatter | None:
    from sklearn.covariance import MinCovDet

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = MinCovDet(random_state=seed).fit(values)
        except (ValueError, np.linalg.LinAlgError):
            return None
    eigenvalues = np.linalg.eigvalsh(found.covariance_)
    if not np.isfinite(eigenvalues).all() or eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        return None
    return Scatter(found.location_, found.covariance_)


def squared_distances(values: np.ndarray, scatter: Scatter) -> np.ndarray:
    """Squared Mahalanobis distances, shape (n,); a singular covariance is pseudo-inverted."""
    centred = values - scatter.center
    inverse = np.linalg.pinv(scatter.covariance, hermitian=True)
    return np.asarray(np.maximum(((centred @ inverse) * centred).sum(axis=1), 0.0))
