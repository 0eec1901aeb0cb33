"""Households of a survey for zones, as arrays: weights, whole numbers, and who is copied where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin
from synthpop.calibration.problem import Problem, group_units
from synthpop.calibration.zone_counts import deal, whole_counts
from synthpop.calibration.zone_problem import ZoneProblem, zone_problem
from synthpop.calibration.zone_solver import ByLevel, WeightLimits, solve_zones
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams


@dataclass(frozen=True, slots=True)
class ZoneCopies:
    """Which household lives where, and what that achieves."""

    # int64, shape (n_copies,), sorted by zone: row of the geography, household of the survey
    zone: np.ndarray
    household: np.ndarray
    # float64, one per row of the tables of known totals: under the weights, and under the copies
    balanced: np.ndarray
    achieved: np.ndarray
    converged: bool
    borrowed: dict[int, tuple[int, ...]]  # region without a sample: those whose it takes


def allot(
    survey: Survey,
    geography: pd.DataFrame,
    margins: Sequence[Margin],
    within: str | None,
    streams: Streams,
    *,
    first_zone: int = 0,
    limits: WeightLimits | None = None,
    stop: tuple[float, int] = (1e-4, 1000),
) -> ZoneCopies:
    """Balance households and put whole ones into zones.

    first_zone: number of the first row of the geography among the zones of the run, which names
        the random numbers
    stop: largest relative gap of a total that must be met, and Newton steps at most
    Raises InputError: margins do not match survey and geography.
    """
    faults = Faults("balance zones")
    problem = zone_problem(survey, geography, margins, within, faults)
    faults.raise_if_any()
    assert problem is not None
    group = np.arange(survey.n_households)
    if limits is None:  # they are of each household
        problem, group = grouped(problem)
    weights = solve_zones(problem, tolerance=stop[0], max_iterations=stop[1], limits=limits)
    made, of_zones = whole_counts(problem, weights, streams, first_zone)
    achieved = [problem.of_areas(level, of_zones) for level in range(len(problem.areas))]
    copies = [np.repeat(households, counts) for _, households, counts in made]
    zones = [np.full(len(part), z) for (z, _, _), part in zip(made, copies, strict=True)]
    rng = streams.at("deal", first_zone) if first_zone else streams.at("deal")
    chosen = deal(group, survey.household_weights, np.concatenate(copies), rng)
    zone = np.concatenate(zones)
    order = np.argsort(zone, kind="stable")
    return ZoneCopies(
        zone[order], chosen[order], of_rows(problem, weights.achieved),
        of_rows(problem, achieved), weights.converged, dict(problem.borrowed),
    )  # fmt: skip


def persons_of(survey: Survey, households: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the members of households, one after the other, and their numbers."""
    sizes = survey.household_sizes[households]
    first = survey.household_offsets[:-1][households]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return survey.household_order[np.repeat(first, sizes) + within], sizes


def grouped(problem: ZoneProblem) -> tuple[ZoneProblem, np.ndarray]:
    """Put households together that count alike and live in the same region."""
    n = problem.matrix.shape[0]
    region = np.full(n, -1.0)
    for k, pool in enumerate(problem.pools):
        if k not in problem.borrowed:  # others are made of whole pools
            region[pool] = k
    units = Problem(
        problem.matrix, problem.weights, region + 2.0, np.empty(0),
        np.empty(0, dtype=np.int64), np.empty(0), np.zeros(n), np.zeros(n),
    )  # fmt: skip
    units, group = group_units(units)
    pools = tuple(np.unique(group[pool]) for pool in problem.pools)
    return replace(problem, matrix=units.matrix, weights=units.start, pools=pools), group


def of_rows(problem: ZoneProblem, by_level: ByLevel) -> np.ndarray:
    """Return numbers of areas and controls, one per known total."""
    position = np.zeros(len(problem.level), dtype=np.int64)
    values = np.zeros(len(problem.control))
    for level, of_level in enumerate(by_level):
        own = problem.controls_of(level)
        position[own] = np.arange(len(own))
        rows = problem.level[problem.control] == level
        values[rows] = of_level[problem.area[rows], position[problem.control[rows]]]
    return values
