"""Suppression where a missing value is a category of its own: rare records must meet each other.

A suppressed record then matches only records that miss the same keys, so whole groups move
together into the pattern without these keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from synthpop.microdata.frame.codes import cell_ids, first_rows

MOST_SETS = 256


def merge_rare(
    codes: np.ndarray, strata: np.ndarray, k: int, rank: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    """Return codes in which every distinct row (missing is a value) occurs at least k times.

    Sets of keys are tried from small to large. For one set, the risky records that agree on the
    other keys lose the keys of the set together, if they and the records that are there already are
    k or more. Safe records join them where that takes fewer cells than a larger set, first those
    that their own pattern can spare. `rank` is 0, or 1 for the most important key.
    """
    m = codes.shape[1]
    columns = np.column_stack([codes, strata]).astype(np.int64)
    for size in range(1, m + 1):
        columns = _meet(columns, k, size, rank, cost)
        if not _risky(columns, k).any():
            break
        for fewer in range(1, size + 1):
            for keys in key_sets(m, fewer, rank):
                columns = _join(columns, k, keys, (size + 1) / fewer)
    while _risky(columns, k).any():
        for size in range(1, m + 1):
            for keys in key_sets(m, size, rank):
                columns = _join(columns, k, keys, np.inf)
    return columns[:, :m].astype(codes.dtype)


def key_sets(m: int, size: int, rank: np.ndarray, most: int = MOST_SETS) -> Iterator[list[int]]:
    """Sets of keys, the least important first; only neighbours in that order when too many."""
    order = sorted(range(m), key=lambda j: (-rank[j], j))
    sets = list(combinations(order, size)) if m <= 12 else []
    if not sets or len(sets) > most:
        sets = [tuple((order * 2)[j : j + size]) for j in range(m)]
    yield from (list(keys) for keys in sets)


def _risky(columns: np.ndarray, k: int) -> np.ndarray:
    ids, n_cells = cell_ids(columns)
    return np.asarray(np.bincount(ids, minlength=n_cells)[ids] < k)


def _meet(columns: np.ndarray, k: int, size: int, rank: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Let risky records meet in the pattern without `size` keys, the most helpful set first."""
    while True:
        ids, n_cells = cell_ids(columns)
        counts = np.bincount(ids, minlength=n_cells)
        rows = np.flatnonzero(counts[ids] < k)
        if not len(rows):
            return columns
        safe = columns[first_rows(ids, n_cells)[counts >= k]]
        best, best_cells = 0.0, None
        for keys in key_sets(columns.shape[1] - 1, size, rank):
            target = columns[rows]
            target[:, keys] = -1
            places, n_places = cell_ids(np.vstack([target, safe]))
            n_places_filled = np.bincount(places[len(rows) :], counts[counts >= k], n_places)
            total = n_places_filled + np.bincount(places[: len(rows)], minlength=n_places)
            solved = total[places[: len(rows)]] >= k
            worth = solved.sum() / cost[keys].sum()
            if worth > best:
                best, best_cells = worth, (rows[solved], keys)
                if rank.any():  # sets come in the order of importance
                    break
        if best_cells is None:
            return columns
        columns = columns.copy()
        columns[best_cells[0][:, None], best_cells[1]] = -1


def _join(columns: np.ndarray, k: int, keys: list[int], budget: float) -> np.ndarray:
    """Let safe records join risky ones in the pattern without `keys`.

    A group of w risky records takes r safe ones if w + r <= budget * w. With an infinite budget
    whole safe patterns are taken too, the smallest first.
    """
    ids, n_cells = cell_ids(columns)
    counts = np.bincount(ids, minlength=n_cells)
    risky = counts[ids] < k
    if not risky.any():
        return columns
    target = columns.copy()
    target[:, keys] = -1
    places, _ = cell_ids(target)
    columns = columns.copy()
    concerned = np.zeros(int(places.max()) + 1, dtype=bool)
    concerned[places[risky]] = True
    members = np.flatnonzero(concerned[places])
    members = members[np.argsort(places[members], kind="stable")]
    for rows in np.split(members, np.flatnonzero(np.diff(places[members])) + 1):
        needy = rows[risky[rows]]
        at_target = (columns[rows] == target[rows]).all(axis=1) & ~risky[rows]
        need = k - len(needy) - int(at_target.sum())
        if need > 0 and len(needy) + need > budget * len(needy):
            continue
        helpers = _helpers(ids, counts, rows[~risky[rows] & ~at_target], k, need, budget)
        if len(helpers) >= need:
            columns[np.concatenate([needy, helpers])[:, None], keys] = -1
    return columns


def _helpers(
    ids: np.ndarray, counts: np.ndarray, rows: np.ndarray, k: int, need: int, budget: float
) -> np.ndarray:
    """Records that safe patterns can spare; with an infinite budget then whole small patterns."""
    if need <= 0:
        return rows[:0]
    order = np.argsort(ids[rows], kind="stable")
    rows = rows[order]
    _, starts, sizes = np.unique(ids[rows], return_index=True, return_counts=True)
    within = np.arange(len(rows)) - np.repeat(starts, sizes)
    spare = rows[within < counts[ids[rows]] - k]
    if len(spare) >= need:
        return spare[:need]
    if not np.isinf(budget):
        return rows[:0]
    helpers: list[np.ndarray] = []
    for j in np.argsort(sizes, kind="stable"):
        if sum(map(len, helpers)) >= need:
            break
        helpers.append(rows[starts[j] : starts[j] + sizes[j]])
    return np.concatenate(helpers) if helpers else rows[:0]
