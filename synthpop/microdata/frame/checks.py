"""Checks at the edge: each adds to a list of faults, so that all are reported together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import unhashable, unhashable_fault
from synthpop.microdata.frame.dictionary import ATTRIBUTE, dictionary_of, with_dictionary
from synthpop.microdata.frame.frames import (
    as_numbers,
    has_numbers,
    is_number,
    n_columns,
    usual_types,
)
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import LARGEST


def _readable(data: Any, columns: Sequence[Any]) -> list[str] | None:
    """Return the names among `columns` where a population has them and can read them alone."""
    if not all(callable(getattr(data, method, None)) for method in ("iter_blocks", "frame")):
        return None
    listed = [item if isinstance(item, (list, tuple)) else [item] for item in columns]
    names = [name for names in listed for name in names if isinstance(name, str)]
    return list(dict.fromkeys(names)) if names and set(names) <= set(data.columns) else None


def as_frame(data: Any, subject: str = "data", columns: Sequence[Any] = ()) -> pd.DataFrame:
    """Return `data` as a DataFrame with rows numbered from 0; frames of any library are accepted.

    With `columns` (names, or lists of names; anything else among them says nothing) a population
    that can read some columns alone reads these. Names of columns that are not text, as 5, become
    text. The input is never changed; columns are shared with it where pandas can.
    """
    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(getattr(data, "frame", None), pd.DataFrame):  # a Survey
        frame = data.frame
    elif (names := _readable(data, columns)) is not None:
        frame = data.frame(names)
    else:
        frame = _of_another_library(data, subject)
    frame = frame.reset_index(drop=True)
    if ATTRIBUTE not in frame.attrs and len(dictionary := dictionary_of(data)):
        frame = with_dictionary(frame, dictionary)
    if not all(isinstance(name, str) for name in frame.columns):
        frame = _named_by_text(frame, subject)
    return usual_types(frame)


def as_unique_frame(data: Any, subject: str = "data") -> pd.DataFrame:
    """Return a table as `as_frame` does; columns of one name and columns of lists are faults."""
    frame = as_frame(data, subject)
    faults = Faults(subject)
    check_names(faults, frame)
    if not faults:
        check_columns(faults, frame, frame.columns, "column")
    faults.raise_if_any()
    return frame


def check_names(faults: Faults, frame: pd.DataFrame) -> None:
    """Note names that several columns have."""
    for name in dict.fromkeys(frame.columns[frame.columns.duplicated()]):
        faults.add(repr(name), "several columns have this name", hint="Rename them.")


def _of_another_library(data: Any, subject: str) -> pd.DataFrame:
    """Return a frame of another library, lazy ones collected; anything else is a fault."""
    from synthpop.microdata.frame.native import from_arrow, to_pandas

    frame = to_pandas(data)
    if frame is None and hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        return from_arrow(pa.table(data))
    if frame is None and hasattr(data, "to_pandas"):
        return pd.DataFrame(data.to_pandas())
    if frame is None:
        what = f"is a {type(data).__name__}"
        raise InputError.of(subject, subject, what, "Give a table of columns.")
    return frame


def _named_by_text(frame: pd.DataFrame, subject: str) -> pd.DataFrame:
    """Return the frame with column names as text, where they stay distinct."""
    names = pd.Index([str(name) for name in frame.columns])
    if names.nunique() < frame.columns.nunique():
        faults = Faults(subject)
        for name in sorted(set(names[names.duplicated()])):
            what = "several columns have this name once names are text"
            faults.add(repr(name), what, hint="Rename them.")
        faults.raise_if_any()
    return frame.set_axis(names, axis=1)


def check_once(faults: Faults, frame: pd.DataFrame, names: Iterable[str], role: str) -> bool:
    """Note each of `names` that `frame` lacks or holds twice; return whether all are there."""
    n_faults = len(faults.found)
    for name in names:
        count = n_columns(frame.columns, name)
        if count == 0 and not isinstance(name, Hashable):
            what = f"a {type(name).__name__}"
            faults.add(what, f"{role} is not the name of a column", hint="Give a name.")
        elif count == 0:
            what, hint = (
                message("column given as {role} is not in the data", role=message(role)),
                did_you_mean(name, frame),
            )
            faults.add(repr(name), what, hint=hint)
        elif count > 1:
            faults.add(repr(name), f"{count} columns have this name", hint="Rename them.")
    return len(faults.found) == n_faults


def check_columns(faults: Faults, frame: pd.DataFrame, names: Iterable[str], role: str) -> bool:
    """Note columns that are absent, there twice, or hold lists; return whether all are fine."""
    n_faults = len(faults.found)
    for name in names:
        if check_once(faults, frame, [name], role) and len(rows := unhashable(frame[name])):
            faults.found.append(unhashable_fault(repr(name), frame[name], rows))
    return len(faults.found) == n_faults


def check_weights(faults: Faults, values: pd.Series, name: str) -> np.ndarray | None:
    """Note missing, infinite, zero and negative weights; return them as float64, shape (n,)."""
    if not is_number(values):
        faults.add(name, f"weights are not numbers ({values.dtype})", hint="Give a number.")
        return None
    weights = as_numbers(values)
    problems = {
        "weight is missing": np.isnan(weights),
        "weight is infinite": np.isinf(weights),
        "weight is zero": weights == 0,
        "weight is negative": (weights < 0) & ~np.isinf(weights),
        f"weight is beyond {LARGEST:g}": (weights > LARGEST) & ~np.isinf(weights),
        f"weight is below {1 / LARGEST:g}": (weights > 0) & (weights < 1 / LARGEST),
    }
    hint = "Every row needs a positive finite weight: drop these rows or repair them."
    for what, rows in problems.items():
        faults.add_where(rows, name, what, hint=hint)
    return weights


def check_numeric(
    faults: Faults, frame: pd.DataFrame, names: Sequence[str], role: str, *, dates: bool = False
) -> bool:
    """Note each column that is not numeric (missing values are allowed).

    dates: columns of dates are taken too; `as_numbers` has their days
    """
    suits = has_numbers if dates else is_number
    all_numeric = check_columns(faults, frame, names, role)
    for name in names:
        if n_columns(frame.columns, name) == 1 and not suits(frame[name]):
            what = message(
                "{role} must be numeric, is {dtype}", role=message(role), dtype=frame[name].dtype
            )
            faults.add(name, what, hint="Convert it first.")
            all_numeric = False
    return all_numeric
