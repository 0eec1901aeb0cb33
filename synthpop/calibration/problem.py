"""The calibration problem as arrays: units, controls, sparse constraint matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Problem:
    """Units with start weights, and controls on them."""

    # scipy CSR matrix, shape (n_units, n_controls): how much one unit counts for each control;
    # sorted indices, no duplicates
    matrix: Any
    # float64 array, shape (n_units,): start weight (of a group of equal units: their sum)
    start: np.ndarray
    # float64 array, shape (n_units,): how much the unit counts in the distance (q): members of a
    # household, 1 for a person
    size: np.ndarray
    targets: np.ndarray  # float64 array, shape (n_controls,)
    margin: np.ndarray  # int64 array, shape (n_controls,): margin that each control belongs to
    # float64 array, shape (n_controls,): infinite where the control must be met
    importance: np.ndarray
    # float64 arrays, shape (n_units,): bounds of the ratio g of new to start weight
    low: np.ndarray
    high: np.ndarray

    @property
    def hard(self) -> np.ndarray:
        """True for controls that must be met, shape (n_controls,)."""
        return np.isinf(self.importance)

    def scale(self) -> np.ndarray:
        """Return what a gap is divided by: the target; where it is 0, the gross start total."""
        scale = np.abs(self.targets)
        zero = scale == 0
        if zero.any():
            gross = abs(self.matrix).T @ self.start
            scale[zero] = np.maximum(gross[zero], 1e-300)
        return scale


@dataclass(frozen=True, slots=True)
class Solution:
    """What a solver returns."""

    g: np.ndarray  # float64 array, shape (n_units,): ratio of new to start weight
    converged: bool
    iterations: int
    gap: float  # largest relative gap of a control (for balanced controls: of the balance)
    # int array: controls of a combination that no g within the bounds can meet; else empty
    proof: np.ndarray


def constraint_matrix(
    cells: Sequence[np.ndarray],
    values: Sequence[np.ndarray | None],
    household_level: Sequence[bool],
    n_controls: int,
    *,
    household_index: np.ndarray,
    household_equal: bool,
) -> Any:
    """Build the sparse constraint matrix, shape (n_units, n_controls).

    cells: one integer array a margin, shape (n_persons,); control of each person, -1 where none
    values: one float64 array or None a margin, shape (n_persons,); what is summed; None counts
    household_level: one bool a margin; True where the household counts once; its members then share
        it in equal parts
    household_equal: units are households when True, persons when False
    """
    from scipy.sparse import csr_matrix

    from synthpop.kernels.raking import build_rows

    n_persons = len(household_index)
    sizes = np.bincount(household_index)
    order, offsets = np.arange(n_persons), np.arange(n_persons + 1)
    if household_equal:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        if (np.diff(household_index) < 0).any():
            order = np.argsort(household_index, kind="stable")
    summed = [value for value in values if value is not None]
    has_target = np.array([value is not None for value in values])
    room = sum(int((cell >= 0).sum()) for cell in cells)
    indptr = np.empty(len(offsets), dtype=np.int64)
    indices, data = np.empty(room, dtype=np.int32), np.empty(room)
    n_entries = build_rows(
        order,
        offsets,
        np.array(cells),
        np.where(has_target, np.cumsum(has_target) - 1, -1),
        np.array(summed) if summed else np.empty((0, n_persons)),
        np.array(household_level),
        1.0 / sizes[household_index],
        indptr,
        indices,
        data,
    )
    parts = (data[:n_entries], indices[:n_entries], indptr)
    matrix = csr_matrix(parts, shape=(len(offsets) - 1, n_controls))
    matrix.has_canonical_format = True
    return matrix


def group_units(problem: Problem) -> tuple[Problem, np.ndarray]:
    """Put units with equal rows together: they get the same g whatever the method.

    Returns grouped: Problem; with the start weights of each group added up; group: int64 array,
        shape (n_units,); group of each unit.
    """
    from synthpop.kernels.raking import row_hashes, rows_equal

    matrix = problem.matrix
    extra = np.zeros(matrix.shape[0], dtype=np.uint64)
    for part in (problem.size, problem.low, problem.high):
        bits = np.ascontiguousarray(part, dtype=np.float64).view(np.uint64)
        extra = (extra * np.uint64(1099511628211)) ^ (bits * np.uint64(0x9E3779B97F4A7C15))
    hashes = np.empty(matrix.shape[0], dtype=np.uint64)
    data = matrix.data.view(np.uint64)
    with np.errstate(over="ignore"):  # the plain form of the kernel warns of wrapping around
        row_hashes(matrix.indptr, matrix.indices, data, extra, hashes)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    twin = first[group]
    is_twin = rows_equal(matrix.indptr, matrix.indices, data, twin) and all(
        np.array_equal(part[twin], part) for part in (problem.size, problem.low, problem.high)
    )
    if not is_twin or len(first) == matrix.shape[0]:
        return problem, np.arange(matrix.shape[0])
    grouped = replace(
        problem,
        matrix=matrix[first],
        start=np.bincount(group, problem.start),
        size=problem.size[first],
        low=problem.low[first],
        high=problem.high[first],
    )
    return grouped, group
