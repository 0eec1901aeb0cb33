"""Distinct key combinations of a population: what models of scenario 5 are fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class KeyCells:
    """Distinct key combinations of the population, with persons that have no value left out."""

    codes: np.ndarray  # int32, shape (d, m)
    persons: np.ndarray  # float64, shape (d,)
    # float64, shape (d, r): sums of the outcome: of the values (r = 1), or persons by level
    total: np.ndarray
    square: float  # float64: sum of the squared outcomes of all persons
    sizes: tuple[int, ...]  # numbers of codes of the keys

    def known(self, codes: np.ndarray) -> np.ndarray:
        """Whether each level of rows of codes occurs in some cell: bool, shape (n,)."""
        is_known = np.ones(len(codes), dtype=np.bool_)
        for k, size in enumerate(self.sizes):
            occurs = np.zeros(size + 1, dtype=np.bool_)
            occurs[self.codes[:, k]] = True
            is_known &= occurs[np.minimum(codes[:, k], size)]
        return is_known
