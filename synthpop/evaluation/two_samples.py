"""Tables of two samples beside each other, members of a household counting together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.evaluation.household_rows import HouseholdRows
from synthpop.microdata.statistics.distances import effective_size

FEWEST = 5.0  # persons of a cell that tells
LEAST_TOGETHER = 0.3  # variance over that of persons alone


@dataclass(frozen=True, slots=True, eq=False)
class TwoShares:
    """Shares of both sides in the cells of a table.

    Arrays of one shape: shares of sample and population, z of their difference (0 where a cell is
    too small to tell), and the share in both together.
    """

    q: np.ndarray
    p: np.ndarray
    z: np.ndarray
    mean: np.ndarray

    def shaped(self, *shape: int) -> TwoShares:
        """Return the same cells as a table."""
        return TwoShares(*(x.reshape(shape) for x in (self.q, self.p, self.z, self.mean)))

    @property
    def apart(self) -> float:
        """Share of persons in other cells, of those cells that tell."""
        return float(np.abs(self.p - self.q)[self.z != 0].sum() / 2)

    @property
    def beyond(self) -> float:
        """How far the table is from chance, as a normal deviate (Pearson's X2)."""
        used = self.z != 0
        return deviate(np.sum((self.z**2 * (1 - self.mean))[used]), np.sum((1 - self.mean)[used]))


def deviate(squares: float, degrees: float) -> float:
    """Return the normal deviate of a sum of squares (Wilson and Hilferty 1931)."""
    if degrees <= 0.1:
        return 0.0
    spread = 2 / (9 * degrees)
    return float(((squares / degrees) ** (1 / 3) - (1 - spread)) / np.sqrt(spread))


def compared_cells(
    sides: Sequence[HouseholdRows],
    cells: Sequence[np.ndarray],
    n_cells: int,
    rows: Sequence[np.ndarray] | None = None,
) -> TwoShares:
    """Return shares of both sides and z for each cell; members of a household count together.

    rows: of each side, where not all persons are counted
    """
    shares, sizes, pooled = [], [], []
    for k, side in enumerate(sides):
        at = np.arange(len(cells[k])) if rows is None else rows[k]
        w = side.person_weights[at]
        share = np.bincount(cells[k], w, n_cells) / max(w.sum(), 1e-300)
        key = side.index[at] * n_cells + cells[k]
        distinct, count = np.unique(key, return_counts=True)
        squares = np.bincount(distinct % n_cells, count.astype(float) ** 2, n_cells)
        plain = np.bincount(distinct % n_cells, count, n_cells)
        shares.append(share)
        sizes.append(effective_size(w) if len(w) else 1e-9)
        pooled.append((squares, plain))
    together = (pooled[0][0] + pooled[1][0]) / np.maximum(pooled[0][1] + pooled[1][1], 1)
    n, m = sizes
    mean = (shares[0] * n + shares[1] * m + 0.5 / max(n_cells, 1)) / (n + m + 0.5)
    variance = mean * (1 - mean) * np.maximum(together, 1.0) * (1 / n + 1 / m)
    z = (shares[1] - shares[0]) / np.sqrt(np.maximum(variance, 1e-300))
    enough = mean * min(n, m) >= FEWEST * np.maximum(together, 1.0)
    return TwoShares(shares[0], shares[1], np.where(enough, z, 0.0), mean)


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """Shares inside each row of a table: distance, squares of z, and what they are by chance."""

    apart: np.ndarray
    squares: np.ndarray
    degrees: np.ndarray


def inside_rows(
    sides: Sequence[HouseholdRows], cells: Sequence[np.ndarray], n_rows: int, n_columns: int
) -> Inside:
    """Compare the shares inside each row of a table; whole households lie in one row.

    The variance is that of a ratio: of the household sums of what a person is more than the share.
    """
    counts, sizes, squares = [], [], np.zeros((n_rows, n_columns))
    for side, cell in zip(sides, cells, strict=True):
        w = side.person_weights
        counts.append(np.bincount(cell, w, n_rows * n_columns).reshape(n_rows, n_columns))
        sizes.append(counts[-1].sum(axis=1) ** 2 / np.maximum(
            np.bincount(cell // n_columns, w**2, n_rows), 1e-300))  # fmt: skip
    shares = [n / np.maximum(n.sum(axis=1, keepdims=True), 1e-300) for n in counts]
    n, m = (size[:, None] for size in sizes)
    mean = (n * shares[0] + m * shares[1]) / np.maximum(n + m, 1e-300)
    persons = np.zeros((n_rows, 1))
    for side, cell in zip(sides, cells, strict=True):
        distinct, count = np.unique(side.index * (n_rows * n_columns) + cell, return_counts=True)
        household, at = np.divmod(distinct, n_rows * n_columns)
        row = np.zeros(len(side.sizes), dtype=np.int64)
        row[household] = at // n_columns
        of_size = np.bincount(row, side.sizes.astype(float) ** 2, n_rows)[:, None]

        def summed(values: np.ndarray, at: np.ndarray = at) -> np.ndarray:
            return np.bincount(at, values, n_rows * n_columns).reshape(n_rows, n_columns)

        squares += summed(count**2.0) - 2 * mean * summed(count * side.sizes[household])
        squares += mean**2 * of_size
        persons += np.bincount(row, side.sizes, n_rows)[:, None]
    plain = mean * (1 - mean)
    together = np.maximum(squares / np.maximum(persons * plain, 1e-300), LEAST_TOGETHER)
    used = (plain > 0) & (mean * np.minimum(n, m) >= FEWEST)
    gap = shares[1] - shares[0]
    variance = together * plain * (1 / np.maximum(n, 1e-9) + 1 / np.maximum(m, 1e-9))
    z2 = np.divide(gap**2, variance, out=np.zeros_like(gap), where=used)
    return Inside(*((x * used).sum(axis=1) for x in (np.abs(gap) / 2, z2 * (1 - mean), 1 - mean)))


def mean_square_contingency(table: np.ndarray, n: int) -> float:
    """Return Pearson's phi squared of a table of shares, without what chance gives."""
    a, b = table.sum(axis=1), table.sum(axis=0)
    a, b, table = a[a > 0], b[b > 0], table[np.ix_(a > 0, b > 0)]
    chance = (len(a) - 1) * (len(b) - 1) / n
    return max(float((table**2 / np.outer(a, b)).sum() - 1 - chance), 0.0)
