"""Robust location and covariance: FAST-MCD (Rousseeuw and Van Driessen 1999)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

STARTS = 500
KEPT = 10
GROUP = 300
MOST_GROUPS = 5
MOST_STEPS = 100
MOST_POINTS = 50_000
CUT = 0.975
SINGULAR = 1e-12
RIDGE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Location and covariance of a cloud of points.

    Attributes
    ----------
    center : float64, shape (p,)
    covariance : float64, shape (p, p)
    fallback : str
        Empty, or why the classical mean and covariance stand in for the robust ones.
    """

    center: np.ndarray
    covariance: np.ndarray
    fallback: str = ""


def classical(values: np.ndarray, fallback: str = "") -> Scatter:
    """Return mean and covariance (n - 1) of rows, shape (n, p)."""
    covariance = np.atleast_2d(np.cov(values, rowvar=False)) if len(values) > 1 else np.zeros(
        (values.shape[1], values.shape[1])
    )  # fmt: skip
    return Scatter(values.mean(axis=0), covariance, fallback)


def squared_distances(values: np.ndarray, scatter: Scatter) -> np.ndarray:
    """Return squared Mahalanobis distances, shape (n,); a singular covariance is pseudo-inverted.

    Examples
    --------
    >>> scatter = Scatter(np.zeros(2), np.diag([4.0, 1.0]))
    >>> squared_distances(np.array([[2.0, 0.0], [0.0, 2.0]]), scatter).tolist()
    [1.0, 4.0]
    """
    centred = values - scatter.center
    inverse = np.linalg.pinv(scatter.covariance, hermitian=True)
    distances: np.ndarray = np.maximum(((centred @ inverse) * centred).sum(axis=1), 0.0)
    return distances


def mcd(values: np.ndarray, rng: np.random.Generator) -> Scatter:
    """Minimum covariance determinant, reweighted.

    The half of the points (h = (n + p + 1) // 2) with the smallest determinant is searched from
    500 random starts, in groups of 300 points when there are more than 600, and among 50,000
    points drawn at random when there are more. Its covariance is made consistent at the normal
    distribution, and all points within its 0.975 quantile enter the final mean and covariance,
    made consistent again (Croux and Haesbroeck 1999). No small-sample factor.

    Parameters
    ----------
    values : float64, shape (n, p)
        Complete rows.
    rng : Generator
        Draws groups and starts.

    Returns
    -------
    Scatter
        Classical, with the reason in `fallback`, where there are too few points (n <= 2 p) or half
        of them lie in a plane (for instance more than half of a variable are zeros).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> values = np.r_[rng.normal(size=(900, 2)), rng.normal(50, 1, size=(100, 2))]
    >>> scatter = mcd(values, rng)
    >>> bool(np.abs(scatter.center).max() < 0.1), bool(np.trace(scatter.covariance) < 4)
    (True, True)
    """
    from scipy.stats import chi2

    n, p = values.shape
    if n <= 2 * p:
        return classical(values, f"{n} complete records are too few for {p} variables")
    searched = values[rng.choice(n, MOST_POINTS, replace=False)] if n > MOST_POINTS else values
    found = _search(searched, rng)
    if found is None:
        return classical(values, "half of the records or more lie in a plane")
    share = half(len(searched), p) / len(searched)
    raw = Scatter(found.center, found.covariance * _consistency(share, p))
    inside = squared_distances(values, raw) <= chi2.ppf(CUT, p)
    final = classical(values[inside])
    return Scatter(final.center, final.covariance * _consistency(inside.mean(), p))


def half(n: int, p: int) -> int:
    """Return the size of the smallest majority that the search covers."""
    return (n + p + 1) // 2


def _consistency(share: float, p: int) -> float:
    from scipy.stats import chi2

    return 1.0 if share >= 1 else float(share / chi2.cdf(chi2.ppf(share, p), p + 2))


def _search(values: np.ndarray, rng: np.random.Generator) -> Scatter | None:
    n = len(values)
    n_groups = min(n // GROUP, MOST_GROUPS) if n > 2 * GROUP else 1
    drawn = rng.permutation(n)[: n_groups * GROUP] if n_groups > 1 else np.arange(n)
    kept: list[Scatter] = []
    for group in np.array_split(drawn, n_groups):
        points = values[group]
        starts = (_start(points, rng) for _ in range(STARTS // n_groups))
        kept += _best(points, starts, steps=2)
    if n_groups > 1:
        kept = _best(values[drawn], kept, steps=2)
    best = _best(values, kept, steps=MOST_STEPS)[0]
    return best if np.isfinite(_log_determinant(best, values.var(axis=0))) else None


def _start(points: np.ndarray, rng: np.random.Generator) -> Scatter:
    p = points.shape[1]
    return classical(points[rng.choice(len(points), p + 1, replace=False)])


def _best(points: np.ndarray, starts: Iterable[Scatter], steps: int) -> list[Scatter]:
    """Concentrate each start and keep the ten with the smallest determinants."""
    spread = points.var(axis=0)
    ended: list[tuple[float, int, Scatter]] = []
    for number, start in enumerate(starts):
        scatter, size = start, np.inf
        for _ in range(steps):
            scatter, previous = _concentrate(points, scatter), size
            size = _log_determinant(scatter, spread)
            if not size < previous - 1e-12:
                break
        ended.append((size, number, scatter))
    ended.sort(key=lambda item: item[:2])
    return [scatter for _, _, scatter in ended[:KEPT]]


def _concentrate(points: np.ndarray, scatter: Scatter) -> Scatter:
    """Mean and covariance of the h points nearest to a centre; off a plane is far away from it."""
    h = half(*points.shape)
    ridge = RIDGE * np.diag(points.var(axis=0))
    distances = squared_distances(points, Scatter(scatter.center, scatter.covariance + ridge))
    return classical(points[np.argpartition(distances, h - 1)[:h]])


def _log_determinant(scatter: Scatter, spread: np.ndarray) -> float:
    """Log determinant in units of `spread`, the variances of all; -inf for points in a plane."""
    if not (spread > 0).all():
        return -np.inf
    scale = np.sqrt(spread)
    eigenvalues = np.linalg.eigvalsh(scatter.covariance / np.outer(scale, scale))
    return -np.inf if eigenvalues[0] <= SINGULAR else float(np.log(eigenvalues).sum())
