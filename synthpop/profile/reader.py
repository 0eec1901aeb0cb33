"""The columns of a survey one by one: roles, ids, weights, constants, categories and numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from synthpop.microdata.formats.labelled import plain_code
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.dictionary import toml_value
from synthpop.microdata.frame.frames import is_date
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import LARGEST
from synthpop.microdata.messages.text import number, plural
from synthpop.microdata.reading.columns import ColumnReader
from synthpop.microdata.reading.households import is_member_number
from synthpop.microdata.reading.kinds import FEW_NUMBERS, MOST_CODES, are_whole
from synthpop.microdata.reading.missing_codes import suspected_missing_codes
from synthpop.profile.columns import ColumnProfile

MOST_LEVELS, ROWS_A_LEVEL, FEWEST_LEVELS = 60, 3, 10
RARE_LEVEL = 5
SIZE_NAME = "hsize"  # that the population makes where no column is the household size
POSSIBLE_WEIGHT = "may be the weight: above 0, with fractions, one value in each household"


class SurveyReader(ColumnReader):
    """The survey while the use of its columns is being found, one after the other."""

    def __init__(self, frame: pd.DataFrame, known: Mapping[str, str | None] | None = None) -> None:
        super().__init__(frame, known=known)
        self.weights = self._weights()
        self.relation: str | None = None
        self.derived: dict[str, dict[str, object]] = {}  # column -> keys of its stage `Derive`
        self.further: list[tuple[str, tuple[str, ...]]] = []

    @property
    def counts_rows(self) -> bool:
        """Whether it was said that every row counts 1: then a weight is a number like others."""
        return "weight" in self.known and self.known["weight"] is None

    def _weights(self) -> np.ndarray:
        column = self.roles.get("weight")
        values = self.numbers[column] if column is not None else None
        if values is None or not np.all((values > 0) & (values < LARGEST)):
            return np.ones(len(self.frame))
        return values

    def _is_inverse_weight(self, values: np.ndarray | None) -> bool:
        """Whether values times weights are constant, as those of inclusion probabilities."""
        if values is None or not bool(np.all(values > 0)) or np.ptp(self.weights) == 0:
            return False
        product = values * self.weights
        return bool(np.ptp(product) < 1e-6 * product.mean())

    def _plain(self, name: str) -> ColumnProfile:
        for role, named in self.roles.items():
            if named == name:
                note = self._note_of_weight() if role == "weight" else ""
                return ColumnProfile(name, "role", self.why[name], role, note=note)
        column, codes, values = self.frame[name], self.codes[name], self.numbers[name]
        n_values = int(column.nunique())
        if n_values == 0:
            return ColumnProfile(name, message("left out"), message("it has no value"))
        is_weight = self.is_weight(name) and not self.counts_rows
        if n_values == 1 and not column.isna().any() and not is_weight:
            return self._constant(name)
        if name == SIZE_NAME and self.index is not None:
            why = message(
                "not the number of rows of each household, which has this name: rename it"
            )
            return ColumnProfile(name, message("left out"), why)
        if is_weight:
            return ColumnProfile(name, message("left out"), message("a further weight"))
        if self._is_inverse_weight(values):
            return ColumnProfile(name, message("left out"), message("the inverse of the weight"))
        unique = int(codes.max()) + 1 == len(codes) and len(codes) > 1
        if unique and values is not None:
            unique = len(codes) > FEW_NUMBERS and self.are_ids(name)
        if unique and name not in (self.age, self.sex):
            return ColumnProfile(name, message("left out"), message("an id: unique in every row"))
        if name in (self.age, self.sex):
            return ColumnProfile(name, "structure", message("copied with the household"))
        if self.is_further_id(name):
            return ColumnProfile(name, message("left out"), message("a further id"))
        if self.index is not None and n_values > 2 and is_member_number(codes, self.index):
            return ColumnProfile(
                name, message("left out"), message("the number of the member in the household")
            )
        is_amount = values is not None and (n_values > FEW_NUMBERS or not are_whole(values))
        is_amount = is_amount and n_values > 1  # else a box that some have ticked
        most = max(FEWEST_LEVELS, min(MOST_CODES, len(column) / ROWS_A_LEVEL))
        is_amount = is_amount or is_date(column) or (values is not None and n_values > most)
        if values is not None and is_amount and not self.are_codes(name):
            possible = POSSIBLE_WEIGHT if self.may_be_weight(name) else ""
            note = joined_notes(_missing_codes(values), possible)
            text = "a date with {n} values" if is_date(column) else "a number with {n} values"
            why = message(text, n=number(n_values))
            return ColumnProfile(name, "continuous", why, note=note)
        if n_values > most:
            why = message("{n} levels: too many to model; group them first", n=number(n_values))
            return ColumnProfile(name, message("left out"), why)
        if n_values > MOST_LEVELS:
            why = message("{n} codes, drawn within their groups", n=number(n_values))
            return ColumnProfile(name, "categorical", why, nested=True)
        note = joined_notes(_missing_codes(values), _rare(column))
        return ColumnProfile(name, "categorical", plural(n_values, "level"), note=note)

    def _constant(self, name: str) -> ColumnProfile:
        """Return the profile of a column with one value, and note the value."""
        values, value = self.numbers[name], self.frame[name].iloc[0]
        why = message("one value only: {iloc}", iloc=value)
        if values is not None and np.isfinite(values[0]):
            self.derived[name] = {"expression": toml_value(plain_code(values[0]))}
        elif isinstance(value, str):
            self.derived[name] = {"expression": "0", "breaks": [-1, 1], "labels": [value]}
        else:
            return ColumnProfile(name, message("left out"), why)
        return ColumnProfile(name, "derive", why)

    def _note_of_weight(self) -> str:
        if self.index is None or "household_weight" in self.roles:
            return ""
        if self.shared(self.roles["weight"]):
            return ""
        return message("differs between members of a household: its mean is taken")


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
