"""A population that lives in zones, brought to new known totals with few exchanges."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin, margin_list
from synthpop.calibration.zone_allotment import grouped, of_rows
from synthpop.calibration.zone_counts import (
    BLOCK,
    Counts,
    Pool,
    cost_of_gaps,
    deal,
    meet_larger_areas,
    targets_of,
)
from synthpop.calibration.zone_problem import ZoneProblem, texts_of, zone_problem
from synthpop.calibration.zone_solver import WeightLimits, ZoneWeights
from synthpop.calibration.zones import (
    ALLOTTED,
    COUNT,
    ZoneHouseholds,
    check_geography,
    households_there,
    table_of_gaps,
    with_bands,
)
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults
from synthpop.microdata.roles.survey import Survey, free_name
from synthpop.microdata.statistics.streams import Streams, resolve_seed

BEFORE = "previous_household"


@same_library
def adjust_zones(
    population: Any,
    geography: Any,
    margins: Margin | Sequence[Margin],
    *,
    household: str,
    within: str | None = None,
    seed: int | None = None,
) -> ZoneHouseholds:
    """Bring a population in zones to new known totals, with as few changes as possible.

    Parameters
    ----------
    population : DataFrame, one row per person
        Of any source, with the zone that each household lives in: the column that the last of the
        geography names.
    geography, margins
        As in `balance_zones`. Zones without totals stay as they are.
    household : str
        Column of the household.
    within : str, optional
        Geography inside which households are copied. Default: from everywhere.
    seed : int, optional
        Of which of equal households leave, and are copied.

    Returns
    -------
    ZoneHouseholds
        `kept` is the number of households that stay where they are. Where `household` is
        ``zone_household`` (of a result), it becomes ``previous_household``.

    Raises
    ------
    InputError
        As `balance_zones`; a household in two zones, or in none of the geography.

    Warns
    -----
    ConvergenceWarning
        Totals that had to be met are not met.

    Notes
    -----
    Nothing is balanced: a zone keeps its households and gets, or loses, as many as its total of
    households asks for; then a household at a time is exchanged with a copy of another one, that
    which brings the totals nearest, until all are met; larger areas follow. Exchanges that the
    totals do not need are taken back, so that no single one is superfluous. Randomness: one stream
    a zone, and one for which of equal households is copied.

    Examples
    --------
    >>> people = pd.DataFrame({"hid": [1, 2, 2, 3], "zone": ["a", "a", "a", "b"]})
    >>> homes = Margin(pd.DataFrame({"zone": ["a", "b"], "total": [3, 1]}), level="household")
    >>> persons = Margin(pd.DataFrame({"zone": ["a"], "total": [5]}))
    >>> zones = pd.DataFrame({"zone": ["a", "b"]})
    >>> result = adjust_zones(people, zones, [homes, persons], household="hid", seed=1)
    >>> result.kept, result.persons()["zone"].tolist()
    (3, ['a', 'a', 'a', 'a', 'a', 'b'])
    """
    items = margin_list(list(margins) if not isinstance(margins, Margin) else margins)
    table = as_frame(geography, "geography").reset_index(drop=True)
    frame = as_frame(population, "population").reset_index(drop=True)
    zone, faults = str(table.columns[-1]), Faults("adjust zones")
    check_columns(faults, frame, [household, zone], "population")
    faults.raise_if_any()
    lives = pd.Index(texts_of(table[zone])).get_indexer(texts_of(frame[zone]))
    if (lives < 0).any():
        hint = "Add them to the geography."
        faults.add(zone, "zones are not in it", rows=np.flatnonzero(lives < 0), hint=hint)
    if pd.Series(lives).groupby(frame[household]).nunique().gt(1).any():
        faults.add(household, "a household lives in two zones", hint="Give them different numbers.")
    faults.raise_if_any()
    if household == ALLOTTED:  # of a result of these functions: the result numbers anew
        household = free_name(frame.columns, BEFORE)
        frame = frame.rename(columns={ALLOTTED: household})
    weight = free_name(frame.columns, "w")
    further = {name: table[name].to_numpy()[lives] for name in table.columns}
    survey = Survey(frame.assign(**further, **{weight: 1.0}), weight=weight, household=household)
    check_geography(faults, survey, table, within)
    problem = zone_problem(survey, table, items, within, faults)
    faults.raise_if_any()
    assert problem is not None
    problem, group = grouped(problem)
    seed = resolve_seed(seed)
    streams = Streams(seed)
    home = lives[survey.household_order[survey.household_offsets[:-1]]]
    made, of_zones = _exchanged(problem, home, group, streams)
    zones, households, kept = _who_lives_where(made, home, group, streams)
    achieved = of_rows(problem, [problem.of_areas(k, of_zones) for k in range(len(problem.areas))])
    there = households_there(survey, table, zones, households).drop(columns=weight)
    levels = tuple(str(name) for name in table.columns)
    unbalanced = np.full(len(achieved), np.nan)
    controls = with_bands(table_of_gaps(items, unbalanced, achieved, levels), 0.0)
    must = np.isinf(problem.importance[problem.control])
    met = not (np.abs(controls["gap"].to_numpy()[must]) >= 0.5).any()
    result = ZoneHouseholds(
        Survey(there, weight=COUNT, household=ALLOTTED), controls, levels, seed, met, kept=kept
    )
    if not met:
        warnings.warn(result.conflict(), ConvergenceWarning, stacklevel=3)
    return result


def _exchanged(
    problem: ZoneProblem, home: np.ndarray, group: np.ndarray, streams: Streams
) -> tuple[list[Counts], np.ndarray]:
    """Return the groups of households of each zone and how often it has them, and its totals."""
    cost_of = cost_of_gaps(problem)
    of_zone = problem.level == len(problem.areas) - 1
    achieved = np.zeros((problem.n_zones, len(cost_of)))
    wanted = np.zeros_like(achieved)
    made: list[Counts] = []
    for region, part, zones in problem.blocks(BLOCK):
        pool = Pool(problem.pools[region], part)
        for z in map(int, zones):
            start = np.bincount(group[home == z], minlength=len(group))[pool.households]
            counts, target = start.copy(), targets_of(problem, z)
            known = np.isfinite(target) & of_zone
            gap = np.where(known, pool.across @ counts - target, 0.0)
            cost = np.where(known, cost_of, 0.0)
            homes = problem.households[z]
            more = 0 if np.isnan(homes) else int(homes) - int(counts.sum())
            rng = streams.at("zone", z)
            _resize(pool, more, start, counts, gap, cost, rng)
            room = np.full(len(counts), 2**40)
            nobody = np.zeros(len(counts), dtype=np.int64)
            pool.improve(start.astype(float), nobody, room, gap, cost, of_zone, counts)
            _take_back(pool, start, counts, gap, cost)
            achieved[z] = pool.across @ counts
            wanted[z] = np.where(known, target, achieved[z])
            there = np.flatnonzero(counts)
            made.append((z, pool.households[there], counts[there]))
    weights = ZoneWeights([], list(problem.targets), True, 0, WeightLimits())
    meet_larger_areas(problem, weights, cost_of, wanted, achieved, made)
    return made, achieved


def _resize(
    pool: Pool, more: int, start: np.ndarray, counts: np.ndarray, gap: np.ndarray,
    cost: np.ndarray, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Add households (or take some away) one by one, each the one that costs least."""
    square = pool.matrix.power(2) @ cost
    ties = 1e-9 * rng.random(len(counts))
    sign = 1 if more > 0 else -1
    for _ in range(abs(more)):
        change = square + 2 * sign * (pool.matrix @ (gap * cost)) + ties
        if sign < 0:
            change[counts == 0] = np.inf
        k = int(np.argmin(change))
        counts[k] += sign
        gap += sign * pool.matrix[[k]].toarray()[0]


def _take_back(
    pool: Pool, start: np.ndarray, counts: np.ndarray, gap: np.ndarray, cost: np.ndarray
) -> None:
    """Take back each exchange without which the totals are as near."""
    for came in np.flatnonzero(counts > start):
        for left in np.flatnonzero(counts < start):
            row = (pool.matrix[[left]] - pool.matrix[[came]]).toarray()[0]
            while (
                counts[came] > start[came]
                and counts[left] < start[left]
                and (cost * ((gap + row) ** 2 - gap**2)).sum() <= 1e-9
            ):
                counts[came] -= 1
                counts[left] += 1
                gap += row


def _who_lives_where(
    made: list[Counts], home: np.ndarray, group: np.ndarray, streams: Streams
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return zone and household of each copy, by zone, and how many stay where they are."""
    stay_zones, stay, new_zones, new_groups = [], [], [], []
    for z, groups, counts in made:
        rng = streams.at("leave", z)
        residents = rng.permutation(np.flatnonzero(home == z))
        own = group[residents]
        order = np.argsort(own, kind="stable")
        number = np.arange(len(own)) - np.searchsorted(own[order], own[order])  # within its group
        times = pd.Series(counts, index=groups)
        kept = residents[order][number < times.reindex(own[order]).fillna(0).to_numpy()]
        stay.append(np.sort(kept))
        stay_zones.append(np.full(len(kept), z))
        left = times.sub(pd.Series(group[kept]).value_counts(), fill_value=0).astype(np.int64)
        new_groups.append(np.repeat(left.index.to_numpy(dtype=np.int64), left.to_numpy()))
        new_zones.append(np.full(int(left.sum()), z))
    of_new = np.concatenate(new_groups)
    chosen = deal(group, np.ones(len(group)), of_new, streams.at("deal"))
    zones = np.concatenate([*stay_zones, *new_zones]).astype(np.int64)
    households = np.concatenate([*stay, chosen]).astype(np.int64)
    order = np.argsort(zones, kind="stable")
    return zones[order], households[order], len(households) - len(chosen)
