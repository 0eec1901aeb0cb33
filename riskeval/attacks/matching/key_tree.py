"""The tree of key combinations that are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.frame.codes import MISSING


@dataclass(frozen=True, slots=True)
class KeyTree:
    """Combinations of keys as a tree with one table per key."""

    # the keys in the order the tree reads them; the one with most levels comes first
    order: tuple[int, ...]
    # radix, start: int64, shape (m,): codes of each key, in that order, and where its table begins
    # in `tree`
    radix: np.ndarray
    start: np.ndarray
    # int32, shape (cells,): state after one more key, -1 where no combination goes on like that;
    # after the last key the state is the row of `combinations` that was given
    tree: np.ndarray


def key_tree(combinations: np.ndarray, radix: Sequence[int]) -> KeyTree:
    """Build the tree of distinct key combinations (u, m), codes ``0 ... radix[k] - 1`` of key k.

    Examples
    --------
    >>> key_tree(np.array([[0, 1], [1, 0]]), [2, 2]).tree.tolist()
    [0, 1, -1, 0, 1, -1]
    """
    order = tuple(int(k) for k in np.argsort([-size for size in radix], kind="stable"))
    state = np.zeros(len(combinations), dtype=np.int64)
    n_states = 1
    tables = []
    for depth, k in enumerate(order):
        step = state * radix[k] + combinations[:, k]
        table = np.full(n_states * radix[k], MISSING, dtype=np.int32)
        distinct, state = np.unique(step, return_inverse=True)
        if depth == len(order) - 1:
            table[step] = np.arange(len(combinations))
        else:
            table[distinct] = np.arange(len(distinct))
        tables.append(table)
        n_states = len(distinct)
    starts = np.cumsum([0, *map(len, tables[:-1])])
    sizes = np.array([radix[k] for k in order], dtype=np.int64)
    return KeyTree(order, sizes, starts.astype(np.int64), np.concatenate(tables))
