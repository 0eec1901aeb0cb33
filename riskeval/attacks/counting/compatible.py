"""Released records that match real persons although some of their keys are suppressed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from riskeval.attacks.indexer import RowIndexer

MOST_PAIRS = 50_000_000
"""Pairs of distinct households that are compared; beyond, households with holes match nothing."""
PAIRS_AT_ONCE = 1 << 20

Pairs = tuple[np.ndarray, np.ndarray]


def compatible_rows(real: np.ndarray, released: np.ndarray, missing: np.ndarray) -> Pairs:
    """Pairs of rows that agree wherever the released one has a key, with the fewest holes.

    Codes int32, (u, m) and (v, m), distinct rows; `missing` has the code of a missing key. A hole
    of the released row matches anything, a missing key of the real row a hole only; rows without
    any key match nothing.

    Examples
    --------
    >>> real = np.array([[0, 1], [2, 2]], dtype=np.int32)
    >>> released = np.array([[0, 9], [9, 2], [9, 9]], dtype=np.int32)
    >>> pairs = compatible_rows(real, released, np.array([9, 9], dtype=np.int32))
    >>> [rows.tolist() for rows in pairs]
    [[1, 0], [1, 0]]
    """
    waiting = np.ones(len(real), dtype=np.bool_)
    pairs = [np.empty((2, 0), dtype=np.int64)]
    for _, first, second in compatible_pairs(real, released, missing, waiting):
        waiting[first] = False
        pairs.append(np.stack([first, second]))
    first, second = np.concatenate(pairs, axis=1)
    return first, second


def compatible_pairs(
    real: np.ndarray, released: np.ndarray, missing: np.ndarray, waiting: np.ndarray | None = None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """As `compatible_rows`, for rows that may repeat, by holes: (holes, real, released).

    waiting: bool, shape (u,); real rows to pair; the caller may strike some out on the way

    Examples
    --------
    >>> real = np.array([[0, 1]], dtype=np.int32)
    >>> released = np.array([[0, 9], [0, 1], [9, 9]], dtype=np.int32)
    >>> pairs = compatible_pairs(real, released, np.array([9, 9], dtype=np.int32))
    >>> [(n_holes, second.tolist()) for n_holes, _, second in pairs]
    [(0, [1]), (1, [0])]
    """
    real_pattern, released_pattern = (_hole_patterns(rows, missing) for rows in (real, released))
    everything = (1 << real.shape[1]) - 1
    waiting = np.ones(len(real), dtype=np.bool_) if waiting is None else waiting
    steps = [
        ((p & ~pattern).bit_count(), pattern, p)
        for pattern in set(real_pattern.tolist())
        for p in set(released_pattern.tolist())
        if p != everything and p & pattern == pattern
    ]
    for n_holes, level in groupby(sorted(steps), key=lambda step: step[0]):
        pairs = []
        for _, pattern, p in level:
            rows = np.flatnonzero((real_pattern == pattern) & waiting)
            pairs.append(np.stack(_joined(real, released, rows, released_pattern, p)))
        first, second = np.concatenate(pairs, axis=1)
        yield n_holes, first, second


def _hole_patterns(rows: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The missing keys of each row as the bits of one integer of any size."""
    bits = 1 << np.arange(rows.shape[1], dtype=object)
    if rows.shape[1] < 62:
        numbers = (rows == missing) @ bits.astype(np.int64)
        return numbers.astype(object)
    return np.array([int(sum(bits[row])) for row in rows == missing], dtype=object)


def _joined(
    real: np.ndarray, released: np.ndarray, rows: np.ndarray, patterns: np.ndarray, pattern: int
) -> Pairs:
    """Pairs of some real rows and released rows of one pattern that agree in all other keys."""
    keys = np.array([k for k in range(real.shape[1]) if not pattern >> k & 1], dtype=np.int64)
    released_rows = np.flatnonzero(patterns == pattern)
    numbers = RowIndexer([1 << 12] * len(keys))
    released_ids = numbers.number(released[np.ix_(released_rows, keys)].T)
    real_ids = numbers.number(real[np.ix_(rows, keys)].T)
    order = np.argsort(released_ids, kind="stable")
    low = np.searchsorted(released_ids[order], real_ids, side="left")
    count = np.searchsorted(released_ids[order], real_ids, side="right") - low
    left = np.repeat(np.arange(len(rows)), count)
    place = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return rows[left], released_rows[order[np.repeat(low, count) + place]]


def compatible_households(
    real: list[np.ndarray], released: list[np.ndarray], missing: np.ndarray
) -> Pairs:
    """Pairs of households whose members (lists of int32, (s, m)) pair as in `compatible_rows`."""
    from riskeval.kernels.households import fewest_holes

    if not real or not released or len(real) * len(released) > MOST_PAIRS:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    starts = [
        np.cumsum([0, *map(len, households)]).astype(np.int64) for households in (real, released)
    ]
    chosen = np.zeros((len(real), len(released)), dtype=np.bool_)
    fewest_holes(
        np.concatenate(real), starts[0], np.concatenate(released), starts[1], missing, chosen
    )
    first, second = np.nonzero(chosen)
    return first, second


def household_holes(
    real: list[np.ndarray], released: list[np.ndarray], missing: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of households that match only by holes, and how many holes each match has.

    Examples
    --------
    >>> one = [np.array([[1, 2], [3, 4]], dtype=np.int32)]
    >>> two = [np.array([[9, 4], [1, 2]], dtype=np.int32)]
    >>> matches = household_holes(one, two, np.array([9, 9], dtype=np.int32))
    >>> [numbers.tolist() for numbers in matches]
    [[0], [0], [1]]
    """
    from riskeval.kernels.households import count_holes

    matches = [np.empty((3, 0), dtype=np.int64)]
    sizes = [np.array([len(home) for home in homes], dtype=np.int64) for homes in (real, released)]
    for size in np.intersect1d(sizes[0], sizes[1]):
        real_homes, candidates = (np.flatnonzero(of == size) for of in sizes)
        candidates = candidates[[not (released[h] == missing).all() for h in candidates]]
        real_members = np.stack([real[h] for h in real_homes])
        step = max(1, PAIRS_AT_ONCE // len(real_homes))
        for begin in range(0, len(candidates), step):
            released_homes = candidates[begin : begin + step]
            holes = np.empty((len(real_homes), len(released_homes)), dtype=np.int64)
            count_holes(
                real_members, np.stack([released[h] for h in released_homes]), missing, holes
            )
            first, second = np.nonzero(holes > 0)
            matches.append(
                np.stack([real_homes[first], released_homes[second], holes[first, second]])
            )
    first, second, n_holes = np.concatenate(matches, axis=1)
    return first, second, n_holes


def member_pairs(real: np.ndarray, released: np.ndarray, missing: np.ndarray) -> Pairs:
    """Members of one household and those of another, (s, m), they may be, with the fewest holes."""
    fits = ((real[:, None] == released[None]) | (released == missing)[None]).all(axis=2)
    holes = ((released == missing)[None] & (real != missing)[:, None]).sum(axis=2)
    fewest = np.where(fits, holes, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    first, second = np.nonzero(fits & (holes == fewest))
    return first, second
