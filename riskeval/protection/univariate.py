"""Grouping the values of one variable: neighbours in order, fixed size or optimal."""

from __future__ import annotations

import numpy as np


def consecutive(order: np.ndarray, k: int) -> np.ndarray:
    """Groups of k records in a given order, from 0; the last group takes the rest (k to 2 k - 1).

    Examples
    --------
    >>> consecutive(np.array([2, 0, 1, 3, 4]), 2).tolist()
    [0, 1, 0, 1, 1]
    """
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return groups


def ranked_groups(values: np.ndarray, k: int) -> np.ndarray:
    """Groups of k neighbours in ascending order, ties in file order (Defays and Anwar 1998).

    Examples
    --------
    >>> ranked_groups(np.array([5.0, 1.0, 4.0, 2.0]), 2).tolist()
    [1, 0, 1, 0]
    """
    return consecutive(np.argsort(values, kind="stable"), k)


def optimal_groups(values: np.ndarray, k: int) -> np.ndarray:
    """Groups of at least k values with the least sum of squared deviations from their means.

    Exact, in time n k and memory n: Hansen and Mukherjee (2003), A polynomial algorithm for optimal
    univariate microaggregation, doi:10.1109/TKDE.2003.1209020. An optimal grouping of sorted values
    has groups of neighbours with k to 2 k - 1 members.

    Examples
    --------
    >>> optimal_groups(np.array([1.0, 2.0, 3.0, 50.0, 51.0, 9.0]), 2).tolist()
    [0, 0, 1, 2, 2, 1]
    >>> optimal_groups(np.array([1.0, 2.0, 3.0, 50.0, 51.0]), 2).tolist()
    [0, 0, 0, 1, 1]
    """
    from riskeval.kernels.microaggregation import optimal_cuts

    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = optimal_cuts(values[order], k)
    return groups
