"""Exact quantiles of a population in a second pass, without sorting or holding it.

The counts of the first pass tell in which cell of the grid a quantile lies. A cell that is a point
is the answer; of the cells that are gaps, the few that are needed have their values collected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from synthpop.evaluation.source import PopulationChunks
from synthpop.evaluation.tabulate import ALL, Counts, TabulationPlan
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.runs.chunks import NumberedFrames
from synthpop.microdata.statistics.weighted import SHARE_TOLERANCE

Wanted = Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(slots=True)
class Target:
    """The `rank`-th smallest value of a cell in a group is wanted."""

    name: str
    by: str
    group: int
    place: int
    cell: int
    rank: int


def population_quantiles(
    plan: TabulationPlan, counts: Counts, wanted: Wanted, source: PopulationChunks
) -> dict[tuple[str, str], np.ndarray]:
    """Return quantiles: the first sorted value whose cumulated share is at least p.

    plan, counts: of the first pass over the same chunks
    wanted: dict of dict; variable -> factor ("" for all persons) -> shares p
    source: read again only where a quantile lies between the points of its grid
    Returns dict of arrays, shape (groups, shares): by (variable, factor); NaN for an empty group.
    """
    results: dict[tuple[str, str], np.ndarray] = {}
    targets: list[Target] = []
    for name, groupings in wanted.items():
        for by, probs in groupings.items():
            quantiles, open_ones = _locate(plan, counts, name, by, np.asarray(probs, dtype=float))
            results[name, by] = quantiles
            targets += open_ones
    if targets:
        samples = _collect(plan, targets, source)
        for target in targets:
            values, cells, codes = samples[target.name]
            of_target = cells == target.cell
            if target.by != ALL:
                of_target &= codes[target.by] == target.group
            quantile = np.partition(values[of_target], target.rank - 1)[target.rank - 1]
            results[target.name, target.by][target.group, target.place] = quantile
    return results


def _locate(
    plan: TabulationPlan, counts: Counts, name: str, by: str, probs: np.ndarray
) -> tuple[np.ndarray, list[Target]]:
    cells, points = counts.numbers[name].cells[by], plan.grids[name].points
    quantiles = np.full((len(cells), len(probs)), np.nan)
    targets = []
    for group, row in enumerate(cells):
        reached = np.cumsum(row)
        n = reached[-1]
        if n == 0:
            continue
        ranks = np.clip(np.ceil(probs * n - SHARE_TOLERANCE * n), 1, n)
        places = np.searchsorted(reached, ranks, side="left")
        for place, (cell, rank) in enumerate(zip(places.tolist(), ranks, strict=True)):
            if cell % 2:
                quantiles[group, place] = points[cell // 2]
            else:
                inside = int(rank - (reached[cell - 1] if cell else 0))
                targets.append(Target(name, by, group, place, cell, inside))
    return quantiles, targets


Collected = tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]
"""Values, their cells, and their groups by factor."""


def _collect(
    plan: TabulationPlan, targets: Sequence[Target], source: PopulationChunks
) -> dict[str, Collected]:
    factors = list(dict.fromkeys(target.by for target in targets if target.by != ALL))
    needed = {
        target.name: np.zeros(plan.grids[target.name].n_cells, dtype=bool) for target in targets
    }
    for target in targets:
        needed[target.name][target.cell] = True
    columns = [*needed, *(plan.factors[f].name for f in factors)]
    collect = partial(_values_in_cells, plan, needed, factors)
    portions = list(source.map(collect, list(dict.fromkeys(columns))))
    return {name: _joined([portion[name] for portion in portions], factors) for name in needed}


def _values_in_cells(
    plan: TabulationPlan,
    needed: Mapping[str, np.ndarray],
    factors: Sequence[str],
    frames: NumberedFrames,
) -> dict[str, Collected]:
    """Return the values in the cells that are needed of each number."""
    parts: dict[str, list[Collected]] = {name: [] for name in needed}
    for _, frame in frames:
        coded = {f: plan.factors[f].code(frame[plan.factors[f].name]) for f in factors}
        for name, cells in needed.items():
            x = as_numbers(frame[name])
            rows = np.flatnonzero((x != 0) & ~np.isnan(x))
            place = plan.grids[name].locate(x[rows])
            is_needed = cells[place]
            rows = rows[is_needed]
            groups = {f: coded[f][rows].astype(np.int32) for f in factors}
            parts[name].append((x[rows], place[is_needed], groups))
    return {name: _joined(of_name, factors) for name, of_name in parts.items()}


def _joined(parts: Sequence[Collected], factors: Sequence[str]) -> Collected:
    return (
        np.concatenate([values for values, _, _ in parts]),
        np.concatenate([cells for _, cells, _ in parts]),
        {f: np.concatenate([groups[f] for _, _, groups in parts]) for f in factors},
    )
