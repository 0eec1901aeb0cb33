"""Partitions of records into groups of at least k similar ones, over several variables at once.

Each function takes complete values, shape (n, p) with n >= k, and returns the group of each
record, int64, shape (n,), from 0.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np

from riskeval.protection.numeric import standardised
from riskeval.protection.univariate import consecutive
from synthpop.microdata.statistics.distances import known_ranges
from synthpop.microdata.statistics.robust import Scatter, scatter, whitened


def mdav_groups(values: np.ndarray, k: int, *, block: int | None = None) -> np.ndarray:
    """MDAV with Euclidean distances between the values as they are.

    `block` cuts the records into boxes of at most so many first, by medians of the widest variable.
    """
    from riskeval.kernels.microaggregation import LEAF, LEAF_OF_MANY, MANY, halved, mdav

    leaf = LEAF_OF_MANY if values.shape[1] >= MANY else LEAF
    if block is None or len(values) <= block:
        return np.asarray(mdav(np.ascontiguousarray(values), k, leaf))
    order, bounds = halved(values, block)
    groups = np.empty(len(values), dtype=np.int64)
    before = 0
    for first, last in pairwise(bounds):
        rows = np.sort(order[first:last])
        groups[rows] = mdav(values[rows], k, leaf) + before
        before = int(groups[rows].max()) + 1
    return groups


def pca_groups(values: np.ndarray, k: int, kind: str) -> tuple[np.ndarray, str]:
    """Neighbours along the first principal component of the correlations; a note if not robust."""
    cloud = scatter(values, kind)
    return consecutive(np.argsort(first_component(values, cloud), kind="stable"), k), cloud.fallback


def first_component(values: np.ndarray, cloud: Scatter) -> np.ndarray:
    """Scores of the first principal component, shape (n,); its first loading is not negative."""
    spread = np.sqrt(np.diag(cloud.covariance))
    scale = np.where(spread > 0, spread, 1.0)
    _, directions = np.linalg.eigh(cloud.covariance / np.outer(scale, scale))
    loading = directions[:, -1] * (1.0 if directions[0, -1] >= 0 else -1.0)
    return ((values - cloud.center) / scale) @ loading


def mahalanobis_groups(
    values: np.ndarray, k: int, *, block: int | None = None
) -> tuple[np.ndarray, str]:
    """MDAV with robust Mahalanobis distances (Templ and Meindl 2008)."""
    cloud = scatter(values, "robust")
    return mdav_groups(whitened(values, cloud), k, block=block), cloud.fallback


def cluster_groups(
    values: np.ndarray, k: int, n_clusters: int, within: str, rng: np.random.Generator
) -> tuple[np.ndarray, str]:
    """Groups inside clusters of k-means, so that no group spans two of them.

    Records of clusters with fewer than k go to the nearest of the others; "influence" sorts a
    cluster by the variable that varies most in it.
    """
    z = standardised(values)
    labels = _clusters(z, k, n_clusters, rng)
    groups, notes, before = np.empty(len(z), dtype=np.int64), [], 0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        inside, note = z[rows], ""
        if within == "mdav":
            groups[rows] = mdav_groups(inside, k)
        elif within == "influence":
            axis = int(np.argmax(inside.var(axis=0)))
            groups[rows] = consecutive(np.argsort(inside[:, axis], kind="stable"), k)
        else:
            kind = "robust" if within == "robust-pca" else "classical"
            groups[rows], note = pca_groups(inside, k, kind)
        groups[rows] += before
        before = int(groups[rows].max()) + 1
        notes += [note] if note else []
    return groups, notes[0] if notes else ""


def _clusters(z: np.ndarray, k: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    from scipy.spatial import KDTree
    from sklearn.cluster import KMeans

    n_clusters = min(n_clusters, len(z) // k)
    if n_clusters < 2:
        return np.zeros(len(z), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer different records than clusters: fewer clusters
        model = KMeans(n_clusters, n_init=3, random_state=int(rng.integers(2**31))).fit(z)
    labels = model.labels_.astype(np.int64)
    large = np.flatnonzero(np.bincount(labels, minlength=n_clusters) >= k)
    if len(large) == 0:
        return np.zeros(len(z), dtype=np.int64)
    stray = ~np.isin(labels, large)
    if stray.any():
        labels[stray] = large[KDTree(model.cluster_centers_[large]).query(z[stray])[1]]
    return labels


def gower_groups(
    numeric: np.ndarray, special: np.ndarray, nominal: np.ndarray, k: int
) -> np.ndarray:
    """MDAV with Gower distances: numbers and ordered codes, and codes of levels.

    `special` is where a semi-continuous variable has its constant.
    """
    from riskeval.kernels.gower import mdav_gower

    codes = np.ascontiguousarray(nominal, dtype=np.int32)
    n_levels = codes.max(axis=0, initial=0).astype(np.int64) + 1
    numbers = np.ascontiguousarray(numeric / column_ranges(numeric, special))
    coded = np.where(special, np.inf, numbers)
    return np.asarray(mdav_gower(numbers, coded, codes, n_levels, k))


def column_ranges(numeric: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Range of each column, shape (p,), but for constants of `special`; 1 where it is 0."""
    span = known_ranges(np.where(special, np.nan, numeric))
    return np.where(span > 0, span, 1.0)
