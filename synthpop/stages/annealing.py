"""Recalibrate a finished population to known totals by exchanging whole households."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from synthpop.annealing.population_table import (
    PopulationTable,
    expand,
    map_regions,
    take_table,
    variable_distances,
)
from synthpop.annealing.search import (
    Exchanged,
    Search,
    SearchRegion,
    donors_of,
    exchange,
    wanted_households,
)
from synthpop.calibration.margins import Controls, Margin, margin_list, resolve_margins
from synthpop.calibration.problem import constraint_matrix
from synthpop.microdata.checks import check_columns
from synthpop.microdata.errors import ConvergenceWarning, Faults, SparseDataWarning
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.parameters import NONE, POSITIVE, SHARE, Between, Whole, check
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.text import count as count_text
from synthpop.microdata.text import number as number_text
from synthpop.microdata.text import percent, plural
from synthpop.stages.base import keep_own
from synthpop.stages.population_stages import (
    Finished,
    PopulationStage,
    Prospect,
    as_lists,
    cell_counts,
    check_margins,
    check_region,
    check_strata,
)

SHOWN = 5
COPIES_WARNED = 0.1  # share of households that are copies of another one
SMALLEST_RATIO, LARGEST_RATIO = 0.25, 1.25  # households asked for, in units of those there
TRACE_POINTS = 200  # of each region, in a manifest


@dataclass(frozen=True, slots=True)
class Anneal(PopulationStage):
    """Exchange whole households until margins over persons and households are met together.

    In a recipe it works on the whole population, which is held in memory then; the steps after it
    draw for the households that it leaves. After `Distribute`, households that are exchanged
    bring their area with them: split by the area, or give the areas' totals among the margins.

    Parameters
    ----------
    margins : Margin or list of Margin
        Known totals, several tables at once; ``importance`` weighs a table in the objective, the
        sum of absolute gaps (None: 1).
    split : str, optional
        Column of regions: each is a unit of its own, its households are exchanged among
        themselves, and every margin must have this column.
    tolerance : float
        A table is met in a region when its absolute gaps add up to no more than this share of its
        total. The search ends there; with 0 it goes on until every whole number is met or the
        proposals are used up.
    temperature : float, optional
        Start temperature, in persons. Default: first keep improvements only; where that stands
        still, start at a tenth of the mean increase of a random exchange.
    cooling : float
        Factor of the temperature from batch to batch, between 0 and 1.
    max_proposals : int, optional
        Most proposals in a region; default 300 a household, between 1 and 50 million.
    time_limit : float, optional
        Most seconds in a region. A result that was stopped by it depends on the machine.
    max_copies : int
        Most households of the result that are one household of the input. Copies have the same
        members with the same values, amounts included: put the step before the numeric steps of a
        recipe, and each copy draws its own amounts.

    Examples
    --------
    >>> Anneal([Margin(100.0)], split="region").max_copies
    3
    """

    margins: Margin | Sequence[Margin]
    _: KW_ONLY
    split: str | None = None
    tolerance: float = 0.0
    temperature: float | None = None
    cooling: float = 0.9
    max_proposals: int | None = None
    time_limit: float | None = None
    max_copies: int = 3

    def __post_init__(self) -> None:
        """Keep copies of lists."""
        keep_own(self)

    @property
    def label(self) -> str:
        """Name for messages, progress and random streams."""
        return "anneal"

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the step makes: none."""
        return ()

    @property
    def search(self) -> Search:
        """How to search."""
        names = [item.name for item in fields(Search)]
        return Search(**{name: getattr(self, name) for name in names})

    def expect(self, faults: Faults, prospect: Prospect) -> None:
        """Note everything in the options that cannot work, before anything is computed."""
        own_faults = Faults(self.label)
        _check_search(self.search, 1, own_faults)
        for item in own_faults.found:
            faults.add(f"{self.label}, {item.where}", item.what, remedy=item.remedy)
        margins = margin_list(self.margins)
        check_margins(faults, self.label, margins, prospect)
        if self.split is not None:
            check_region(faults, self.label, self.split, "split", prospect)
            check_strata(faults, self.label, margins, self.split, prospect)
            for margin in margins:
                if self.split not in margin.columns:
                    what = f"margin {margin.label} has no column {self.split!r}, the split"
                    remedy = "Give the margin by region too, or leave split out."
                    faults.add(self.label, what, remedy=remedy)

    def finish(
        self,
        frame: pd.DataFrame,
        *,
        household: str | None,
        workers: int,
        seed: int,
        on_event: Listener | None,
    ) -> Finished:
        """Recalibrate the population of a recipe; the record has the numbers that verify it."""
        result = self.run(frame, household=household, workers=workers, seed=seed, on_event=on_event)
        record = {
            "summary": result.summary(),
            "converged": result.converged,
            "tolerance": result.tolerance,
            "seed": result.seed,
            "gap_before": float(result.regions["gap_before"].sum()),
            "gap": float(result.regions["gap_after"].sum()),
            "margins": as_lists(result.margins),
            "regions": as_lists(result.regions),
            "trace": as_lists(_thinned(result.trace)),
            "distances": as_lists(result.distances),
            "n_copies": result.n_copies,
        }
        return Finished(result.sources, {}, record)

    def count(self, frame: pd.DataFrame, household: str | None) -> pd.DataFrame:
        """Count the cells of the margins in a population."""
        return cell_counts(frame, margin_list(self.margins), household)

    def run(
        self,
        population: Any,
        *,
        household: str | None = None,
        person: str | None = None,
        workers: int = 1,
        seed: int | None = None,
        on_event: Listener | None = None,
    ) -> Annealed:
        """Recalibrate a population with these options; see `anneal`."""
        seed = resolve_seed(seed)
        faults = Faults("anneal")
        _check_search(self.search, workers, faults)
        table = take_table(population, household, self.split, faults)
        if person is not None:
            check_columns(faults, table.frame, [person], "person")
        margins = margin_list(self.margins)
        controls = resolve_margins(
            table.frame, margins, faults, household_index=table.index, keep_all=True
        )
        faults.raise_if_any()
        assert controls is not None
        region_of_control = control_regions(controls, table, self.split, faults)
        faults.raise_if_any()
        matrix = constraint_matrix(
            controls.cells,
            controls.values,
            controls.household_level,
            len(controls.targets),
            household_index=table.index,
            household_equal=True,
        )
        regions = _regions(table, controls, matrix, region_of_control)
        check_sizes(regions, self.max_copies, table.levels, faults)
        faults.raise_if_any()
        searched = _search_regions(
            table, regions, self.search, Streams(seed), workers, on_event or silent
        )
        result = _result(
            table, controls, matrix, region_of_control, searched, self.tolerance, seed, person
        )
        if not result.converged:
            warnings.warn(ConvergenceWarning(result.summary()), stacklevel=3)
        if result.n_copies > COPIES_WARNED * result.regions["households"].sum():
            warnings.warn(SparseDataWarning(result.copies_text()), stacklevel=3)
        return result


@dataclass(frozen=True)
class Annealed(Result):
    """A population whose households were exchanged until known totals are met.

    Attributes
    ----------
    data : DataFrame
        The new population, sorted by region; households numbered from 1 again, all else as it was.
    sources : int64 array, shape (n_persons,)
        Row of the input that each person is a copy of.
    margins : DataFrame
        One row a cell: margin, cell, level, target, before, achieved, difference; counted afresh
        in the result.
    regions : DataFrame
        One row a region: households and persons before and after, gap (sum of absolute
        differences) before and after, converged, proposals, exchanged (households that are no
        longer those of the input), copies (households that are the same as another one of the
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
            return "Every cell is met exactly."
        return f"The largest error of a single cell is {percent(float(error.max()))}."

    @property
    def n_copies(self) -> int:
        """Households of the result that are exact copies of another one of it."""
        return int(self.regions["copies"].sum())

    def copies_text(self) -> str:
        """Return how many households are exact copies, in a sentence."""
        n, households = self.n_copies, int(self.regions["households"].sum())
        most = int(self.regions["most_copies"].max())
        return (
            f"{plural(n, 'household is an exact copy', 'households are exact copies')} of another "
            f"one ({percent(n / max(households, 1))}) in all variables of this step; one stands "
            f"{most} times at most. Steps that come after it draw for each copy anew: put the "
            "numeric steps there."
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
        text = (
            f"{'All' if self.converged else 'NOT ALL'} margins are met within {self.tolerance:g} "
            f"of their totals in {int(self.regions['converged'].sum())} of "
            f"{plural(len(self.regions), 'region')}: absolute gaps add up to "
            f"{number_text(after, 6)} after "
            f"{number_text(before, 6)} ({after / max(total, 1e-300):.3g} of the totals). "
            f"{count_text(int(self.regions['exchanged'].sum()))} of "
            f"{plural(int(self.regions['households'].sum()), 'household was', 'households were')} "
            f"exchanged. {self.largest_error()}"
        )
        if self.n_copies:
            text += f" {self.copies_text()}"
        if len(free):
            worst = free.iloc[int(np.argmax(free["distance"].to_numpy()))]
            text += (
                f" Of the variables without a margin, {worst['variable']!r} changed most: distance "
                f"{worst['distance']:.3g} between before and after (0 is none, 1 the most)."
            )
        if not self.converged:
            cells = self.unmet().iloc[:SHOWN]
            shown = "; ".join(
                f"{row.margin}: {row.cell} target {number_text(row.target, 6)}, best "
                f"{number_text(row.achieved, 6)}"
                for row in cells.itertuples()
            )
            text += f" Furthest off: {shown}."
        return text


def anneal(
    population: Any,
    margins: Margin | Sequence[Margin],
    *,
    household: str | None = None,
    person: str | None = None,
    workers: int = 1,
    seed: int | None = None,
    on_event: Listener | None = None,
    **options: Any,
) -> Annealed:
    """Exchange whole households of a finished population until known totals are met.

    Parameters
    ----------
    population : DataFrame or Population, one row a person
    margins : Margin or list of Margin
        Counts of persons or households, or sums of a numeric variable. Persons in none of the
        cells are not controlled. A total of 0 empties the cell.
    household : str, optional
        Column of household ids. Default: that of a Population; else every person stands alone.
    person : str, optional
        Column of person ids: numbered from 1 again where no id occurs twice in the population
        (numbers within the household stay as they are).
    **options
        split, tolerance, temperature, cooling, max_proposals, time_limit, max_copies: see `Anneal`.
    workers : int
        Regions side by side, in threads. The result is the same for any number.
    seed : int, optional
        Recorded in the result.
    on_event : callable, optional
        Receives an `Event` for each region.

    Returns
    -------
    Annealed

    Raises
    ------
    InputError
        Columns that are absent, households in two regions, margins that do not match, totals of a
        population more than a quarter larger, or less than a quarter (the scale does not fit).

    Warns
    -----
    ConvergenceWarning
        When a table is not met; the message has the cells with their best achieved values.
    SparseDataWarning
        When more than 10 % of the households are copies of another one of the result.

    Notes
    -----
    A household of a region is exchanged for a copy of one of the households that the region had,
    each with the same probability (simulated annealing, Kirkpatrick, Gelatt and Vecchi 1983, doi
    10.1126/science.220.4598.671). Every household stays as it is; the number of households follows
    the totals. Only exchanges that the totals need are made as long as a plain descent gets there,
    so that other variables keep their distributions. Randomness: one stream for each region
    ("anneal", region).

    Examples
    --------
    >>> frame = pd.DataFrame({"hid": range(40), "sex": list("ffmm") * 10, "id": range(40)})
    >>> sex = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [19, 21]}))
    >>> result = anneal(frame, sex, household="hid", tolerance=0.0, seed=1)
    >>> result.data["sex"].value_counts().to_dict()
    {'m': 21, 'f': 19}
    """
    return Anneal(margins, **options).run(
        population,
        household=household,
        person=person,
        workers=workers,
        seed=seed,
        on_event=on_event,
    )


def _thinned(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the trace with at most 200 batches of each region, the last among them."""
    parts = []
    for _, part in trace.groupby("region", sort=False, observed=True):
        n = len(part)
        parts.append(part.iloc[np.unique(np.linspace(0, n - 1, min(n, TRACE_POINTS)).astype(int))])
    return pd.concat(parts, ignore_index=True) if parts else trace


SEARCH = {
    "tolerance": Between(0),
    "temperature": POSITIVE | NONE,
    "cooling": SHARE,
    "max_proposals": Whole(1) | NONE,
    "time_limit": POSITIVE | NONE,
    "max_copies": Whole(1),
}


def _check_search(search: Search, workers: int, faults: Faults) -> None:
    check(faults, SEARCH, search)
    check(faults, {"workers": Whole(1)}, {"workers": workers})


def control_regions(
    controls: Controls, table: PopulationTable, split: str | None, faults: Faults
) -> np.ndarray:
    """Return the region of each control; note margins and totals that belong to none."""
    if split is None:
        return np.zeros(len(controls.targets), dtype=np.int64)
    parts = []
    for m, columns in enumerate(controls.columns):
        if split not in columns:
            what = f"has no column {split!r}, by which the population is split"
            remedy = "Give the margin by region too, or leave split out."
            faults.add(controls.names[m], what, remedy=remedy)
            parts.append(np.zeros(int((controls.margin == m).sum()), dtype=np.int64))
        else:
            parts.append(controls.keys[m][:, columns.index(split)])
    regions = np.concatenate(parts)
    present = np.isin(regions, table.region)
    for k in np.flatnonzero(~present & (controls.targets > 0))[:SHOWN]:
        what = f"total {number_text(controls.targets[k], 6)}, but the population has no such region"
        faults.add(controls.label(int(k)), what, remedy="Leave it out, or rename the region.")
    return np.where(present, regions, -1)


def _regions(
    table: PopulationTable, controls: Controls, matrix: Any, region_of_control: np.ndarray
) -> dict[int, tuple[np.ndarray, SearchRegion | None]]:
    """Return the households of each region and what they have to meet; None for nothing."""
    tables = _importance(controls)
    everybody = _counts_every_household(controls, table)
    counting = np.array([name is None for name in controls.variables])
    regions: dict[int, tuple[np.ndarray, SearchRegion | None]] = {}
    for number in np.unique(table.region).tolist():
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


def check_sizes(
    regions: Mapping[int, tuple[np.ndarray, SearchRegion | None]],
    max_copies: int,
    levels: Sequence[Any],
    faults: Faults,
) -> None:
    """Note totals that are those of a population of another size."""
    now = asked = 0
    for number, (rows, region) in regions.items():
        if region is None or not (region.counting.any() or region.of_households.any()):
            continue
        totals = np.asarray(region.matrix.sum(axis=0), dtype=np.float64).reshape(-1)
        n_donors = len(donors_of(region))
        wanted = wanted_households(region, totals, n_donors)
        now, asked = now + len(rows), asked + wanted
        if wanted > max_copies * n_donors:
            what = (
                f"the totals ask for {plural(wanted, 'household')}, and {plural(n_donors, 'donor')}"
                f" may stand {max_copies} times each"
            )
            remedy = "Simulate a larger population, join regions, or give a larger max_copies."
            faults.add(f"region {levels[number]}", what, remedy=remedy)
    if now and not SMALLEST_RATIO <= asked / now <= LARGEST_RATIO:
        what = (
            f"the known totals ask for {plural(asked, 'household')}, the population has "
            f"{plural(now, 'household')} ({asked / now:.3g} times as many)"
        )
        remedy = f"Simulate with a scale of {asked / now:.3g} times the present one, "
        faults.add("margins", what, remedy=remedy + "or give totals of this population.")


def _search_regions(
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
    given = controls.importance[np.minimum(first, len(controls.importance) - 1)]
    return np.where(np.isinf(given), 1.0, given)


def _counts_every_household(controls: Controls, table: PopulationTable) -> np.ndarray:
    """Tables that count every household of a region once, shape (n_tables, n_regions)."""
    out = np.zeros((len(controls.names), len(table.levels)), dtype=bool)
    first = table.order[table.offsets[:-1]]
    for m, cell in enumerate(controls.cells):
        if controls.household_level[m] and controls.variables[m] is None:
            missing = np.bincount(table.region, cell[first] < 0, minlength=len(table.levels))
            out[m] = missing == 0
    return out


def _result(
    table: PopulationTable,
    controls: Controls,
    matrix: Any,
    region_of_control: np.ndarray,
    found: dict[int, tuple[np.ndarray, Exchanged | None]],
    tolerance: float,
    seed: int,
    person: str | None,
) -> Annealed:
    donors = np.concatenate([rows for rows, _ in found.values()])
    used = np.bincount(donors, minlength=len(table.sizes))
    before = np.asarray(matrix.T @ np.ones(len(used))).reshape(-1)
    achieved = np.asarray(matrix.T @ used.astype(np.float64)).reshape(-1)
    cells = pd.DataFrame(
        {
            "margin": [controls.names[m] for m in controls.margin],
            "cell": controls.labels,
            "region": [table.levels[r] if r >= 0 else None for r in region_of_control],
            "level": [
                "household" if controls.household_level[m] else "person" for m in controls.margin
            ],
            "target": controls.targets,
            "before": before,
            "achieved": achieved,
            "difference": achieved - controls.targets,
        }
    )
    controlled = {name for columns in controls.columns for name in columns}
    controlled |= {name for name in controls.variables if name is not None}
    regions, traces = _region_tables(table, cells, region_of_control, found)
    sources = expand(table, donors)
    data = table.frame.take(sources).reset_index(drop=True)
    sizes = table.sizes[donors]
    if table.household is not None:
        data[table.household] = np.repeat(np.arange(1, len(donors) + 1), sizes)
    if person is not None and not table.frame[person].duplicated().any():
        data[person] = np.arange(1, len(data) + 1)
    return Annealed(
        data=data,
        sources=sources,
        margins=cells,
        regions=regions,
        trace=traces,
        distances=variable_distances(table, used, controlled),
        converged=bool(regions["converged"].all()),
        tolerance=tolerance,
        seed=seed,
    )


def _region_tables(
    table: PopulationTable,
    cells: pd.DataFrame,
    region_of_control: np.ndarray,
    found: dict[int, tuple[np.ndarray, Exchanged | None]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows, traces = [], []
    gap_before = np.abs(cells["before"].to_numpy() - cells["target"].to_numpy())
    gap_after = np.abs(cells["difference"].to_numpy())
    for number, (donors, search) in found.items():
        own = region_of_control == number
        old = np.flatnonzero(table.region == number)
        kept = len(np.unique(donors))
        rows.append(
            {
                "region": table.levels[number],
                "households_before": len(old),
                "households": len(donors),
                "persons_before": int(table.sizes[old].sum()),
                "persons": int(table.sizes[donors].sum()),
                "gap_before": gap_before[own].sum(),
                "gap_after": gap_after[own].sum(),
                "converged": search is None or search.converged,
                "proposals": 0 if search is None else search.proposals,
                "exchanged": max(len(old), len(donors)) - kept,
                "copies": len(donors) - kept,
                "most_copies": int(np.bincount(donors).max()) if len(donors) else 0,
                "temperature": 0.0 if search is None else search.temperature,
                "stopped": "no margin" if search is None else search.stopped,
            }
        )
        for step in [] if search is None else search.trace:
            traces.append((table.levels[number], *step))
    names = ["region", "proposals", "temperature", "objective", "kept"]
    return pd.DataFrame(rows), pd.DataFrame(traces, columns=names)
