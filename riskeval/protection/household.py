"""Households in a file of persons: who belongs together, and which columns members share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.checks import check_columns
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults
from synthpop.microdata.text import plural

SHOWN = 5


@dataclass(frozen=True, eq=False)
class HouseholdRoles:
    """Households of a file.

    Attributes
    ----------
    column : str
        Column of household ids.
    number : int64 array, shape (n,)
        Household of each record, 0 to H - 1.
    first : int64 array, shape (H,)
        First record of each household.
    size : int64 array, shape (H,)
        Number of records.
    variables : tuple of str
        Columns of those asked for that are the same for all members, found or declared.
    """

    column: str
    number: np.ndarray
    first: np.ndarray
    size: np.ndarray
    variables: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    def copied(self, values: pd.Series) -> pd.Series:
        """Give all members the value of the first record (each value of a household once)."""
        taken = values.take(self.first[self.number])
        taken.index = values.index
        return taken


def read_households(
    faults: Faults,
    frame: pd.DataFrame,
    household: str,
    *,
    candidates: Sequence[str] = (),
    declared: Sequence[str] = (),
    strata: Sequence[str] = (),
) -> HouseholdRoles | None:
    """Read the households of a file; note faulty ids and variables (then None).

    Parameters
    ----------
    faults : Faults
    frame : DataFrame
    household : str
        Column of ids; never missing.
    candidates : sequence of str
        Columns that become household variables if no household has two values of them.
    declared : sequence of str
        Columns that must have one value in each household; missing values do not count.
    strata : sequence of str
        Columns whose combination must be the same for all members.
    """
    names = dict.fromkeys([household, *candidates, *declared, *strata])
    if not check_columns(faults, frame, names, "household"):
        return None
    missing = frame[household].isna().to_numpy()
    if missing.any():
        faults.add(
            household,
            "the household is missing",
            rows=np.flatnonzero(missing),
            remedy="Give persons who live alone an id of their own, or drop the records.",
        )
        return None
    number = np.asarray(pd.factorize(frame[household])[0], dtype=np.int64)
    n_households = int(number.max(initial=-1)) + 1
    first = np.zeros(n_households, dtype=np.int64)
    first[number[::-1]] = np.arange(len(frame) - 1, -1, -1)
    size = np.bincount(number, minlength=n_households)
    homes = HouseholdRoles(household, number, first, size, ())
    for name in strata:
        _note_differing(faults, frame, homes, name, "lies in two strata")
    for name in declared:
        _note_differing(faults, frame, homes, name, "differs within a household")
    shared = [
        name
        for name in dict.fromkeys([*declared, *candidates])
        if name in declared or is_shared(frame[name], homes)
    ]
    return HouseholdRoles(household, number, first, size, tuple(shared))


def is_shared(values: pd.Series, homes: HouseholdRoles) -> bool:
    """Whether no household has two values, and some household could have."""
    codes = encode(values)[0]
    lone = homes.size[homes.number] == 1
    return bool((codes[~lone] >= 0).any()) and not _differing(codes, homes).any()


def _differing(codes: np.ndarray, homes: HouseholdRoles) -> np.ndarray:
    """Which households have two filled values, bool, shape (H,)."""
    codes = codes.astype(np.int64)
    filled = codes >= 0
    lowest = np.full(len(homes), np.iinfo(np.int64).max)
    highest = np.full(len(homes), -1)
    np.minimum.at(lowest, homes.number[filled], codes[filled])
    np.maximum.at(highest, homes.number[filled], codes[filled])
    return (highest >= 0) & (lowest != highest)


def _note_differing(
    faults: Faults, frame: pd.DataFrame, homes: HouseholdRoles, name: str, what: str
) -> None:
    differs = _differing(encode(frame[name])[0], homes)
    if not differs.any():
        return
    ids: list[Any] = frame[homes.column].to_numpy()[homes.first[differs]].tolist()
    shown = ", ".join(map(str, ids[:SHOWN])) + (", ..." if len(ids) > SHOWN else "")
    faults.add(
        name,
        f"{what} in {plural(len(ids), 'household')} ({homes.column} {shown})",
        rows=np.flatnonzero(differs[homes.number]),
        remedy="Repair these households, or leave the column out of the household variables.",
    )
