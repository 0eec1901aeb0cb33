"""Single values, or ranges of numbers, that become others by a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.numeric import put_numbers
from riskeval.protection.result import Protected, categorical_column, protected
from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import is_number as is_one_number
from synthpop.microdata.roles.microdata import as_file


@same_library
def recode_values(data: Any, column: str, table: Any) -> Protected:
    """Replace values of a column by a table of old and new ones.

    Parameters
    ----------
    data : DataFrame or another table, one row per record
    column : str
        Whose values are replaced.
    table : mapping, sequence of rows, or DataFrame
        ``{old: new}``; rows ``[old, new]``; or, for numbers, rows ``[low, high, new]``: values from
        low to high, both included. A DataFrame has such rows. Values that it does not name stay.

    Returns
    -------
    Protected
        Missing values stay missing. A column of numbers stays one; categories stay in the order in
        which the file has them, new ones last.

    Raises
    ------
    InputError
        An unknown column, values that the column does not have, ranges that overlap.

    Notes
    -----
    Equal values stay equal, so that members of a household who shared one share it afterwards:
    `household` has no meaning here. Nothing is drawn at random.

    Examples
    --------
    >>> farms = pd.DataFrame({"land": [3, 7, 19, 25], "crop": [*"abca"]})
    >>> recode_values(farms, "land", [[5, 19, 13]]).data["land"].tolist()
    [3, 13, 13, 25]
    >>> recode_values(farms, "crop", {"b": "other", "c": "other"}).data["crop"].tolist()
    ['a', 'other', 'other', 'a']
    """
    faults = Faults("recode_values")
    frame = as_file(data, faults).indexed
    rows = _rows(faults, table)
    check_columns(faults, frame, [column], "column to recode")
    faults.raise_if_any()
    values = frame[column]
    released = frame.copy(deep=False)
    if is_number(values) and all(is_one_number(row[-1]) for row in rows):
        released[column] = _numbers(faults, values, rows)
    else:
        released[column] = _levels(faults, values, rows)
    faults.raise_if_any()
    return protected(
        frame, released, [column], method="recode_values",
        parameters={"column": column, "table": [list(row) for row in rows]},
    )  # fmt: skip


def _rows(faults: Faults, table: Any) -> list[Sequence[Any]]:
    """Return the rows [old, new] or [low, high, new] of a table."""
    if isinstance(table, Mapping):
        table = [[old, new] for old, new in table.items()]
    elif isinstance(table, pd.DataFrame):
        table = table.to_numpy(dtype=object).tolist()
    is_list = isinstance(table, list | tuple) and len(table) > 0
    if not is_list or not all(isinstance(r, list | tuple) and len(r) in (2, 3) for r in table):
        hint = "Give {old: new}, or rows [old, new] or [low, high, new]."
        faults.add("table", f"is {table!r}", hint=hint)
        return []
    return list(table)


def _numbers(faults: Faults, values: pd.Series, rows: Sequence[Sequence[Any]]) -> pd.Series:
    check_numeric(faults, values.to_frame(), [str(values.name)], "column to recode")
    numbers, name = as_numbers(values), str(values.name)
    new, taken = numbers.copy(), np.zeros(len(numbers), dtype=np.bool_)
    for row in rows:
        if not all(map(is_one_number, row)):
            faults.add("table", f"{row!r} is no row of numbers")
            continue
        with np.errstate(invalid="ignore"):
            inside = (numbers >= row[0]) & (numbers <= row[-2])
        if not inside.any():
            faults.add("table", f"{name} has no value of {list(row[:-1])!r}")
        elif (inside & taken).any():
            faults.add("table", f"two rows are about {list(row[:-1])!r}")
        new[inside], taken = row[-1], taken | inside
    return values if faults else put_numbers(values, new, taken)


def _levels(faults: Faults, values: pd.Series, rows: Sequence[Sequence[Any]]) -> pd.Series:
    codes, levels = encode(values)
    place = {level_text(level): number for number, level in enumerate(levels)}
    new: list[Any] = list(levels)
    for row in rows:
        if len(row) != 2 or level_text(row[0]) not in place:
            faults.add("table", f"{values.name} has no value {row[0]!r}")
        else:
            new[place[level_text(row[0])]] = row[1]
    if faults:
        return values
    if not isinstance(values.dtype, pd.CategoricalDtype):
        texts = np.array([*new, None], dtype=object)[codes]
        return pd.Series(texts, index=values.index, name=values.name).infer_objects()
    kept = [level for level in levels if level in new]
    categories = list(dict.fromkeys([*kept, *new]))
    number = {level: j for j, level in enumerate(categories)}
    coded = np.array([*(number[level] for level in new), -1])[codes]
    ordered = bool(values.cat.ordered) and len(categories) == len(kept)
    return categorical_column(coded, categories, ordered=ordered, index=values.index)


METHOD = ProtectionMethod(
    run=recode_values,
    rank=18,
    title="Recode by a table",
    question="Which values become which others?",
    blind_spots="what the new values tell together with other keys",
    example={"column": "age", "table": [[80, 120, 85]]},
)
