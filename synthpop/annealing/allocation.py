"""Allot the households of a region to areas, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthpop.annealing.search import Cooling, Search


class Allotment(Cooling):
    """Search for the area of each household, with the number of households of each area fixed.

    Parameters
    ----------
    matrix : scipy CSR matrix, shape (n_households, n_cells)
    table : int64 array, shape (n_cells,)
    target : float64 array, shape (n_areas, n_cells)
    households : int array, shape (n_areas,)
        Sum is the number of rows of `matrix`.
    limit : float64 array, shape (n_tables,)
        Sum of absolute gaps that is good enough.
    """

    def __init__(
        self,
        matrix: Any,
        table: np.ndarray,
        target: np.ndarray,
        households: np.ndarray,
        limit: np.ndarray,
        search: Search,
        rng: np.random.Generator,
    ) -> None:
        self.matrix, self.table, self.target, self.limit = matrix, table, target, limit
        self.rng, self.importance = rng, np.ones(len(limit))
        self.areas = rng.permutation(np.repeat(np.arange(len(households)), households))
        self.current = area_totals(matrix, self.areas, len(households))
        by_cell = np.abs(self.current - target).sum(axis=0)
        self.gaps = np.bincount(table, by_cell, minlength=len(limit))
        super().__init__(search, len(self.areas))

    @property
    def objective(self) -> float:  # type: ignore[override]
        """Sum of absolute gaps."""
        return float(self.gaps.sum())

    @property
    def good_enough(self) -> bool:  # type: ignore[override]
        """Every table is within its limit."""
        return bool((self.gaps <= self.limit).all())

    def snapshot(self) -> tuple[float, np.ndarray]:
        """Return objective and areas."""
        return self.objective, self.areas.copy()

    def propose(self, temperature: float, proposals: int) -> tuple[int, int, float]:
        """Propose swaps of two households."""
        from synthpop.kernels.annealing import swap_areas

        return swap_areas(
            self.matrix.indptr,
            self.matrix.indices,
            self.matrix.data,
            self.table,
            self.importance,
            self.target,
            self.limit,
            temperature,
            proposals,
            self.rng,
            self.areas,
            self.current,
            self.gaps,
        )


def area_totals(matrix: Any, areas: np.ndarray, n_areas: int) -> np.ndarray:
    """Count the cells of each area afresh, shape (n_areas, n_cells)."""
    from scipy.sparse import csr_matrix

    n = len(areas)
    member = csr_matrix((np.ones(n), (areas, np.arange(n))), shape=(n_areas, n))
    return np.asarray((member @ matrix).toarray(), dtype=np.float64)
