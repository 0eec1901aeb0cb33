"""Location and covariance, classical or robust, for the methods that work with distances."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

COVARIANCES = ("classical", "robust")
MOST_POINTS = 2_000
CUT = 0.975
SINGULAR = 1e-10
MANY = (
    "That is more than a quarter of them: a variable with many equal values, for instance zeros, "
    "can cause this."
)


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Location and covariance of a cloud of points.

    Attributes
    ----------
    centre : float64, shape (p,)
    covariance : float64, shape (p, p)
    note : str
        Empty, or why the classical estimates stand in for the robust ones.
    """

    centre: np.ndarray
    covariance: np.ndarray
    note: str = ""


def scatter(values: np.ndarray, kind: str, rng: np.random.Generator) -> Scatter:
    """Return mean and covariance, or the reweighted MCD estimates, of complete rows.

    Parameters
    ----------
    values : float64, shape (n, p)
    kind : {"classical", "robust"}
    rng : Generator
        Starts of the robust search, and the 2,000 records among which it looks for the half with
        the smallest determinant when there are more; all records enter the final estimates.

    Returns
    -------
    Scatter
        The half with the smallest determinant gives raw estimates; all records within their 0.975
        quantile enter the final ones. Both are made consistent at the normal distribution by the
        share of records in them (Croux and Haesbroeck 1999). Classical, with a note, where there
        are too few records (n <= 2 p) or half of them lie in a plane (for instance more than half
        of a variable are zeros).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> values = np.r_[rng.normal(size=(900, 2)), rng.normal(50, 1, size=(100, 2))]
    >>> bool(np.abs(scatter(values, "robust", rng).centre).max() < 0.2)
    True
    """
    n, p = values.shape
    if kind == "classical":
        return _classical(values)
    if n <= 2 * p:
        return _classical(values, f"{n} complete records are too few for a robust covariance")
    found = _mcd(values, rng)
    if found is None:
        return _classical(values, "half of the records or more lie in a plane")
    return found


def _classical(values: np.ndarray, note: str = "") -> Scatter:
    p = values.shape[1]
    if len(values) < 2:
        centre = values.mean(axis=0) if len(values) else np.zeros(p)
        return Scatter(centre, np.zeros((p, p)), note)
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    return Scatter(values.mean(axis=0), covariance, note)


def _mcd(values: np.ndarray, rng: np.random.Generator) -> Scatter | None:
    from scipy.stats import chi2
    from sklearn.covariance import MinCovDet

    n, p = values.shape
    spread = values.std(axis=0)
    middle = np.median(values, axis=0)
    if not (spread > 0).all() or ((values == middle).mean(axis=0) >= 0.5).any():
        return None
    scaled = (values - middle) / spread
    searched = scaled[rng.choice(n, MOST_POINTS, replace=False)] if n > MOST_POINTS else scaled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # singular subsets: the result is checked below
        try:
            fitted = MinCovDet(random_state=int(rng.integers(2**31))).fit(searched)
        except ValueError:  # every half of the records is singular
            return None
    raw = _consistent(searched[fitted.raw_support_], len(searched))
    if np.linalg.eigvalsh(raw.covariance)[0] <= SINGULAR:
        return None
    inside = squared_distances(scaled, raw) <= chi2.ppf(CUT, p)
    final = _consistent(scaled[inside], n)
    return Scatter(middle + final.centre * spread, final.covariance * np.outer(spread, spread))


def _consistent(kept: np.ndarray, n: int) -> Scatter:
    """Mean and covariance of the innermost records of n, widened to be right for normal data."""
    from scipy.stats import chi2

    cloud, p, share = _classical(kept), kept.shape[1], len(kept) / n
    factor = share / chi2.cdf(chi2.ppf(share, p), p + 2) if share < 1 else 1.0
    return Scatter(cloud.centre, factor * cloud.covariance)


def whitened(values: np.ndarray, cloud: Scatter) -> np.ndarray:
    """Return coordinates whose Euclidean distances are Mahalanobis distances, shape (n, q).

    Directions without spread are dropped (q < p), so that a singular covariance does no harm.

    Examples
    --------
    >>> cloud = Scatter(np.zeros(2), np.diag([4.0, 1.0]))
    >>> np.abs(whitened(np.array([[2.0, 0.0]]), cloud)).sum().item()
    1.0
    """
    spread = np.sqrt(np.diag(cloud.covariance))
    scale = np.where(spread > 0, spread, 1.0)
    correlation = cloud.covariance / np.outer(scale, scale)
    sizes, directions = np.linalg.eigh(correlation)
    kept = sizes > SINGULAR * max(sizes.max(initial=0.0), SINGULAR)
    turned: np.ndarray = ((values - cloud.centre) / scale) @ directions[:, kept]
    return turned / np.sqrt(sizes[kept])


def squared_distances(values: np.ndarray, cloud: Scatter) -> np.ndarray:
    """Return squared Mahalanobis distances, shape (n,)."""
    return np.square(whitened(values, cloud)).sum(axis=1)


def root(covariance: np.ndarray) -> np.ndarray:
    """Return a matrix R with R' R = covariance, shape (p, p), for singular ones too."""
    sizes, directions = np.linalg.eigh(covariance)
    return np.sqrt(np.maximum(sizes, 0.0))[:, None] * directions.T
