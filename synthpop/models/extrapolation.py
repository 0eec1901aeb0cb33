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
    """Differences between the last points, and between their changes by a sweep.

    They are rows of two tables, those of the last `DEPTH` sweeps from `first` on. A table that is
    full moves them to its front.
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.first = self.end = 0
        self.points, self.changes = np.empty((2, 2 * DEPTH, len(weights)))
        self.products = np.zeros((0, 0))
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    def add(self, point: np.ndarray, result: np.ndarray) -> None:
        change = result - point
        if self.last is not None:
            if self.end == 2 * DEPTH:
                kept = slice(self.first + 1, self.end)
                self.first, self.end = 0, DEPTH - 1
                for table in (self.points, self.changes):
                    table[: self.end] = table[kept]
                self.products = self.products[1:, 1:]
            self.points[self.end] = result - self.last[0]
            self.changes[self.end] = change - self.last[1]
            self.end += 1
            if self.end - self.first > DEPTH:
                self.first += 1
                self.products = self.products[1:, 1:]
            row = self._products_with(self.changes[self.end - 1])
            products = np.empty((len(row), len(row)))
            products[:-1, :-1] = self.products
            products[-1], products[:, -1] = row, row
            self.products = products
        self.last = result, change

    def _products_with(self, change: np.ndarray) -> np.ndarray:
        products: np.ndarray = self.weights * change * self.changes[self.first : self.end]
        return products.sum(axis=1)

    def extrapolated(self) -> np.ndarray:
        assert self.last is not None
        result, change = self.last
        if self.first == self.end:
            return result
        right = self._products_with(change)
        diagonal = NEARLY_ALIKE * self.products.diagonal() + np.finfo(float).tiny
        shares = np.linalg.solve(self.products + np.diag(diagonal), right)
        for share, difference in zip(shares, self.points[self.first : self.end], strict=True):
            result = result - share * difference
        return result
