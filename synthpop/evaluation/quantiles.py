"""Exact quantiles of a population in a second pass, without sorting or holding it.

The counts of the first pass tell in which cell of the grid a quantile lies. A cell that is a point
is the answer; of the cells that are gaps, the few that are needed have their values collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.evaluation.tabulate import ALL, Counts, TabulationPlan, numbers_of
from synthpop.microdata.weighted import SHARE_TOLERANCE

Read = Callable[[list[str]], Iterable[pd.DataFrame]]
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
    plan: TabulationPlan, counts: Counts, wanted: Wanted, read: Read
) -> dict[tuple[str, str], np.ndarray]:
    """Return quantiles: the first sorted value whose cumulated share is at least p.

    plan, counts: of the first pass over the same chunks
    wanted: dict of dict; variable -> factor ("" for all persons) -> shares p
    read: gives the chunks with the columns it is asked for; called only where a quantile lies
        between the points of its grid
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
        samples = _collect(plan, targets, read)
        for target in targets:
            values, cells, codes = samples[target.name]
            of_target = cells == target.cell
            if target.by != ALL:
                of_target &= codes[target.by] == target.group
            chosen = np.partition(values[of_target], target.rank - 1)[target.rank - 1]
            results[target.name, target.by][target.group, target.place] = chosen
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


def _collect(
    plan: TabulationPlan, targets: Sequence[Target], read: Read
) -> dict[str, tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
    names = list(dict.fromkeys(target.name for target in targets))
    factors = list(dict.fromkeys(target.by for target in targets if target.by != ALL))
    needed = {name: np.zeros(plan.grids[name].n_cells, dtype=bool) for name in names}
    for target in targets:
        needed[target.name][target.cell] = True
    values: dict[str, list[np.ndarray]] = {name: [] for name in names}
    cells: dict[str, list[np.ndarray]] = {name: [] for name in names}
    codes: dict[str, dict[str, list[np.ndarray]]] = {n: {f: [] for f in factors} for n in names}
    columns = [*names, *(plan.factors[f].name for f in factors)]
    for frame in read(list(dict.fromkeys(columns))):
        coded = {f: plan.factors[f].code(frame[plan.factors[f].name]) for f in factors}
        for name in names:
            x = numbers_of(frame[name])
            rows = np.flatnonzero((x != 0) & ~np.isnan(x))
            place = plan.grids[name].locate(x[rows])
            targets_of_cell = needed[name][place]
            rows = rows[targets_of_cell]
            values[name].append(x[rows])
            cells[name].append(place[targets_of_cell])
            for f in factors:
                codes[name][f].append(coded[f][rows].astype(np.int32))
    return {
        name: (
            np.concatenate(values[name]),
            np.concatenate(cells[name]),
            {f: np.concatenate(codes[name][f]) for f in factors},
        )
        for name in names
    }
