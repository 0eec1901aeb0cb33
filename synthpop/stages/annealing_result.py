"""What an exchange of households gives: the population, its cells, its trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synthpop.annealing.population_table import (
    Counts,
    PopulationTable,
    added_counts,
    expand,
    variable_counts,
    variable_distances,
)
from synthpop.annealing.search import Exchanged
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, percent, plural
from synthpop.microdata.messages.text import number as number_text
from synthpop.stages.annealing_regions import MatchedRegions
from synthpop.stages.population_stages import SHOWN, OutsideDonors, as_lists, from_lists

COPIES_WARNED = 0.1  # share of households that are copies of another one

TRACE_POINTS = 200  # of each region, in a manifest


@dataclass(frozen=True)
class Annealed(Result):
    """A population whose households were exchanged until known totals are met.

    Attributes
    ----------
    data : DataFrame
        The new population, sorted by region; households numbered from 1 again, all else as it was.
    sources : int64 array, shape (n_persons,)
        Row of the input that each person is a copy of.
    places : int64 array, shape (n_persons,), or None
        Row of the input whose value of the split column each person has; None where every person
        has their own, as no household came from another region.
    margins : DataFrame
        One row per cell: margin, cell, level, target, before, achieved, difference; recounted
        in the result.
    regions : DataFrame
        One row per region: households and persons before and after, gap (sum of absolute
        differences) before and after, converged, proposals, exchanged (households that are no
        longer those of the input), from_other_regions (households that came from another region),
        copies (households that are the same as another one of the
        result), most_copies (how often one household stands in it), temperature, stopped (what
        ended the search).
    trace : DataFrame
        Objective after each batch: region, proposals, temperature, objective, kept.
    distances : DataFrame
        How much each variable changed: total variation distance (categories) or largest distance
        of the distribution functions (numbers) between input and result, and whether a margin
        controls it.
    converged : bool
    tolerance : float
    seed : int
    """

    data: pd.DataFrame = field(repr=False)
    sources: np.ndarray = field(repr=False)
    places: np.ndarray | None = field(repr=False)
    margins: pd.DataFrame = field(repr=False)
    regions: pd.DataFrame = field(repr=False)
    trace: pd.DataFrame = field(repr=False)
    distances: pd.DataFrame = field(repr=False)
    converged: bool
    tolerance: float
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return the table of cells (`margins`)."""
        return self.margins

    def largest_error(self) -> str:
        """Return the largest relative error of a cell; the tolerance is about whole tables."""
        target = self.margins["target"].to_numpy(dtype=np.float64)
        gap = np.abs(self.margins["difference"].to_numpy(dtype=np.float64))
        error = np.divide(gap, np.abs(target), out=np.zeros(len(gap)), where=target != 0)
        if not len(gap) or not gap.any():
            return message("Every cell is met exactly.")
        return message(
            "The largest error of a single cell is {max}.", max=percent(float(error.max()))
        )

    @property
    def n_copies(self) -> int:
        """Households of the result that are exact copies of another one of it."""
        return int(self.regions["copies"].sum())

    def copies_text(self) -> str:
        """Return how many households are exact copies, in a sentence."""
        n, households = self.n_copies, int(self.regions["households"].sum())
        most = int(self.regions["most_copies"].max())
        return message(
            "{n} of another one ({share}) in all variables of this step; one occurs at "
            "most {most} times. Later steps draw separately for each copy: put the numeric "
            "steps there.",
            n=plural(n, "household is an exact copy", "households are exact copies"),
            share=percent(n / max(households, 1)),
            most=most,
        )

    def unmet(self) -> pd.DataFrame:
        """Return the cells with the largest differences in regions that did not converge."""
        gaps = self.margins["difference"].abs()
        failed = self.regions.loc[~self.regions["converged"], "region"]
        rows = self.margins["region"].isin(failed) & (gaps > 0.5)
        return self.margins[rows].iloc[np.argsort(-gaps[rows].to_numpy(), kind="stable")]

    def summary(self) -> str:
        """Return how well the totals are met and what it cost, in sentences."""
        before, after = self.regions["gap_before"].sum(), self.regions["gap_after"].sum()
        total = float(self.margins["target"].abs().sum())
        free = self.distances[~self.distances["controlled"]]
        within = message("{tolerance} of their totals", tolerance=formatted(self.tolerance, "g"))
        if self.converged and not self.tolerance and after > 0.5:
            within = message(
                "the accepted gaps"
            )  # totals that are no whole numbers, or a `cell_gap`
        text = message(
            "All margins are met within {within} in {n_met} of {n}: absolute gaps add up to "
            "{after}, previously {before} ({share} of the totals). {exchanged} of {households} "
            "exchanged. {largest_error}"
            if self.converged
            else "NOT ALL margins are met within {within} in {n_met} of {n}: absolute gaps add "
            "up to {after}, previously {before} ({share} of the totals). {exchanged} of "
            "{households} exchanged. {largest_error}",
            within=within,
            n_met=int(self.regions["converged"].sum()),
            n=plural(len(self.regions), "region"),
            after=number_text(after, 6),
            before=number_text(before, 6),
            share=formatted(after / max(total, 1e-300), ".3g"),
            exchanged=count_text(int(self.regions["exchanged"].sum())),
            households=plural(
                int(self.regions["households"].sum()), "household was", "households were"
            ),
            largest_error=self.largest_error(),
        )
        if self.n_copies:
            text += " " + self.copies_text()
        if len(free):
            worst = free.iloc[int(np.argmax(free["distance"].to_numpy()))]
            text += " " + message(
                "Of the variables without a margin, {variable} changed most: distance "
                "{distance} between before and after (0: none, 1: the largest).",
                variable=repr(worst["variable"]),
                distance=formatted(worst["distance"], ".3g"),
            )
        if not self.converged:
            cells = self.unmet().iloc[:SHOWN]
            shown = joined_by(
                "; ",
                (
                    message(
                        "{margin}: {cell} target {target}, best {achieved}",
                        margin=row.margin,
                        cell=row.cell,
                        target=number_text(row.target, 6),
                        achieved=number_text(row.achieved, 6),
                    )
                    for row in cells.itertuples()
                ),
            )
            text += " " + message("Furthest off: {shown}.", shown=shown)
        return text


def thinned(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the trace with at most 200 batches of each region, the last among them."""
    thinned_traces = []
    for _, of_region in trace.groupby("region", sort=False, observed=True):
        points = np.linspace(0, len(of_region) - 1, min(len(of_region), TRACE_POINTS))
        thinned_traces.append(of_region.iloc[np.unique(points.astype(int))])
    return pd.concat(thinned_traces, ignore_index=True) if thinned_traces else trace


@dataclass(frozen=True, slots=True)
class RegionsSearched:
    """What the searches gave in the regions of a population, or of a part of it.

    rows, places: int64 arrays or None; as ``sources`` and ``places`` of `Annealed`
    cells, regions, trace: DataFrame; as in `Annealed`; cells of regions that are elsewhere have no
        region and count 0
    numeric, controlled: set of str; variables that are numbers; that a margin controls
    """

    rows: np.ndarray
    places: np.ndarray | None
    sizes: np.ndarray  # int array, shape (n_households of the result,)
    cells: pd.DataFrame
    regions: pd.DataFrame
    trace: pd.DataFrame
    counts: dict[str, Counts]  # persons with each value of each variable before and after
    numeric: set[str]
    controlled: set[str]
    households: tuple[int, int]  # (int, int): households before, and those that the totals ask for
    guests: list[list[int]]  # of each region: ids of the households that came from other parts
    residents: list[int]  # ids of the households of this part that other parts may have too

    def to_plain(self) -> dict[str, Any]:
        """Return what `annealed_of` needs of a part as plain values."""
        return {
            **{name: as_lists(getattr(self, name)) for name in ("cells", "regions", "trace")},
            "counts": {
                name: [[value, *sums] for value, sums in counts.items()]
                for name, counts in self.counts.items()
            },
            **{name: sorted(getattr(self, name)) for name in ("numeric", "controlled")},
            **{name: list(getattr(self, name)) for name in ("households", "guests", "residents")},
        }

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> RegionsSearched:
        """Return the result, without its persons, that `to_plain` described."""
        counts = {
            name: {value: (before, after) for value, before, after in rows}
            for name, rows in data["counts"].items()
        }
        before, asked = data["households"]
        cells, regions, trace = (from_lists(data[name]) for name in ("cells", "regions", "trace"))
        nobody = np.empty(0, dtype=np.int64)
        return cls(
            nobody, None, nobody, cells, regions, trace, counts, set(data["numeric"]),
            set(data["controlled"]), (before, asked), data["guests"], data["residents"],
        )  # fmt: skip


def regions_searched(
    table: PopulationTable,
    matched: MatchedRegions,
    searches: dict[int, tuple[np.ndarray, Exchanged | None]],
    households: tuple[int, int],
    outside: OutsideDonors | None,
) -> RegionsSearched:
    """Return what the searches in all regions of a table gave."""
    controls, region_of_control = matched.controls, matched.region_of_control
    donors = np.concatenate([rows for rows, _ in searches.values()])
    n_copies = np.bincount(donors, minlength=len(table.sizes))
    before = np.asarray(matched.matrix.T @ table.home.astype(np.float64)).reshape(-1)
    achieved = np.zeros(len(before))
    for number, (_, search) in searches.items():
        if search is not None:
            achieved[region_of_control == number] = search.achieved
    cells = controls.table().assign(
        target=controls.targets,
        before=before,
        achieved=achieved,
        difference=achieved - controls.targets,
    )
    regions_of_cells = [table.levels[r] if r >= 0 else None for r in region_of_control]
    cells.insert(2, "region", pd.Series(regions_of_cells, dtype=object))
    controlled = {name for columns in controls.columns for name in columns}
    regions, traces = _region_tables(table, cells, region_of_control, searches)
    first = table.first_rows
    guests = [rows[table.region[rows] != number] for number, (rows, _) in searches.items()]
    at_home = np.concatenate(
        [rows[table.region[rows] == number] for number, (rows, _) in searches.items()]
    )
    if outside is None:  # nobody else has these households
        regions["copies"] -= _alone(guests, at_home)
        guests, residents = [], at_home[:0]
    else:
        guests = [np.unique(outside.ids[first[rows]]) for rows in guests]
        residents = np.unique(outside.ids[first[at_home[outside.candidates[first[at_home]]]]])
    sources = expand(table, donors)
    return RegionsSearched(
        rows=sources,
        places=_places(table, searches, donors, sources),
        sizes=table.sizes[donors],
        cells=cells,
        regions=regions,
        trace=traces,
        counts=variable_counts(table, n_copies),
        numeric={str(name) for name in table.frame if is_number(table.frame[name])},
        controlled=controlled | {name for name in controls.variables if name is not None},
        households=households,
        guests=[ids.tolist() for ids in guests],
        residents=residents.tolist(),
    )


def _alone(guests: Sequence[np.ndarray], residents: np.ndarray) -> list[int]:
    """Return for each region how many households from elsewhere stand nowhere else in the result.

    A household that two regions have taken counts in the first one.
    """
    everywhere = np.unique(np.concatenate([*guests, np.empty(0, dtype=np.int64)]))
    occupied = set(np.intersect1d(everywhere, residents).tolist())
    numbers = []
    for ids in guests:
        fresh = set(ids.tolist()) - occupied
        occupied |= fresh
        numbers.append(len(fresh))
    return numbers


def annealed_of(
    parts: Sequence[RegionsSearched], tolerance: float, seed: int, data: pd.DataFrame | None = None
) -> Annealed:
    """Return the result for a population, or for several parts of one without its persons."""
    first = parts[0]
    cells = first.cells.copy()
    for part in parts[1:]:
        cells["region"] = cells["region"].where(cells["region"].notna(), part.cells["region"])
        for name in ("before", "achieved"):
            cells[name] += part.cells[name]
        cells["difference"] = cells["achieved"] - cells["target"]
    cells["region"] = cells["region"].infer_objects()
    regions = pd.concat([part.regions for part in parts], ignore_index=True)
    if any(part.guests for part in parts):
        guests = [np.array(ids, dtype=np.int64) for part in parts for ids in part.guests]
        residents = np.array(
            [number for part in parts for number in part.residents], dtype=np.int64
        )
        regions["copies"] -= _alone(guests, residents)
    traces = [part.trace for part in parts if len(part.trace)] or [first.trace]
    counts = first.counts if len(parts) == 1 else added_counts([part.counts for part in parts])
    return Annealed(
        data=pd.DataFrame() if data is None else data,
        sources=first.rows,
        places=first.places,
        margins=cells,
        regions=regions,
        trace=pd.concat(traces, ignore_index=True),
        distances=variable_distances(counts, first.numeric, first.controlled),
        converged=bool(regions["converged"].all()),
        tolerance=tolerance,
        seed=seed,
    )


def annealed_persons(
    table: PopulationTable, searched: RegionsSearched, person: str | None, split: str | None
) -> pd.DataFrame:
    """Return the persons of the result; households, and persons where asked, numbered again."""
    persons = table.frame.take(searched.rows).reset_index(drop=True)
    if searched.places is not None and split is not None:
        persons[split] = table.frame[split].take(searched.places).reset_index(drop=True)
    if table.household is not None:
        households = np.arange(1, len(searched.sizes) + 1)
        persons[table.household] = np.repeat(households, searched.sizes)
    if person is not None and not table.frame[person].duplicated().any():
        persons[person] = np.arange(1, len(persons) + 1)
    return persons


def _places(
    table: PopulationTable,
    searches: dict[int, tuple[np.ndarray, Exchanged | None]],
    donors: np.ndarray,
    sources: np.ndarray,
) -> np.ndarray | None:
    """Return the rows whose region the persons have, where households came from other regions."""
    new = np.repeat(list(searches), [len(rows) for rows, _ in searches.values()])
    is_guest = new != table.region[donors]
    if not is_guest.any():
        return None
    residents = {number: np.flatnonzero(table.region == number)[0] for number in searches}
    rows = table.first_rows[[residents[number] for number in new.tolist()]]
    sizes = table.sizes[donors]
    return np.where(np.repeat(is_guest, sizes), np.repeat(rows, sizes), sources)


def _region_tables(
    table: PopulationTable,
    cells: pd.DataFrame,
    region_of_control: np.ndarray,
    searches: dict[int, tuple[np.ndarray, Exchanged | None]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows, traces = [], []
    gap_before = np.abs(cells["before"].to_numpy() - cells["target"].to_numpy())
    gap_after = np.abs(cells["difference"].to_numpy())
    for number, (donors, search) in searches.items():
        of_region = region_of_control == number
        old = np.flatnonzero(table.region == number)
        own_donors = np.unique(donors[table.region[donors] == number])
        n_residents = len(own_donors)
        rows.append(
            {
                "region": table.levels[number],
                "households_before": len(old),
                "households": len(donors),
                "persons_before": int(table.sizes[old].sum()),
                "persons": int(table.sizes[donors].sum()),
                "gap_before": gap_before[of_region].sum(),
                "gap_after": gap_after[of_region].sum(),
                "converged": search is None or search.converged,
                "proposals": 0 if search is None else search.proposals,
                "exchanged": max(len(old), len(donors)) - n_residents,
                "from_other_regions": int((table.region[donors] != number).sum()),
                "copies": len(donors) - n_residents,
                "most_copies": int(np.bincount(donors).max()) if len(donors) else 0,
                "temperature": 0.0 if search is None else search.temperature,
                "stopped": message("no margin") if search is None else search.stopped,
            }
        )
        for step in [] if search is None else search.trace:
            traces.append((table.levels[number], *step))
    names = ["region", "proposals", "temperature", "objective", "kept"]
    return pd.DataFrame(rows), pd.DataFrame(traces, columns=names)
