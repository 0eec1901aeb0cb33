"""Columns as arrays: what a column is (`Field`), and the way from a frame to an array and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthpop.microdata.codes import MISSING, encode, recode_to, smallest_int
from synthpop.microdata.errors import Fault, InputError


@dataclass(frozen=True, slots=True)
class Field:
    """What one column holds.

    Attributes
    ----------
    name : str
    kind : {"categorical", "numeric"}
    dtype : dtype of the array; categorical columns hold codes (-1 missing), numeric ones values
        (NaN missing; whole numbers without missing values keep the smallest integer type).
    levels : tuple
        Values that the codes stand for; empty for a numeric column.
    ordered : bool
    original : str
        Type that the column had in the survey and gets again in a frame.
    """

    name: str
    kind: Literal["categorical", "numeric"]
    dtype: np.dtype[Any]
    levels: tuple[Any, ...] = ()
    ordered: bool = False
    original: str = "float64"

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

    Text, boolean and categorical columns become codes; numbers stay numbers.

    Raises
    ------
    InputError
        For dates and other types that cannot be simulated.
    """
    name, dtype = str(series.name), series.dtype
    original = str(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes, levels = encode(series)
        return Field(
            name, "categorical", codes.dtype, levels, bool(dtype.ordered), "category"
        ), codes
    if pd.api.types.is_bool_dtype(dtype):
        codes, levels = encode(series)
        return Field(name, "categorical", codes.dtype, levels, False, original), codes
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        values = _numeric_array(series)
        return Field(name, "numeric", values.dtype, (), False, original), values
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        codes, levels = encode(series)
        return Field(name, "categorical", codes.dtype, levels, False, "category"), codes
    what = f"type {original} cannot be simulated"
    raise InputError("survey", [Fault(name, what, remedy="Turn it into a number or a category.")])


def _numeric_array(series: pd.Series) -> np.ndarray:
    if pd.api.types.is_integer_dtype(series.dtype) and not series.isna().any():
        values = series.to_numpy(dtype=np.int64)
        low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        for dtype in (np.int8, np.int16, np.int32):
            if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                return values.astype(dtype)
        return values
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def encode_against(series: pd.Series, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Code a column with a known field; the second array is True at values it does not know."""
    if field.kind == "numeric":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, np.zeros(len(values), dtype=bool)
    return recode_to(series, field.levels)


def restore_column(field: Field, values: np.ndarray) -> Any:
    """Return what goes into a frame for this column: a Categorical or an array.

    Text comes back as a Categorical (a population has millions of rows and few distinct texts).
    """
    if field.kind == "categorical":
        if field.original == "bool" and not (values == MISSING).any():
            return np.asarray(field.levels, dtype=bool)[values]
        if field.original.lower().startswith(("int", "uint", "float")):
            return _numbers_of_codes(field, values)
        dtype = pd.CategoricalDtype(list(field.levels), ordered=field.ordered)
        return pd.Categorical.from_codes(values, dtype=dtype, validate=False)
    if field.original.startswith(("Int", "UInt")) and values.dtype.kind == "f":
        if np.all(np.isnan(values) | (values == np.rint(values))):
            return pd.Series(values).astype(pd.api.types.pandas_dtype(field.original)).array
        return values
    return values


def _numbers_of_codes(field: Field, codes: np.ndarray) -> np.ndarray:
    """Return the numbers that codes stand for: a numeric column that was simulated by levels."""
    table = np.array([*field.levels, np.nan], dtype=np.float64)
    if not (codes == MISSING).any() and field.original.islower():
        return table[:-1].astype(field.original)[codes]
    return table[codes]
