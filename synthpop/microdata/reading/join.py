"""A file of households and a file of their persons as one file of persons."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.frame.dictionary import dictionary_of, with_dictionary
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count
from synthpop.microdata.reading.lexicon import columns_named_for

FEWEST_FOUND = 0.999  # of the persons, whose household is in the other file


def join_households(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the persons with the columns of their households, whichever file comes first.

    The id of the households is unique in their file and not in that of the persons; where several
    pairs of columns match, named ones come first. Columns of households whose name persons have
    too get ``_household``.

    Raises InputError: no column of one file is the household of the other.

    Examples
    --------
    >>> households = pd.DataFrame({"HHID": [7, 8], "cars": [1, 0]})
    >>> join_households(households, pd.DataFrame({"hh": [8, 7, 8], "age": [3, 40, 30]}))
       hh  age  cars
    0   8    3     0
    1   7   40     1
    2   8   30     0
    """
    for homes, persons in ((one, other), (other, one)):
        pair = _ids(homes, persons)
        if pair is None:
            continue
        home, member = pair
        dictionary = dictionary_of(homes).updated(dictionary_of(persons))
        columns = homes.drop(columns=member) if member != home and member in homes else homes
        joined = persons.merge(columns, left_on=member, right_on=home, how="inner",
                               suffixes=("", "_household"), sort=False)  # fmt: skip
        joined = joined if member == home else joined.drop(columns=home)
        lost = len(persons) - len(joined)
        notes = [message("{n} persons without a household left out", n=count(lost))] if lost else []
        joined = with_dictionary(joined.reset_index(drop=True), dictionary)
        joined.attrs["reading"] = notes
        return joined
    raise InputError.of(
        "survey files", "households and persons",
        message("no column of one is the household of the rows of the other"),
        "Give the file of the households and that of their persons, or join them yourself.",
    )  # fmt: skip


def _ids(homes: pd.DataFrame, persons: pd.DataFrame) -> tuple[str, str] | None:
    """Return the column of ids of the households and that of their persons."""
    unique = [name for name in homes.columns if homes[name].notna().all() and homes[name].is_unique]
    named = columns_named_for("household", [*map(str, persons.columns)])
    members = sorted(persons.columns, key=lambda name: name not in named)
    for member in members:
        ids = persons[member]
        if ids.isna().any() or ids.is_unique:
            continue
        if member not in named and ids.nunique() < len(homes) / 2:
            continue
        for home in unique:
            if homes[home].dtype == ids.dtype and ids.isin(homes[home]).mean() >= FEWEST_FOUND:
                return str(home), str(member)
    return None
