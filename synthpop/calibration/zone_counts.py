"""Whole households for zones: counts near their weights that keep the totals of all areas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthpop.calibration.zone_problem import ZoneProblem
from synthpop.calibration.zone_solver import ZoneWeights
from synthpop.microdata.statistics.streams import Streams

SWEEPS = 400
TRIED = 40
BLOCK = 64  # zones whose weights are held at a time
NEARLY_WHOLE = 0.05


def whole_counts(
    problem: ZoneProblem, weights: ZoneWeights, streams: Streams
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each zone with the counts of its households, int64, shape (n_households,).

    1. The number of households of a zone is its sum of weights, rounded; what rounding leaves is
    handed to the next zone. 2. A systematic sample decides which weights are rounded up. 3.
    Households are exchanged while that brings the zone's totals nearer. What larger areas are still
    short of, or have too much, is handed on from zone to zone too.
    """
    from synthpop.kernels.zones import improve_counts

    matrix = problem.matrix
    typical = np.sqrt(matrix.power(2).mean(axis=0).A1)
    # amounts are measured in typical ones; what may be missed counts less
    scale = 1.0 / (1.0 + 10.0 / problem.importance) / np.where(typical > 50, typical, 1.0) ** 2
    carried = [np.zeros(targets.shape) for targets in problem.targets]
    left = 0.5
    for first in range(0, problem.n_zones, BLOCK):
        zones = np.arange(first, min(first + BLOCK, problem.n_zones))
        for z, w in zip(zones, weights.of(problem, zones), strict=True):
            rng = streams.at("zone", int(z))
            n = round(float(w.sum()))
            if abs(w.sum() - n) > NEARLY_WHOLE:
                n = int(w.sum() + left)
                left += float(w.sum()) - n
            counts = _rounded(w, n, rng)
            wanted = matrix.T @ w
            for level in range(len(problem.areas)):
                own, area = problem.controls_of(level), problem.areas[level, z]
                if level == len(problem.areas) - 1:
                    target = problem.targets[level][area]
                    met = np.abs(wanted[own] - target) < 0.5
                    wanted[own] = np.where(met, target, wanted[own])
                else:
                    wanted[own] += carried[level][area]
            gap = matrix.T @ counts - wanted
            improve_counts(
                matrix.indptr, matrix.indices, matrix.data, w > 0, w, gap, scale, SWEEPS, TRIED,
                counts,
            )  # fmt: skip
            for level in range(len(problem.areas) - 1):
                carried[level][problem.areas[level, z]] = -gap[problem.controls_of(level)]
            yield int(z), counts


def _rounded(weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Round weights up or down at random so that they add up to n, int64."""
    counts = np.floor(weights).astype(np.int64)
    rest, more = weights - counts, n - int(counts.sum())
    if more < 0:  # never by more than one unit of rounding
        order = np.argsort(np.where(counts > 0, rest, np.inf), kind="stable")
        counts[order[:-more]] -= 1
        return counts
    if more == 0 or rest.sum() == 0:
        return counts
    order = rng.permutation(len(rest))
    along = np.cumsum(rest[order])
    marks = (np.arange(more) + rng.random()) * along[-1] / more
    np.add.at(counts, order[np.minimum(np.searchsorted(along, marks), len(rest) - 1)], 1)
    return counts


def deal(
    households_of_group: np.ndarray,
    weights: np.ndarray,
    copies: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Choose a household of its group for each copy, in proportion to weights; shape (n_copies,).

    households_of_group: group of each household; copies: group of each copy, in the order of zones.
    The households of a group take turns, so that a zone seldom has the same one twice.
    """
    chosen = np.empty(len(copies), dtype=np.int64)
    order = np.argsort(households_of_group, kind="stable")
    starts = np.searchsorted(households_of_group[order], np.arange(households_of_group.max() + 2))
    by_group = np.argsort(copies, kind="stable")
    ends = np.searchsorted(copies[by_group], np.arange(len(starts)))
    for g in np.unique(copies):
        members, rows = order[starts[g] : starts[g + 1]], by_group[ends[g] : ends[g + 1]]
        members = rng.permutation(members)
        expected = weights[members] / weights[members].sum() * len(rows)
        upto = np.floor(np.cumsum(expected) + rng.random()).astype(np.int64)
        times = upto - np.concatenate([[0], upto[:-1]])
        times[-1] += len(rows) - times.sum()
        turns = np.concatenate([(np.arange(t) + rng.random()) / t for t in times.tolist()])
        chosen[rows] = np.repeat(members, times)[np.argsort(turns, kind="stable")]
    return chosen
