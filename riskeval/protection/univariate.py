"""Grouping the values of one variable: neighbours in order, fixed size or optimal."""

from __future__ import annotations

import numpy as np


def consecutive(order: np.ndarray, k: int) -> np.ndarray:
    """Groups of k records in this order, from 0; the last one has the rest, k to 2 k - 1."""
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return groups


def ranked_groups(values: np.ndarray, k: int) -> np.ndarray:
    """Groups of k neighbours in ascending order, ties in file order (Defays and Anwar 1998)."""
    return consecutive(np.argsort(values, kind="stable"), k)


def optimal_groups(values: np.ndarray, k: int) -> np.ndarray:
    """Groups of at least k values with the least sum of squared deviations from their means.

    Exact, in time n k and memory n (Hansen and Mukherjee 2003, doi:10.1109/TKDE.2003.1209020): the
    groups are neighbours in order, with k to 2 k - 1 members.
    """
    from riskeval.kernels.microaggregation import optimal_cuts

    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = optimal_cuts(values[order], k)
    return groups
