"""Distinct key combinations of a population: what models of scenario 5 are fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class KeyCells:
    """Distinct key combinations of the population, with persons that have no value left out.

    Attributes
    ----------
    codes : int32, shape (d, m)
    persons : float64, shape (d,)
    total : float64, shape (d, r)
        Sums of the outcome: of the values (r = 1), or persons by level.
    square : float64
        Sum of the squared outcomes of all persons.
    sizes : tuple of int
        Numbers of codes of the keys.
    """

    codes: np.ndarray
    persons: np.ndarray
    total: np.ndarray
    square: float
    sizes: tuple[int, ...]

    def known(self, codes: np.ndarray) -> np.ndarray:
        """Whether each level of rows of codes occurs in some cell: bool, shape (n,)."""
        fine = np.ones(len(codes), dtype=np.bool_)
        for k, size in enumerate(self.sizes):
            met = np.zeros(size + 1, dtype=np.bool_)
            met[self.codes[:, k]] = True
            fine &= met[np.minimum(codes[:, k], size)]
        return fine
