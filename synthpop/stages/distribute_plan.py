"""The plan of a distribution to areas: how many households of each kind each area gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synthpop.annealing.allocation import Allotment, area_totals
from synthpop.annealing.population_table import PopulationTable, map_regions
from synthpop.annealing.search import Search
from synthpop.calibration.controls import Controls
from synthpop.calibration.margins import Margin
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, percent
from synthpop.microdata.messages.text import number as number_text
from synthpop.microdata.statistics.streams import Streams
from synthpop.microdata.statistics.whole_shares import largest_remainder
from synthpop.stages.population_stages import SHOWN, as_lists, from_lists

OFF = 0.01  # totals further from the population than this are mentioned


def collapse(margin: Margin, name: str) -> Margin:
    """Return the margin added up over the areas."""
    keys = [column for column in margin.columns if column != name]
    frame = margin.frame.assign(**{margin.total: margin.targets})
    summed = frame.groupby(keys, dropna=False, observed=True, sort=False)[margin.total].sum()
    return Margin(summed.reset_index(), level=margin.level, total=margin.total, name=margin.label)


class AreaPlan:
    """Tables by region and area, and the search of each region."""

    def __init__(
        self,
        table: PopulationTable,
        margins: list[Margin],
        collapsed: list[Margin],
        controls: Controls,
        name: str,
        within: str,
        search: Search,
    ) -> None:
        self.table, self.margins, self.controls = table, margins, controls
        self.name, self.within, self.search = name, within, search
        self.cell_of_row = [
            _match_rows(full, over_areas, name) + int(np.searchsorted(controls.margin, m))
            for m, (full, over_areas) in enumerate(zip(margins, collapsed, strict=True))
        ]
        codes = [
            controls.keys[m][:, columns.index(within)] for m, columns in enumerate(controls.columns)
        ]
        self.region_of_control = np.concatenate(codes)
        self.areas = self._areas_by_region()

    def _areas_by_region(self) -> dict[int, list[Any]]:
        areas: dict[int, dict[Any, None]] = {}
        for cells, margin in zip(self.cell_of_row, self.margins, strict=True):
            regions = self.region_of_control[cells].tolist()
            for region, area in zip(regions, margin.frame[self.name].tolist(), strict=True):
                areas.setdefault(region, {})[area] = None
        return {region: list(names) for region, names in areas.items()}

    def check(self, faults: Faults, part: bool = False) -> None:
        """Note regions and cells that cannot be met; in a part, other regions are no fault."""
        for number in np.unique(self.table.region):
            level = self.table.levels[number]
            if int(number) not in self.areas:
                what = f"region {level!r} has no area in any table"
                faults.add(self.within, what, hint="Give its areas.")
        for k in np.flatnonzero(~np.isin(self.region_of_control, self.table.region)):
            if self.controls.targets[k] > 0 and not part:
                note_absent(self.controls.label(int(k)), faults)
        present = np.zeros(len(self.controls.targets))
        for cells in self.controls.cells:
            present += np.bincount(cells[cells >= 0], minlength=len(present))
        for k in np.flatnonzero((present > 0) & (self.controls.targets <= 0)):
            what = f"totals of all areas are 0, but the data have {count_text(present[k])} persons"
            faults.add(self.controls.label(int(k)), what, hint="Correct the table.")

    def run(self, workers: int, streams: Streams, listener: Listener) -> Distributed:
        """Allot the households region by region."""
        table, controls = self.table, self.controls
        matrix = controls.matrix(table.index)
        numbers = [int(number) for number in np.unique(table.region)]

        def one(number: int) -> _Region:
            rng = streams.at("distribute", self.name, table.levels[number])
            return self._region(number, matrix, rng)

        regions: dict[int, _Region] = {}
        for done, region in enumerate(map_regions(one, numbers, workers), 1):
            regions[region.number] = region
            name = str(table.levels[region.number])
            listener(Event("progress", "distribute", done, len(numbers), name))
        cells = pd.concat([regions[number].cells for number in numbers], ignore_index=True)
        return Distributed(
            data=table.frame.assign(**{self.name: self._column(regions)}),
            margins=cells,
            converged=all(region.converged for region in regions.values()),
            tolerance=self.search.tolerance,
            proposals=sum(region.proposals for region in regions.values()),
            seed=streams.seed,
        )

    def _region(self, number: int, matrix: Any, rng: np.random.Generator) -> _Region:
        rows = np.flatnonzero(self.table.region == number)
        columns = np.flatnonzero(self.region_of_control == number)
        counts = matrix[rows][:, columns]
        areas = self.areas[number]
        known_totals = self._known_totals(areas, columns)
        actual = np.asarray(counts.sum(axis=0)).reshape(-1)
        target = np.zeros_like(known_totals)
        for k in np.flatnonzero(known_totals.sum(axis=0) > 0):
            target[:, k] = largest_remainder(known_totals[:, k], round(float(actual[k])))
        tables, compact = np.unique(self.controls.margin[columns], return_inverse=True)
        totals = np.bincount(compact, actual, minlength=len(tables))
        limit = self.search.tolerance * totals + 1e-6
        households = self._households(target, columns, len(rows))
        state = Allotment(
            counts, compact.astype(np.int64), target, households, limit, self.search, rng
        )
        chosen = state.search_all()
        achieved = area_totals(counts, chosen, len(areas))
        gaps = np.bincount(compact, np.abs(achieved - target).sum(axis=0), minlength=len(tables))
        cells = self._cells(number, columns, areas, known_totals, target, achieved)
        converged = bool((gaps <= limit).all())
        return _Region(number, rows, chosen, cells, converged, state.proposals)

    def _known_totals(self, areas: list[Any], columns: np.ndarray) -> np.ndarray:
        """Return the totals of the tables, shape (n_areas, n_cells of the region)."""
        totals = np.zeros((len(areas), len(columns)))
        row_of_area = {area: i for i, area in enumerate(areas)}
        column_of_cell = {int(cell): i for i, cell in enumerate(columns)}
        for cells, margin in zip(self.cell_of_row, self.margins, strict=True):
            names = margin.frame[self.name].tolist()
            for cell, area, total in zip(cells.tolist(), names, margin.targets, strict=True):
                if cell in column_of_cell:
                    totals[row_of_area[area], column_of_cell[cell]] += total
        return totals

    def _households(self, target: np.ndarray, columns: np.ndarray, n: int) -> np.ndarray:
        """Number of households of each area: from a table of households, else of persons."""
        margin = self.controls.margin[columns]
        level = np.array(self.controls.household_level)[margin]
        first = margin[level][0] if level.any() else margin[0]
        return largest_remainder(target[:, margin == first].sum(axis=1), n)

    def _cells(
        self,
        number: int,
        columns: np.ndarray,
        areas: list[Any],
        totals: np.ndarray,
        target: np.ndarray,
        achieved: np.ndarray,
    ) -> pd.DataFrame:
        controls = self.controls.table().iloc[np.repeat(columns, len(areas))].reset_index(drop=True)
        cells = controls.assign(
            given=totals.T.reshape(-1),
            target=target.T.reshape(-1),
            achieved=achieved.T.reshape(-1),
            difference=(achieved - target).T.reshape(-1),
        )
        cells.insert(1, "region", [self.table.levels[number]] * len(cells))
        cells.insert(2, "area", areas * len(columns))
        return cells

    def _column(self, regions: dict[int, _Region]) -> Any:
        """Return the area of each person; text areas as a categorical."""
        levels = all_areas(self.margins, self.name, self.within)
        position = {area: i for i, area in enumerate(levels)}
        codes = np.zeros(len(self.table.sizes), dtype=np.int64)
        for number, region in regions.items():
            local = np.array([position[area] for area in self.areas[number]])
            codes[region.rows] = local[region.areas]
        codes = codes[self.table.index]
        if all(isinstance(area, (int, np.integer)) for area in levels):
            return np.asarray(levels)[codes]
        return pd.Categorical.from_codes(codes, pd.Index(levels))


def all_areas(margins: Sequence[Margin], name: str, within: str) -> list[Any]:
    """Return the areas of all regions of the tables, region by region."""
    regions: dict[str, dict[Any, None]] = {}
    for margin in margins:
        columns = (margin.frame[column].astype(object) for column in (within, name))
        for region, area in zip(*columns, strict=True):
            regions.setdefault(level_text(region), {})[area] = None
    return list(dict.fromkeys(area for areas in regions.values() for area in areas))


def note_absent(label: str, faults: Faults) -> None:
    """Note totals of a region that the population does not have."""
    hint = "Leave it out, or rename the region."
    faults.add(label, "no such region in the data", hint=hint)


@dataclass(frozen=True, slots=True)
class _Region:
    """The areas of the households of one region."""

    number: int
    rows: np.ndarray
    areas: np.ndarray
    cells: pd.DataFrame
    converged: bool
    proposals: int


def _match_rows(full: Margin, collapsed: Margin, name: str) -> np.ndarray:
    """Row of the collapsed table that each row of the full table went into."""
    keys = [column for column in full.columns if column != name]
    labels, labels_of_collapsed = (
        [tuple(map(str, row)) for row in margin.frame[keys].itertuples(index=False)]
        for margin in (full, collapsed)
    )
    place = {label: row for row, label in enumerate(labels_of_collapsed)}
    return np.array([place[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True)
class Distributed(Result):
    """A population whose households lie in small areas.

    Attributes
    ----------
    data : DataFrame
        The population, rows as they were, with the new column.
    margins : DataFrame
        One row per cell: margin, region, area, cell, level, given (as in the table), target (given,
        scaled to what the region has, in whole numbers), achieved, difference; recounted.
    converged : bool
    tolerance : float
    proposals : int
    seed : int
    """

    data: pd.DataFrame = field(repr=False)
    margins: pd.DataFrame = field(repr=False)
    converged: bool
    tolerance: float
    proposals: int
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return the table of cells (`margins`)."""
        return self.margins

    def to_plain(self) -> dict[str, Any]:
        """Return all but the population as plain values."""
        names = ("converged", "tolerance", "proposals", "seed")
        values = {name: getattr(self, name) for name in names}
        return {**values, "margins": as_lists(self.margins)}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Distributed:
        """Return the result, without its population, that `to_plain` described."""
        return cls(pd.DataFrame(), **{**data, "margins": from_lists(data["margins"])})

    def summary(self) -> str:
        """Return how well the areas have their totals, in sentences."""
        gap = self.margins["difference"].abs()
        by_level = gap.groupby(self.margins["level"]).sum()
        listed = ", ".join(f"{level}s {count_text(value)}" for level, value in by_level.items())
        text = message(
            ("All totals of {n} areas are met within {tolerance}; absolute gaps: {listed}.")
            if self.converged
            else (
                "NOT ALL totals of {n} areas are met within {tolerance}; absolute gaps: {listed}."
            ),
            n=self.margins[["region", "area"]].drop_duplicates().shape[0],
            tolerance=formatted(self.tolerance, "g"),
            listed=listed,
        )
        sums = self.margins.groupby(["margin", "region", "cell"])[["given", "target"]].sum()
        off = (sums["given"] / sums["target"] - 1.0).abs()
        if (off > OFF).any():
            text += " " + message(
                "Given totals were scaled to the households and persons of the regions, by up "
                "to {max}.",
                max=percent(off.max(), 1),
            )
        if not self.converged:
            worst = self.margins.iloc[np.argsort(-gap.to_numpy(), kind="stable")[:SHOWN]]
            shown = joined_by(
                "; ",
                (
                    message(
                        "{margin}, {area}: target {target}, best {achieved}",
                        margin=row.margin,
                        area=row.area,
                        target=number_text(row.target, 6),
                        achieved=number_text(row.achieved, 6),
                    )
                    for row in worst.itertuples()
                ),
            )
            text += " " + message("Furthest off: {shown}.", shown=shown)
        return text
