"""Regions of an exchange of households: their controls, their sizes, the search in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import vstack

from synthpop.annealing.population_table import PopulationTable, expand, map_regions
from synthpop.annealing.search import (
    Exchanged,
    Search,
    SearchRegion,
    donors_of,
    exchange,
    wanted_households,
)
from synthpop.calibration.controls import Controls, resolve_margins
from synthpop.calibration.margins import Margin
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, POSITIVE, SHARE, Between, Whole, check
from synthpop.microdata.messages.text import number as number_text
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams
from synthpop.stages.population_stages import SHOWN

SMALLEST_RATIO = 0.25  # households asked for, in units of those that are there

LARGEST_RATIO = 1.25

SEARCH = {
    "tolerance": Between(0),
    "temperature": POSITIVE | NONE,
    "cooling": SHARE,
    "max_proposals": Whole(1) | NONE,
    "time_limit": POSITIVE | NONE,
    "max_copies": Whole(1),
    "cell_gap": Between(0),
}


def check_search(search: Search, workers: int, faults: Faults) -> None:
    """Note options of a search that cannot work."""
    check(faults, SEARCH, search)
    check(faults, {"workers": Whole(1)}, {"workers": workers})


def control_regions(
    controls: Controls,
    table: PopulationTable,
    split: str | None,
    faults: Faults,
    part: bool = False,
) -> np.ndarray:
    """Return the region of each control, -1 where it has no household; note faults.

    In a part of a population other regions are no fault.
    """
    if split is None:
        return np.zeros(len(controls.targets), dtype=np.int64)
    parts = []
    for m, columns in enumerate(controls.columns):
        if split not in columns:
            what = f"has no column {split!r}, by which the population is split"
            hint = "Give the margin by region too, or leave split out."
            faults.add(controls.names[m], what, hint=hint)
            parts.append(np.zeros(int((controls.margin == m).sum()), dtype=np.int64))
        else:
            parts.append(controls.keys[m][:, columns.index(split)])
    regions = np.concatenate(parts)
    present = np.isin(regions, table.region[table.home])
    if not part:
        for k in np.flatnonzero(~present & (controls.targets > 0))[:SHOWN]:
            note_absent_region(controls.label(int(k)), controls.targets[k], faults)
    return np.where(present, regions, -1)


def note_absent_region(label: str, total: float, faults: Faults) -> None:
    """Note a total of a region that the population does not have."""
    what = message(
        "total {total}, but the population has no such region", total=number_text(total, 6)
    )
    faults.add(label, what, hint="Leave it out, or rename the region.")


def regions_of(
    table: PopulationTable, controls: Controls, matrix: Any, region_of_control: np.ndarray
) -> dict[int, tuple[np.ndarray, SearchRegion | None]]:
    """Return the households of each region and what they have to meet; None for nothing."""
    tables = _importance(controls)
    everybody = _counts_every_household(controls, table)
    counting = np.array([name is None for name in controls.variables])
    regions: dict[int, tuple[np.ndarray, SearchRegion | None]] = {}
    for number in np.unique(table.region[table.home]).tolist():
        rows = np.flatnonzero(table.region == number)
        columns = np.flatnonzero(region_of_control == number)
        if len(columns) == 0:
            regions[number] = (rows, None)
            continue
        margins, compact = np.unique(controls.margin[columns], return_inverse=True)
        region = SearchRegion(
            matrix=matrix[rows][:, columns],
            table=compact.astype(np.int64),
            target=controls.targets[columns],
            importance=tables[margins],
            of_households=everybody[margins, number],
            counting=counting[margins],
        )
        regions[number] = (rows, region)
    return regions


@dataclass(frozen=True, slots=True)
class MatchedRegions:
    """Known totals matched with the households of a population, region by region."""

    controls: Controls
    matrix: Any  # scipy matrix, shape (n_households, n_controls): how much each counts for each
    region_of_control: np.ndarray  # int64 array, shape (n_controls,); -1 where nobody is there
    regions: dict[int, tuple[np.ndarray, SearchRegion | None]]


def matched_regions(
    table: PopulationTable,
    margins: Sequence[Margin],
    split: str | None,
    faults: Faults,
    part: bool = False,
) -> MatchedRegions:
    """Match totals with a population, or with a part of it; raises what does not fit."""
    controls = resolve_margins(
        table.frame, margins, faults, household_index=table.index, keep_all=True, part=part
    )
    faults.raise_if_any()
    assert controls is not None
    region_of_control = control_regions(controls, table, split, faults, part)
    faults.raise_if_any()
    matrix = controls.matrix(table.index)
    regions = regions_of(table, controls, matrix, region_of_control)
    return MatchedRegions(controls, matrix, region_of_control, regions)


def scarce_cells(
    regions: Mapping[int, tuple[np.ndarray, SearchRegion | None]],
    region_of_control: np.ndarray,
    max_copies: int,
) -> list[int]:
    """Return the controls for which their own region has too few households."""
    scarce: list[int] = []
    for number, (_, region) in regions.items():
        if region is not None:
            is_scarce = region.totals() * max_copies < region.target
            scarce += np.flatnonzero(region_of_control == number)[is_scarce].tolist()
    return scarce


def donors_of_cells(
    table: PopulationTable, margins: Sequence[Margin], split: str, scarce: Sequence[int]
) -> np.ndarray:
    """Return which households would count for one of these controls, were they in its region.

    All households that `with_outside_donors` takes are among them; shape (n_households,).
    """
    counting = np.zeros(len(table.sizes), dtype=bool)
    start = 0
    for margin in margins:
        n_cells = len(margin.frame)
        rows = [k - start for k in scarce if start <= k < start + n_cells]
        start += n_cells
        other_columns = [name for name in margin.columns if name != split]
        if not rows:
            continue
        if not other_columns:
            return np.ones(len(table.sizes), dtype=bool)
        cells = margin.frame.iloc[rows][other_columns].drop_duplicates()
        every_region = Margin(cells.assign(**{margin.total: 1.0}), total=margin.total)
        controls = resolve_margins(
            table.frame, [every_region], Faults("anneal"), household_index=table.index,
            keep_all=True, part=True,
        )  # fmt: skip
        assert controls is not None
        counting[table.index[controls.cells[0] >= 0]] = True
    return counting


def with_outside_donors(
    regions: Mapping[int, tuple[np.ndarray, SearchRegion | None]],
    table: PopulationTable,
    margins: Sequence[Margin],
    region_of_control: np.ndarray,
    split: str,
    upper: np.ndarray,
    max_copies: int,
) -> dict[int, tuple[np.ndarray, SearchRegion | None]]:
    """Return the regions with donors of other regions for cells that their households cannot fill.

    A cell lacks households where its total is larger than `max_copies` times what the region has.
    Households of the same larger area, `upper` of shape (n_households,), that would count for such
    a cell become donors.
    """
    wider: dict[int, tuple[np.ndarray, SearchRegion | None]] = {}
    for number, (rows, region) in regions.items():
        wider[number] = (rows, region)
        if region is None:
            continue
        scarce = np.flatnonzero(region.totals() * max_copies < region.target)
        outside = np.flatnonzero((upper == upper[rows[0]]) & (table.region != number))
        if not len(scarce) or not len(outside):
            continue
        frame = table.frame.take(expand(table, outside)).reset_index(drop=True)
        region_rows = table.frame[split].take(np.full(len(frame), table.first_rows[rows[0]]))
        frame[split] = region_rows.reset_index(drop=True)
        index = np.repeat(np.arange(len(outside)), table.sizes[outside])
        controls = resolve_margins(
            frame, margins, Faults("anneal"), household_index=index, keep_all=True
        )
        assert controls is not None
        columns = np.flatnonzero(region_of_control == number)
        matrix = controls.matrix(index)[:, columns].tocsr()
        useful = np.flatnonzero(matrix[:, scarce].getnnz(axis=1))
        with_donors = vstack([region.matrix, matrix[useful]]).tocsr()
        wider[number] = (
            np.concatenate([rows, outside[useful]]),
            replace(region, matrix=with_donors, n_own=len(rows)),
        )
    return wider


def check_sizes(
    regions: Mapping[int, tuple[np.ndarray, SearchRegion | None]],
    max_copies: int,
    levels: Sequence[Any],
    faults: Faults,
) -> tuple[int, int]:
    """Return the households now and those asked for; note regions that ask for too many."""
    n_now = n_asked = 0
    for number, (_, region) in regions.items():
        if region is None or not (region.counting.any() or region.of_households.any()):
            continue
        donors = donors_of(region)
        n_donors = len(donors)
        n_needed = wanted_households(
            region, region.totals(), int((donors < region.n_households).sum())
        )
        n_now, n_asked = n_now + region.n_households, n_asked + n_needed
        if n_needed > max_copies * n_donors:
            donors_text = plural(n_donors, "donor")
            what = (
                f"the totals ask for {plural(n_needed, 'household')}, and {donors_text} may stand "
                f"{max_copies} times each"
            )
            hint = "Simulate a larger population, join regions, or give a larger max_copies."
            faults.add(f"region {levels[number]}", what, hint=hint)
    return n_now, n_asked


def check_scale(now: int, asked: int, faults: Faults) -> None:
    """Note totals that are those of a population of another size."""
    if now and not SMALLEST_RATIO <= asked / now <= LARGEST_RATIO:
        what = (
            f"the known totals ask for {plural(asked, 'household')}, the population has "
            f"{plural(now, 'household')} ({asked / now:.3g} times as many)"
        )
        hint = f"Simulate with a scale of {asked / now:.3g} times the present one, "
        faults.add("margins", what, hint=hint + "or give totals of this population.")


def search_regions(
    table: PopulationTable,
    regions: Mapping[int, tuple[np.ndarray, SearchRegion | None]],
    search: Search,
    streams: Streams,
    workers: int,
    listener: Listener,
) -> dict[int, tuple[np.ndarray, Exchanged | None]]:
    """Search every region; returns its households (numbers of the input) and how it went."""
    numbers = list(regions)

    def one(number: int) -> tuple[int, np.ndarray, Exchanged | None]:
        rows, region = regions[number]
        if region is None:
            return number, rows, None
        outcome = exchange(region, search, streams.at("anneal", table.levels[number]))
        return number, rows[outcome.slots], outcome

    results: dict[int, tuple[np.ndarray, Exchanged | None]] = {}
    for done, (number, rows, outcome) in enumerate(map_regions(one, numbers, workers), 1):
        results[number] = (rows, outcome)
        listener(Event("progress", "anneal", done, len(numbers), str(table.levels[number])))
    return {number: results[number] for number in numbers}


def _importance(controls: Controls) -> np.ndarray:
    """Weight of each table: its importance, 1 where none is given."""
    first = np.searchsorted(controls.margin, np.arange(len(controls.names)))
    importance = controls.importance[np.minimum(first, len(controls.importance) - 1)]
    return np.where(np.isinf(importance), 1.0, importance)


def _counts_every_household(controls: Controls, table: PopulationTable) -> np.ndarray:
    """Tables that count every household of a region once, shape (n_tables, n_regions)."""
    out = np.zeros((len(controls.names), len(table.levels)), dtype=bool)
    for m, cell in enumerate(controls.cells):
        if controls.household_level[m] and controls.variables[m] is None:
            is_outside = cell[table.first_rows] < 0
            missing = np.bincount(table.region, is_outside, minlength=len(table.levels))
            out[m] = missing == 0
    return out
