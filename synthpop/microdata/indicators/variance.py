"""Variance of a weighted total under a stratified, clustered sample."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults, SparseDataWarning
from synthpop.microdata.text import plural


def design_variance(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    strata: npt.ArrayLike | None = None,
    cluster: npt.ArrayLike | None = None,
) -> float:
    """Variance of the total sum(w z), from the spread of cluster totals within strata.

    Parameters
    ----------
    values : array, shape (n,)
        A variable, or the linearised variable of an indicator.
    weights : array, shape (n,), optional
    strata : array, shape (n,), optional
    cluster : array, shape (n,), optional
        First-stage units. Default: every row.

    Returns
    -------
    float

    Raises
    ------
    InputError
        Lengths differ, a stratum or cluster is missing, a cluster lies in two strata, or there
        are fewer than two clusters.

    Notes
    -----
    sum_h n_h / (n_h - 1) sum_i (u_hi - mean_h)^2 with cluster totals u_hi = sum w z: unbiased when
    clusters are drawn with replacement, a little too large otherwise. A stratum with one cluster
    is compared with the mean over all clusters, and a `SparseDataWarning` says so. Source: Särndal,
    Swensson and Wretman (1992), section 4.6.

    Examples
    --------
    >>> design_variance([1.0, 3.0, 10.0, 14.0], [2, 2, 1, 1], strata=["a", "a", "b", "b"])
    32.0
    """
    z = np.asarray(values, dtype=np.float64)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    return sampled_units(len(z), strata=strata, cluster=cluster).variance(z, w)


@dataclass(frozen=True)
class SampledUnits:
    """Which unit each row belongs to, and the stratum of each unit.

    Attributes
    ----------
    unit : int array, shape (n,), or None
        None where every row is a unit.
    stratum : int array, shape (units,)
    """

    unit: np.ndarray | None
    stratum: np.ndarray

    def variance(self, z: np.ndarray, w: np.ndarray | None) -> float:
        """Return the variance of sum(w z) (see `design_variance`)."""
        u: np.ndarray = z if w is None else z * w
        h = self.stratum
        if self.unit is not None:
            u = np.bincount(self.unit, weights=u, minlength=len(h)).astype(np.float64)
        count = np.bincount(h)
        level = np.asarray(np.bincount(h, weights=u) / np.maximum(count, 1), dtype=np.float64)
        single = count == 1
        level[single] = u.mean()
        factor = np.where(single, 1.0, count / np.maximum(count - 1, 1))
        return float(np.dot(factor[h], (u - level[h]) ** 2))


def sampled_units(
    n: int, *, strata: npt.ArrayLike | None, cluster: npt.ArrayLike | None
) -> SampledUnits:
    """Check and code strata and clusters of n rows (see `design_variance`)."""
    faults = Faults("variance")
    h = _codes(faults, strata, "strata", n)
    c = None if cluster is None else _codes(faults, cluster, "cluster", n)
    faults.raise_if_any()
    stratum = h
    if c is not None:
        stratum = np.zeros(int(c.max()) + 1 if n else 0, dtype=np.int64)
        stratum[c] = h
        if not np.array_equal(stratum[c], h):
            faults.add("cluster", "some lie in two strata", remedy="Clusters nest in strata.")
    if len(stratum) < 2:
        faults.add(
            "cluster", f"{plural(len(stratum), 'unit')}", remedy="A variance needs two at least."
        )
    faults.raise_if_any()
    single = int((np.bincount(stratum) == 1).sum())
    if single:
        warnings.warn(
            f"{plural(single, 'stratum has', 'strata have')} one sampled unit: compared with the "
            "overall mean",
            SparseDataWarning,
            stacklevel=3,
        )
    return SampledUnits(c, stratum)


def _codes(faults: Faults, values: npt.ArrayLike | None, name: str, n: int) -> np.ndarray:
    if values is None:
        return np.zeros(n, dtype=np.int64)
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    if len(series) != n:
        faults.add(
            name,
            f"{plural(len(series), 'entry', 'entries')} for {plural(n, 'row')}",
            remedy="Give one a row.",
        )
        return np.zeros(n, dtype=np.int64)
    codes = encode(series)[0].astype(np.int64)
    if (codes < 0).any():
        faults.add(name, "is missing", rows=np.flatnonzero(codes < 0), remedy="Fill it.")
    return np.unique(codes, return_inverse=True)[1].reshape(-1)
