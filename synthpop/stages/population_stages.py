"""Steps that are not run block by block: on the survey before, on the population at the end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from synthpop.calibration.controls import resolve_margins
from synthpop.calibration.margins import Margin, margin_list
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams
from synthpop.population.manifest import SurveyStepRecord
from synthpop.stages.base import Stage

SHOWN = 5


@dataclass(frozen=True, slots=True)
class PopulationSchema:
    """The finished population as far as it is known before anything is computed."""

    variables: Schema  # ``available`` are the variables of the population at this step
    households: bool  # the survey has households
    # frozenset of str: variables that are known to differ between members of a household
    varying: frozenset[str]
    strata: str | None
    # dict of tuples: levels of the columns whose values are known to be complete: those of the
    # survey that the population takes over
    levels: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a population stage did."""

    # int64 array, shape (n_persons of the result,), or None: row of the input that each person is
    # a copy of, members of a household side by side; None where the persons stay as they are
    rows: np.ndarray | None
    # dict of (Field, array): new columns, in the order of the input
    columns: Mapping[str, tuple[Field, np.ndarray]]
    result: Any  # object: what verifies it, for `PopulationStage.joined`
    # dict of int64 arrays, shape (n_persons of the result,): columns whose values come from other
    # rows of the input than `rows`, and from which
    other_rows: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutsideDonors:
    """Which persons are a part of a population, and which are donors from other parts of it."""

    home: np.ndarray  # bool array, shape (n_persons,): persons of the part
    ids: np.ndarray  # int array, shape (n_persons,): number of the household in the population
    # bool array, shape (n_persons,): persons of the part who are donors for other parts
    candidates: np.ndarray


@dataclass(frozen=True, slots=True)
class PopulationRun:
    """How a population stage is run."""

    household: str | None  # column of household ids
    workers: int  # regions side by side, in threads
    streams: Streams
    listener: Listener = silent
    part: bool = False  # on whole regions of a population instead of all of it
    outside: OutsideDonors | None = None  # for a step with a `donor_region`


class PopulationStage(Stage):
    """A step on the finished population: the last ones of a recipe."""

    __slots__ = ()

    margins: Any  # a `Margin`, or several
    # type of ``Finished.result``; `to_plain` and `from_plain` keep all of it that `joined` needs
    part_result: ClassVar[Any]
    exchanges: ClassVar[bool] = False  # whether ``Finished.rows`` says which persons stay

    @abstractmethod
    def expect(self, faults: Faults, schema: PopulationSchema) -> None:
        """Note everything in the options that cannot work."""

    @abstractmethod
    def finish(self, frame: pd.DataFrame, run: PopulationRun) -> Finished:
        """Change a population, or whole regions of one; one row per person."""

    @property
    @abstractmethod
    def region(self) -> str | None:
        """Column by whose values the step works apart; None where it needs everybody."""

    @property
    def donor_region(self) -> str | None:
        """Column of larger areas whose households a region may take, or "all"; None: its own."""
        return None

    def scarce(self, frame: pd.DataFrame, household: str | None) -> list[int]:
        """Return the cells that whole regions of a population cannot fill by themselves."""
        return []

    def donors(
        self, frame: pd.DataFrame, household: str | None, scarce: Sequence[int]
    ) -> np.ndarray:
        """Return the persons of households that would count for such cells of another region."""
        return np.zeros(len(frame), dtype=bool)

    @property
    def parts_of_region(self) -> tuple[str, ...]:
        """Columns that the step makes, each value of which lies in one region."""
        return ()

    @abstractmethod
    def joined(self, results: Sequence[Any], seed: int) -> Any:
        """Return the result for the whole population from those of its parts."""

    @abstractmethod
    def record(self, result: Any) -> dict[str, Any]:
        """Return what verifies a result: summary, converged, tables as lists of columns."""

    @abstractmethod
    def warn(self, result: Any, last: bool = True) -> None:
        """Warn of what a result lacks; `last`: no step follows that draws again."""

    def count(self, frame: pd.DataFrame, household: str | None, part: bool = False) -> pd.DataFrame:
        """Count the cells of the margins in a population, as `cell_counts` does."""
        return cell_counts(frame, margin_list(self.margins), household, part)


class SurveyStage(Stage):
    """A step on the survey before anything is fitted: the first ones of a recipe."""

    __slots__ = ()

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the step makes: none, it corrects those of the survey."""
        return ()

    @abstractmethod
    def expect(self, faults: Faults, survey: Survey) -> None:
        """Note everything in the options that cannot work."""

    @abstractmethod
    def prepare(self, survey: Survey, seed: int) -> tuple[Survey, SurveyStepRecord]:
        """Return the survey with a column corrected, and what was done."""


def add_labelled(faults: Faults, of_step: Faults) -> None:
    """Add the faults of a step, each with the label of the step before its place."""
    for fault in of_step.found:
        where = f"{of_step.subject}, {fault.where}"
        faults.found.append(replace(fault, where=where))


def check_region(
    faults: Faults, label: str, name: str, role: str, schema: PopulationSchema
) -> None:
    """Note a column of regions that is not there, or that divides households."""
    check_available(faults, label, [name], schema.variables, role)
    if name in schema.varying:
        what = f"{role} {name!r} differs between members of a household"
        hint = "Name a column that all members share, such as the strata."
        faults.add(label, what, hint=hint)


def check_strata(
    faults: Faults, label: str, margins: Sequence[Margin], name: str, schema: PopulationSchema
) -> None:
    """Note totals of regions that the survey does not have, where the regions are its strata."""
    levels = schema.levels.get(name)
    if name != schema.strata or levels is None:
        return
    texts = {level_text(level) for level in levels}
    for margin in margins:
        if name not in margin.columns:
            continue
        categories = margin.frame[name][margin.targets > 0].dropna().astype(object)
        unknown_levels = [
            value for value in dict.fromkeys(categories.tolist()) if level_text(value) not in texts
        ]
        # where all levels are unknown, `check_margins` notes the column
        if unknown_levels and len(unknown_levels) < categories.nunique():
            what = f"there are totals of {name} {', '.join(map(str, unknown_levels[:SHOWN]))}"
            hint = "The survey has no such stratum: leave them out, or rename them."
            faults.add(f"{label}, margin {margin.label}", what, hint=hint)


def check_margins(
    faults: Faults,
    label: str,
    margins: Sequence[Margin],
    schema: PopulationSchema,
    own_column: str = "",
) -> None:
    """Note margins that the population cannot have.

    own_column: column that the step makes itself
    """
    if not margins:
        faults.add(label, "has no margins", hint="Give at least one Margin.")
    for margin in margins:
        where = f"{label}, margin {margin.label}"
        columns = [name for name in margin.columns if name != own_column]
        check_available(faults, where, columns, schema.variables, "column")
        if margin.variable is not None:
            check_available(faults, where, [margin.variable], schema.variables, "variable")
            field = schema.variables.survey.get(margin.variable)
            if field is not None and field.kind != "numeric":
                what = f"variable {margin.variable!r} is not numeric"
                faults.add(where, what, hint="Name a numeric variable, or count persons.")
        if margin.level == "household":
            _check_households(faults, where, margin, columns, schema)
        for name in columns:
            _check_values(faults, where, margin.frame[name], name, schema)


def _check_households(
    faults: Faults, where: str, margin: Margin, columns: list[str], schema: PopulationSchema
) -> None:
    if not schema.households:
        hint = "Give the survey its household role, or use level='person'."
        faults.add(where, "the survey has no households", hint=hint)
    counted = [*columns, *([margin.variable] if margin.variable else [])]
    for name in counted:
        if name in schema.varying:
            what = f"{name!r} differs between members of a household"
            hint = "Count households by what all members share, or use level='person'."
            faults.add(where, what, hint=hint)


def _check_values(
    faults: Faults, where: str, column: pd.Series, name: str, schema: PopulationSchema
) -> None:
    """Note a category column of which not one value occurs."""
    levels = schema.levels.get(name)
    if levels is None or not len(column):
        return
    known, texts = set(levels), {level_text(level) for level in levels}
    values = column.dropna().astype(object).tolist()
    if values and not any(value in known or level_text(value) in texts for value in values):
        shown = ", ".join(map(str, values[:SHOWN]))
        examples = ", ".join(map(str, levels[: 2 * SHOWN]))
        faults.add(where, f"no value of {name!r} occurs in the survey ({shown})",
                   hint=f"There are: {examples or 'none'}.")  # fmt: skip


def known_levels(schema: Schema) -> dict[str, tuple[Any, ...]]:
    """Return the levels of the categorical variables of the population, where they are known."""
    fields = ((name, schema.survey.get(name)) for name in schema.available)
    return {name: f.levels for name, f in fields if f is not None and f.kind == "categorical"}


def cell_counts(
    frame: pd.DataFrame, margins: Sequence[Margin], household: str | None, part: bool = False
) -> pd.DataFrame:
    """Count the cells of margins in a population, once more and in the plainest way.

    part: the frame is a part of the population
    Returns one row per cell, in the order of the tables: margin, cell, given (the total), achieved.

    Examples
    --------
    >>> people = pd.DataFrame({"hid": [1, 1, 2], "sex": ["f", "m", "f"]})
    >>> sex = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [2, 2]}))
    >>> cell_counts(people, [sex], "hid")["achieved"].tolist()
    [2.0, 1.0]
    """
    faults = Faults("margins")
    index = np.arange(len(frame)) if household is None else pd.factorize(frame[household])[0]
    controls = resolve_margins(
        frame, margins, faults, household_index=index, keep_all=True, part=part
    )
    faults.raise_if_any()
    assert controls is not None
    first = ~pd.Series(index).duplicated().to_numpy()
    achieved = np.zeros(len(controls.targets))
    for cell, values, of_households in zip(
        controls.cells, controls.values, controls.household_level, strict=True
    ):
        rows = (cell >= 0) & (first | (not of_households))
        amounts = None if values is None else np.nan_to_num(values[rows])
        achieved += np.bincount(cell[rows], amounts, minlength=len(achieved))
    table = controls.table().drop(columns="level")
    return table.assign(given=controls.targets, achieved=achieved)


def as_lists(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as plain lists for a manifest: column -> values, missing as None.

    Examples
    --------
    >>> as_lists(pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]}))
    {'a': [1, 2], 'b': [0.5, None]}
    """
    cells = frame.astype(object)
    return {str(name): cells[name].where(cells[name].notna(), None).tolist() for name in cells}


def from_lists(data: Mapping[str, list[Any]]) -> pd.DataFrame:
    """Return the table that `as_lists` described; columns with missing values hold objects.

    Examples
    --------
    >>> from_lists({"a": [1, None]})["a"].tolist()
    [1, None]
    """
    return pd.DataFrame(
        {name: pd.Series(x, dtype=object if None in x else None) for name, x in data.items()}
    )
