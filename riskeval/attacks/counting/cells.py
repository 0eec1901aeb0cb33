"""Records by class of keys and level of a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskeval.attacks.counting.compatible import Pairs
from riskeval.attacks.indexer import pair_up, unpair


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Records by class of keys (q) and level of the target (t), cells with records only."""

    # of_class, level, count: int64, shape (c,): sorted by class, then by level
    of_class: np.ndarray
    level: np.ndarray
    count: np.ndarray
    total: np.ndarray  # int64, shape (classes,): records of each class, of all levels

    def in_class(self, classes: np.ndarray) -> np.ndarray:
        """Records of classes; 0 for class -1."""
        return np.append(self.total, 0)[classes]

    def in_cell(self, classes: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Records of classes that have a level; 0 for class -1."""
        known = pair_up(self.of_class, self.level)
        cell = pair_up(np.maximum(classes, 0), level)
        if len(known) == 0:
            return np.zeros(len(cell), dtype=np.int64)
        place = np.minimum(np.searchsorted(known, cell), len(known) - 1)
        return np.where((classes >= 0) & (known[place] == cell), self.count[place], 0)

    def most(self) -> tuple[np.ndarray, np.ndarray]:
        """Largest count of a level in each class, and that level (the first of equals)."""
        order = np.lexsort((self.level, -self.count, self.of_class))
        classes, first = np.unique(self.of_class[order], return_index=True)
        largest = np.zeros(len(self.total) + 1, dtype=np.int64)
        level = np.full(len(self.total) + 1, -1, dtype=np.int64)
        largest[classes] = self.count[order[first]]
        level[classes] = self.level[order[first]]
        return largest, level

    def without_level(self, level: int) -> Cells:
        """The cells of all other levels, with the same classes."""
        rows = self.level != level
        others = as_cells(self.of_class[rows], self.level[rows], self.count[rows])
        return others.padded(len(self.total))

    def padded(self, n_classes: int) -> Cells:
        """The same with a total for so many classes."""
        total = np.pad(self.total, (0, n_classes - len(self.total)))
        return Cells(self.of_class, self.level, self.count, total)


def as_cells(of_class: np.ndarray, level: np.ndarray, count: np.ndarray) -> Cells:
    """Cells in their order, with the totals of classes."""
    total = np.bincount(of_class, weights=count).astype(np.int64)
    return Cells(of_class, level, count.astype(np.int64), total)


def count_cells(classes: np.ndarray, level: np.ndarray) -> Cells:
    """Cells of records with a class."""
    keys, count = np.unique(pair_up(classes[classes >= 0], level[classes >= 0]), return_counts=True)
    return as_cells(*unpair(keys), count)


def matched_cells(released: Cells, pairs: Pairs, missing_level: int) -> Cells:
    """Cells of what the intruder takes for a class: its own records and those of `pairs`."""
    begin = np.searchsorted(released.of_class, pairs[1], side="left")
    length = np.searchsorted(released.of_class, pairs[1], side="right") - begin
    cell = np.repeat(begin, length) + np.arange(length.sum())
    cell -= np.repeat(np.cumsum(length) - length, length)
    of_class = np.concatenate([released.of_class, np.repeat(pairs[0], length)])
    level = np.concatenate([released.level, released.level[cell]])
    count = np.concatenate([released.count, released.count[cell]])
    # a record without a value of the target says nothing beside those with one
    has_value = np.zeros(len(released.total), dtype=np.bool_)
    has_value[of_class[level != missing_level]] = True
    counted = (level != missing_level) | ~has_value[of_class]
    keys, inverse = np.unique(pair_up(of_class[counted], level[counted]), return_inverse=True)
    summed = np.bincount(inverse.reshape(-1), weights=count[counted], minlength=len(keys))
    classes, levels = unpair(keys)
    total = np.bincount(classes, weights=summed, minlength=len(released.total))
    return Cells(classes, levels, summed.astype(np.int64), total.astype(np.int64))
