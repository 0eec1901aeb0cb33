"""Keys of a sample and of a population in the same codes, and the tree of sample-unique keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.codes import MISSING, encode


class KeyCoder:
    """Codes one key of any number of blocks: levels of the sample first, then those met later.

    Code ``len(levels)`` is missing, a value of its own; levels of other files that are known
    beforehand (`others`, a hold-out) and levels that are met later get the numbers after it.

    Examples
    --------
    >>> coder = KeyCoder(("f", "m"))
    >>> coder.code(pd.Series(["m", None, "x", "f"])).tolist(), coder.size
    ([1, 2, 3, 0], 4)
    """

    def __init__(self, levels: Sequence[Any], others: Sequence[Any] = ()) -> None:
        self.n_known = len(levels)
        self._code = {level: code for code, level in enumerate(levels)}
        for level in others:
            self._code.setdefault(level, len(self._code) + 1)  # one number is that of missing
        self.radix = self.size = len(self._code) + 1
        self.met_known = False
        self._last: tuple[Any, ...] = ()
        self._table = np.array([self.n_known], dtype=np.int32)

    def code(self, values: pd.Series) -> np.ndarray:
        """Return the codes of one block, int32, shape (n,)."""
        codes, levels = encode(values)
        if levels != self._last:
            self._table = np.array([*map(self._number, levels), self.n_known], dtype=np.int32)
            self._last = levels
        return self._table[codes]  # MISSING is the last entry

    def start(self) -> None:
        """Forget which levels were met: from here on, those of the population."""
        self.met_known, self._last = False, ()
        self._table = np.array([self.n_known], dtype=np.int32)

    @property
    def levels(self) -> list[Any]:
        """The level of each code; None for missing."""
        found = [None] * self.size
        for level, code in self._code.items():
            found[code] = level
        return found

    def shown_known(self) -> str:
        """Return the first levels of the sample, for messages."""
        return ", ".join(repr(level) for level in list(self._code)[: min(3, self.n_known)])

    def shown_new(self) -> str:
        """Return the first levels that only the population has, for messages."""
        new = list(self._code)[self.radix - 1 : self.radix + 2]
        return ", ".join(map(repr, new)) or "only missing values"

    def _number(self, level: Any) -> int:
        code = self._code.get(level)
        if code is None:
            code = self._code[level] = self.size
            self.size += 1
        self.met_known = self.met_known or code < self.n_known
        return code


@dataclass(frozen=True, slots=True)
class KeyTree:
    """Combinations of keys as a tree with one table a key.

    Attributes
    ----------
    order : tuple of int
        The keys in the order the tree reads them; the one with most levels comes first.
    radix, start : int64, shape (m,)
        Codes of each key, in that order, and where its table begins in `tree`.
    tree : int32, shape (cells,)
        State after one more key, -1 where no combination goes on like that; after the last key
        the state is the row of `combinations` that was given.
    """

    order: tuple[int, ...]
    radix: np.ndarray
    start: np.ndarray
    tree: np.ndarray


def key_tree(combinations: np.ndarray, radix: Sequence[int]) -> KeyTree:
    """Build the tree of distinct key combinations.

    Parameters
    ----------
    combinations : integer array, shape (u, m)
        Distinct rows of codes ``0 ... radix[k] - 1``.
    radix : number of codes of each key

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
