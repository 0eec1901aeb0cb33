"""Columns as arrays: what a column is (`Field`), and the way from a frame to an array and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import MISSING, encode, smallest_int, unhashable
from synthpop.microdata.frame.frames import (
    DAY,
    SECOND,
    as_dates,
    has_time_of_day,
    is_date,
    is_number,
    n_columns,
    since_1970,
)
from synthpop.microdata.messages.errors import InputError

NUMBERS = ("int", "uint", "float")
ARROW = "[pyarrow]"
DAYS, SECONDS = "days since 1970", "seconds since 1970"
DATES = {DAYS: DAY, SECONDS: SECOND}
"""Original types of dates and points in time -> their unit in microseconds."""


@dataclass(frozen=True, slots=True)
class Field:
    """What one column holds."""

    name: str
    kind: Literal["categorical", "numeric"]  # {"categorical", "numeric"}
    # dtype of the array; categorical columns hold codes (-1 missing), numeric ones values: (NaN
    # missing; whole numbers without missing values keep the smallest integer type)
    dtype: np.dtype[Any]
    levels: tuple[Any, ...] = ()  # values that the codes stand for; empty for a numeric column
    ordered: bool = False
    original: str = "float64"  # type that the column had in the survey and gets again in a frame

    @classmethod
    def categorical(cls, name: str, levels: tuple[Any, ...], *, ordered: bool = False) -> Field:
        """Return the field of a categorical column with these levels."""
        return cls(name, "categorical", smallest_int(len(levels)), levels, ordered, "category")

    @classmethod
    def number(cls, name: str) -> Field:
        """Return the field of a column of float64 values."""
        return cls(name, "numeric", np.dtype(np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a manifest."""
        return {
            "name": self.name,
            "kind": self.kind,
            "dtype": str(self.dtype),
            "levels": list(self.levels),
            "ordered": self.ordered,
            "original": self.original,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Field:
        """Return the field that `to_dict` described."""
        values = {**data, "dtype": np.dtype(data["dtype"]), "levels": tuple(data["levels"])}
        return cls(**values)


def encode_column(series: pd.Series) -> tuple[Field, np.ndarray]:
    """Take one column of a frame apart into its field and array.

    Text, boolean and categorical columns become codes; numbers stay numbers, dates become days and
    points in time seconds since 1970 (of UTC where they have a time zone). Levels that a file
    cannot hold as they are (intervals, dates, several types in one column) become text.

    Raises InputError: for other types, which cannot be simulated.
    """
    name, dtype = str(series.name), series.dtype
    is_category = isinstance(dtype, pd.CategoricalDtype)
    is_flag = not is_category and pd.api.types.is_bool_dtype(dtype)
    if is_number(series):
        values = _numeric_array(series)
        return Field(name, "numeric", values.dtype, original=str(dtype)), values
    is_text = pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)
    if is_date(series):
        unit = SECONDS if has_time_of_day(series) else DAYS
        return Field(name, "numeric", np.dtype(np.float64), original=unit), since_1970(series)
    if is_category or is_flag or is_text:
        codes, levels = _storable(*encode(series))
        ordered = isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)
        original = str(dtype) if is_flag else "category"
        return Field(name, "categorical", codes.dtype, levels, ordered, original), codes
    what, hint = f"type {dtype} cannot be simulated", "Turn it into a number or a category."
    raise InputError.of("survey", name, what, hint)


def storable_levels(levels: Sequence[Any]) -> tuple[Any, ...]:
    """Return levels that memory and disk hold alike: all text, all flags or all numbers.

    Any other levels (intervals, dates, several types, whole numbers beyond 64 bits, text that is
    no Unicode) are turned into text, one by one, so that two of them can have the same text.
    """
    kinds = {type(level) for level in levels}
    fits_64_bits = all(-(2**63) <= level < 2**63 for level in levels) if kinds == {int} else True
    if (kinds <= {int, float} or kinds == {bool}) and fits_64_bits:
        return tuple(levels)
    texts = [level if type(level) is str else str(level) for level in levels]
    return tuple(text.encode("utf-8", "backslashreplace").decode() for text in texts)


def _storable(codes: np.ndarray, levels: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return codes of storable levels; levels of the same text become one."""
    texts = storable_levels(levels)
    merged = tuple(dict.fromkeys(texts))
    if len(merged) == len(texts):
        return codes, texts
    position = {text: code for code, text in enumerate(merged)}
    table = np.array([*(position[text] for text in texts), MISSING])
    return table[codes].astype(smallest_int(len(merged))), merged


def with_storable_levels(frame: pd.DataFrame, passing: Sequence[str | None] = ()) -> pd.DataFrame:
    """Return the frame with levels as a population holds them; columns of `passing` stay."""
    new: dict[Any, pd.Categorical] = {}
    for place, name in enumerate(frame.columns):
        series = frame.iloc[:, place]
        if name in passing or n_columns(frame.columns, name) > 1:
            continue
        if isinstance(series.dtype, pd.CategoricalDtype):
            levels = tuple(series.cat.categories.tolist())
        elif series.dtype == object and pd.api.types.infer_dtype(series) != "string":
            if len(unhashable(series)):  # a fault only where a step reads the column
                continue
            levels = encode(series)[1]
        else:
            continue
        if storable_levels(levels) != levels:
            field, codes = encode_column(series)
            new[name] = _restore_codes(field, codes)
    return frame.assign(**new) if new else frame


def _numeric_array(series: pd.Series) -> np.ndarray:
    if pd.api.types.is_integer_dtype(series.dtype) and not series.isna().any():
        values = series.to_numpy(dtype=np.int64)
        low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        for dtype in (np.int8, np.int16, np.int32):
            if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                return values.astype(dtype)
        return values
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def restore_column(field: Field, values: np.ndarray) -> Any:
    """Return what goes into a frame for this column, of the type it has in the survey.

    Text comes back as a Categorical (a population has millions of rows and few distinct texts);
    whole numbers of a plain integer type come back as float64 where values are missing.
    """
    if field.kind == "categorical":
        return _restore_codes(field, values)
    return _as_original(field.original, values)


def numbers(field: Field, values: np.ndarray) -> np.ndarray:
    """Return the numbers of a column: those that codes stand for where it is held by levels."""
    if field.kind == "numeric":
        return values
    return np.array([*field.levels, np.nan], dtype=np.float64)[values]


def _restore_codes(field: Field, codes: np.ndarray) -> Any:
    missing = codes == MISSING
    if field.original == "boolean":
        truth = np.array([*field.levels, False], dtype=bool)
        return pd.arrays.BooleanArray(truth[codes], missing)
    if field.original == "bool" and not missing.any():
        return np.asarray(field.levels, dtype=bool)[codes]
    if field.original.lower().startswith(NUMBERS):
        return _as_original(field.original, numbers(field, codes))
    dtype = pd.CategoricalDtype(list(field.levels), ordered=field.ordered)
    return pd.Categorical.from_codes(codes, dtype=dtype, validate=False)


def _as_original(original: str, values: np.ndarray) -> Any:
    """Return numbers with the type of the survey, unless values are missing or not whole."""
    if str(values.dtype) == original:
        return values
    if original in DATES:
        return as_dates(values.astype(np.float64), DATES[original])
    if original.endswith(ARROW):
        return _as_arrow(original, values)
    if not original[0].islower():  # a nullable type
        keeps_values = "int" not in original.lower() or is_whole(values)
        return pd.array(values, dtype=original) if keeps_values else values  # type: ignore[call-overload]
    if values.dtype.kind == "f" and not original.startswith("float"):
        return values if np.isnan(values).any() or not is_whole(values) else values.astype(original)
    return values.astype(original)


def _as_arrow(original: str, values: np.ndarray) -> Any:
    """Return numbers as a pandas column that is held by Arrow; NaN becomes missing."""
    import pyarrow as pa

    if "int" in original and not is_whole(values):
        return values
    dtype = pd.api.types.pandas_dtype(original)
    missing = np.isnan(values) if values.dtype.kind == "f" else None
    column = pa.array(values, mask=missing).cast(dtype.pyarrow_dtype)  # type: ignore[union-attr]
    return pd.arrays.ArrowExtensionArray(column)


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers are whole or missing."""
    return values.dtype.kind != "f" or bool(np.all(np.isnan(values) | (values == np.rint(values))))
