"""Exact numbers for values and rows that arrive in blocks: equal ones get the same number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

AT_ONCE = 1 << 18
HALF = 31
"""Codes and numbers stay below 2 ** 31, so that two of them fit into one 64-bit integer."""


class Indexer:
    """Numbers 64-bit integers 0, 1, 2 ... in the order in which they are first met.

    Examples
    --------
    >>> numberer = Indexer()
    >>> numberer.number(np.array([7, -2, 7])).tolist(), numberer.number(np.array([5, -2])).tolist()
    ([0, 1, 0], [2, 1])
    """

    def __init__(self) -> None:
        self.size = 0
        self._keys = np.zeros(0, dtype=np.int64)
        self._numbers = np.zeros(0, dtype=np.int64)

    def number(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of values, int64, shape (n,); each costs constant time."""
        from riskeval.kernels.numbering import number_values

        numbers = np.empty(len(values), dtype=np.int64)
        hashes = _stirred(np.ascontiguousarray(values, dtype=np.int64))
        for begin in range(0, len(hashes), AT_ONCE):
            rows = slice(begin, begin + AT_ONCE)
            self._make_room(len(hashes[rows]))
            self.size = int(
                number_values(hashes[rows], self._keys, self._numbers, self.size, numbers[rows])
            )
        return numbers

    def _make_room(self, more: int) -> None:
        from riskeval.kernels.numbering import number_values

        if 3 * (self.size + more) < 2 * len(self._keys):
            return
        used = self._numbers >= 0
        old = self._keys[used][np.argsort(self._numbers[used])]
        slots = 1 << (2 * (self.size + more) + 8).bit_length()
        self._keys = np.zeros(slots, dtype=np.int64)
        self._numbers = np.full(slots, -1, dtype=np.int64)
        number_values(old, self._keys, self._numbers, 0, np.empty(len(old), dtype=np.int64))


class RowIndexer:
    """Numbers rows of codes.

    Codes in the range that is expected are packed into one integer; rows with larger codes, or of
    more columns than fit, are numbered column by column.

    sizes: number of codes expected in each column; there is room for four times as many, and more
        may come

    Examples
    --------
    >>> rows = RowIndexer([2, 3])
    >>> rows.number(np.array([[1, 0, 1, 900], [2, 2, 2, 2]])).tolist(), rows.size
    ([0, 1, 0, 2], 3)
    >>> rows.rows().tolist()
    [[1, 2], [0, 2], [900, 2]]
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._rows: list[np.ndarray] = []
        self._bits = [(4 * int(size)).bit_length() for size in sizes]
        self._all = Indexer()
        self._steps = [Indexer() for _ in sizes]
        self._fits = sum(self._bits) <= 2 * HALF

    @property
    def size(self) -> int:
        """Number of distinct rows met."""
        return self._all.size

    def number(self, columns: np.ndarray) -> np.ndarray:
        """Number rows given as columns of codes, shape (m, n), 0 ... 2 ** 31 - 1."""
        packed = np.zeros(columns.shape[1], dtype=np.int64)
        large = np.full(len(packed), not self._fits)
        for bits, column in zip(self._bits, columns, strict=True):
            if self._fits:
                packed = (packed << bits) | column
                large |= column >> bits > 0
        if large.any():
            packed[large] = -1 - self._by_column(columns[:, large])
        before = self.size
        numbers = self._all.number(packed)
        new = np.flatnonzero(numbers >= before)
        first = np.empty(self.size - before, dtype=np.int64)
        first[numbers[new[::-1]] - before] = new[::-1]
        self._rows.append(columns[:, first].T.astype(np.int32))
        return numbers

    def rows(self) -> np.ndarray:
        """Return the distinct rows in the order of their numbers, int32, shape (size, m)."""
        return np.concatenate([np.empty((0, len(self._bits)), dtype=np.int32), *self._rows])

    def _by_column(self, columns: np.ndarray) -> np.ndarray:
        state = np.zeros(columns.shape[1], dtype=np.int64)
        for step, column in zip(self._steps, columns, strict=True):
            state = step.number(pair_up(state, column))
        return state


class Multiset:
    """Numbers multisets of codes: the order of the members does not matter, how often does.

    Examples
    --------
    >>> bags = Multiset()
    >>> bags.number(np.array([5, 3, 3, 3, 5, 3]), np.array([0, 0, 1, 1, 2, 2]), 3).tolist()
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self._paths = Indexer()
        self._bags = Indexer()

    @property
    def size(self) -> int:
        """Number of distinct multisets met."""
        return self._bags.size

    def number(self, codes: np.ndarray, bag: np.ndarray, n_bags: int) -> np.ndarray:
        """Number of each multiset of codes 0 ... 2 ** 31 - 1, shape (n_bags,); no bag is empty."""
        both = pair_up(bag, codes)
        both.sort()
        ordered = both & ((1 << HALF) - 1)
        size = np.bincount(bag, minlength=n_bags)
        first = np.cumsum(size) - size
        state = np.zeros(n_bags, dtype=np.int64)
        rows = np.arange(n_bags)
        for depth in range(int(size.max(initial=0))):
            rows = rows[size[rows] > depth]
            # the state is a node of the tree of sorted sequences; node 0 is the empty one
            node = self._paths.number(pair_up(state[rows], ordered[first[rows] + depth]))
            state[rows] = node + 1
        return self._bags.number(state)


def number_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number equal rows of floats: numbers, shape (n,), and where each number comes last, (u,).

    Examples
    --------
    >>> number_rows(np.array([[0.5, 1.0], [0.5, 2.0], [0.5, 1.0]]))[0].tolist()
    [0, 1, 0]
    """
    row = np.zeros(len(matrix), dtype=np.int64)
    for column in matrix.T:
        bits = np.ascontiguousarray(column, dtype=np.float64).view(np.int64)
        row = Indexer().number(pair_up(row, Indexer().number(bits)))
    last_rows = np.empty(int(row.max(initial=-1)) + 1, dtype=np.int64)
    last_rows[row] = np.arange(len(row))
    return row, last_rows


def pair_up(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return one 64-bit integer for each pair of numbers below 2 ** 31."""
    return (first.astype(np.int64) << HALF) | second.astype(np.int64)


def unpair(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two numbers of each pair.

    Examples
    --------
    >>> [part.tolist() for part in unpair(pair_up(np.array([3, 4]), np.array([0, 9])))]
    [[3, 4], [0, 9]]
    """
    return pairs >> HALF, pairs & ((1 << HALF) - 1)


def _stirred(values: np.ndarray) -> np.ndarray:
    """Turn values into others that look random, different ones into different ones."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)
