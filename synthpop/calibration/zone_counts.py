"""Whole households for zones: counts near their weights that keep the totals of all areas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthpop.calibration.zone_problem import ZoneProblem
from synthpop.calibration.zone_solver import ZoneWeights
from synthpop.microdata.statistics.streams import Streams

SWEEPS, PATIENCE, TRIED = 600, 40, 8
BLOCK = 2_000_000  # numbers held at a time
NEARLY_WHOLE = 0.05
NEARLY_MET = 1e-3  # of a total of a larger area
HOUSEHOLDS = 9.0  # what missing a total costs that households count for once, for persons: 1


def whole_counts(
    problem: ZoneProblem, weights: ZoneWeights, streams: Streams
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each zone with households of the survey, and how often it has each of them.

    1. The number of households of a zone is its total, or its sum of weights, rounded; what
    rounding leaves is handed to the next zone. 2. A systematic sample decides which weights are
    rounded up. 3. Households are exchanged while that brings the zone's totals nearer. What larger
    areas are still short of, or have too much, is handed on from zone to zone.
    """
    from synthpop.kernels.zones import improve_counts

    scale = _cost_of_gaps(problem)
    last = len(problem.areas) - 1
    carried = [np.zeros(targets.shape) for targets in problem.targets]
    aim = [
        _aim(targets, achieved)
        for targets, achieved in zip(problem.targets, weights.achieved, strict=True)
    ]
    left = 0.5
    for region, part, zones in problem.blocks(BLOCK):
        pool, start = problem.pools[region], problem.start(region, part, zones)
        bounds = weights.limits.between(start)
        least, most = np.floor(bounds[0]).astype(np.int64), np.ceil(np.minimum(bounds[1], 2.0**40))
        for z, w, low, high in zip(
            zones, weights.of(problem, region, part, zones), least, most.astype(np.int64),
            strict=True,
        ):  # fmt: skip
            rng = streams.at("zone", int(z))
            wanted_homes = float(w.sum())
            if abs(wanted_homes - problem.households[z]) < 0.5:
                wanted_homes = float(problem.households[z])
            n = round(wanted_homes)
            if abs(wanted_homes - n) > NEARLY_WHOLE:
                n = int(wanted_homes + left)
                left += wanted_homes - n
            counts = _rounded(w, n, rng)
            wanted = part.T @ w
            for level in range(last + 1):
                own, area = problem.controls_of(level), problem.areas[level, z]
                if level == last:
                    target = problem.targets[level][area]
                    met = np.abs(wanted[own] - target) < 0.5
                    wanted[own] = np.where(met, target, wanted[own])
                else:
                    wanted[own] = wanted[own] * aim[level][area] + carried[level][area]
            gap = part.T @ counts - wanted
            improve_counts(
                part.indptr, part.indices, part.data, w, low, high, gap, scale, SWEEPS, PATIENCE,
                TRIED, counts,
            )  # fmt: skip
            for level in range(last):
                carried[level][problem.areas[level, z]] = -gap[problem.controls_of(level)]
            there = np.flatnonzero(counts)
            yield int(z), pool[there], counts[there]


def _cost_of_gaps(problem: ZoneProblem) -> np.ndarray:
    """Return what the square of a gap costs, shape (n_controls,).

    Amounts are measured in typical ones; what may be missed counts less; totals for which each
    household counts once, of which all can be met, count more than those of persons.
    """
    matrix = problem.matrix
    typical = np.sqrt(matrix.power(2).mean(axis=0).A1)
    once = abs(matrix).max(axis=0).toarray()[0] < 1.0 + 1e-9
    important = np.where(once, HOUSEHOLDS, 1.0) / (1.0 + 10.0 / problem.importance)
    cost: np.ndarray = important / np.where(typical > 50, typical, 1.0) ** 2
    return cost


def _aim(targets: np.ndarray, achieved: np.ndarray) -> np.ndarray:
    """Return the factor that brings weights which nearly meet a total to it."""
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = targets / achieved
        near = np.abs(targets - achieved) < np.maximum(0.5, NEARLY_MET * targets)
    return np.where(near & np.isfinite(factor), factor, 1.0)


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
