"""Columns as a few states each: levels, missing, zero, below and above zero, years of age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.frames import as_numbers, has_numbers, is_date, is_number
from synthpop.profile.household_sums import word
from synthpop.profile.reader import FEW_NUMBERS, MOST_LEVELS, are_whole

OLDEST = 125
CODE_SHARE = 0.05  # of a negative number that is a code and no amount
LONGEST_LIST = 12  # levels that a rule names


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The state of each person in one column.

    codes: int array, shape (n,); state of each person
    texts: condition of each state but "missing"; of a category the text of the level alone
    kind: "category", "number" or "age"
    missing: whether the last state is "missing"
    """

    name: str
    codes: np.ndarray
    texts: tuple[str, ...]
    kind: str
    missing: bool

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.texts) + self.missing

    def condition(self, chosen: np.ndarray, use: str) -> str | None:
        """Return the condition that the state is among the chosen ones; None if it is too long.

        use: "scope", whom a rule is about: a missing value that is not chosen must not fulfil it;
            "demand", what it demands: a missing value that is not chosen must break it; "sure":
            true or false for everybody
        """
        name, known = word(self.name), chosen[: len(self.texts)]
        with_missing = bool(self.missing and chosen[-1])
        if not known.any():
            return f"{name} is missing"
        if known.all():
            return None if with_missing or not self.missing else f"{name} is not missing"
        text = self._known(known)
        if text is None or not self.missing:
            return text
        if with_missing:
            return text if use == "demand" else f"{name} is missing or {text}"
        return text if use == "scope" else f"{name} is not missing and {_bracketed(text)}"

    def _known(self, known: np.ndarray) -> str | None:
        """Return the condition that a value, which is there, is among some."""
        name = word(self.name)
        if self.kind == "age":
            return self._ages(np.flatnonzero(known))
        if self.kind == "number":
            signs = tuple(np.array(self.texts)[known])
            both = {("< 0", "= 0"): "<= 0", ("= 0", "> 0"): ">= 0", ("< 0", "> 0"): "!= 0"}
            return " or ".join(f"{name} {sign}" for sign in [both.get(signs, "")] if sign) or (
                " or ".join(f"{name} {sign}" for sign in signs)
            )
        levels, others = (list(np.array(self.texts, object)[x]) for x in (known, ~known))
        if len(levels) == 1:
            return f"{name} = {levels[0]}"
        if len(others) == 1:
            return f"{name} != {others[0]}"
        if len(others) < len(levels):
            return self._among(f"not {name}", others)
        return self._among(name, levels)

    @staticmethod
    def _among(name: str, levels: Sequence[str]) -> str | None:
        ordered = sorted(levels, key=lambda text: (text[0] in "\"'", len(text), text))
        text = f"{name} in {{{', '.join(ordered)}}}"
        return text if len(levels) <= LONGEST_LIST else None

    def _ages(self, years: np.ndarray) -> str | None:
        name, low, high = word(self.name), int(years[0]), int(years[-1])
        if high - low + 1 != len(years):
            return None
        if low == 0:
            return f"{name} <= {high}"
        last = high == len(self.texts) - 1
        return f"{name} >= {low}" + ("" if last else f" and {name} <= {high}")


def _bracketed(text: str) -> str:
    return f"({text})" if " or " in text else text


def states_of(column: pd.Series, name: str, *, age: bool = False) -> States | None:
    """Return the states of a column; None where it has no value, or too many levels."""
    if has_numbers(column):
        values = as_numbers(column)
        known = np.isfinite(values)
        values = np.where(known, 1.0, np.nan) if is_date(column) else values  # 1970 is no zero
        distinct = np.unique(values[known])
        if age and are_whole(values) and distinct[0] >= 0 and distinct[-1] <= OLDEST:
            high = int(distinct[-1])
            codes = np.where(known, values, high + 1).astype(np.int64)
            years = tuple(str(year) for year in range(high + 1))
            return States(name, codes, years, "age", not known.all())
        if len(distinct) > FEW_NUMBERS or not are_whole(values):
            return _signs(values, known, name)
    codes, levels = pd.factorize(column, sort=False)
    if not 0 < len(levels) <= MOST_LEVELS:
        return None
    texts = [_level(level) for level in levels]
    if any(text is None for text in texts):
        return None
    missing = bool((codes < 0).any())
    return States(name, np.where(codes < 0, len(levels), codes).astype(np.int64),
                  tuple(map(str, texts)), "category", missing)  # fmt: skip


def level_condition(column: str, level: object) -> str | None:
    """Return the condition that a category has a level; None where rules cannot name it."""
    text = _level(level)
    return None if text is None else f"{word(column)} = {text}"


def _level(level: object) -> str | None:
    """Return a level as rules name it; None where they cannot."""
    text = level_text(level)
    if is_number(pd.Series([level])) and abs(float(str(level))) < 1e6:
        return text
    if '"' in text:
        return None if "'" in text else f"'{text}'"
    return f'"{text}"'


def _signs(values: np.ndarray, known: np.ndarray, name: str) -> States | None:
    """Return a number as a code below zero, negative, zero, positive or missing."""
    if not known.any():
        return None
    conditions = {"< 0": values < 0, "= 0": values == 0, "> 0": values > 0}
    lowest = float(values[known].min())
    if lowest < 0 and np.mean(values == lowest) >= CODE_SHARE:
        conditions = {f"= {lowest:g}": values == lowest, f"> {lowest:g} and {word(name)} < 0":
                      (values > lowest) & (values < 0), **conditions}  # fmt: skip
        del conditions["< 0"]
    kept = {text: rows for text, rows in conditions.items() if rows.any()}
    codes = np.full(len(values), len(kept), dtype=np.int64)
    for code, rows in enumerate(kept.values()):
        codes[rows] = code
    if len(kept) + int(not known.all()) < 2:
        return None
    return States(name, codes, tuple(kept), "number", not known.all())
