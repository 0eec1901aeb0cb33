"""Columns of data frames: which are numbers, as arrays, and names given as arguments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.errors import Faults


def is_number(values: pd.Series) -> bool:
    """Whether a column holds numbers; True and False are none.

    Examples
    --------
    >>> [is_number(pd.Series(x)) for x in ([1, 2], [0.5, None], [True], ["1"])]
    [True, True, False, False]
    """
    dtype = values.dtype
    return bool(pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype))


def as_numbers(values: pd.Series) -> np.ndarray:
    """Return a numeric column as float64, shape (n,), NaN where missing.

    Examples
    --------
    >>> as_numbers(pd.Series([1, None], dtype="Int64")).tolist()
    [1.0, nan]
    """
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def numbers(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return numeric columns as float64, shape (n, p), NaN where missing.

    Examples
    --------
    >>> numbers(pd.DataFrame({"a": [1, 2], "b": [0.5, None]}), ["b", "a"]).tolist()
    [[0.5, 1.0], [nan, 2.0]]
    """
    return np.column_stack([as_numbers(frame[name]) for name in names])


def listed_names(names: Any) -> tuple[Any, ...]:
    """Return one name or several as a tuple; lists and others that can be no name as text.

    Examples
    --------
    >>> listed_names("income"), listed_names(["income", "age"]), listed_names(3)
    (('income',), ('income', 'age'), (3,))
    >>> listed_names([["age"]])
    ("['age']",)
    """
    several = isinstance(names, Iterable) and not isinstance(names, str)
    listed = tuple(names) if several else (names,)
    return tuple(name if isinstance(name, Hashable) else str(name) for name in listed)


def as_names(faults: Faults, names: Sequence[str] | str, argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; note none at all, and names given twice.

    Examples
    --------
    >>> as_names(Faults("example"), "income", "variables")
    ('income',)
    """
    listed = listed_names(names)
    if not listed:
        faults.add(argument, "no column is named")
    for name in dict.fromkeys(listed):
        if listed.count(name) > 1:
            faults.add(argument, f"{name!r} is given {listed.count(name)} times")
    return listed


def check_finite(faults: Faults, values: np.ndarray, names: Sequence[str], role: str) -> None:
    """Note infinite values, shape (n, p), of columns by name."""
    for j, name in enumerate(names):
        rows = np.flatnonzero(np.isinf(values[:, j]))
        if len(rows):
            faults.add(name, f"value of the {role} is infinite", rows=rows)
