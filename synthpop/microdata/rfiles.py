"""Files of R: ``.rds`` and ``.RData``, factors and missing values in both directions (rdata)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.dictionary import Dictionary, Variable, with_dictionary
from synthpop.microdata.errors import OutputError

NA_INTEGER = np.int32(-(2**31))
"""The missing whole number of R."""


def read_r(path: Path) -> pd.DataFrame:
    """Read the data frame of an R file; the only one, where the file holds several objects.

    Factors become categories, whole numbers and flags keep their type where none is missing.

    Raises
    ------
    ValueError
        There is no data frame, or more than one.
    """
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that rdata reads as plain values
        try:
            if path.suffix.lower() == ".rds":
                content = {"": rdata.read_rds(path)}
            else:
                content = dict(rdata.read_rda(path))
        except (NotImplementedError, KeyError, IndexError, TypeError) as problem:
            raise ValueError(f"the objects in it cannot be read ({problem})") from None
    frames = {name: item for name, item in content.items() if isinstance(item, pd.DataFrame)}
    if not frames:
        raise ValueError("there is no data frame in it")
    if len(frames) > 1:
        raise ValueError(f"it holds several data frames: {', '.join(frames)}; save one of them")
    frame = next(iter(frames.values())).reset_index(drop=True)
    columns = {str(name): _plain(frame[name]) for name in frame.columns}
    result = pd.DataFrame(columns)
    return with_dictionary(
        result, Dictionary(_variable(str(name), result[name]) for name in result)
    )


def _plain(column: pd.Series) -> pd.Series:
    """Return nullable columns as plain ones, missing whole numbers as NaN."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        levels = [str(level) for level in dtype.categories]
        codes = np.asarray(column.cat.codes)
        return pd.Series(
            pd.Categorical.from_codes(codes, pd.Index(levels), ordered=bool(dtype.ordered))
        )
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(bool) if column.notna().all() else column.astype(object)
    if pd.api.types.is_integer_dtype(dtype):
        return column.astype(np.int64 if column.notna().all() else float)
    if pd.api.types.is_string_dtype(dtype):
        return column.astype(object).where(column.notna(), None)
    return column


def _variable(name: str, column: pd.Series) -> Variable:
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = tuple((k + 1, str(level)) for k, level in enumerate(column.cat.categories))
        return Variable(name, values=values, measure="ordinal" if column.cat.ordered else "nominal")
    if pd.api.types.is_bool_dtype(column.dtype):
        return Variable(name)
    if pd.api.types.is_numeric_dtype(column.dtype):
        whole = bool(np.all(np.mod(column.dropna().to_numpy(dtype=float), 1) == 0))
        return Variable(name, kind="integer" if whole else "number")
    return Variable(name, kind="text")


def write_r(frame: pd.DataFrame, path: Path, target: Path) -> None:
    """Write a frame as ``.rds``; categories become factors, with missing values as NA.

    Raises
    ------
    OutputError
        A column holds what R has no type for.
    """
    import rdata
    from rdata.conversion.to_r import (
        dataframe_constructor,
        rangeindex_constructor,
    )

    columns = {str(name): _for_r(frame[name], target) for name in frame.columns}
    constructors: dict[type, Any] = {
        pd.DataFrame: dataframe_constructor,
        pd.RangeIndex: rangeindex_constructor,
        pd.Categorical: _factor,
    }
    table = pd.DataFrame(columns)
    table.index = pd.RangeIndex(1, len(table) + 1)
    try:
        rdata.write_rds(path, table, constructor_dict=constructors)
    except (NotImplementedError, TypeError, ValueError) as problem:
        raise OutputError(f"cannot write {target}: {problem}") from None


def _for_r(column: pd.Series, target: Path) -> pd.Series:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        levels = [str(level) for level in dtype.categories]
        return pd.Series(
            pd.Categorical.from_codes(
                np.asarray(column.cat.codes), pd.Index(levels), ordered=bool(dtype.ordered)
            )
        )
    plain = column.reset_index(drop=True)
    if pd.api.types.is_bool_dtype(dtype):
        return plain.astype("boolean")
    if pd.api.types.is_integer_dtype(dtype):
        largest = plain.abs().max()
        small = pd.isna(largest) or largest < 2**31
        return plain.astype("Int32") if small else plain.astype(float)
    if pd.api.types.is_float_dtype(dtype):
        return plain.astype(float)
    values = plain.dropna()
    if values.map(lambda value: isinstance(value, str)).all():
        texts = plain.astype(object).where(plain.notna(), None)
        return texts.astype(pd.StringDtype(storage="python"))
    raise OutputError(
        f"cannot write {target}: column {column.name!r} is neither numbers, text nor categories."
    )


def _factor(data: pd.Categorical, converter: Any) -> Any:
    """Build a factor whose missing values are NA, which the library writes as a level 0."""
    from rdata.conversion.to_r import build_r_object
    from rdata.parser import RObjectType

    kinds = ["ordered", "factor"] if data.ordered else ["factor"]
    attributes = converter.convert_to_r_attributes(
        {
            "levels": np.array([str(level) for level in data.categories], dtype="U"),
            "class": np.array(kinds, dtype="U") if data.ordered else "factor",
        }
    )
    codes = np.asarray(data.codes).astype(np.int32) + np.int32(1)
    value = np.where(codes == 0, NA_INTEGER, codes).astype(np.int32)
    return build_r_object(RObjectType.INT, value=value, is_object=True, attributes=attributes)
