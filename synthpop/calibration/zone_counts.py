"""Whole households for zones: counts near their weights that keep the totals of all areas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synthpop.calibration.zone_problem import ZoneProblem
from synthpop.calibration.zone_solver import ZoneWeights
from synthpop.microdata.statistics.streams import Streams

SWEEPS, PATIENCE, TRIED = 3000, 40, 8
PULL = 0.5  # of a larger area's total in a zone, where a total of the zone has 1
VISITS = 60  # zones of an area that are visited again for its totals
BLOCK = 2_000_000  # numbers held at a time
NEARLY_WHOLE = 0.05
NEARLY_MET = 1e-3  # of a total of a larger area
NEAR = 0.01  # of a total of a zone
HOUSEHOLDS = 9.0  # what missing a total costs that households count for once, for persons: 1

Counts = tuple[int, np.ndarray, np.ndarray]
"""A zone, households of the survey, and how often it has each of them."""


def whole_counts(
    problem: ZoneProblem, weights: ZoneWeights, streams: Streams, first_zone: int = 0
) -> tuple[list[Counts], np.ndarray]:
    """Return each zone with households of the survey and how often it has each, and its totals.

    1. The number of households of a zone is its total, or its sum of weights, rounded; what
    rounding leaves is handed to the next zone. 2. A systematic sample decides which weights are
    rounded up. 3. Households are exchanged while that brings the zone's totals nearer. What larger
    areas are still short of, or have too much, is handed on from zone to zone. 4. Where a larger
    area still misses a total, households of some of its zones are exchanged once more.
    """
    scale = cost_of_gaps(problem)
    last = len(problem.areas) - 1
    of_zone = problem.level == last
    carried = [np.zeros(targets.shape) for targets in problem.targets]
    aim = [
        _aim(targets, achieved)
        for targets, achieved in zip(problem.targets, weights.achieved, strict=True)
    ]
    made: list[Counts] = []
    wanted_of, achieved = np.zeros((2, problem.n_zones, len(scale)))
    left = 0.5
    for region, part, zones in problem.blocks(BLOCK):
        pool, start = Pool(problem.pools[region], part), problem.start(region, part, zones)
        least, most = _whole_limits(weights, start)
        of_zones = weights.of(problem, region, part, zones)
        sums = (pool.across @ of_zones.T).T
        for z, w, of_w, low, high in zip(zones, of_zones, sums, least, most, strict=True):
            rng = streams.at("zone", first_zone + int(z))
            wanted_homes = float(w.sum())
            if abs(wanted_homes - problem.households[z]) < 0.5:
                wanted_homes = float(problem.households[z])
            n = round(wanted_homes)
            if abs(wanted_homes - n) > NEARLY_WHOLE:
                n = int(wanted_homes + left)
                left += wanted_homes - n
            counts = _rounded(w, n, rng)
            wanted = _wanted(problem, z, of_w, aim, carried)
            gap = pool.across @ counts - wanted
            cost = np.where(np.isfinite(targets_of(problem, z)), scale, 0.0)
            cost[~of_zone] *= PULL / np.maximum(np.abs(gap[~of_zone]), 1.0)
            pool.improve(w, low, high, gap, cost, of_zone, counts)
            for level in range(last):
                carried[level][problem.areas[level, z]] = -gap[problem.controls_of(level)]
            wanted_of[z], achieved[z] = wanted, pool.across @ counts
            there = np.flatnonzero(counts)
            made.append((int(z), pool.households[there], counts[there]))
    meet_larger_areas(problem, weights, scale, wanted_of, achieved, made)
    return made, achieved


def meet_larger_areas(
    problem: ZoneProblem,
    weights: ZoneWeights,
    scale: np.ndarray,
    wanted: np.ndarray,
    achieved: np.ndarray,
    made: list[Counts],
) -> None:
    """Exchange households in zones of areas that miss a total; changes achieved and made in place.

    wanted, achieved (n_zones, n_controls): what the zones aimed at, and what they have
    """
    gaps = _gaps_of_larger_areas(problem, weights, achieved)
    visits = [np.zeros(len(gap), dtype=np.int64) for gap in gaps]
    position = {z: row for row, (z, _, _) in enumerate(made)}
    for region, part, zones in problem.blocks(BLOCK):
        pool = Pool(problem.pools[region], part)
        for z in map(int, zones):
            areas = problem.areas[: len(gaps), z]
            missed = [
                level for level, k in enumerate(areas)
                if visits[level][k] < VISITS and np.nanmax(np.abs(gaps[level][k]), initial=0) > 0.5
            ]  # fmt: skip
            if not missed or z not in position:
                continue
            _, households, times = made[position[z]]
            counts = np.zeros(len(pool.households), dtype=np.int64)
            counts[np.searchsorted(pool.households, households)] = times
            gap = achieved[z] - wanted[z]
            for level, k in enumerate(areas):
                gap[problem.controls_of(level)] = gaps[level][k]
                visits[level][k] += level in missed
            cost = np.where(np.isfinite(targets_of(problem, z)) & np.isfinite(gap), scale, 0.0)
            gap = np.nan_to_num(gap)
            low, high = _whole_limits(weights, problem.start(region, part, np.array([z])))
            pool.improve(counts.astype(float), low[0], high[0], gap, cost, cost > 0, counts)
            for level, k in enumerate(areas):
                own = problem.controls_of(level)
                gaps[level][k] = np.where(np.isnan(gaps[level][k]), np.nan, gap[own])
            there = np.flatnonzero(counts)
            made[position[z]] = (z, pool.households[there], counts[there])
            achieved[z] = pool.across @ counts


def _gaps_of_larger_areas(
    problem: ZoneProblem, weights: ZoneWeights, achieved: np.ndarray
) -> list[np.ndarray]:
    """Return what larger areas have too much of; NaN where a total is not known or not reached."""
    gaps = []
    for level, targets in enumerate(problem.targets[:-1]):
        sums = problem.of_areas(level, achieved)
        gaps.append(np.where(_near(targets, weights.achieved[level]), sums - targets, np.nan))
    return gaps


@dataclass(frozen=True, slots=True)
class Pool:
    """Households that may live in the zones of a region, and how much each control counts them."""

    households: np.ndarray  # int64, sorted
    matrix: Any  # scipy CSR, shape (households, controls)
    columns: Any = field(init=False)  # the same as CSC
    across: Any = field(init=False)  # transposed

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.matrix.tocsc())
        object.__setattr__(self, "across", self.columns.T)

    def improve(
        self, weights: np.ndarray, low: np.ndarray, high: np.ndarray, gap: np.ndarray,
        cost: np.ndarray, first: np.ndarray, counts: np.ndarray,
    ) -> None:  # fmt: skip
        """Exchange households (`improve_counts`); gap and counts are changed in place."""
        from synthpop.kernels.zones import improve_counts

        matrix, columns = self.matrix, self.columns
        improve_counts(
            matrix.indptr, matrix.indices, matrix.data, columns.indptr, columns.indices,
            columns.data, weights, low, high, gap, cost, first, SWEEPS, PATIENCE, TRIED, counts,
        )  # fmt: skip


def _whole_limits(weights: ZoneWeights, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest count for start weights, int64."""
    least, most = weights.limits.between(start)
    return np.floor(least).astype(np.int64), np.ceil(np.minimum(most, 2.0**40)).astype(np.int64)


def targets_of(problem: ZoneProblem, z: int) -> np.ndarray:
    """Return the totals of a zone and of the areas that it lies in, shape (n_controls,)."""
    targets = np.empty(len(problem.level))
    for level, of_areas in enumerate(problem.targets):
        targets[problem.controls_of(level)] = of_areas[problem.areas[level, z]]
    return targets


def _wanted(
    problem: ZoneProblem, z: int, sums: np.ndarray, aim: list[np.ndarray], carried: list[np.ndarray]
) -> np.ndarray:
    """Return what a zone aims at: its totals where weights are near them, shares of larger ones."""
    wanted, last = sums.copy(), len(problem.areas) - 1
    for level in range(last + 1):
        own, area = problem.controls_of(level), problem.areas[level, z]
        if level == last:
            target = problem.targets[level][area]
            near = np.abs(wanted[own] - target) < np.maximum(0.5, NEAR * target)
            wanted[own] = np.where(near, target, wanted[own])
        else:
            wanted[own] = wanted[own] * aim[level][area] + carried[level][area]
    return wanted


def cost_of_gaps(problem: ZoneProblem) -> np.ndarray:
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
    return np.where(_near(targets, achieved) & np.isfinite(factor), factor, 1.0)


def _near(targets: np.ndarray, achieved: np.ndarray) -> np.ndarray:
    """Return whether weights meet totals of larger areas but for their importance."""
    near: np.ndarray = np.abs(targets - achieved) < np.maximum(0.5, NEARLY_MET * targets)
    return near


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
        if len(members) == 1:
            chosen[rows] = members[0]
            continue
        members = rng.permutation(members)
        expected = weights[members] / weights[members].sum() * len(rows)
        upto = np.floor(np.cumsum(expected) + rng.random()).astype(np.int64)
        times = upto - np.concatenate([[0], upto[:-1]])
        times[-1] += len(rows) - times.sum()
        turns = np.concatenate([(np.arange(t) + rng.random()) / t for t in times.tolist()])
        chosen[rows] = np.repeat(members, times)[np.argsort(turns, kind="stable")]
    return chosen
