"""What one column of a survey is, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.reading.columns import Question

STEPS = ("structure", "derive", "categorical", "continuous", "components")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column is used for, and why."""

    name: str
    # "role", "left out", or the step that makes it: "structure", "derive", "categorical",
    # "continuous", "components"
    use: str
    why: str
    detail: str = ""  # the role, or the column that this one is a copy, class or part of
    # "shared" where members of a household have one value, "first" where they go together
    together: str | None = None
    first_age: float | None = None  # age at which values other than missing or zero begin
    nested: bool = False  # codes with many levels, drawn within their groups
    within: str = ""  # the column that has the groups of such codes, "" where digits tell them
    note: str = ""  # what the user should look at: codes that may mean "missing", rare levels


@dataclass(frozen=True, slots=True, eq=False)
class SurveyProfile(Result):
    """What the columns of a survey are.

    Attributes
    ----------
    columns : tuple of ColumnProfile
        In the order of the file.
    roles : dict
        Role -> column.
    age, sex, relation : str or None
        Columns that say so by name; the relation also by its levels.
    survey_year : float or None
        Where `age` holds years of birth: the year from which the age follows.
    age_breaks : tuple of float
        Limits of age classes: five years and finer where something begins, in the unit of `age`;
        empty without ages.
    totals : dict of tuple of str
        Total -> its parts.
    further_totals : tuple of (str, tuple of str)
        Totals with other parts that add up to them too.
    derived : dict
        Column -> how it follows from `detail`: ``{"breaks": ..., "labels": ...}`` or
        ``{"mapping": ...}``.
    predictors : dict of tuple of str
        Column -> the earlier columns that tell most of it.
    split_by : dict of tuple of str
        Total -> the categories that tell most of which part is the largest.
    small_strata : dict of int
        Strata with fewer than 30 sample persons.
    questions : tuple of Question
        What matters (household, weight, age, sex) and only somebody who knows the file can say:
        role, columns that it may be, and why.
    offsets : dict of str
        Date -> what it lies near: an expression of the age and of earlier dates.
    """

    columns: tuple[ColumnProfile, ...]
    roles: Mapping[str, str]
    age: str | None = None
    sex: str | None = None
    relation: str | None = None
    survey_year: float | None = None
    age_breaks: tuple[float, ...] = ()
    totals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    further_totals: tuple[tuple[str, tuple[str, ...]], ...] = ()
    derived: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    predictors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    split_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    small_strata: Mapping[str, int] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    offsets: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str) -> ColumnProfile:
        """Return the profile of a column."""
        return next(item for item in self.columns if item.name == name)

    def with_use(self, *uses: str) -> list[ColumnProfile]:
        """Return the columns of some uses, in the order of the file."""
        return [item for item in self.columns if item.use in uses]

    def to_frame(self) -> pd.DataFrame:
        """Return column, use, why and note, one row per column."""
        rows = [
            {
                "column": item.name,
                "use": f"role: {item.detail}" if item.use == "role" else item.use,
                "why": item.why,
                "note": item.note,
            }
            for item in self.columns
        ]
        return pd.DataFrame(rows, columns=["column", "use", "why", "note"])

    def summary(self) -> str:
        """Say what was recognised, in sentences."""
        by_steps = self.with_use(*STEPS)
        lines = [
            message(
                "{columns}: {roles} with a role, {made} to simulate, {out} left out.",
                columns=plural(len(self.columns), "column"),
                roles=len(self.with_use("role")),
                made=len(by_steps),
                out=len(self.with_use("left out")),
            )
        ]
        for total, parts in (*self.totals.items(), *self.further_totals):
            lines.append(message("{total} is the sum of {parts}.", total=total, parts=join(parts)))
        if self.relation:
            lines.append(
                message("{column} is the relation to the reference person.", column=self.relation)
            )
        for stratum, persons in self.small_strata.items():
            lines.append(
                message(
                    "Stratum {stratum} has only {persons}.",
                    stratum=stratum,
                    persons=plural(persons, "sample person"),
                )
            )
        return joined_by("\n", lines)
