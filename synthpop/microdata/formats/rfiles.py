"""Files of R: ``.rds`` and ``.RData``, factors and missing values in both directions (rdata)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.labelled import (
    UserMissing,
    decoded_columns,
    distinct_labels,
    in_order,
    kind_of,
    plain_code,
    with_missing_code,
)
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import OutputError

NA_INTEGER = np.int32(-(2**31))
"""The missing whole number of R."""
NA_WORD = np.uint64(1954)
TAGS = "tags"
LABELS = "variable.labels"
ATTRIBUTES = "attributes of columns"
DAY = 86_400


def read_r(path: Path, *, user_missing: UserMissing = "missing") -> pd.DataFrame:
    """Read the data frame of an R file; the only one, where the file holds several objects.

    Factors become categories. Columns of the package haven (``haven_labelled`` and
    ``haven_labelled_spss``) are read as those of SPSS: labels where nearly all values have one,
    missing codes, tags and ranges as missing or, with ``user_missing="level"``, as levels.

    Raises ValueError: there is no data frame, or more than one.
    """
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that rdata reads as plain values
        try:
            if path.suffix.lower() == ".rds":
                content = {"": rdata.read_rds(path, constructor_dict=_constructors())}
            else:
                content = dict(rdata.read_rda(path, constructor_dict=_constructors()))
        except (NotImplementedError, KeyError, IndexError, TypeError) as problem:
            raise ValueError(f"the objects in it cannot be read ({problem})") from None
    frames = {name: item for name, item in content.items() if isinstance(item, pd.DataFrame)}
    if not frames:
        raise ValueError("there is no data frame in it")
    if len(frames) > 1:
        raise ValueError(f"it holds several data frames: {', '.join(frames)}; save one of them")
    frame = next(iter(frames.values())).reset_index(drop=True)
    labels = dict(zip(map(str, frame.columns), frame.attrs.get(LABELS, ()), strict=False))
    attributes = frame.attrs.get(ATTRIBUTES, {})
    coded: dict[str, pd.Series] = {}
    plain: dict[str, pd.Series] = {}
    variables = []
    for name in map(str, frame.columns):
        if "haven_labelled" in attributes.get(name, {}).get("class", ()):
            kind = float if is_number(frame[name]) else object
            codes = pd.Series(frame[name].to_numpy(dtype=kind), name=name)
            tags = attributes[name][TAGS]
            coded[name] = codes.astype(object).where(tags == "", tags) if tags.any() else codes
            variable = _labelled(name, coded[name], attributes[name])
            variable = with_missing_code(coded[name], variable)
        else:
            plain[name] = _plain(frame[name])
            variable = _variable(name, plain[name])
        label = labels.get(name) or np.atleast_1d(attributes.get(name, {}).get("label", ""))[0]
        variables.append(replace(variable, label=str(label or "")))
    read = decoded_columns(
        pd.DataFrame(coded, index=frame.index), Dictionary(variables), user_missing
    )
    whole = in_order([*map(str, frame.columns)], read, pd.DataFrame(plain, index=frame.index))
    whole.attrs = dict(read.attrs)
    return with_dictionary(whole, Dictionary(variables).updated(dictionary_of(read)))


def _labelled(name: str, codes: pd.Series, attributes: dict[str, Any]) -> Variable:
    """Return what the attributes of a column of haven say: labels, missing codes and ranges."""
    labels = attributes.get("labels")
    pairs: dict[Any, str] = {}
    if labels is not None:
        texts = labels.coords[labels.dims[0]].values
        tags = tags_of(labels.values)
        pairs = {
            str(tag) if tag else plain_code(code): str(text)
            for code, tag, text in zip(labels.values, tags, texts, strict=True)
        }
    single = [plain_code(code) for code in np.atleast_1d(attributes.get("na_values", ()))]
    tags = attributes[TAGS]
    if tags.any():
        single += sorted(set(tags[tags != ""].tolist()))
        codes = pd.to_numeric(codes.mask(tags != ""))
    ends = [float(end) for end in np.atleast_1d(attributes.get("na_range", ()))]
    kind, decimals = kind_of(codes, "")
    return Variable(
        name,
        values=distinct_labels(pairs),
        missing=tuple((code, pairs.get(code, "")) for code in single),
        missing_ranges=((ends[0], ends[1]),) if len(ends) == 2 else (),
        kind=kind,
        decimals=decimals,
    )


def tags_of(values: Any) -> np.ndarray:
    """Return the letters of the tagged missing values of haven, "" elsewhere.

    A tagged value is R's missing number (low word 1954) with a letter in the fifth byte.
    """
    numbers = np.ma.getdata(values)
    if numbers.dtype != np.float64:
        return np.full(len(numbers), "")
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    letters = ((bits >> np.uint64(32)) & np.uint64(0xFF)).astype(np.uint32)
    is_tagged = np.isnan(numbers) & ((bits & np.uint64(0xFFFFFFFF)) == NA_WORD)
    is_tagged &= (letters >= ord("a")) & (letters <= ord("z"))
    return np.where(is_tagged, letters, 0).astype(np.uint32).view("U1")


def _constructors() -> dict[Any, Any]:
    """Return what turns objects of R into ours: days, points in time, labels of variables."""
    from rdata.conversion import DEFAULT_CLASS_MAP, dataframe_constructor

    def data_frame(values: Any, attributes: Any) -> pd.DataFrame:
        noted = {}
        if isinstance(values, Mapping):
            noted = {str(name): getattr(column, "attrs", {}) for name, column in values.items()}
            values = {
                name: column.to_numpy() if isinstance(column, pd.Series) else column
                for name, column in values.items()
            }
        frame: pd.DataFrame = dataframe_constructor(values, attributes)
        frame.attrs[ATTRIBUTES] = noted
        labels = attributes.get(LABELS)
        if labels is not None and len(labels) == frame.shape[1]:
            frame.attrs[LABELS] = [None if text is None else str(text) for text in labels]
        return frame

    def labelled(values: Any, attributes: Any) -> pd.Series:
        cells: Any = np.ma.asarray(values)
        is_text = cells.dtype.kind in "OUS"
        column = pd.Series(cells.filled(None) if is_text else cells.astype(float).filled(np.nan))
        column.attrs = {**attributes, TAGS: tags_of(values)}
        return column

    return {
        **DEFAULT_CLASS_MAP,
        "data.frame": data_frame,
        "Date": lambda values, _: _times(values, DAY),
        "POSIXct": lambda values, _: _times(values, 1),
        "haven_labelled": labelled,
        "haven_labelled_spss": labelled,
    }


def _times(values: Any, seconds: int) -> np.ndarray:
    """Return days or seconds since 1970 as points in time, NaN as missing."""
    numbers = np.asarray(np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan))
    is_finite = np.isfinite(numbers)
    times = np.full(len(numbers), np.datetime64("NaT"), dtype="datetime64[us]")
    microseconds = np.rint(numbers[is_finite] * seconds * 1e6).astype(np.int64)
    times[is_finite] = microseconds.astype("datetime64[us]")
    return times


def _plain(column: pd.Series) -> pd.Series:
    """Return nullable columns as plain ones where nothing is missing."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return column.cat.rename_categories(str)
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(bool) if column.notna().all() else column.astype(object)
    if pd.api.types.is_integer_dtype(dtype):
        return column.astype(np.int64 if column.notna().all() else "Int64")
    if pd.api.types.is_string_dtype(dtype):
        return column.astype(object).where(column.notna(), None)
    return column


def _variable(name: str, column: pd.Series) -> Variable:
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = tuple((k + 1, str(level)) for k, level in enumerate(column.cat.categories))
        return Variable(name, values=values, measure="ordinal" if column.cat.ordered else "nominal")
    if pd.api.types.is_bool_dtype(column.dtype):
        return Variable(name)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return Variable(name, kind="date")
    if pd.api.types.is_numeric_dtype(column.dtype):
        is_whole = bool(np.all(np.mod(column.dropna().to_numpy(dtype=float), 1) == 0))
        return Variable(name, kind="integer" if is_whole else "number")
    return Variable(name, kind="text")


def write_r(frame: pd.DataFrame, path: Path, target: Path) -> None:
    """Write a frame as ``.rds``; categories become factors, with missing values as NA.

    Days become Date, points in time POSIXct (UTC). Labels of variables are the attribute
    ``variable.labels`` of the data frame, as ``foreign::read.spss`` has it.

    Raises OutputError: a column holds what R has no type for.
    """
    import rdata
    from rdata.conversion.to_r import rangeindex_constructor

    dictionary = dictionary_of(frame)
    columns = {str(name): _for_r(frame[name], target) for name in frame.columns}
    labels = [dictionary[name].label for name in columns]
    constructors: dict[type, Any] = {
        pd.DataFrame: partial(_data_frame, labels=labels),
        pd.RangeIndex: rangeindex_constructor,
        pd.Categorical: _factor,
    }
    table = pd.DataFrame(columns)
    table.index = pd.RangeIndex(1, len(table) + 1)
    try:
        rdata.write_rds(path, table, constructor_dict=constructors)
    except (NotImplementedError, TypeError, ValueError) as problem:
        raise OutputError(f"cannot write {target}: {problem}") from None


def _data_frame(data: pd.DataFrame, converter: Any, labels: list[str]) -> Any:
    """Build a data frame with days and points in time, and with the labels of its variables."""
    from rdata.conversion.to_r import build_r_object, dataframe_constructor
    from rdata.parser import RObjectType

    times = [n for n in data.columns if pd.api.types.is_datetime64_any_dtype(data[n].dtype)]
    numbers = {name: _since_1970(data[name]) for name in times}
    frame = dataframe_constructor(
        data.assign(**{name: values for name, (values, _) in numbers.items()}), converter
    )
    for place, name in enumerate(data.columns):
        if name not in numbers:
            continue
        attributes = converter.convert_to_r_attributes(numbers[name][1])
        frame.value[place] = build_r_object(
            RObjectType.REAL, value=numbers[name][0], is_object=True, attributes=attributes
        )
    if any(labels):
        head = {LABELS: np.array(labels, dtype="U")}
        list_of_labels = converter.convert_to_r_attributes(head)
        list_of_labels.value = (list_of_labels.value[0], frame.attributes)
        frame.attributes = list_of_labels
    return frame


def _since_1970(column: pd.Series) -> tuple[np.ndarray, dict[str, Any]]:
    """Return days or seconds since 1970, and the class that R gives them."""
    times = column.dropna()
    seconds = column.to_numpy(dtype="datetime64[us]").astype(np.int64) / 1e6
    seconds = np.where(column.notna().to_numpy(), seconds, np.nan)
    if (times == times.dt.normalize()).all():
        return seconds / DAY, {"class": "Date"}
    return seconds, {"class": np.array(["POSIXct", "POSIXt"], dtype="U"), "tzone": "UTC"}


def _for_r(column: pd.Series, target: Path) -> pd.Series:
    dtype, plain = column.dtype, column.reset_index(drop=True)
    if isinstance(dtype, pd.CategoricalDtype):
        return plain.cat.rename_categories(str)
    if pd.api.types.is_bool_dtype(dtype):
        return plain.astype("boolean")
    if pd.api.types.is_integer_dtype(dtype):
        largest = plain.abs().max()
        fits_in_32_bits = pd.isna(largest) or largest < 2**31
        return plain.astype("Int32") if fits_in_32_bits else plain.astype(float)
    if pd.api.types.is_float_dtype(dtype):
        return plain.astype(float)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        zone = getattr(dtype, "tz", None)
        return plain if zone is None else plain.dt.tz_convert("UTC").dt.tz_localize(None)
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
