"""Allot the households of each region to small areas with known totals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from synthpop.annealing.population_table import PopulationTable, take_table
from synthpop.annealing.search import Search
from synthpop.calibration.controls import resolve_margins
from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.dataset import encode_column
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.parameters import NONE, Between, Whole, check
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.stages.distribute_plan import AreaPlan, Distributed, all_areas, collapse, note_absent
from synthpop.stages.entry import StageEntry
from synthpop.stages.population_stages import (
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

PARAMETERS = {"tolerance": Between(0), "max_proposals": Whole(1) | NONE}


def _two_areas_each(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return the totals of the example: two areas in each region of the demo survey."""
    weights = frame.drop_duplicates("db030").groupby("db040", observed=True)["db090"].sum()
    return [
        {"db040": region, "area": f"{region} {part}", "total": round(total * share)}
        for region, total in weights.items()
        for part, share in ((1, 0.6), (2, 0.4))
    ]


@dataclass(frozen=True, slots=True)
class Distribute(PopulationStage):
    """Give every household of a region one of the small areas of that region.

    In a recipe it comes behind the steps whose variables its tables name. Within the strata, or
    within areas that an earlier `Distribute` made there, a population that is written to a folder
    is in memory a few strata at a time, else as a whole.

    Parameters
    ----------
    name : str
        New column: the area.
    within : str
        Column of regions; areas do not reach over regions.
    margins : Margin or list of Margin
        Counts of households, of persons, or both; each table has the columns `within` and `name`,
        and may have more (age by area).
    tolerance : float
        A table is met in a region when its absolute gaps add up to no more than this share.
    max_proposals : int, optional
        Most swaps that are tried in a region; default 300 a household, between 1 and 50 million.

    Examples
    --------
    >>> table = pd.DataFrame({"region": ["N"], "area": ["N1"], "total": [10]})
    >>> Distribute("area", within="region", margins=Margin(table)).provides
    ('area',)
    """

    name: str
    _: KW_ONLY
    within: str
    margins: Margin | Sequence[Margin]
    tolerance: float = 0.0
    max_proposals: int | None = None

    entry: ClassVar[StageEntry] = StageEntry(
        name="distribute",
        rank=100,
        title="Small areas",
        question="In which small area of its region does a household live?",
        blind_spots="differences between areas beyond the tables that are given",
        example={"name": "area", "within": "db040", "margins": _two_areas_each},
        after=("structure",),
    )
    part_result = Distributed

    @property
    def region(self) -> str | None:
        """Column by whose values the step works apart."""
        return self.within

    @property
    def parts_of_region(self) -> tuple[str, ...]:
        """The areas, unless areas of two regions have one name."""
        tables = [margin.frame[[self.within, self.name]] for margin in margin_list(self.margins)]
        pairs = pd.concat([table.map(level_text) for table in tables]).drop_duplicates()
        return () if pairs[self.name].duplicated().any() else (self.name,)

    def expect(self, faults: Faults, schema: PopulationSchema) -> None:
        """Note everything in the options that cannot work, before anything is computed."""
        check(faults, PARAMETERS, self, label=self.label)
        margins = margin_list(self.margins)
        of_margins = Faults(self.label)
        for margin in margins:
            _check_margin(margin, self.name, self.within, of_margins)
        add_labelled(faults, of_margins)
        check_region(faults, self.label, self.within, "within", schema)
        check_strata(faults, self.label, margins, self.within, schema)
        check_margins(faults, self.label, margins, schema, own_column=self.name)
        if self.within == schema.strata:
            self._check_regions(faults, margins, schema)

    def _check_regions(
        self, faults: Faults, margins: Sequence[Margin], schema: PopulationSchema
    ) -> None:
        """Note strata of the survey for which no table has an area."""
        columns = [m.frame[self.within] for m in margins if self.within in m.columns]
        levels = {level_text(value) for column in columns for value in column.dropna()}
        for level in schema.levels.get(self.within, ()):
            if levels and level_text(level) not in levels:
                what = f"region {level!r} has no area in any table"
                faults.add(self.label, what, hint="Give its areas.")

    def finish(self, frame: pd.DataFrame, run: PopulationRun) -> Finished:
        """Distribute the population of a recipe, or a part of it."""
        faults = Faults("distribute")
        table = take_table(frame, run.household, self.within, faults)
        result = self._distributed(table, faults, run)
        areas = result.data[self.name]
        if isinstance(areas.dtype, pd.CategoricalDtype):
            column = encode_column(areas)
        else:  # the type that holds the areas of all regions
            areas_of_all = all_areas(margin_list(self.margins), self.name, self.within)
            field = encode_column(pd.Series(areas_of_all, name=self.name))[0]
            column = field, areas.to_numpy(dtype=field.dtype)
        return Finished(None, {self.name: column}, replace(result, data=pd.DataFrame()))

    def joined(self, results: Sequence[Distributed], seed: int) -> Distributed:
        """Return the result for the whole population; totals of absent regions are a fault."""
        cells = pd.concat([result.margins for result in results], ignore_index=True)
        levels = {level_text(region) for region in cells["region"]}
        faults = Faults("distribute")
        for margin in margin_list(self.margins):
            named = margin.frame[self.within][margin.targets > 0]
            for value in dict.fromkeys(named.astype(object)):
                if level_text(value) not in levels:
                    note_absent(f"{margin.label}: {self.within}={value}", faults)
        faults.raise_if_any()
        return replace(
            results[0],
            margins=cells,
            converged=all(result.converged for result in results),
            proposals=sum(result.proposals for result in results),
        )

    def record(self, result: Distributed) -> dict[str, object]:
        """Return the numbers that verify a result, for a manifest."""
        return {
            "summary": result.summary(),
            "converged": result.converged,
            "tolerance": result.tolerance,
            "seed": result.seed,
            "gap": float(result.margins["difference"].abs().sum()),
            "margins": as_lists(result.margins),
        }

    def warn(self, result: Distributed, last: bool = True) -> None:
        """Warn of totals that are not met."""
        if not result.converged:
            warnings.warn(ConvergenceWarning(result.summary()), stacklevel=4)

    def run(
        self,
        population: Any,
        *,
        household: str | None = None,
        workers: int = 1,
        seed: int | None = None,
        on_event: Listener | None = None,
    ) -> Distributed:
        """Distribute a population with these options; see `distribute`."""
        run = PopulationRun(household, workers, Streams(resolve_seed(seed)), on_event or silent)
        faults = Faults("distribute")
        check(faults, PARAMETERS, self)
        check(faults, {"workers": Whole(1)}, run)
        table = take_table(population, household, self.within, faults)
        result = self._distributed(table, faults, run)
        self.warn(result)
        return result

    def _distributed(
        self, table: PopulationTable, faults: Faults, run: PopulationRun
    ) -> Distributed:
        if self.name in table.frame.columns:
            hint = "Choose another name for the areas."
            faults.add(self.name, "is already a column", hint=hint)
        items = margin_list(self.margins)
        for margin in items:
            _check_margin(margin, self.name, self.within, faults)
        faults.raise_if_any()
        collapsed = [collapse(margin, self.name) for margin in items]
        controls = resolve_margins(
            table.frame, collapsed, faults, household_index=table.index, keep_all=True,
            part=run.part,
        )  # fmt: skip
        faults.raise_if_any()
        assert controls is not None
        search = Search(self.tolerance, max_proposals=self.max_proposals)
        plan = AreaPlan(table, items, collapsed, controls, self.name, self.within, search)
        plan.check(faults, run.part)
        faults.raise_if_any()
        return plan.run(run.workers, run.streams, run.listener)


def distribute(
    population: Any,
    name: str,
    *,
    within: str,
    margins: Margin | Sequence[Margin],
    household: str | None = None,
    workers: int = 1,
    seed: int | None = None,
    on_event: Listener | None = None,
    **options: Any,
) -> Distributed:
    """Allot the households of each region to its small areas.

    Parameters
    ----------
    population : DataFrame or Population, one row per person
    name, within, margins
        See `Distribute`.
    household : str, optional
        Column of household ids. Default: that of a Population; else every person stands alone.
    workers : int
        Regions side by side, in threads. The result is the same for any number.
    seed : int, optional
        Recorded in the result.
    on_event : callable, optional
        Receives an `Event` for each region.
    **options
        tolerance, max_proposals: see `Distribute`.

    Raises
    ------
    InputError
        Columns that are absent or already there, regions without areas, margins that do not match.

    Warns
    -----
    ConvergenceWarning
        When totals are not met; the message has the areas.

    Notes
    -----
    Totals are scaled, cell by cell, to what the region has, and made whole by largest remainders.
    Each area gets its number of households (without a table of households: in proportion to its
    persons), drawn at random; then two households of different areas change places when that
    brings the other totals nearer, and, where that stands still, by simulated annealing. Household
    counts are exact from the start; person counts become exact where households of the region
    allow it. Randomness: one stream for each region ("distribute", name, region).

    Examples
    --------
    >>> frame = pd.DataFrame({"hid": [1, 1, 2, 3, 3, 4], "region": "N"})
    >>> table = pd.DataFrame({"region": "N", "area": ["a", "b"], "total": [4, 2]})
    >>> result = distribute(
    ...     frame, "area", within="region", margins=Margin(table), household="hid", seed=1
    ... )
    >>> result.data["area"].value_counts().to_dict()
    {'a': 4, 'b': 2}
    """
    return Distribute(name, within=within, margins=margins, **options).run(
        population, household=household, workers=workers, seed=seed, on_event=on_event
    )


def _check_margin(margin: Margin, name: str, within: str, faults: Faults) -> None:
    for column in (within, name):
        if column not in margin.columns:
            hint = "Give region and area of every total."
            faults.add(margin.label, f"has no column {column!r}", hint=hint)
        elif margin.frame[column].isna().any():
            rows = np.flatnonzero(margin.frame[column].isna())
            faults.add(margin.label, f"{column} is missing", rows=rows, hint="Correct it.")
    if margin.variable is not None:
        what = "areas take counts, not sums of a variable"
        faults.add(margin.label, what, hint="Leave variable out.")
    if margin.importance is not None:
        hint = "Leave importance out."
        faults.add(margin.label, "all tables of areas count alike", hint=hint)
