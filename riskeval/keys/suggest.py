"""Suggested roles of columns for an assessment or a protection, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import tabulate
from synthpop.microdata.formats.labelled import KIND
from synthpop.microdata.frame.checks import as_unique_frame
from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of
from synthpop.microdata.frame.frames import as_numbers, is_date, is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, join, number, percent, plural
from synthpop.microdata.reading.columns import ColumnReader
from synthpop.microdata.reading.lexicon import Concept
from synthpop.microdata.reading.missing_codes import suspected_missing_codes

MOST_LEVELS = 150  # a number with more values is not a category: ages have about a hundred
FEW_NUMBERS = 30
NEARLY_UNIQUE = 0.5
ROLE_NAMES = ("weights", "household", "identifier", "key", "numeric", "sensitive", "design", "none")


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """The role that is suggested for a column, and why."""

    name: str
    # "weights", "household", "identifier" (leave it out of the release), "key" (categorical key
    # variable), "numeric" (continuous key variable), "sensitive", "design" (of the sample: leave
    # it out or coarsen it), "none"
    role: str
    why: str
    n_values: int  # distinct values, a missing value among them
    # of a key: percentage points by which the share of sample uniques falls without it
    uniques: float | None = None


@dataclass(frozen=True, slots=True)
class RoleSuggestions(Result):
    """Suggested roles of all columns of a file.

    Attributes
    ----------
    columns : tuple of ColumnRole
        In the order of the file.
    n_records : int
    unique_share : float
        Share of records that are unique in all suggested keys; NaN without keys.
    """

    columns: tuple[ColumnRole, ...]
    n_records: int
    unique_share: float

    def _named(self, role: str) -> tuple[str, ...]:
        return tuple(item.name for item in self.columns if item.role == role)

    @property
    def keys(self) -> tuple[str, ...]:
        """Categorical key variables."""
        return self._named("key")

    def stand_ins(self) -> tuple[str, ...]:
        """Return what a first plan takes for keys where none was recognised.

        Categories; without any, the number with the fewest values. A file of amounts needs none.
        """
        others = [item for item in self.columns if item.n_values > 1]
        others = [item for item in others if not item.name.endswith(KIND)]
        few = min(FEW_NUMBERS, self.n_records / 2)
        coded = [item for item in others if item.role == "none" and item.n_values <= few]
        numbers = [item for item in others if item.role == "none"]
        by_amounts = bool(self.numeric)
        taken = coded or ([] if by_amounts else sorted(numbers, key=lambda one: one.n_values)[:1])
        return () if self.keys else tuple(item.name for item in taken)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Continuous key variables."""
        return self._named("numeric")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive variables."""
        return self._named("sensitive")

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Direct identifiers: no release should have them."""
        return self._named("identifier")

    @property
    def weights(self) -> str | None:
        """Column of sampling weights."""
        return next(iter(self._named("weights")), None)

    @property
    def household(self) -> str | None:
        """Column of household ids."""
        return next(iter(self._named("household")), None)

    def arguments(self) -> dict[str, object]:
        """Return the roles as arguments of `ProtectionSession`, those without a column left out."""
        roles = {
            "keys": list(self.keys),
            "numeric": list(self.numeric),
            "sensitive": list(self.sensitive),
            "weights": self.weights,
            "household": self.household,
        }
        return {role: value for role, value in roles.items() if value}

    def to_frame(self) -> pd.DataFrame:
        """Return column, role, why, values, and the share of uniques that a key adds."""
        rows = [
            {
                "column": item.name,
                "role": item.role,
                "why": item.why,
                "values": item.n_values,
                "uniques": np.nan if item.uniques is None else item.uniques,
            }
            for item in self.columns
        ]
        return pd.DataFrame(rows, columns=["column", "role", "why", "values", "uniques"])

    def summary(self) -> str:
        """Say which keys are suggested and how many records they single out."""
        if not self.keys and self.numeric and not self.stand_ins():
            return message(
                "A file of amounts: whoever knows {names} of a unit finds its record. Name region, "
                "industry or size as keys where the file has them.",
                names=join(self.numeric),
            )
        if not self.keys:
            return message(
                "No key variable was recognised among {columns}: name what an intruder may "
                "know of a person.",
                columns=plural(len(self.columns), "column"),
            )
        text = message(
            "{n}: {names}. Together they single out {share} of {records}.",
            n=plural(len(self.keys), "key variable"),
            names=join(self.keys),
            share=percent(self.unique_share, 1),
            records=plural(self.n_records, "record"),
        )
        if self.identifiers:
            text += " " + message(
                "Leave out of any release: {identifiers}.", identifiers=join(self.identifiers)
            )
        return message(
            "{text} The suggestions are based on names, labels and values: check them.", text=text
        )


@same_library
def suggest_roles(data: Any, *, dictionary: Dictionary | None = None) -> RoleSuggestions:
    """Suggest which columns are identifiers, key variables, weights and sensitive, with reasons.

    Parameters
    ----------
    data : DataFrame or another table, n records
    dictionary : Dictionary, optional
        Labels of the variables; default: the one that travels with the frame.

    Returns
    -------
    RoleSuggestions

    Raises
    ------
    InputError
        The table has no rows.

    Notes
    -----
    Weights, households, ages and the sex are recognised by their values, labels and names, in a
    dozen languages (`synthpop.microdata.reading`); what else a variable measures is looked up in
    its value labels, its name and its label. Columns that nothing is known of become numeric keys
    where more than half of the values occur once. For each key the
    percentage points are given by which the share of sample uniques falls when it is left out. A
    missing value counts as a level. No randomness.

    A suggestion is no decision: who may know what is a question about the world, not the file.

    Examples
    --------
    >>> people = pd.DataFrame({"id": range(6), "age": [31, 31, 40, 40, 52, 52],
    ...                        "sex": list("mfmfmm"), "income": [1.5, 2, 3, 4, 5, 6]})
    >>> roles = suggest_roles(people)
    >>> roles.keys, roles.numeric, roles.identifiers
    (('age', 'sex'), ('income',), ('id',))
    >>> print(roles.summary())
    2 key variables: age and sex. Together they single out 66.7 % of 6 records. Leave out of any \
release: id. The suggestions are based on names, labels and values: check them.
    """
    frame = as_unique_frame(data, "data")
    labels = dictionary_of(frame) if dictionary is None else dictionary
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if frame.empty:
        faults = Faults("suggest_roles")
        faults.add("data", "there are no rows", hint="Give a file with one row per record.")
        faults.raise_if_any()
    reader = ColumnReader(frame, labels)
    special = _special_roles(reader)
    columns = [
        special.get(name) or _with_missing_codes(_role_of(name, reader), frame)
        for name in frame.columns
    ]
    return _with_uniques(frame, _of_amounts(frame, _without_copies(frame, columns)))


def _of_amounts(frame: pd.DataFrame, columns: list[ColumnRole]) -> list[ColumnRole]:
    """Take further numbers for numeric keys in a file of amounts, which has no other key."""
    roles = {item.role for item in columns}
    if "numeric" not in roles or not roles.isdisjoint(("key", "household", "sensitive")):
        return columns
    return [
        replace(item, role="numeric")
        if item.role == "none" and item.n_values > FEW_NUMBERS and is_number(frame[item.name])
        else item
        for item in columns
    ]


def _special_roles(reader: ColumnReader) -> dict[str, ColumnRole]:
    """Return weights, household, person and sampling units."""
    frame, roles = reader.frame, reader.roles
    columns: dict[str, ColumnRole] = {}
    by_name = message("ids that repeat, named like those of households")
    for role, suggested, why in (
        ("weight", "weights", message("positive numbers, named like a weight")),
        ("household_weight", "design", message("a further weight")),
        ("household", "household", by_name),
        ("person", "identifier", message("unique in every record")),
        ("psu", "design", message("a sampling unit, which reveals where a person lives")),
    ):
        name = roles.get(role)
        if name is not None:
            is_named = reader.why[name] == reader.named_why(role)
            columns[name] = _column(frame[name], suggested, why if is_named else reader.why[name])
    for name in frame.columns:
        if name not in columns and reader.is_weight(name):
            columns[name] = _column(frame[name], "design", message("a further weight"))
    return columns


def _column(column: pd.Series, role: str, why: str) -> ColumnRole:
    return ColumnRole(str(column.name), role, why, int(column.nunique(dropna=False)))


def _with_missing_codes(item: ColumnRole, frame: pd.DataFrame) -> ColumnRole:
    """Add to the reason which numbers may stand for no answer."""
    if item.role in ("none", "identifier") or not is_number(frame[item.name]):
        return item
    codes = suspected_missing_codes(as_numbers(frame[item.name]))
    notes = "".join(
        ("; " + message("{code} may be a code for missing", code=number(code))) for code in codes
    )
    return replace(item, why=item.why + notes)


def _role_of(name: str, reader: ColumnReader) -> ColumnRole:
    column = reader.frame[name]
    n, n_values = len(column), int(column.nunique())
    number_name = name.removesuffix(KIND)
    if number_name != name and reader.numbers.get(number_name) is not None:
        why = message("kinds of missing answers of {column}", column=number_name)
        return _column(column, "none", why)
    if n_values <= 1:
        return _column(
            column, "none", message("one value only") if n_values else message("it has no value")
        )
    match = reader.concept(name)
    numeric = is_number(column)
    singles = float((column.value_counts() == 1).sum()) / n
    if match is not None:
        return _role_of_concept(column, *match)
    if n_values == n and (not numeric or reader.are_ids(name)):
        return _column(column, "identifier", message("unique in every record"))
    if reader.is_further_id(name):
        return _column(column, "identifier", message("a further id"))
    if numeric and n_values > FEW_NUMBERS and singles > NEARLY_UNIQUE:
        why = message(
            "{share} of the records have a value that no other has", share=percent(singles, 0)
        )
        return _column(column, "numeric", why)
    if reader.are_codes(name):
        why = message(
            "{n} codes of a classification; a key if known to outsiders", n=count(n_values)
        )
        return _column(column, "none", why)
    if numeric and n_values > FEW_NUMBERS:
        why = message(
            "a number with {n} values; a numeric key if known to outsiders", n=count(n_values)
        )
        return _column(column, "none", why)
    if is_date(column) and n_values > FEW_NUMBERS:
        why = message("a date with {n} values: recode it before you release it", n=count(n_values))
        return _column(column, "identifier" if n_values > n * NEARLY_UNIQUE else "none", why)
    if not numeric and n_values > max(MOST_LEVELS, n * NEARLY_UNIQUE):
        why = message("text with {n} values: read it before you release it", n=count(n_values))
        return _column(column, "identifier", why)
    return _column(column, "none", message("neither name, label nor values say what it measures"))


def _role_of_concept(column: pd.Series, concept: Concept, evidence: str) -> ColumnRole:
    """Return the role of a concept as far as the values allow it."""
    why = f"{concept.name}: {concept.why}"
    if evidence != "name":
        by_label = message("(recognised by its label)")
        why += " " + (by_label if evidence == "label" else message("(recognised by its values)"))
    n_values, role, numeric = int(column.nunique()), concept.role, is_number(column)
    if role == "numeric" and not (numeric and n_values > min(FEW_NUMBERS, len(column) / 2)):
        return _column(column, "sensitive", message("{concept} in classes", concept=concept.name))
    if role == "identifier" and n_values <= FEW_NUMBERS:
        return _column(
            column,
            "none",
            message("named like {concept}, with {n} values only", concept=concept.name, n=n_values),
        )
    if role == "key" and n_values > MOST_LEVELS:
        if numeric and (not _whole(column) or not (concept.is_codes or concept.of_time)):
            return _column(
                column,
                "numeric",
                message("{why}; {n_values} values", why=why, n_values=count(n_values)),
            )
        why += "; " + message("{n} values: group them first", n=count(n_values))
    return _column(column, role, why)


def _whole(column: pd.Series) -> bool:
    values = as_numbers(column)
    known = values[np.isfinite(values)]
    return bool(np.all(known == np.rint(known)))


def _without_copies(frame: pd.DataFrame, columns: Sequence[ColumnRole]) -> list[ColumnRole]:
    """Take the role from keys and ids that tell the same as an earlier one of them."""
    distinct: list[ColumnRole] = []
    first = sorted(columns, key=lambda item: item.role != "household")
    for item in first:
        if item.role in ("key", "none") and item.n_values > 2:
            for other in distinct:
                if other.role not in ("key", "household") or other.n_values != item.n_values:
                    continue
                if len(tabulate(frame, [item.name, other.name]).counts) == item.n_values:
                    item = replace(
                        item,
                        role="none",
                        why=message("carries the same information as {column}", column=other.name),
                    )
                    break
        distinct.append(item)
    by_name = {item.name: item for item in distinct}
    return [by_name[item.name] for item in columns]


def _with_uniques(frame: pd.DataFrame, columns: Sequence[ColumnRole]) -> RoleSuggestions:
    """Add to each key how much it adds to the share of records that are unique."""
    keys = [item.name for item in columns if item.role == "key"]
    n = len(frame)
    share = _unique_share(frame, keys)
    complete = [
        replace(
            item, uniques=100 * (share - _unique_share(frame, [k for k in keys if k != item.name]))
        )
        if item.role == "key"
        else item
        for item in columns
    ]
    return RoleSuggestions(tuple(complete), n, share if keys else float("nan"))


def _unique_share(frame: pd.DataFrame, keys: Sequence[str]) -> float:
    return float((tabulate(frame, keys).counts == 1).sum()) / len(frame) if keys else 0.0
