"""The simplest intruder: looks up the released records whose keys are nearest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.attacks.indexer import number_rows
from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.neighbours import Neighbours
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.statistics.distances import known_ranges

HOLE = 1e-9
TIES = 50
"""Of equally near key combinations at most so many are looked at."""


class NearestKeys:
    """Released key combinations, and who of the release has them; `numeric` keys are amounts."""

    def __init__(self, train: pd.DataFrame, names: Sequence[str], numeric: Sequence[str]) -> None:
        self.numeric = [name for name in names if name in numeric]
        self.coders = {name: LevelCoder(()) for name in names if name not in numeric}
        matrix = self.of(train)
        self.key, last_rows = number_rows(matrix)
        self.points = matrix[last_rows]
        self.ranges = known_ranges(matrix[:, : len(self.numeric)])

    def of(self, frame: pd.DataFrame) -> np.ndarray:
        """Return a file as numbers, float64: amounts (NaN missing), then codes (0 missing)."""
        columns = [as_numbers(frame[name]) for name in self.numeric]
        columns += [coder.code(frame[name]).astype(float) for name, coder in self.coders.items()]
        return np.column_stack(columns)

    def values(self, points: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Value of the nearest record of each point; the lower median of equally near ones."""
        nearest, record = self._pairs(points)
        order = np.lexsort((target[record], nearest))
        values, owner = target[record][order], nearest[order]
        first = np.searchsorted(owner, np.arange(len(points)))
        count = np.searchsorted(owner, np.arange(len(points)), side="right") - first
        medians = np.full(len(points), np.nan)
        medians[count > 0] = values[(first + (count - 1) // 2)[count > 0]]
        return medians

    def shares(self, points: np.ndarray, target: np.ndarray, n_levels: int) -> np.ndarray:
        """Share of each level among the nearest records of each point, shape (n, n_levels)."""
        nearest, record = self._pairs(points)
        cell = nearest * n_levels + target[record]
        table = np.bincount(cell, minlength=len(points) * n_levels).reshape(-1, n_levels)
        total = table.sum(axis=1, keepdims=True)
        return np.divide(table, total, out=np.zeros(table.shape), where=total > 0)

    def _pairs(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a point and a record with one of the key combinations nearest to it."""
        nearest = self._nearest(points)
        point, place = np.nonzero(nearest >= 0)
        combination = nearest[point, place]
        by_key = np.argsort(self.key, kind="stable")
        begin = np.searchsorted(self.key[by_key], np.arange(len(self.points) + 1))
        size = begin[combination + 1] - begin[combination]
        offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        return np.repeat(point, size), by_key[np.repeat(begin[combination], size) + offset]

    def _nearest(self, points: np.ndarray) -> np.ndarray:
        """Nearest combinations of each point, int64, shape (n, TIES); -1 where there are fewer."""
        nearest = np.full((len(points), TIES), -1, dtype=np.int64)
        # 1. Complete keys that occur as they are need no search
        n = len(self.points)
        row, _ = number_rows(np.concatenate([self.points, points]))
        of_row = np.full(int(row.max()) + 1, -1, dtype=np.int64)
        of_row[row[:n]] = np.arange(n)
        exact = of_row[row[n:]]
        p = len(self.numeric)
        complete = ~np.isnan(points[:, :p]).any(axis=1) & (points[:, p:] > 0).all(axis=1)
        nearest[complete, 0] = exact[complete]
        # 2. The nearest to all others: the first of equally near ones, and those with fewer holes
        others = np.flatnonzero(~complete | (exact < 0))
        neighbours = Neighbours(
            self.points[:, :p], self.points[:, p:].astype(np.int64) - 1, self.ranges,
            (np.ones(p), np.ones(self.points.shape[1] - p)),
        )  # fmt: skip
        point, combination = neighbours.ties(
            points[others, :p], points[others, p:].astype(np.int64) - 1, HOLE / 2, HOLE
        )
        place = np.arange(len(point)) - np.searchsorted(point, point)
        first = place < TIES
        nearest[others[point[first]], place[first]] = combination[first]
        return nearest
