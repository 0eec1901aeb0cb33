"""Raking by iterative proportional fitting, and iterative proportional updating, on arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synthpop.calibration.distances import Exponential
from synthpop.calibration.newton import solve_dual
from synthpop.calibration.problem import Problem, Solution

SWEEPS_FIRST = 5


def solve_raking(problem: Problem, *, tolerance: float, max_iterations: int) -> Solution:
    """Rake: fit one margin after the other; where that is slow, finish with Newton steps.

    Both climb the same dual and reach the same weights, ``g = exp(a' lambda / q)``. Proportional
    fitting (Deming and Stephan 1940; for households with the geometric mean of the factors of
    the members) is used where every margin is a set of cells that do not overlap, without bounds.
    `max_iterations` counts sweeps over all margins and Newton steps together.
    """
    sweeps, multipliers = 0, np.zeros(len(problem.targets))
    if _fits(problem):
        multipliers, sweeps = _proportional_fitting(
            problem, tolerance, min(SWEEPS_FIRST, max_iterations)
        )
    solution = solve_dual(
        problem,
        Exponential(problem.low, problem.high),
        tolerance=tolerance,
        max_iterations=max_iterations - sweeps,
        multipliers=multipliers,
    )
    return replace(solution, iterations=solution.iterations + sweeps)


def _fits(problem: Problem) -> bool:
    """Whether each margin takes a share of at most one of every unit, and nothing is bounded."""
    free = bool((problem.low <= 0).all() and np.isinf(problem.high).all())
    if not free or not problem.hard.all() or not (problem.targets > 0).all():
        return False
    if (problem.matrix.data < 0).any():
        return False
    for m in np.unique(problem.margin):
        shares = problem.matrix @ (problem.margin == m).astype(np.float64) / problem.size
        if shares.max(initial=0.0) > 1.0 + 1e-9:
            return False
    return True


def _proportional_fitting(
    problem: Problem, tolerance: float, max_sweeps: int
) -> tuple[np.ndarray, int]:
    from synthpop.kernels.raking import proportional_fitting, split_by_margin

    matrix, margins = problem.matrix, np.unique(problem.margin)
    pointers = np.empty((len(margins), matrix.shape[0] + 1), dtype=np.int64)
    controls, counts = np.empty_like(matrix.indices), np.empty_like(matrix.data)
    compact = np.searchsorted(margins, problem.margin)
    split_by_margin(matrix.indptr, matrix.indices, matrix.data, compact, pointers, controls, counts)
    multipliers = np.zeros(len(problem.targets))
    sweeps, _ = proportional_fitting(
        pointers,
        controls,
        counts,
        problem.size,
        problem.targets,
        problem.start.copy(),
        multipliers,
        tolerance / 4.0,
        max_sweeps,
    )
    return multipliers, int(sweeps)


def solve_updating(problem: Problem, *, tolerance: float, max_iterations: int) -> Solution:
    """Iterative proportional updating over controls of several levels (Ye et al. 2009).

    Controls must be positive counts or sums of values that are not negative.
    """
    from synthpop.kernels.raking import proportional_updating

    columns = problem.matrix.tocsc()
    columns.sort_indices()
    weights = problem.start.copy()
    rounds, gap = proportional_updating(
        columns.indptr,
        columns.indices,
        columns.data,
        problem.targets,
        problem.low * problem.start,
        problem.high * problem.start,
        weights,
        tolerance,
        max_iterations,
        np.zeros(len(problem.targets)),
    )
    none = np.empty(0, dtype=np.int64)
    return Solution(weights / problem.start, bool(gap <= tolerance), int(rounds), float(gap), none)
