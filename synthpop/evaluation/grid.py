"""A fine grid of values, and which of its cells a value lies in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.microdata.statistics.weighted import quantile

MOST_POINTS = 20_000
FEWEST_POINTS = 4_096
BINS = 1 << 16
FULL_STEPS = 3
ALL_STEPS = 8
NARROWEST = 1e-250  # below it the number of bins by the width would overflow


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Points g_0 < g_1 < ...; cell 2i + 1 is the point g_i, cell 2i the open gap below it."""

    points: np.ndarray  # float array, shape (m,): finite, strictly increasing, 0 among them
    padded: np.ndarray  # float array, shape (m + 1,): the points and NaN, which no value is above
    # int array, shape (BINS + 1,): number of points in the bins before each bin, where a bin is
    # an interval of equal length
    start: np.ndarray
    # low, scale: bin of x is the whole part of (x - low) * scale
    low: float
    scale: float

    @property
    def n_cells(self) -> int:
        """Number of cells, gaps at both ends included."""
        return 2 * len(self.points) + 1

    @property
    def zero_cell(self) -> int:
        """The cell of the value 0."""
        return 2 * int(np.searchsorted(self.points, 0.0)) + 1

    def locate(self, values: np.ndarray) -> np.ndarray:
        """Return the cell of each value, shape (n,); values must not be NaN.

        Bins give a first guess that is never too far up; the few points in the bin are passed one
        by one, and what is left after some steps by bisection.
        """
        at = self.start[_bins(values, self.low, self.scale)]
        for _ in range(FULL_STEPS):
            at += self.padded[at] < values
        left = np.flatnonzero(self.padded[at] < values)
        for _ in range(ALL_STEPS):
            if len(left) == 0:
                break
            at[left] += 1
            left = left[self.padded[at[left]] < values[left]]
        if len(left):
            at[left] = np.searchsorted(self.points, values[left])
        return 2 * at + (self.padded[at] == values)

    def between(self, cells: np.ndarray) -> np.ndarray:
        """Return whether each cell is a gap and not a point."""
        return cells % 2 == 0


def make_grid(values: np.ndarray, weights: np.ndarray) -> Grid:
    """Return the grid of a variable: the distinct finite values of its sample, and 0.

    More than 20,000 distinct values are thinned to weighted quantiles; fewer than 4,096 are filled
    up in between, which changes no distance and makes the cells short.
    """
    finite = np.isfinite(values)
    points = np.unique(np.append(values[finite], 0.0))
    if len(points) > MOST_POINTS:
        probs = (np.arange(MOST_POINTS) + 0.5) / MOST_POINTS
        limits = quantile(values[finite], weights[finite], probs)
        points = np.unique(np.concatenate([limits, points[[0, -1]], [0.0]]))
    elif 1 < len(points) < FEWEST_POINTS:
        positions = np.linspace(0, len(points) - 1, FEWEST_POINTS)
        points = np.union1d(points, np.interp(positions, np.arange(len(points)), points))
    inner = points[int(0.005 * len(points)) : int(np.ceil(0.995 * len(points)))]
    low, width = float(inner[0]), float(inner[-1] - inner[0])
    scale = BINS / width if width > NARROWEST else 1.0
    counts = np.bincount(_bins(points, low, scale), minlength=BINS)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Grid(points, np.append(points, np.nan), start, low, scale)


def _bins(values: np.ndarray, low: float, scale: float) -> np.ndarray:
    with np.errstate(over="ignore"):  # far outside is the last bin
        position = values - low
        position *= scale
    np.clip(position, 0, BINS - 1, out=position)
    return position.astype(np.int32)
