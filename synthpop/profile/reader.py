"""The columns of a survey one by one: roles, ids, weights, constants, categories and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.frame.missing_codes import suspected_missing_codes
from synthpop.microdata.frame.names import (
    AGE,
    AGE_NAME,
    ROLES,
    SEX,
    WEIGHT_NAME,
    columns_named_for,
    named_or_containing,
    words_of,
)
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import LARGEST
from synthpop.microdata.messages.text import number, plural
from synthpop.profile import dependence
from synthpop.profile.columns import ColumnProfile
from synthpop.profile.household_columns import (
    HouseholdIndex,
    household_column,
    household_index,
    is_member_number,
    is_size,
)

MOST_LEVELS = 60
FEW_NUMBERS = 30
RARE_LEVEL = 5
OLDEST, FEWEST_AGES = 125, 20
FEWEST_YEARS, ENOUGH_FOR_YEARS = 40, 400  # distinct whole ages, of so many persons
OLD_AT_LEAST, YOUNG_AT_MOST, MOST_OF_AN_AGE = 70, 18, 0.06  # of ages that no name tells
MOST_SEXES = 4
MOST_WEIGHT = 200  # times the smallest one
POSSIBLE_WEIGHT = "may be the weight: above 0, with fractions, one value in each household"
ROLE_WORDS = {
    "weight": "weight",
    "household": "household",
    "household_weight": "household weight",
    "household_size": "household size",
    "person": "person",
    "strata": "stratum",
    "psu": "primary sampling unit",
}


class ColumnReader:
    """The survey while its columns are being recognised, one after the other."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.codes = {name: dependence.codes_of(frame[name]) for name in frame.columns}
        self.numbers = {name: number_column(frame[name]) for name in frame.columns}
        self.by_values: dict[str, str] = {}  # why a column has a role that no name tells
        self.roles = self._roles()
        self.index: HouseholdIndex | None = None
        if "household" in self.roles:
            self.index = household_index(frame[self.roles["household"]])
            self._size_role()
        else:
            self.roles = {r: c for r, c in self.roles.items() if not r.startswith("household")}
        self.weights = self._weights()
        free = [name for name in frame.columns if name not in self.roles.values()]
        self.age = self._age(free)
        few = (
            name
            for name in named_or_containing(SEX, free)
            if name.lower() in SEX or int(self.codes[name].max()) < MOST_SEXES
        )
        self.sex = next(few, None)
        self.relation: str | None = None
        self.derived: dict[str, dict[str, Any]] = {}
        self.further: list[tuple[str, tuple[str, ...]]] = []

    # roles

    def _roles(self) -> dict[str, str]:
        roles: dict[str, str] = {}
        for role in ROLES:
            remaining = [c for c in self.frame.columns if c not in roles.values()]
            suitable = (c for c in columns_named_for(role, remaining) if self._suits(role, c))
            column = next(suitable, None)
            if column is not None:
                roles[role] = column
        if "household" not in roles:
            free = {n: c for n, c in self.codes.items() if n not in roles.values()}
            by_values = household_column(self.frame, free)
            if by_values is not None:
                roles["household"] = by_values[0]
                self.by_values = dict([by_values])
        return roles

    def _suits(self, role: str, column: str) -> bool:
        if role in ("weight", "household_weight"):
            alone = role != "weight" or not self._constant_beside_another(column)
            return _all_positive(self.numbers[column]) and alone
        if role in ("household", "person", "psu", "strata"):
            codes = self.codes[column]
            unique = int(codes.max()) + 1 == len(codes)
            return not self.frame[column].isna().any() and unique == (role == "person")
        return True

    def _constant_beside_another(self, column: str) -> bool:
        """Whether weights are all equal while another column of weights is not."""
        if int(self.codes[column].max()) > 0:
            return False
        weights = (name for name in self.frame.columns if self._is_weight(name))
        return any(int(self.codes[name].max()) > 0 for name in weights)

    def _is_weight(self, name: str) -> bool:
        return WEIGHT_NAME.search(name) is not None and _all_positive(self.numbers[name])

    def _is_inverse_weight(self, values: np.ndarray | None) -> bool:
        """Whether values times weights are constant, as those of inclusion probabilities."""
        if values is None or not _all_positive(values) or np.ptp(self.weights) == 0:
            return False
        product = values * self.weights
        return bool(np.ptp(product) < 1e-6 * product.mean())

    def _size_role(self) -> None:
        """Keep the household size where it is the number of rows of each household."""
        column = self.roles.get("household_size")
        assert self.index is not None
        if column is not None and not is_size(self.frame[column], self.index):
            del self.roles["household_size"]
        if "household_size" not in self.roles and int(self.index.sizes.max()) > 1:
            free = (n for n in self.frame.columns if n not in self.roles.values())
            sizes = [n for n in free if is_size(self.frame[n], self.index)]
            if sizes:
                self.roles["household_size"] = sizes[0]
                self.by_values[sizes[0]] = message("the number of rows of the household")
        if "household_weight" in self.roles:
            codes = self.codes[self.roles["household_weight"]]
            if not self.index.constant(codes) and (self.index.sizes > 1).any():
                del self.roles["household_weight"]

    def _weights(self) -> np.ndarray:
        column = self.roles.get("weight")
        values = self.numbers[column] if column is not None else None
        if values is None or not np.all((values > 0) & (values < LARGEST)):
            return np.ones(len(self.frame))
        return values

    def _age(self, names: list[str]) -> str | None:
        """Return the column of ages, one with numbers before one with texts."""
        columns = named_or_containing(AGE, names)
        exact = [column for column in columns if column.lower() in AGE]
        alike = [n for n in names if AGE_NAME.fullmatch(words_of(n).replace(" ", ""))]
        ages = [c for c in (*columns, *alike) if self._are_ages(c, c in exact)]
        complete = [name for name in alike if not self.frame[name].isna().any()]
        found = next(iter([*ages, *exact]), None) or self._age_of_birth(names)
        return found or next(iter(complete), None) or self._age_by_values(names)

    def _age_by_values(self, names: list[str]) -> str | None:
        """Return the one column of whole numbers that everybody has and that run as ages do."""
        found = []
        for name in names if len(self.frame) >= ENOUGH_FOR_YEARS else ():
            values = self.numbers[name]
            if values is None or not self._are_ages(name, exact=False):
                continue
            distinct, n = np.unique(values, return_counts=True)
            low, high = distinct[0], distinct[-1]
            is_full = len(distinct) >= max(FEWEST_YEARS, 0.9 * (min(high, 80) - low))
            if low >= 0 and low <= YOUNG_AT_MOST and high >= OLD_AT_LEAST and is_full:
                found += [name] if n.max() <= MOST_OF_AN_AGE * len(values) else []
        return found[0] if len(found) == 1 else None

    @property
    def years(self) -> np.ndarray | None:
        """Ages in years; None where they are not known or given in classes."""
        values = None if self.age is None else self.numbers[self.age]
        if values is None or not are_whole(values):
            return values
        known = np.unique(values[np.isfinite(values)])
        in_steps = len(known) > 1 and np.gcd.reduce(np.diff(known).astype(np.int64)) > 1
        few = len(values) >= ENOUGH_FOR_YEARS and len(known) < FEWEST_YEARS
        return None if few or in_steps or known[-1] < FEWEST_AGES else values

    def _age_of_birth(self, names: list[str]) -> str | None:
        """Return the column that a year of birth beside it shows to be the age."""
        ages = [name for name in names if self._are_ages(name, exact=False)]
        for name in ages:
            age = self.numbers[name]
            for other in names:
                born = self.numbers[other]
                if born is None or age is None or not np.all((born > 1850) & (born < 2100)):
                    continue
                if np.ptp(born) > 0 and np.ptp(age + born) <= 1:
                    return name
        return None

    def _are_ages(self, name: str, exact: bool) -> bool:
        """Whether numbers are ages; of everybody, where the name only contains a word for it."""
        values = self.numbers[name]
        if values is None or exact:
            return values is not None
        in_range = bool(np.all((values >= -1) & (values <= OLDEST)))
        return in_range and are_whole(values) and len(np.unique(values)) >= FEWEST_AGES

    # one column by itself

    def _plain(self, name: str) -> ColumnProfile:
        for role, named in self.roles.items():
            if named == name:
                note = self._note_of_weight() if role == "weight" else ""
                why = self.by_values.get(
                    name, message("named like a {role}", role=message(ROLE_WORDS[role]))
                )
                return ColumnProfile(name, "role", why, role, note=note)
        column, codes, values = self.frame[name], self.codes[name], self.numbers[name]
        n_values = int(column.nunique())
        if n_values == 0:
            return ColumnProfile(name, message("left out"), message("it has no value"))
        if n_values == 1:
            return ColumnProfile(
                name,
                message("left out"),
                message("one value only: {iloc}", iloc=column.dropna().iloc[0]),
            )
        if self._is_weight(name):
            return ColumnProfile(name, message("left out"), message("a further weight"))
        if self._is_inverse_weight(values):
            return ColumnProfile(name, message("left out"), message("the inverse of the weight"))
        unique = int(codes.max()) + 1 == len(codes) and len(codes) > 1
        unique = unique and (values is None or (len(codes) > FEW_NUMBERS and are_whole(values)))
        if unique and name not in (self.age, self.sex):
            return ColumnProfile(name, message("left out"), message("an id: unique in every row"))
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            return ColumnProfile(
                name, message("left out"), message("a date: derive a number or classes from it")
            )
        if name in (self.age, self.sex):
            return ColumnProfile(name, "structure", message("copied with the household"))
        if self.index is not None and n_values > 2 and is_member_number(codes, self.index):
            return ColumnProfile(
                name, message("left out"), message("the number of the member in the household")
            )
        if values is not None and (n_values > FEW_NUMBERS or not are_whole(values)):
            note = joined_notes(_missing_codes(values), self._note_of_possible_weight(name, values))
            why = message("a number with {n} values", n=number(n_values))
            return ColumnProfile(name, "continuous", why, note=note)
        if n_values > MOST_LEVELS:
            why = message("{n} levels: too many to model; group them first", n=number(n_values))
            return ColumnProfile(name, message("left out"), why)
        note = joined_notes(_missing_codes(values), _rare(column))
        return ColumnProfile(name, "categorical", plural(n_values, "level"), note=note)

    def _note_of_weight(self) -> str:
        if self.index is None or "household_weight" in self.roles:
            return ""
        is_constant = self.index.constant(self.codes[self.roles["weight"]])
        return (
            ""
            if is_constant
            else message("differs between members of a household: its mean is taken")
        )

    def _note_of_possible_weight(self, name: str, values: np.ndarray) -> str:
        """Say that a number may be the weight, where none is known by its name."""
        fractions = bool(np.all(values > 0)) and not are_whole(values)
        if "weight" in self.roles or not fractions or values.max() > MOST_WEIGHT * values.min():
            return ""
        of_households = self.index is not None and self.index.constant(self.codes[name])
        return POSSIBLE_WEIGHT if of_households else ""


def _all_positive(values: np.ndarray | None) -> bool:
    return values is not None and bool(np.all(values > 0))


def number_column(column: pd.Series) -> np.ndarray | None:
    """Return a numeric column as float64, NaN where it is missing; None for another kind.

    Immense numbers, which cannot be added up, are another kind.
    """
    if not is_number(column):
        return None
    values = as_numbers(column)
    size = np.abs(values)
    return None if bool(np.any((size > LARGEST) & ~np.isinf(size))) else values


def are_whole(values: np.ndarray) -> bool:
    """Whether there are values and all of them are whole numbers."""
    finite_values = values[np.isfinite(values)]
    return bool(len(finite_values)) and bool(np.all(finite_values == np.rint(finite_values)))


def _missing_codes(values: np.ndarray | None) -> str:
    codes = [] if values is None else suspected_missing_codes(values)
    return joined_notes(
        *(message("{code} may be a code for missing", code=number(code)) for code in codes)
    )


def _rare(column: pd.Series) -> str:
    counts = column.value_counts()
    rare = [level_text(level) for level, n in counts.items() if 0 < n < RARE_LEVEL]
    return message("rare levels: {levels}", levels=", ".join(rare[:3])) if rare else ""


def joined_notes(*notes: str) -> str:
    """Return notes in one line, empty ones left out."""
    return joined_by("; ", (note for note in notes if note))
