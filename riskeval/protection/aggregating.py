"""What stands for the values of a group: mean, median, trimmed mean, the most frequent level."""

from __future__ import annotations

import numpy as np
import pandas as pd


def group_values(
    values: np.ndarray,
    groups: np.ndarray,
    *,
    aggregate: str = "mean",
    trim: float = 0.2,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """One value for each group 0 ... n_groups - 1, never outside its range; no missing values.

    `trim` is the share of a group that a trimmed mean drops at each end, rounded down.
    """
    order = np.lexsort((values, groups))
    ordered, where = values[order], groups[order]
    starts = np.flatnonzero(np.r_[True, where[1:] != where[:-1]])
    sizes = np.diff(np.r_[starts, len(values)])
    share = _share(aggregate, trim, np.arange(len(values)) - starts[where], sizes[where])
    if weights is not None:
        share = share * weights[order]
    lowest, highest = ordered[starts], ordered[starts + sizes - 1]
    shift = ordered - lowest[where]  # small numbers add up without loss
    sums = np.add.reduceat(share * shift, starts)
    means = lowest + sums / np.add.reduceat(share, starts)
    return np.clip(means, lowest, highest)


def _share(aggregate: str, trim: float, position: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Weight of the value at a place (from 0) among the ordered values of its group."""
    if aggregate == "mean":
        return np.ones(len(position))
    if aggregate == "median":
        return ((2 * position + 1 >= size - 1) & (2 * position <= size)).astype(np.float64)
    dropped = np.floor(trim * size + 1e-9)
    return ((position >= dropped) & (position < size - dropped)).astype(np.float64)


def group_levels(
    codes: np.ndarray, groups: np.ndarray, *, ordered: bool, rng: np.random.Generator
) -> np.ndarray:
    """Level of each group: lower median of ordered ones, else the most frequent (ties drawn)."""
    if ordered:
        order = np.lexsort((codes, groups))
        starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) != 0])
        sizes = np.diff(np.r_[starts, len(codes)])
        return codes[order][starts + (sizes - 1) // 2].astype(np.int64)
    n_levels = int(codes.max()) + 1
    cells, counts = np.unique(groups.astype(np.int64) * n_levels + codes, return_counts=True)
    order = np.lexsort((rng.random(len(cells)), counts, cells // n_levels))
    most_frequent = np.flatnonzero(np.r_[np.diff(cells[order] // n_levels) != 0, True])
    return cells[order][most_frequent] % n_levels


def squares_lost(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """SSE and SST of a standardised variable; a constant one counts nothing."""
    total = float(np.square(before - before.mean()).sum()) if len(before) else 0.0
    if total == 0:
        return 0.0, 0.0
    return float(np.square(before - after).sum()) / total, 1.0


def group_sizes(groups: np.ndarray) -> pd.Series:
    """Number of groups by their number of records."""
    sizes = [np.bincount(column[column >= 0]) for column in groups.T]
    counted = np.concatenate([size[size > 0] for size in sizes])
    return pd.Series(counted).value_counts().sort_index().rename("groups").rename_axis("size")
