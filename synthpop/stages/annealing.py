"""Recalibrate a finished population to known totals by exchanging whole households."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from synthpop.annealing.population_table import PopulationTable, take_table
from synthpop.annealing.search import Search
from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults, SparseDataWarning
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.stages.annealing_regions import (
    check_scale,
    check_search,
    check_sizes,
    donors_of_cells,
    matched_regions,
    note_absent_region,
    scarce_cells,
    search_regions,
    with_outside_donors,
)
from synthpop.stages.annealing_result import (
    COPIES_WARNED,
    Annealed,
    RegionsSearched,
    annealed_of,
    annealed_persons,
    regions_searched,
    thinned,
)
from synthpop.stages.entry import StageEntry
from synthpop.stages.population_stages import (
    SHOWN,
    Finished,
    PopulationRun,
    PopulationSchema,
    PopulationStage,
    add_labelled,
    as_lists,
    check_margins,
    check_region,
    check_strata,
)


def _persons_by_sex(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return the totals of the example: persons by sex, of the demo survey."""
    persons = frame.groupby("rb090", observed=True)["rb050"].sum().round()
    return [{"rb090": sex, "total": total} for sex, total in persons.items()]


@dataclass(frozen=True, slots=True)
class Anneal(PopulationStage):
    """Exchange whole households until margins over persons and households are met together.

    In a recipe it works on the finished population, and the steps after it draw for the households
    that it leaves. Split by the strata, or by areas that `Distribute` made within them, a
    population that is written to a folder is in memory a few strata at a time, with the households
    of other strata that a cell lacks; else as a whole. After `Distribute`, households that are
    exchanged bring their area with them: split by the area, or give the areas' totals among the
    margins.

    Parameters
    ----------
    margins : Margin or list of Margin
        Known totals, several tables at once; ``importance`` weighs a table in the objective, the
        sum of absolute gaps (None: 1).
    split : str, optional
        Column of regions: each is a unit of its own, its households are exchanged among
        themselves, and every margin must have this column.
    split_upper : str or "all", optional
        Column of larger areas, or "all" for everybody. A region that has too few households for a
        cell (its total is more than `max_copies` times theirs) takes such households from the
        other regions of the same larger area: they get the name of the region, all else stays.
        Put the step before the numeric steps of a recipe: then amounts are drawn by the models of
        the region that they came to.
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
    cell_gap : float
        Persons or households that any cell of a table of counts may be off, where that is more
        than `tolerance` of its total: for tables with many small cells.

    Examples
    --------
    >>> Anneal([Margin(100.0)], split="region").max_copies
    3
    """

    margins: Margin | Sequence[Margin]
    _: KW_ONLY
    split: str | None = None
    split_upper: str | None = None
    tolerance: float = 0.0
    temperature: float | None = None
    cooling: float = 0.9
    max_proposals: int | None = None
    time_limit: float | None = None
    max_copies: int = 3
    cell_gap: float = 0.0

    entry: ClassVar[StageEntry] = StageEntry(
        name="anneal",
        rank=110,
        title="Known totals",
        question="Which households meet the totals that are known?",
        blind_spots=(
            "relations between variables that no table names: they change with the "
            "households that are exchanged"
        ),
        example={"margins": _persons_by_sex},
        after=("structure",),
    )
    label: ClassVar[str] = "anneal"
    part_result, exchanges = RegionsSearched, True

    provides: ClassVar[tuple[str, ...]] = ()

    @property
    def search(self) -> Search:
        """How to search."""
        names = [item.name for item in fields(Search)]
        return Search(**{name: getattr(self, name) for name in names})

    @property
    def region(self) -> str | None:
        """Column by whose values the step works apart; None where it needs everybody."""
        return self.split

    @property
    def donor_region(self) -> str | None:
        """Column of larger areas whose households a region may take, or "all"; None: its own."""
        return self.split_upper

    def expect(self, faults: Faults, schema: PopulationSchema) -> None:
        """Note everything in the options that cannot work, before anything is computed."""
        of_search = Faults(self.label)
        check_search(self.search, 1, of_search)
        add_labelled(faults, of_search)
        margins = margin_list(self.margins)
        check_margins(faults, self.label, margins, schema)
        if self.split_upper is not None:
            self._expect_upper(faults, schema)
        if self.split is not None:
            check_region(faults, self.label, self.split, "split", schema)
            check_strata(faults, self.label, margins, self.split, schema)
            for margin in margins:
                if self.split not in margin.columns:
                    what = f"margin {margin.label} has no column {self.split!r}, the split"
                    hint = "Give the margin by region too, or leave split out."
                    faults.add(self.label, what, hint=hint)

    def _expect_upper(self, faults: Faults, schema: PopulationSchema) -> None:
        if self.split is None:
            hint = "Give split too."
            faults.add(f"{self.label}: split_upper", "has no meaning without split", hint=hint)
        elif self.split_upper != "all":
            check_region(faults, self.label, str(self.split_upper), "split_upper", schema)
        elif schema.strata not in (None, self.split):
            what = f"would take households out of their {schema.strata!r}"
            faults.add(f"{self.label}: split_upper", what, hint="Name a column of larger areas.")

    def finish(self, frame: pd.DataFrame, run: PopulationRun) -> Finished:
        """Recalibrate the population of a recipe, or a part of it."""
        faults = Faults("anneal")
        table = take_table(frame, run.household, self.split, faults)
        if run.outside is not None:
            table = replace(table, home=run.outside.home[table.first_rows])
        searched = self._searched(table, faults, run)
        places = {} if searched.places is None else {str(self.split): searched.places}
        return Finished(searched.rows, {}, searched, places)

    def scarce(self, frame: pd.DataFrame, household: str | None) -> list[int]:
        """Return the cells that whole regions of a population cannot fill by themselves."""
        faults = Faults("anneal")
        table = take_table(frame, household, self.split, faults)
        controls = matched_regions(table, margin_list(self.margins), self.split, faults, part=True)
        return scarce_cells(controls.regions, controls.region_of_control, self.max_copies)

    def donors(
        self, frame: pd.DataFrame, household: str | None, scarce: Sequence[int]
    ) -> np.ndarray:
        """Return the persons of households that would count for such cells of another region."""
        table = take_table(frame, household, self.split, Faults("anneal"))
        margins = margin_list(self.margins)
        return donors_of_cells(table, margins, str(self.split), scarce)[table.index]

    def joined(self, results: Sequence[RegionsSearched], seed: int) -> Annealed:
        """Return the result for the whole population; totals of another one are a fault."""
        result = annealed_of(results, self.tolerance, seed)
        faults = Faults("anneal")
        if len(results) > 1:
            without_region = result.margins[
                result.margins["region"].isna() & (result.margins["target"] > 0)
            ]
            for row in without_region.iloc[:SHOWN].to_dict("records"):
                note_absent_region(f"{row['margin']}: {row['cell']}", row["target"], faults)
            n_households, n_asked = (sum(part.households[k] for part in results) for k in (0, 1))
            check_scale(n_households, n_asked, faults)
        faults.raise_if_any()
        return result

    def record(self, result: Annealed) -> dict[str, object]:
        """Return the numbers that verify a result, for a manifest."""
        return {
            "summary": result.summary(),
            "converged": result.converged,
            "tolerance": result.tolerance,
            "seed": result.seed,
            "gap_before": float(result.regions["gap_before"].sum()),
            "gap": float(result.regions["gap_after"].sum()),
            "margins": as_lists(result.margins),
            "regions": as_lists(result.regions),
            "trace": as_lists(thinned(result.trace)),
            "distances": as_lists(result.distances),
            "n_copies": result.n_copies,
        }

    def warn(self, result: Annealed, last: bool = True) -> None:
        """Warn of totals that are not met, and of copies where no later step draws for them."""
        if not result.converged:
            warnings.warn(ConvergenceWarning(result.summary()), stacklevel=4)
        if last and result.n_copies > COPIES_WARNED * result.regions["households"].sum():
            warnings.warn(SparseDataWarning(result.copies_text()), stacklevel=4)

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
        run = PopulationRun(household, workers, Streams(resolve_seed(seed)), on_event or silent)
        faults = Faults("anneal")
        check_search(self.search, workers, faults)
        table = take_table(population, household, self.split, faults)
        if person is not None:
            check_columns(faults, table.frame, [person], "person")
        searched = self._searched(table, faults, run)
        data = annealed_persons(table, searched, person, self.split)
        result = annealed_of([searched], self.tolerance, run.streams.seed, data)
        self.warn(result)
        return result

    def _searched(
        self, table: PopulationTable, faults: Faults, run: PopulationRun
    ) -> RegionsSearched:
        margins = margin_list(self.margins)
        matched = matched_regions(table, margins, self.split, faults, run.part)
        regions, region_of_control = matched.regions, matched.region_of_control
        if self.split is not None and self.split_upper is not None:
            upper = self._larger_areas(table, faults)
            regions = with_outside_donors(
                regions, table, margins, region_of_control, self.split, upper, self.max_copies
            )
        households = check_sizes(regions, self.max_copies, table.levels, faults)
        if not run.part:
            check_scale(*households, faults)
        faults.raise_if_any()
        searches = search_regions(
            table, regions, self.search, run.streams, run.workers, run.listener
        )
        return regions_searched(table, matched, searches, households, run.outside)

    def _larger_areas(self, table: PopulationTable, faults: Faults) -> np.ndarray:
        if self.split_upper == "all":
            return np.zeros(len(table.sizes), dtype=np.int64)
        check_columns(faults, table.frame, [str(self.split_upper)], "split_upper")
        faults.raise_if_any()
        codes = encode(table.frame[str(self.split_upper)])[0]
        return codes[table.first_rows].astype(np.int64)


@same_library
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
    population : DataFrame or Population, one row per person
    margins : Margin or list of Margin
        Counts of persons or households, or sums of a numeric variable. Persons in none of the
        cells are not controlled. A total of 0 empties the cell.
    household : str, optional
        Column of household ids. Default: that of a Population; else every person stands alone.
    person : str, optional
        Column of person ids: numbered from 1 again where no id occurs twice in the population
        (numbers within the household stay as they are).
    **options
        split, split_upper, tolerance, temperature, cooling, max_proposals, time_limit, max_copies,
        cell_gap: see `Anneal`.
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
