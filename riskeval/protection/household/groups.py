"""Groups of records that must come from several households."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from synthpop.microdata.frame.codes import first_rows
from synthpop.microdata.messages.message import message


def households_of(groups: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the groups and how many households each has (-1 is not a group)."""
    rows = groups >= 0
    pairs = np.unique(np.column_stack([groups[rows], members[rows]]), axis=0)
    numbers, counts = np.unique(pairs[:, 0], return_counts=True)
    return numbers, counts


def household_note(groups: np.ndarray, members: np.ndarray, k: int) -> str:
    """Say how many households have members in every group; groups of shape (n, p)."""
    least = min(
        int(households_of(column, members)[1].min(initial=len(column))) for column in groups.T
    )
    return message(
        "Every group has members of at least {least} households (k = {k}).", least=least, k=k
    )


def with_households(
    values: np.ndarray, groups: np.ndarray, members: np.ndarray, strata: np.ndarray, k: int
) -> np.ndarray:
    """Join groups until each has members of at least k households; -1 is not a group."""

    def too_few(of_record: np.ndarray) -> np.ndarray:
        numbers, counts = households_of(of_record, members)
        return np.isin(of_record, numbers[counts < k])

    return joined_until(values, groups, strata, too_few)


def joined_until(
    values: np.ndarray,
    groups: np.ndarray,
    strata: np.ndarray,
    fails: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Join groups until no record fails by its group; -1 is not a group.

    A group that fails joins the one with the nearest mean (standardised values) in its stratum, at
    last all of a stratum are one group.
    """
    if not len(values):
        return groups.copy()
    spread = np.array([np.std(x[~np.isnan(x)]) if not np.isnan(x).all() else 0 for x in values.T])
    scaled = np.nan_to_num(values / np.where(spread > 0, spread, 1.0))
    groups = groups.copy()
    rows = groups >= 0
    while True:
        # 1. groups that fail
        numbers, position = np.unique(groups[rows], return_inverse=True)
        sizes = np.bincount(position, minlength=len(numbers))
        means = np.column_stack(
            [np.bincount(position, x[rows], len(numbers)) / sizes for x in scaled.T]
        )
        home = np.zeros(len(numbers), dtype=np.int64)
        home[position] = strata[rows]
        failing = np.zeros(len(numbers), dtype=bool)
        failing[position[fails(groups)[rows]]] = True
        # 2. each points to the nearest other group of its stratum; chains are joined
        target = np.arange(len(numbers))
        for stratum in np.unique(home[failing]):
            in_stratum = np.flatnonzero(home == stratum)
            small = in_stratum[failing[in_stratum]]
            if len(in_stratum) > 1:
                target[small] = in_stratum[
                    _nearest(means[in_stratum], np.searchsorted(in_stratum, small))
                ]
        if (target == np.arange(len(numbers))).all():
            groups[rows] = position  # numbered without gaps
            return groups
        groups[rows] = numbers[_ends(target)[position]]


def _nearest(points: np.ndarray, which: np.ndarray) -> np.ndarray:
    from scipy.spatial import cKDTree

    near = cKDTree(points).query(points[which], k=2)[1]
    return np.where(near[:, 0] == which, near[:, 1], near[:, 0])


def _ends(target: np.ndarray) -> np.ndarray:
    """One number for all groups that point to each other."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(target)
    graph = coo_matrix((np.ones(n), (np.arange(n), target)), shape=(n, n))
    labels = connected_components(graph, directed=False)[1]
    return first_rows(labels, int(labels.max()) + 1)[labels]
