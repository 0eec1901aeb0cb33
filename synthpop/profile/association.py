"""How much one column tells of another, and whether members of a household go together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from synthpop.microdata.statistics.distances import expected_total_variation

NUMBER_CLASSES = 10
MOST_CELLS = 2**36  # combinations of predictors; age, sex, size and members before come to them
MANY_CANDIDATES, ROWS_FIRST = 100, 2_000
NOISE_FACTOR = 3.0
LEAST_DISTANCE, NOISE_TIMES = 0.03, 1.25
LEAST_CORRELATION = 0.05
Z_LIMIT = 3.0


def classes_of_number(values: np.ndarray) -> np.ndarray:
    """Return codes of a number: zero, missing, and tenths of the other values."""
    codes = np.zeros(len(values), dtype=np.int64)
    is_amount = np.isfinite(values) & (values != 0)
    if is_amount.any():
        limits = np.unique(
            np.quantile(values[is_amount], np.linspace(0, 1, NUMBER_CLASSES + 1)[1:-1])
        )
        codes[is_amount] = 2 + np.searchsorted(limits, values[is_amount], side="right")
    codes[~np.isfinite(values)] = 1
    return np.unique(codes, return_inverse=True)[1]


def information(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    """Mutual information of two coded columns in nats, less what chance gives on average.

    Examples
    --------
    >>> codes, w = np.arange(1000) % 2, np.ones(1000)
    >>> round(float(information(codes, codes, w)), 2), float(information(codes, codes // 2, w))
    (0.69, 0.0)
    """
    columns = CodedColumns(weights)
    columns.add("", b)
    return float(columns.tell(a, [0], slice(None))[0])


def members_depend(
    codes: np.ndarray, cells: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], n_levels: int
) -> bool:
    """Whether levels of two members go together beyond what their cells of age and sex explain.

    The total variation distance of the crossed levels from those drawn by the shares of their cells
    must be 3 %, and a quarter more than chance lets expect. Levels may be alike or complementary.
    """
    first, second = pairs
    if not len(first):
        return False
    n_cells = int(cells.max()) + 1
    table = np.bincount(cells * n_levels + codes, minlength=n_cells * n_levels).astype(float)
    table = table.reshape(n_cells, n_levels)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    expected = shares[cells[first]].T @ shares[cells[second]]
    counts = np.bincount(codes[first] * n_levels + codes[second], minlength=n_levels**2)
    distance = float(np.abs(counts - expected.reshape(-1)).sum()) / (2 * len(first))
    chance = expected_total_variation(expected.reshape(-1) / len(first), float(len(first)))
    return distance > max(LEAST_DISTANCE, NOISE_TIMES * chance)


def members_correlate(
    values: np.ndarray, cells: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]
) -> bool:
    """Whether a number of members is correlated beyond what their cells of age and sex explain."""
    finite = np.isfinite(values)
    if not finite.any():
        return False
    ranks = np.zeros(len(values))
    ranks[finite] = np.argsort(np.argsort(values[finite])) / max(int(finite.sum()) - 1, 1)
    n_cells = int(cells.max()) + 1
    numbers = np.bincount(cells[finite], minlength=n_cells)
    means = np.bincount(cells[finite], ranks[finite], minlength=n_cells) / np.maximum(numbers, 1)
    residuals = ranks - means[cells]
    first, second = pairs
    has_both = finite[first] & finite[second]
    a, b = residuals[first[has_both]], residuals[second[has_both]]
    if len(a) < 30 or not (a.std() > 0 and b.std() > 0):
        return False
    correlation = float(np.corrcoef(np.append(a, b), np.append(b, a))[0, 1])
    return correlation > max(LEAST_CORRELATION, Z_LIMIT / float(np.sqrt(len(a))))


class CodedColumns:
    """Columns as codes, of which many tell what they know of one at a time.

    names, codes: lists; in the order in which they were added
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.names: list[str] = []
        self.codes: list[np.ndarray] = []
        self.levels: list[int] = []
        self.weights = weights

    def add(self, name: str, codes: np.ndarray) -> None:
        """Append a column; codes from 0, shape (n,)."""
        self.names.append(name)
        self.codes.append(codes)
        self.levels.append(int(codes.max()) + 1)

    def tell(self, target: np.ndarray, columns: Sequence[int], rows: slice) -> np.ndarray:
        """Return the `information` of each of some columns on a target, in some of the rows."""
        a, weights = target[rows], self.weights[rows]
        k, levels = int(a.max()) + 1, np.array([self.levels[j] for j in columns])
        starts = np.cumsum(levels) - levels
        joint = np.zeros((k, int(levels.sum())))
        for start, m, j in zip(starts, levels, columns, strict=True):
            cells = np.bincount(a * m + self.codes[j][rows], weights, minlength=k * m)
            joint[:, start : start + m] = cells.reshape(k, m)
        joint /= weights.sum()
        of_target, of_columns = joint[:, : levels[0]].sum(axis=1), joint.sum(axis=0)
        entropy = np.add.reduceat(_entropies(joint).sum(axis=0) - _entropies(of_columns), starts)
        entropy -= _entropies(of_target).sum()
        occurring = np.add.reduceat((of_columns > 0).astype(float), starts) - 1
        chance = occurring * ((of_target > 0).sum() - 1) * _squares(weights) / 2
        return np.maximum(0.0, entropy - NOISE_FACTOR * chance)

    def most_informative(self, target: np.ndarray, most: int) -> list[str]:
        """Return the columns that tell most of the target, in their own order; none by chance.

        They are `most` at most, and have no more than `MOST_CELLS` combinations.
        """
        columns = list(range(len(self.names)))
        if not columns:
            return []
        if len(columns) > MANY_CANDIDATES:  # the likeliest of some rows are looked at in all
            some = slice(None, None, max(1, len(target) // ROWS_FIRST))
            likely = np.argsort(-self.tell(target, columns, some), kind="stable")
            columns = sorted(likely[: MANY_CANDIDATES // 2].tolist())
        explained = self.tell(target, columns, slice(None))
        chosen: set[int] = set()
        for at in np.argsort(-explained, kind="stable"):
            j = columns[at]
            cells = prod(self.levels[i] for i in (*chosen, j))
            if explained[at] > 0 and len(chosen) < most and cells <= MOST_CELLS:
                chosen.add(j)
        return [self.names[j] for j in sorted(chosen)]


def _entropies(shares: np.ndarray) -> np.ndarray:
    """Return p log p, zero where p is."""
    return shares * np.log(np.where(shares > 0, shares, 1.0))


def _squares(weights: np.ndarray) -> float:
    """Return the sum of the squared shares: one over the effective number of rows."""
    return float(np.square(weights / weights.sum()).sum())
