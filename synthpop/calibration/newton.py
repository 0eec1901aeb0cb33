"""Generalised calibration by Newton's method on the dual (Deville, Sarndal and Sautory 1993).

The dual of calibration is a concave function of one multiplier a control; its gradient is the gap
of the controls. Controls with a finite importance c add the penalty ``c (achieved - target)^2 /
(2 |target|)`` to the distance, which adds ``|target| / c`` to the diagonal of the dual Hessian.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.calibration.distances import Distance
from synthpop.calibration.problem import Problem, Solution

DENSE_CONTROLS = 1500
RIDGE = 1e-12
HALVINGS = 40
STALLED = 50  # steps without a gap that is 1 % smaller


def solve_dual(
    problem: Problem,
    distance: Distance,
    *,
    tolerance: float,
    max_iterations: int,
    multipliers: np.ndarray | None = None,
) -> Solution:
    """Find the ratios g of least distance that meet the controls.

    distance: with the bounds of the problem in it
    multipliers: float64 array, shape (n_controls,); where to start; default zeros, which is g = 1
    """
    # 1. Multipliers 0: every g is 1, the survey weights as they are.
    dual = _Dual(problem, distance)
    point = dual.at(np.zeros(len(problem.targets)) if multipliers is None else multipliers)
    ridge, iteration, best, stalls = RIDGE, 0, point, 0
    while point.gap > tolerance and iteration < max_iterations:
        iteration += 1
        stalls += 1
        # 2. Newton direction: X' diag(d F'(x' lambda)) X delta = targets - achieved.
        direction = dual.direction(point, ridge)
        # 3. Halve the step until the dual falls; a larger ridge where no step does.
        following = dual.line_search(point, direction)
        if following is None:
            if ridge >= 1.0:
                break
            ridge = min(1.0, ridge * 1e3)
            continue
        ridge = max(RIDGE, ridge / 1e3)
        point = following
        stalls = 0 if point.gap < 0.99 * best.gap else stalls
        best = point if point.gap < best.gap else best
        # 4. End early where the direction proves that no weights within the bounds exist.
        if stalls >= STALLED or (iteration % 10 == 0 and len(dual.proof(point))):
            break
    converged = bool(point.gap <= tolerance)
    proof = np.empty(0, dtype=np.int64) if converged else dual.proof(point)
    return Solution(best.g, converged, iteration, float(best.gap), proof)


@dataclass(frozen=True, slots=True)
class _Point:
    """One place of the search: multipliers, g, gradient, value, relative gap."""

    multipliers: np.ndarray
    arguments: np.ndarray
    g: np.ndarray
    gradient: np.ndarray
    value: float
    gap: float


class _Dual:
    """The dual function (as one to minimise), its gradient and its Newton direction."""

    def __init__(self, problem: Problem, distance: Distance) -> None:
        self.problem, self.distance = problem, distance
        self.scale = problem.scale()
        self.transposed = problem.matrix.T.tocsr()
        hard = problem.hard
        self.penalty = np.where(hard, 0.0, self.scale / np.where(hard, 1.0, problem.importance))
        squared = problem.matrix.copy()
        squared.data = squared.data**2
        curvature = squared.T @ (problem.start / problem.size) + self.penalty
        self.unit = 1.0 / np.sqrt(np.maximum(curvature, 1e-300))

    def at(self, multipliers: np.ndarray) -> _Point:
        problem = self.problem
        arguments = (problem.matrix @ multipliers) / problem.size
        g = self.distance.ratio(arguments)
        achieved = self.transposed @ (problem.start * g)
        gradient = achieved + self.penalty * multipliers - problem.targets
        cost = problem.start * problem.size * self.distance.integral(arguments)
        value = float(
            cost.sum() + 0.5 * (self.penalty * multipliers**2).sum() - multipliers @ problem.targets
        )
        gap = float(np.max(np.abs(gradient) / self.scale, initial=0.0))
        return _Point(multipliers, arguments, g, gradient, value, gap if gap == gap else np.inf)

    def direction(self, point: _Point, ridge: float) -> np.ndarray:
        """Return the Newton direction, with a ridge so that linked controls do no harm."""
        problem = self.problem
        slope = problem.start / problem.size * self.distance.slope(point.arguments)
        right = -point.gradient * self.unit
        if len(problem.targets) <= DENSE_CONTROLS:
            solution = self._dense(slope, right, ridge)
        else:
            solution = self._iterative(slope, right, ridge, point.gap)
        return solution * self.unit

    def _dense(self, slope: np.ndarray, right: np.ndarray, ridge: float) -> np.ndarray:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        from synthpop.kernels.raking import weighted_gram

        matrix = self.problem.matrix
        hessian = np.zeros((len(right), len(right)))
        weighted_gram(matrix.indptr, matrix.indices, matrix.data, slope, hessian)
        hessian *= self.unit[:, None] * self.unit[None, :]
        diagonal = hessian.diagonal() + self.penalty * self.unit**2
        while True:
            np.fill_diagonal(hessian, diagonal + ridge)
            try:
                return cho_solve(cho_factor(hessian, lower=False), right)
            except LinAlgError:
                ridge = max(ridge * 100.0, 1e-14)

    def _iterative(
        self, slope: np.ndarray, right: np.ndarray, ridge: float, gap: float
    ) -> np.ndarray:
        from scipy.sparse.linalg import LinearOperator, cg

        diagonal = self.penalty * self.unit**2 + ridge
        matrix, unit = self.problem.matrix, self.unit

        def product(x: np.ndarray) -> np.ndarray:
            x = x.reshape(-1)
            return (self.transposed @ (slope * (matrix @ (unit * x)))) * unit + diagonal * x

        operator = LinearOperator((len(right), len(right)), matvec=product, dtype=np.float64)
        solution, _ = cg(operator, right, rtol=min(1e-2, max(1e-10, gap * 0.1)), maxiter=500)
        return solution

    def line_search(self, point: _Point, direction: np.ndarray) -> _Point | None:
        """Return the first of the halved steps that makes the dual, or the gap, smaller."""
        descent = float(point.gradient @ direction)
        step = 1.0
        for _ in range(HALVINGS):
            new = self.at(point.multipliers + step * direction)
            if np.isfinite(new.value) and (
                new.value <= point.value + 1e-4 * step * descent
                or (new.gap < 0.5 * point.gap and new.gap < 1e-3)
            ):
                return new
            step /= 2.0
        return None

    def proof(self, point: _Point) -> np.ndarray:
        """Return the controls of a combination that no g within the bounds can meet.

        For any g within the bounds, ``r' t = sum_u d_u g_u a_u' r`` cannot exceed the sum of the
        larger of the two ends; multipliers that grow without limit point along such an r.
        """
        problem = self.problem
        if not problem.hard.all():
            return np.empty(0, dtype=np.int64)
        along = problem.matrix @ point.multipliers
        along[np.abs(along) < 1e-9 * np.abs(along).max(initial=0.0)] = 0.0
        with np.errstate(invalid="ignore"):
            best = np.where(along > 0, problem.high * along, problem.low * along)
        most = float((problem.start * np.where(along == 0, 0.0, best)).sum())
        target = float(point.multipliers @ problem.targets)
        if not np.isfinite(most) or target <= most + 1e-9 * (abs(target) + abs(most)):
            return np.empty(0, dtype=np.int64)
        weight = np.abs(point.multipliers * problem.targets)
        order = np.argsort(-weight, kind="stable")
        return order[weight[order] > 0.01 * weight.max()].astype(np.int64)
