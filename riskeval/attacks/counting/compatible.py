"""Released records that match real persons although some of their keys are suppressed."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from riskeval.attacks.indexer import RowIndexer

MOST_PAIRS = 50_000_000
"""Pairs of distinct households that are compared; beyond, households with holes match nothing."""

Pairs = tuple[np.ndarray, np.ndarray]


def compatible_rows(real: np.ndarray, released: np.ndarray, missing: np.ndarray) -> Pairs:
    """Pairs of rows that agree wherever the released one has a key, with the fewest holes.

    Parameters
    ----------
    real, released : int32, shapes (u, m) and (v, m)
        Distinct key combinations.
    missing : int32, shape (m,)
        Code of a missing key. A hole of the released row matches anything; a missing key of the
        real row matches a hole only. Rows without any key match nothing.

    Returns
    -------
    real_row, released_row : int64 arrays
        Of each real row, those released ones that match it with the fewest holes in keys that the
        real row has.

    Examples
    --------
    >>> real = np.array([[0, 1], [2, 2]], dtype=np.int32)
    >>> released = np.array([[0, 9], [9, 2], [9, 9]], dtype=np.int32)
    >>> pairs = compatible_rows(real, released, np.array([9, 9], dtype=np.int32))
    >>> [part.tolist() for part in pairs]
    [[1, 0], [1, 0]]
    """
    bits = 1 << np.arange(real.shape[1], dtype=object)
    real_pattern, released_pattern = (
        np.array([int(sum(bits[row])) for row in rows == missing], dtype=object)
        for rows in (real, released)
    )
    everything = int(sum(bits))
    patterns = [p for p in set(released_pattern.tolist()) if p != everything]
    pairs: list[Pairs] = []
    for own in set(real_pattern.tolist()):
        waiting = np.flatnonzero(real_pattern == own)
        fitting = sorted((p for p in patterns if p & own == own), key=int.bit_count)
        # 1. patterns with few holes first; 2. who is matched by fewer holes waits no longer
        for _, level in groupby(fitting, key=int.bit_count):
            step = [_joined(real, released, waiting, released_pattern, p) for p in level]
            pairs += step
            matched = np.concatenate([part[0] for part in step])
            waiting = np.setdiff1d(waiting, matched)
    empty = np.empty(0, dtype=np.int64)
    return (
        np.concatenate([empty, *(part[0] for part in pairs)]),
        np.concatenate([empty, *(part[1] for part in pairs)]),
    )


def _joined(
    real: np.ndarray, released: np.ndarray, waiting: np.ndarray, patterns: np.ndarray, pattern: int
) -> Pairs:
    """Pairs of waiting real rows and released rows of one pattern that agree in all other keys."""
    keys = np.array([k for k in range(real.shape[1]) if not pattern >> k & 1], dtype=np.int64)
    rows = np.flatnonzero(patterns == pattern)
    numbers = RowIndexer([1 << 12] * len(keys))
    theirs = numbers.number(released[np.ix_(rows, keys)].T)
    own = numbers.number(real[np.ix_(waiting, keys)].T)
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], own, side="left")
    count = np.searchsorted(theirs[order], own, side="right") - low
    left = np.repeat(np.arange(len(waiting)), count)
    place = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return waiting[left], rows[order[np.repeat(low, count) + place]]


def compatible_households(
    real: list[np.ndarray], released: list[np.ndarray], missing: np.ndarray
) -> Pairs:
    """Pairs of households whose members can be paired as in `compatible_rows`.

    Parameters
    ----------
    real, released : lists of int32 arrays, shape (members, m)
    """
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
