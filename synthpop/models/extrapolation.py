"""Sweeps that converge slowly, carried on by Anderson's extrapolation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

DEPTH = 15  # changes that an extrapolation looks at
WORSE = 10.0  # times the smallest gap so far, from which a point is given up
NEARLY_ALIKE = 1e-10  # added to the diagonal of the equations, as a share of it


def fixed_point(
    sweep: Callable[[], tuple[np.ndarray, float]],
    move: Callable[[np.ndarray], None],
    start: np.ndarray,
    weights: np.ndarray,
    tolerance: float,
    max_sweeps: int,
) -> tuple[int, float]:
    """Sweep until the gap is below a tolerance, with an extrapolation after every second sweep.

    From the last points x and the points g that a sweep makes of them the next one is the
    combination of the g whose change g - x is smallest (Anderson 1965, doi 10.1145/321296.321305,
    in the form of Walker and Ni 2011, doi 10.1137/10078356X).

    sweep: does one sweep; returns the parameters after it, shape (p,), and the gap on the way
    move: sets the parameters, shape (p,)
    start: parameters before the first sweep
    weights: float array, shape (p,); what the change of each parameter counts
    Returns the number of sweeps and the gap of the last one.

    Examples
    --------
    >>> x = np.array([5.0, 3.0])
    >>> def halve():
    ...     gap = np.abs(x).max()
    ...     x[:] = x @ [[0.5, 0.2], [0.2, 0.9]]
    ...     return x.copy(), gap
    >>> fixed_point(halve, lambda new: np.copyto(x, new), x.copy(), np.ones(2), 1e-9, 100)[0]
    7
    """
    memory = _Memory(weights)
    point, safe, smallest = start, start, np.inf
    for n_sweeps in range(1, max_sweeps + 1):
        result, gap = sweep()
        if gap < tolerance:
            return n_sweeps, gap
        if not gap <= WORSE * smallest:
            # the extrapolation went too far: back to the best point, and begin anew
            memory, point = _Memory(weights), safe
            smallest *= 2.0
            move(safe)
            continue
        if gap < smallest:
            safe, smallest = result, gap
        memory.add(point, result)
        point = result
        if n_sweeps % 2 == 0 and n_sweeps > 2 and n_sweeps < max_sweeps:
            point = memory.extrapolated()
            move(point)
    return max_sweeps, gap


class _Memory:
    """Differences between the last points, and between their changes by a sweep."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.points: list[np.ndarray] = []
        self.changes: list[np.ndarray] = []
        self.products = np.zeros((0, 0))
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    def add(self, point: np.ndarray, result: np.ndarray) -> None:
        change = result - point
        if self.last is not None:
            self.points.append(result - self.last[0])
            self.changes.append(change - self.last[1])
            if len(self.points) > DEPTH:
                del self.points[0], self.changes[0]
                self.products = self.products[1:, 1:]
            weighted = self.weights * self.changes[-1]
            row = np.array([(weighted * other).sum() for other in self.changes])
            self.products = np.block([[self.products, row[:-1, None]], [row]])
        self.last = result, change

    def extrapolated(self) -> np.ndarray:
        assert self.last is not None
        result, change = self.last
        if not self.points:
            return result
        weighted = self.weights * change
        right = np.array([(weighted * other).sum() for other in self.changes])
        diagonal = NEARLY_ALIKE * self.products.diagonal() + np.finfo(float).tiny
        shares = np.linalg.solve(self.products + np.diag(diagonal), right)
        for share, difference in zip(shares, self.points, strict=True):
            result = result - share * difference
        return result
