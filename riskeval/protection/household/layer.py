"""Households in a file of persons: who belongs together, and what members share.

Methods take a file as it comes. Without a household column every record is a household of one, so
that no method asks whether there are households.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import extremes, first_rows
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import Microdata, as_file

SHOWN = 5
NEARLY = 0.02


@dataclass(frozen=True, eq=False)
class Households:
    """Households of a file; where no column names them, each record by itself."""

    number: np.ndarray  # int64 array, shape (n,): household of each record, 0 to H - 1
    first: np.ndarray  # int64 array, shape (H,): first record of each household
    size: np.ndarray  # int64 array, shape (H,): number of records
    column: str | None = None  # column of household ids
    ids: pd.Series | None = None  # Series, shape (n,): column of household ids
    # columns of those asked for that are the same for all members, found or declared
    variables: tuple[str, ...] = ()
    # columns that are the same but for few households, and the numbers of these
    nearly: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of_one(cls, n: int) -> Households:
        """Every record by itself."""
        each = np.arange(n)
        return cls(each, each, np.ones(n, dtype=np.int64))

    @property
    def unit(self) -> str:
        """What is counted: households, or records."""
        return "record" if self.column is None else "household"

    @property
    def clusters(self) -> np.ndarray | None:
        """Household of each record, where a column names them."""
        return None if self.column is None else self.number

    def are_shared(self, names: Sequence[str]) -> np.ndarray:
        """Which columns are the same for all members, bool, shape (m,)."""
        return np.array([name in self.variables for name in names], dtype=bool)

    def with_members(self, rows: np.ndarray) -> np.ndarray:
        """Records with a member among `rows`, all bool, shape (n,)."""
        return np.bincount(self.number[rows], minlength=len(self))[self.number] > 0

    def first_filled(self, filled: np.ndarray) -> np.ndarray:
        """First record with a value, bool (n,), of each household; its first where none has one."""
        rows = self.first.copy()
        with_value = np.flatnonzero(filled)[::-1]
        rows[self.number[with_value]] = with_value
        return rows

    def collapse(self, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
        """One row per household: the first member, with the first value of `names` that one has."""
        table = frame.iloc[self.first].reset_index(drop=True)
        for name in names:
            if table[name].isna().any() and len(table):
                rows = self.first_filled(frame[name].notna().to_numpy())
                table[name] = frame[name].take(rows).array
        return table

    def expand(self, values: pd.Series, before: pd.Series) -> pd.Series:
        """Give the value of a household to its members; what was missing stays missing."""
        copied = values.take(self.number).set_axis(before.index)
        missing = before.isna()
        return copied.mask(missing) if missing.any() else copied

    @cached_property
    def members(self) -> list[np.ndarray]:
        """Records of each household."""
        order = np.argsort(self.number, kind="stable")
        return np.split(order, np.cumsum(self.size)[:-1])

    def notes(self) -> list[str]:
        """Name columns that few households keep from being household variables."""
        return [
            message(
                "{name} is treated as a person-level variable, because members differ in "
                "{numbers}; declare it in household_variables if that is an error.",
                name=name,
                numbers=self.named(numbers),
            )
            for name, numbers in self.nearly.items()
        ]

    def named(self, numbers: np.ndarray) -> str:
        """Say how many households these are, and the ids of the first of them."""
        assert self.ids is not None  # without a column no household has two values
        ids: list[Any] = self.ids.to_numpy()[self.first[numbers]].tolist()
        shown = ", ".join(map(str, ids[:SHOWN])) + (
            (", ..." + message("")) if len(ids) > SHOWN else ""
        )
        return f"{plural(len(ids), 'household')} ({self.column} {shown})"


def read_households(
    faults: Faults,
    file: Microdata,
    names: Sequence[str] = (),
    *,
    declared: Sequence[str] = (),
    strata: Sequence[str] = (),
) -> Households:
    """Read the households of a file; note faulty ids and variables.

    names: columns of a verb, which become household variables if no household has two values of
        them. Where at most 2 % of the households with several members have, `notes` names them.
    declared: columns of `names` that must have one value in each household; missing values do not
        count
    strata: columns whose combination must be the same for all members
    """
    frame, household = file.indexed, file.roles.household
    alone = Households.of_one(len(frame))
    for name in declared:
        check_choice(faults, "household_variables", name, names)
    if household is None:
        if len(declared):
            note_no_household(faults, "household_variables")
        return alone
    declared = [name for name in declared if name in names]
    fine = check_columns(faults, frame, dict.fromkeys(listed_names([*names, *strata])), "household")
    if not fine or not check_columns(Faults("noted"), frame, [household], "id"):
        return alone  # an id that is absent was noted when the file was read
    missing = frame[household].isna().to_numpy()
    if missing.any():
        faults.add(
            household,
            "the household is missing",
            rows=np.flatnonzero(missing),
            hint="Give persons who live alone an id of their own, or drop the records.",
        )
        return alone
    number = file.household_index
    n_households = int(number.max(initial=-1)) + 1
    size = np.bincount(number, minlength=n_households)
    homes = Households(number, first_rows(number, n_households), size, household, frame[household])
    for name in strata:
        note_differing(faults, name, file.codes(name)[0], homes, "lies in two strata")
    for name in declared:
        note_differing(faults, name, file.codes(name)[0], homes, "differs within a household")
    variables, nearly = list(dict.fromkeys(declared)), {}
    for name in dict.fromkeys(name for name in names if name not in declared):
        codes = file.codes(name)[0]
        if not (codes[size[number] > 1] >= 0).any():  # nobody has another member to agree with
            continue
        differs = np.flatnonzero(_differing(codes, homes))
        if not len(differs):
            variables.append(name)
        elif len(differs) <= NEARLY * (size > 1).sum():
            nearly[name] = differs
    return replace(homes, variables=tuple(variables), nearly=nearly)


def note_no_household(faults: Faults, argument: str) -> None:
    """Note an argument that has no meaning without households."""
    faults.add(argument, "without a household", hint="Give household, the column of ids.")


def read_household_keys(
    faults: Faults, household_keys: Sequence[str] | str, names: Sequence[str], household: str | None
) -> list[str]:
    """Return what an intruder knows of whole households; note what is not among `names`."""
    known = list(listed_names(household_keys))
    for name in known:
        check_choice(faults, "household_keys", name, names)
    if known and household is None:
        note_no_household(faults, "household_keys")
    return known


def _differing(codes: np.ndarray, homes: Households) -> np.ndarray:
    """Which households have two filled values, bool, shape (H,)."""
    filled = codes >= 0
    lowest, highest = extremes(codes[filled], homes.number[filled], len(homes))
    return lowest < highest


def note_differing(
    faults: Faults, name: str, codes: np.ndarray, homes: Households, what: str
) -> None:
    """Note a column with two values in a household; codes below 0 are none."""
    differs = np.flatnonzero(_differing(codes, homes))
    if len(differs):
        faults.add(
            str(name),
            f"{what} in {homes.named(differs)}",
            rows=np.flatnonzero(np.isin(homes.number, differs)),
            hint="Repair these households, or leave the column out of the household variables.",
        )


def needing_household(data: Any, faults: Faults, household: str | None) -> Microdata:
    """Return a file with its households; note that there are none."""
    file = as_file(data, faults, household=household)
    if file.roles.household is None:
        faults.add("household", "is not given", hint="Name the column of household ids.")
    return file
