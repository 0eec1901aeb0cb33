"""Location and covariance of complete rows, classical and robust."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.messages.message import message

COVARIANCES = ("classical", "robust")
MOST_POINTS = 5_000  # rows among which the half with the smallest determinant is searched
FEW_POINTS, SEARCHES = 500, 5  # so few rows are searched five times: one search may end too early
CUT = 0.975
SINGULAR = 1e-10
IN_A_PLANE = message("half of the records or more lie in a plane")


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Location and covariance of a cloud of points."""

    center: np.ndarray  # float64, shape (p,)
    covariance: np.ndarray  # float64, shape (p, p)
    # empty, or why the classical mean and covariance stand in for the robust ones
    fallback: str = ""


def scatter(values: np.ndarray, kind: str) -> Scatter:
    """Return mean and covariance of complete rows, or their robust estimates."""
    return robust(values) if kind == "robust" else classical(values)


def classical(values: np.ndarray, weights: np.ndarray | None = None, fallback: str = "") -> Scatter:
    """Return mean and covariance of complete rows, shape (n, p); zeros where there are too few.

    The divisor is n - 1, or ``sum(w) (n - 1) / n`` with weights.
    """
    n, p = values.shape
    if n == 0:
        return Scatter(np.zeros(p), np.zeros((p, p)), fallback)
    if weights is None:
        center = values.mean(axis=0)
        covariance = np.cov(values, rowvar=False) if n > 1 else np.zeros((p, p))
        return Scatter(center, np.atleast_2d(covariance), fallback)
    center = weights @ values / weights.sum()
    centred = values - center
    divisor = weights.sum() * (n - 1) / n if n > 1 else 1.0
    return Scatter(center, (centred * weights[:, None]).T @ centred / divisor, fallback)


def robust(values: np.ndarray) -> Scatter:
    """Reweighted minimum covariance determinant (scikit-learn's FAST-MCD) of complete rows.

    The half of the rows (of 5,000 of them, where there are more) with the smallest determinant
    gives raw estimates; all rows within their 0.975 quantile of the chi-squared distribution give
    the final ones. Both are made consistent at the normal distribution by the share of rows in them
    (Croux and Haesbroeck 1999); there is no factor for small samples. Where there are too few rows
    (n <= 2 p) or half of them lie in a plane (half of a variable are zeros, say), the estimates are
    the classical ones and `fallback` says why.

    The result depends on nothing but the set of rows: they are sorted before the search, whose
    random starts are always the same. Source: Rousseeuw and Van Driessen (1999),
    doi:10.1080/00401706.1999.10485670.
    """
    from scipy.stats import chi2

    n, p = values.shape
    if n <= 2 * p:
        return classical(values, fallback=f"{n} complete records are too few for {p} variables")
    # 1. Rows in a fixed order and in units of their spread.
    values = values[np.lexsort(values.T[::-1])]
    spread, middle = values.std(axis=0), np.median(values, axis=0)
    if not (spread > 0).all() or ((values == middle).mean(axis=0) >= 0.5).any():
        return classical(values, fallback=IN_A_PLANE)
    scaled = (values - middle) / spread
    # 2. The half with the smallest determinant.
    rng = np.random.default_rng(0)
    searched = scaled
    if n > MOST_POINTS:
        searched = scaled[np.sort(rng.choice(n, MOST_POINTS, replace=False))]
    half = _smallest_half(searched)
    if half is None:
        return classical(values, fallback=IN_A_PLANE)
    raw = _consistent(searched[half], len(searched))
    if np.linalg.eigvalsh(raw.covariance)[0] <= SINGULAR:
        return classical(values, fallback=IN_A_PLANE)
    # 3. All rows near it.
    inside = squared_distances(scaled, raw) <= chi2.ppf(CUT, p)
    final = _consistent(scaled[inside], n)
    return Scatter(middle + final.center * spread, final.covariance * np.outer(spread, spread))


def _smallest_half(values: np.ndarray) -> np.ndarray | None:
    """Return which rows are in the half, or None where every half is singular."""
    from sklearn.covariance import MinCovDet

    best, smallest = None, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # singular subsets: the caller checks the result
        for start in range(SEARCHES if len(values) <= FEW_POINTS else 1):
            try:
                estimate = MinCovDet(random_state=start).fit(values)
            except (ValueError, np.linalg.LinAlgError):
                return None
            size = np.linalg.slogdet(estimate.raw_covariance_)[1]
            if best is None or size < smallest - 1e-9:
                best, smallest = estimate.raw_support_, size
    return best


def _consistent(inner: np.ndarray, n: int) -> Scatter:
    """Mean and covariance of the innermost rows of n, widened to be right for normal data."""
    from scipy.stats import chi2

    cloud, p, share = classical(inner), inner.shape[1], len(inner) / n
    factor = share / chi2.cdf(chi2.ppf(share, p), p + 2) if share < 1 else 1.0
    return Scatter(cloud.center, factor * cloud.covariance)


def whitened(values: np.ndarray, cloud: Scatter) -> np.ndarray:
    """Return coordinates whose Euclidean distances are Mahalanobis distances, shape (n, q).

    Directions without spread are dropped (q < p), so that a singular covariance does no harm.
    """
    spread = np.sqrt(np.diag(cloud.covariance))
    scale = np.where(spread > 0, spread, 1.0)
    sizes, directions = np.linalg.eigh(cloud.covariance / np.outer(scale, scale))
    regular = sizes > SINGULAR * max(sizes.max(initial=0.0), SINGULAR)
    turned: np.ndarray = ((values - cloud.center) / scale) @ directions[:, regular]
    return turned / np.sqrt(sizes[regular])


def squared_distances(values: np.ndarray, cloud: Scatter) -> np.ndarray:
    """Return squared Mahalanobis distances, shape (n,); directions without spread do not count."""
    return np.square(whitened(values, cloud)).sum(axis=1)


def root(covariance: np.ndarray) -> np.ndarray:
    """Return a matrix R with R' R = covariance, shape (p, p), for singular ones too."""
    sizes, directions = np.linalg.eigh(covariance)
    return np.sqrt(np.maximum(sizes, 0.0))[:, None] * directions.T


def correlations(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Weighted correlation matrix of complete rows; NaN for a variable without spread."""
    covariance = classical(values, weights).covariance
    deviations = np.sqrt(np.diag(covariance))
    scale = np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    deviations = np.where(deviations > 1e-12 * scale, deviations, np.nan)
    matrix = covariance / np.outer(deviations, deviations)
    np.fill_diagonal(matrix, np.where(np.isnan(deviations), np.nan, 1.0))
    return np.asarray(matrix)
