"""Files of SPSS, Stata and SAS from frames: codes, labels and missing codes (pyreadstat)."""

from __future__ import annotations

import datetime
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.labelled import encoded, with_kinds_as_codes
from synthpop.microdata.formats.legal_names import legal_names
from synthpop.microdata.frame.dictionary import (
    Code,
    Dictionary,
    Variable,
    dictionary_of,
    with_dictionary,
)
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.messages.text import join, plural

SPSS = (".sav", ".zsav")
MOST_MISSING = 3
"""Missing codes that SPSS declares for a variable: three, or a range and one."""
LABEL_BYTES = {".sav": 256, ".zsav": 256, ".dta": 80, ".xpt": 256}
VALUE_LABEL_BYTES = {".sav": 120, ".zsav": 120, ".dta": 32_000}


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column as such a file holds it."""

    values: pd.Series  # codes, numbers, text or dates; missing codes among them
    variable: Variable  # what the codes mean in this file
    # missing codes of the column that the format cannot declare as missing
    undeclared: tuple[Code, ...] = ()


def coded_column(column: pd.Series, variable: Variable, suffix: str) -> Coded:
    """Return a column in codes, with missing answers as the format can say them."""
    values, meaning = encoded(column, variable)
    values, meaning = _without_texts(_storable(values, meaning), meaning)
    code = meaning.missing_code
    if code is not None and suffix in (*SPSS, ".dta") and _fits(code, values):
        is_text = isinstance(code, str)
        values = values.where(values.notna(), code) if is_text else values.fillna(code)
    present = [value for value in pd.unique(values.dropna()) if meaning.is_missing(value)]
    if suffix == ".dta":
        return _with_letters(values, meaning, present)
    if suffix == ".xpt":
        return Coded(values.mask(values.isin(present)) if present else values, meaning)
    return _as_spss(values, meaning, present)


def _without_texts(values: pd.Series, variable: Variable) -> tuple[pd.Series, Variable]:
    """Give texts that stand for missing answers of a number codes below all of its values.

    Letters that Stata has for missing values stay what they are.
    """
    texts = [code for code, _ in variable.missing if isinstance(code, str)]
    texts = [code for code in texts if code not in string.ascii_lowercase or len(code) != 1]
    if not texts or variable.kind not in ("integer", "number"):
        return values, variable
    numbers = pd.to_numeric(values, errors="coerce")
    lowest = int(np.floor(min(0.0, float(numbers.min()) if numbers.notna().any() else 0.0)))
    codes = {text: lowest - k for k, text in enumerate(texts, 1)}
    labels = dict(variable.values)
    pairs = tuple(
        (codes[c], text or c) if c in codes else (c, text) for c, text in variable.missing
    )
    is_range = len(pairs) > MOST_MISSING and len(texts) == len(pairs)
    span = ((float(lowest - len(texts)), float(lowest - 1)),)
    changed = replace(
        variable,
        missing=() if is_range else pairs,
        missing_ranges=span if is_range else variable.missing_ranges,
        values=tuple({**labels, **{code: text for code, text in pairs}}.items()),
        missing_code=codes.get(str(variable.missing_code), variable.missing_code),
    )  # fmt: skip
    coded = values.map(lambda value: codes.get(value, value), na_action="ignore")
    others = coded.dropna().map(lambda value: isinstance(value, str)).any()
    return (coded if others else pd.to_numeric(coded).astype(float)), changed


def _fits(code: Code, values: pd.Series) -> bool:
    if not values.isna().any():
        return False
    return isinstance(code, str) != pd.api.types.is_numeric_dtype(values.dtype)


def _with_letters(values: pd.Series, variable: Variable, present: list[Any]) -> Coded:
    """Turn missing codes into the letters .a to .z of Stata, which its labels name."""
    if not pd.api.types.is_numeric_dtype(values.dtype):
        mixed = values.map(lambda value: isinstance(value, str)).all()
        if mixed or not variable.missing:
            return Coded(values, variable)
    reserved = [code for code, _ in variable.missing if code in list(string.ascii_lowercase)]
    free = [letter for letter in string.ascii_lowercase if letter not in reserved]
    meanings = {code: text for code, text in (*variable.values, *variable.missing) if text}
    codes = [code for code, _ in variable.missing if code not in reserved]
    codes += [code for code in present if code not in codes and code not in reserved]
    letters = dict(zip(codes, free, strict=False))
    if letters:
        named = values.map(lambda value: letters.get(value, value), na_action="ignore")
        values = named.astype(object).where(values.notna(), None) if present else values
    labels = {
        letters.get(code, code): text
        for code, text in variable.values
        if not (isinstance(code, str) and code not in reserved)
    }
    labels |= {
        letter: meanings.get(code, f"missing {code}")
        for code, letter in letters.items()
        if code in present or code in meanings
    }
    labels |= {code: text for code, text in variable.missing if code in reserved and text}
    missing = tuple((letter, labels.get(letter, "")) for letter in (*reserved, *letters.values()))
    changed = replace(variable, values=tuple(labels.items()), missing=missing, missing_ranges=())
    return Coded(values, changed)


def _as_spss(values: pd.Series, variable: Variable, present: list[Any]) -> Coded:
    """Choose the missing codes that SPSS can declare, those of the column first."""
    text = not pd.api.types.is_numeric_dtype(values.dtype)
    kind_fits = [code for code, _ in variable.missing if isinstance(code, str) == text]
    ranges = [] if text else list(variable.missing_ranges)
    single = sorted(kind_fits, key=lambda code: code not in present)
    if ranges:
        ranges = ranges[:1]
        single = [c for c in single if not ranges[0][0] <= float(c) <= ranges[0][1]][:1]
    single = single[:MOST_MISSING]
    meanings, labels = dict(variable.missing), dict(variable.values)
    labels |= {code: text for code, text in meanings.items() if text and code not in labels}
    declared = replace(
        variable,
        missing=tuple((code, meanings[code]) for code in single),
        missing_ranges=tuple(ranges),
        values=tuple(labels.items()),
    )
    return Coded(values, declared, tuple(c for c in present if not declared.is_missing(c)))


def coded_columns(frame: pd.DataFrame, suffix: str) -> dict[str, Coded]:
    """Return all columns as `coded_column` does, by name."""
    dictionary = dictionary_of(frame)
    return {
        str(name): coded_column(frame[name], dictionary[str(name)], suffix)
        for name in frame.columns
    }


def with_legal_names(frame: pd.DataFrame, suffix: str) -> pd.DataFrame:
    """Return a frame with names that the format allows; the label keeps the name of before."""
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    made = legal_names(frame.columns, suffix)
    if not made:
        return frame
    dictionary = dictionary_of(frame)
    labelled = [
        replace(dictionary[old], name=new, label=dictionary[old].label or old)
        for old, new in made.items()
    ]
    kept = dictionary.only([name for name in dictionary if name not in made])
    renamed = frame.rename(columns=made)
    return with_dictionary(renamed, kept.updated(Dictionary(labelled)))


def write_labelled(
    frame: pd.DataFrame, path: Path, target: Path, version: int | None = None
) -> None:
    """Write ``.sav``, ``.zsav``, ``.dta`` or ``.xpt`` with the labels of the frame's dictionary.

    Missing codes are declared in SPSS and become the letters .a to .z in Stata, texts among numbers
    with their labels; in SAS, which gets
    none, kinds of missing of a number stay a column of their own. Names that the
    format does not allow become legal ones; the label of a variable without one is its name then.

    Raises OutputError: lists all that such a file cannot hold; nothing is written then.
    """
    import pyreadstat

    suffix = target.suffix.lower()
    frame = frame if suffix == ".xpt" else with_kinds_as_codes(frame)
    frame = with_legal_names(frame, suffix)
    columns = coded_columns(frame, suffix)
    check_columns(columns, suffix, target)
    table = pd.DataFrame({name: item.values for name, item in columns.items()})
    variables = {name: item.variable for name, item in columns.items()}
    options: dict[str, Any] = {
        "column_labels": {name: v.label for name, v in variables.items() if v.label} or None
    }
    if suffix != ".xpt":
        options["variable_value_labels"] = _value_labels(columns) or None
    if suffix == ".dta":
        letters = {n: _letters(item) for n, item in columns.items()}
        options["missing_user_values"] = {n: list(ls) for n, ls in letters.items() if ls} or None
        options |= {} if version is None else {"version": version}
    if suffix in SPSS:
        options["missing_ranges"] = _missing_ranges(variables, table) or None
        options["variable_measure"] = {n: v.measure for n, v in variables.items() if v.measure}
        options["variable_format"] = _formats(variables, table) or None
        options["compress"] = suffix == ".zsav"
    write = {".xpt": pyreadstat.write_xport, ".dta": pyreadstat.write_dta}
    try:
        write.get(suffix, pyreadstat.write_sav)(table, str(path), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, TypeError) as problem:
        raise OutputError(f"cannot write {target}: {problem}") from None


def _letters(item: Coded) -> list[str]:
    """Return the letters that stand for missing answers in a column of numbers."""
    if item.values.dtype != object:
        return []
    values = item.values.dropna()
    texts = [value for value in values.unique() if isinstance(value, str)]
    is_number = item.variable.kind in ("integer", "number")
    return sorted(texts) if len(texts) < values.nunique() or is_number else []


def _value_labels(columns: dict[str, Coded]) -> dict[str, dict[Code, str]]:
    """Return labels by code where the codes are of the type of the column."""
    labels: dict[str, dict[Code, str]] = {}
    for name, item in columns.items():
        letters = _letters(item)
        number = pd.api.types.is_numeric_dtype(item.values.dtype) or bool(letters)
        pairs = {
            code: text
            for code, text in item.variable.values
            if isinstance(code, str) != number or code in letters
        }
        if pairs:
            labels[name] = pairs
    return labels


def _storable(column: pd.Series, variable: Variable) -> pd.Series:
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(float)
    if pd.api.types.is_extension_array_dtype(dtype) and pd.api.types.is_numeric_dtype(dtype):
        is_whole = pd.api.types.is_integer_dtype(dtype) and column.notna().all()
        return column.astype(np.int64 if is_whole else float)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _dates(column, variable)
    if pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype):
        return column.astype(object).where(column.notna(), None)
    if isinstance(dtype, np.dtype) and dtype.kind == "u":
        return column.astype(np.int64)
    return column


def _dates(column: pd.Series, variable: Variable) -> pd.Series:
    """Return days as dates; points in time stay what they are, without a time zone."""
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if variable.kind == "date" and (column.dropna().dt.normalize() == column.dropna()).all():
        return column.dt.date.astype(object).where(column.notna(), None)
    return column


def _missing_ranges(variables: dict[str, Variable], table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return missing codes as SPSS has them: three codes, or one range and one code."""
    ranges: dict[str, list[Any]] = {}
    for name, v in variables.items():
        text = not pd.api.types.is_numeric_dtype(table[name].dtype)
        codes = [code for code, _ in v.missing if isinstance(code, str) == text]
        entries: list[Any] = [{"lo": low, "hi": high} for low, high in v.missing_ranges]
        entries = [*entries, *(code for code in codes if not text or len(str(code)) <= 8)]
        if entries:
            ranges[name] = entries
    return ranges


def _formats(variables: dict[str, Variable], table: pd.DataFrame) -> dict[str, str]:
    formats = {}
    for name, v in variables.items():
        numeric = pd.api.types.is_numeric_dtype(table[name].dtype)
        if numeric and v.kind in ("integer", "number") and v.decimals is not None:
            largest = table[name].abs().max()
            width = 8 if pd.isna(largest) else max(8, len(f"{largest:.0f}") + v.decimals + 3)
            formats[name] = f"F{min(width, 40)}.{v.decimals}"
    return formats


def check_columns(columns: dict[str, Coded], suffix: str, path: Path) -> None:
    """Name everything that the format cannot hold before a file is begun."""
    problems = _faults_of_values(columns, suffix)
    if problems:
        count = plural(len(problems), "problem")
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise OutputError(f"{path} cannot hold the data: {count}{lines}\nNothing was written.")


def _sentences(names_by_fault: dict[str, list[str]]) -> list[str]:
    return [f"{names_text(names)}: {what}" for what, names in names_by_fault.items() if names]


def _faults_of_values(columns: dict[str, Coded], suffix: str) -> list[str]:
    unsuited = [
        name
        for name, item in columns.items()
        if not (
            pd.api.types.is_numeric_dtype(item.values.dtype)
            or pd.api.types.is_datetime64_any_dtype(item.values.dtype)
            or _holds_only(str, item.values)
            or _holds_only((datetime.date, datetime.time), item.values)
            or _letters(item)
        )
    ]
    undeclared = [name for name, item in columns.items() if item.undeclared]
    long_texts = [
        name
        for name, item in columns.items()
        if suffix == ".xpt"
        and _holds_only(str, item.values)
        and item.values.dropna().map(lambda text: len(text.encode())).max() > 200
    ]
    too_many = "more missing codes occur than SPSS can declare (three, or a range and one)"
    return _sentences(
        {
            "values are neither numbers, dates nor text": unsuited,
            too_many: undeclared,
            "texts have at most 200 bytes": long_texts,
        }
    )


def _holds_only(kinds: type | tuple[type, ...], column: pd.Series) -> bool:
    return bool(column.dropna().map(lambda value: isinstance(value, kinds)).all())


def names_text(names: Iterable[str]) -> str:
    """Return names as a list of at most five, and how many more there are."""
    quoted = [repr(name) for name in names]
    more = [] if len(quoted) <= 5 else [f"{len(quoted) - 5} more"]
    return join([*quoted[:5], *more])


WRITERS: dict[str, Callable[..., None]] = dict.fromkeys((*SPSS, ".dta", ".xpt"), write_labelled)
