"""Columns of data frames: which are numbers, as arrays, and names given as arguments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import LARGEST

SECOND = 1_000_000
DAY = 86_400 * SECOND
"""Microseconds."""


def is_number(values: pd.Series) -> bool:
    """Whether a column holds real numbers; True and False are none."""
    dtype = values.dtype
    numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    return bool(numeric and not pd.api.types.is_bool_dtype(dtype))


def is_date(values: pd.Series) -> bool:
    """Whether a column holds dates or points in time."""
    return pd.api.types.is_datetime64_any_dtype(values.dtype)


def has_time_of_day(values: pd.Series) -> bool:
    """Whether some of these dates are no whole days."""
    times = values.dropna()
    return bool((times != times.dt.normalize()).any())


def has_numbers(values: pd.Series) -> bool:
    """Whether `as_numbers` knows a column: numbers and dates."""
    return is_number(values) or is_date(values)


def since_1970(values: pd.Series, unit: int | None = None) -> np.ndarray:
    """Return dates as days since 1970, points in time as seconds; float64, NaN where missing.

    unit: `DAY` or `SECOND`, instead of what the values show
    """
    unit = unit or (SECOND if has_time_of_day(values) else DAY)
    if getattr(values.dtype, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    times = values.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / unit)


def as_dates(days: np.ndarray, unit: int) -> np.ndarray:
    """Return days or seconds since 1970, rounded, as dates; NaN as missing.

    unit: `DAY` or `SECOND`

    Examples
    --------
    >>> as_dates(np.array([0.0, 365.2, np.nan]), DAY).astype("datetime64[D]").astype(str).tolist()
    ['1970-01-01', '1971-01-01', 'NaT']
    """
    known = np.isfinite(days)
    times = np.full(len(days), np.datetime64("NaT"), dtype="datetime64[us]")
    times[known] = (np.rint(days[known]).astype(np.int64) * unit).astype("datetime64[us]")
    return times


def as_numbers(values: pd.Series) -> np.ndarray:
    """Return a numeric column as float64, shape (n,), NaN where missing; dates as `since_1970`."""
    if is_date(values):
        return since_1970(values)
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def numbers(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return numeric columns as float64, shape (n, p), NaN where missing."""
    return np.column_stack([as_numbers(frame[name]) for name in names])


def usual_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns have types that all computations know.

    Sparse columns become dense ones, categories of Arrow those of pandas, half and long floats
    floats of 32 and 64 bits; every other column stays as it is.
    """
    rare = [j for j, dtype in enumerate(frame.dtypes) if _is_rare(dtype)]
    if not rare:
        return frame
    result = frame.copy(deep=False)
    for j in rare:
        result.isetitem(j, usual_type(frame.iloc[:, j]).array)
    return result


def usual_type(values: pd.Series) -> pd.Series:
    """Return a column with a type that all computations know; see `usual_types`."""
    dtype: Any = values.dtype
    if not _is_rare(dtype):
        return values
    if isinstance(dtype, pd.ArrowDtype):
        categories = values.array.__arrow_array__().to_pandas()
        return pd.Series(categories.array, values.index, name=values.name)
    if isinstance(dtype, pd.SparseDtype):
        return values.astype(dtype.subtype)
    return values.astype(np.float32 if dtype == np.float16 else np.float64)


def _is_rare(dtype: Any) -> bool:
    arrow_categories = isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("dictionary")
    rare_float = isinstance(dtype, np.dtype) and dtype.char in "eg"
    return arrow_categories or rare_float or isinstance(dtype, pd.SparseDtype)


def listed_names(names: Any) -> tuple[Any, ...]:
    """Return one name or several as a tuple; lists and others that can be no name as text."""
    several = isinstance(names, Iterable) and not isinstance(names, str)
    listed = tuple(names) if several else (names,)
    return tuple(name if isinstance(name, Hashable) else str(name) for name in listed)


def as_names(faults: Faults, names: Sequence[str] | str, argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; note none at all, and names given twice."""
    listed = listed_names(names)
    if not listed:
        faults.add(argument, "no column is named")
    for name in dict.fromkeys(listed):
        if listed.count(name) > 1:
            faults.add(argument, f"{name!r} is given {listed.count(name)} times")
    return listed


def n_columns(columns: Iterable[Any], name: object) -> int:
    """Return how many columns have a name, whatever kind of value it is."""
    if isinstance(columns, pd.Index) and isinstance(name, str) and _are_texts(columns):
        return int(name in columns)
    return sum(_same_name(column, name) for column in columns)


def _are_texts(columns: pd.Index) -> bool:
    return columns.is_unique and columns.inferred_type == "string"  # pandas remembers both


def _same_name(column: object, name: object) -> bool:
    alike = isinstance(name, type(column)) or isinstance(column, type(name))
    return alike and bool(column == name)


def check_finite(faults: Faults, values: np.ndarray, names: Sequence[str], role: str) -> bool:
    """Note infinite and immense values, shape (n, p), of columns by name; see `check_size`."""
    what = f"value of the {role}"
    return all([check_size(faults, values[:, j], name, what) for j, name in enumerate(names)])


def check_size(
    faults: Faults, values: np.ndarray, where: str, what: str = "value", first_row: int = 0
) -> bool:
    """Note values, shape (n,), that are infinite or beyond `LARGEST`; return whether none is."""
    size, n_faults = np.abs(values), len(faults.found)
    infinite = np.isinf(size)
    problems = {
        "infinite": infinite,
        f"beyond {LARGEST:g}, too large to be squared": (size > LARGEST) & ~infinite,
    }
    for adjective, is_wrong in problems.items():
        if is_wrong.any():
            hint = "Repair it, make it missing or give another unit."
            rows = np.flatnonzero(is_wrong) + first_row
            faults.add(where, f"{what} is {adjective}", rows=rows, hint=hint)
    return len(faults.found) == n_faults
