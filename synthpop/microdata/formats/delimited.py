"""Reading delimited text: cells are text, and become numbers only where nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.broken import (
    check_bytes,
    check_cells,
    check_encoding,
    check_first_record,
    check_header,
    check_second_header,
    ragged,
)
from synthpop.microdata.formats.labelled import UserMissing
from synthpop.microdata.formats.text_codes import text_codes, with_text_codes
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join

SNIFFED = 65536
SEPARATORS = ",;\t|"
NO_NUMBER = ("NA", "NaN", "nan")
EXACT = 2**53
WHOLE = r"[+-]?(?:0|[1-9][0-9]*)"
EXPONENT = r"(?:[eE][+-][0-9]+)?"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TYPES = ("number", "text", "category")


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a delimited file is written; what is None is found out, and said when the file is read.

    Attributes
    ----------
    separator : str or None
        One sign between cells.
    decimal : {".", ","} or None
        The decimal sign, for all columns.
    thousands : {".", ",", " ", "'"} or None
        The sign between thousands.
    encoding : str or None
        Such as "utf-8", "latin-1", "cp1252".
    missing : sequence of codes, or mapping from column to codes
        Codes such as -9 or 99 that stand for a missing answer, in all columns or in some.
    types : mapping from column to {"number", "text", "category"}
        What a column is, whatever it looks like. Text and categories keep their cells as they are.

    Examples
    --------
    >>> CsvOptions(decimal=",", missing=[-9]).missing_codes("income")
    ('-9',)
    """

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    missing: Sequence[Any] | Mapping[str, Sequence[Any]] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = Faults("csv options")
        separator = self.separator
        if separator is not None and not (isinstance(separator, str) and len(separator) == 1):
            faults.add("separator", f"is {separator!r}", hint="Give one sign, such as ';'.")
        for name, allowed in (("decimal", ".,"), ("thousands", "., '")):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or value not in set(allowed)):
                hint = f"There are: {', '.join(repr(sign) for sign in allowed)}."
                faults.add(name, message("{value} is not allowed", value=repr(value)), hint=hint)
        if self.decimal is not None and self.decimal == self.thousands:
            faults.add("thousands", "is the decimal sign too", hint="Give two different signs.")
        if self.encoding is not None and not _is_encoding(self.encoding):
            hint = "Give a name such as 'utf-8' or 'latin-1'."
            faults.add("encoding", f"{self.encoding!r} is unknown", hint=hint)
        for name, kind in self.types.items():
            if kind not in TYPES:
                hint = did_you_mean(kind, TYPES)
                faults.add(f"types.{name}", f"{kind!r} is unknown", hint=hint)
        faults.raise_if_any()

    def missing_codes(self, column: str) -> tuple[str, ...]:
        """Return the codes of a column that stand for a missing answer, as text."""
        codes = self.missing.get(column, ()) if isinstance(self.missing, Mapping) else self.missing
        return tuple(_as_text(code) for code in ([codes] if isinstance(codes, str) else codes))


def _as_text(code: Any) -> str:
    is_whole = isinstance(code, float) and code.is_integer()
    return str(int(code)) if is_whole else str(code).strip()


def _is_encoding(name: Any) -> bool:
    try:
        return isinstance(name, str) and "a".encode(name) is not None
    except LookupError:
        return False


def read_delimited(
    path: Path, options: CsvOptions | None = None, user_missing: UserMissing = "missing"
) -> pd.DataFrame:
    r"""Read delimited text with a header.

    Separators are comma, semicolon, tab, bar or blanks; the text is UTF-8 (with or without a mark
    at its start), UTF-16 with a mark, or else Latin-1. An empty cell is missing. A column becomes
    numbers where every other cell is a number and no two cells that differ would become equal:
    ``01`` and ``1`` stay text, and so do whole numbers of more digits than a number can hold. In
    such a column, and nowhere else, ``NA`` and ``NaN`` are missing too; so are at most six texts
    among more than 30 distinct numbers (``N``, ``refused``), which the dictionary keeps; several
    kinds of missing are a column of their own with ``user_missing="level"``. Days such as
    2024-02-29 are dates. Points and commas are
    judged column by column; what stays open (``1.234`` beside decimal commas) stays text. All
    guesses are listed in ``frame.attrs["reading"]``; `options` overrides them.

    Raises ValueError: the text cannot be taken apart into columns, or there are no rows.
    Raises InputError: options name a column that is not there.
    """
    options = options or CsvOptions()
    with path.open("rb") as stream:
        start = stream.read(SNIFFED)
    check_bytes(path, start)
    encoding = options.encoding or (
        "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    )
    lines = start.decode(encoding, errors="replace").splitlines()
    separator = options.separator or _separator(lines[0] if lines else "")
    notes = [] if options.separator else [f"separator {separator!r}"] if separator != "," else []
    lines = lines[:-1] if len(start) == SNIFFED else lines  # the last one is cut
    notes += check_header(lines, separator)
    try:
        frame = _read_text(path, separator, encoding)
    except UnicodeDecodeError:
        if options.encoding:
            raise ValueError(f"the text is not {options.encoding}") from None
        check_encoding(path)
        frame = _read_text(path, separator, "latin-1")
        notes.append("encoding Latin-1")
    except pd.errors.ParserError as problem:
        raise ragged(problem) from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError("rows have more cells than the first line has names")
    if len(frame) == 0:
        raise ValueError("there is a header but no row")
    notes += check_cells(lines, separator)
    check_second_header(frame)
    check_first_record(frame)
    _check_columns(frame, options)
    typed, guesses = with_numbers(frame, separator != ",", options, user_missing)
    typed.attrs["reading"] = [*notes, *guesses]
    return typed


def _check_columns(frame: pd.DataFrame, options: CsvOptions) -> None:
    faults = Faults("csv options")
    by_column = options.missing if isinstance(options.missing, Mapping) else {}
    for role, names in (("types", options.types), ("missing", by_column)):
        for name in names:
            if name not in frame.columns:
                hint = did_you_mean(name, frame.columns)
                faults.add(f"{role}.{name}", "is not a column of the file", hint=hint)
    faults.raise_if_any()


def _separator(header: str) -> str:
    outside = re.sub(r'"[^"]*"', "x", header)
    best = max(SEPARATORS, key=outside.count)
    if outside.count(best) == 0 and " " in outside.strip():
        return " "
    return best


def _read_text(path: Path, separator: str, encoding: str) -> pd.DataFrame:
    return pd.read_csv(
        path,
        sep=separator,
        encoding=encoding,
        dtype=str,
        keep_default_na=False,
        na_values=[""],
        skipinitialspace=separator == " ",
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """A column read as numbers.

    mark: the decimal sign that was used, "" without any
    certain: it cannot stand between thousands: some number has not three digits behind it
    """

    values: pd.Series
    mark: str
    certain: bool


def with_numbers(
    frame: pd.DataFrame,
    may_have_commas: bool,
    options: CsvOptions | None = None,
    user_missing: UserMissing = "missing",
) -> tuple[pd.DataFrame, list[str]]:
    """Turn columns of text into numbers where nothing is lost; returns the guesses as well.

    Each column has its own decimal sign. Where a file has columns with points and columns with
    commas, a column whose every fraction has three digits may hold thousands, and stays text.
    """
    options = options or CsvOptions()
    readings: dict[int, _Reading] = {}
    texts: dict[int, pd.Series] = {}
    coded: dict[str, pd.Series] = {}  # name of a column of numbers -> its codes for missing
    for j in range(frame.shape[1]):
        name = str(frame.columns[j])
        cells = _without_missing(frame.iloc[:, j], options.missing_codes(name))
        texts[j] = cells.astype("category") if options.types.get(name) == "category" else cells
        if options.types.get(name) in ("text", "category"):
            continue
        reading = _read_numbers(cells, may_have_commas, options)
        if reading is None and name not in options.types and (codes := text_codes(cells)):
            is_code = cells.isin(codes)
            reading = _read_numbers(cells.mask(is_code), may_have_commas, options)
            if reading is not None:
                coded[name] = cells.where(is_code)
        if reading is not None:
            readings[j] = reading
    marks = {reading.mark for reading in readings.values() if reading.mark}
    notes: list[str] = []
    if len(marks) == 2 and options.decimal is None:
        unclear = [j for j, r in readings.items() if r.mark and not r.certain]
        for j in unclear:
            if options.types.get(str(frame.columns[j])) != "number":
                del readings[j]
        if unclear:
            names = join(repr(str(frame.columns[j])) for j in unclear)
            notes.append(
                f"{names} read as text: signs may stand between thousands (set decimal, thousands)"
            )
    grouped = [j for j, cells in texts.items() if j not in readings and _are_grouped(cells)]
    grouped = [j for j in grouped if str(frame.columns[j]) not in options.types]
    if grouped and not notes:
        names = join(repr(str(frame.columns[j])) for j in grouped)
        notes.append(f"{names} read as text: signs may stand between thousands (set thousands)")
    commas = [j for j, r in readings.items() if r.mark == ","]
    if commas and options.decimal is None:
        notes.insert(0, f"decimal comma in {join(repr(str(frame.columns[j])) for j in commas)}")
    columns = [
        _whole_with_missing(readings[j]) if j in readings else texts[j]
        for j in range(frame.shape[1])
    ]
    _check_types(frame, readings, options)
    typed = pd.concat(columns, axis=1) if columns else frame
    dates = {name: days for name in map(str, typed.columns) if name not in options.types
             and (days := _dates(typed[name])) is not None}  # fmt: skip
    typed = typed.assign(**dates)
    notes += [f"dates in {join(map(repr, dates))}"] if dates else []
    coded = {name: cells for name, cells in coded.items() if is_number(typed[name])}
    if coded:
        typed, told = with_text_codes(typed, coded, user_missing)
        notes += told
    return typed, notes


def _dates(cells: pd.Series) -> pd.Series | None:
    """Return cells such as 2024-02-29 as dates; None where one is no such day."""
    if is_number(cells):
        return None
    levels = cells.dropna().unique()
    if not len(levels) or not all(DATE.fullmatch(str(level)) for level in levels):
        return None
    days = pd.to_datetime(cells, format="%Y-%m-%d", errors="coerce")
    return None if bool((days.isna() & cells.notna()).any()) else days


def _whole_with_missing(reading: _Reading) -> pd.Series:
    """Return whole numbers, some of which are missing, as integers that can be missing."""
    values = reading.values
    present = values.dropna()
    if reading.mark or values.dtype.kind != "f" or len(present) in (0, len(values)):
        return values
    is_whole = bool((present % 1 == 0).all() and (present.abs() < 2**53).all())
    return values.astype("Int64") if is_whole else values


def _check_types(
    frame: pd.DataFrame, readings: Mapping[int, _Reading], options: CsvOptions
) -> None:
    faults = Faults("csv options")
    for j in range(frame.shape[1]):
        name = str(frame.columns[j])
        if options.types.get(name) == "number" and j not in readings:
            cells = frame.iloc[:, j]
            is_no_number = cells.notna() & pd.to_numeric(cells, errors="coerce").isna()
            rows = np.flatnonzero(is_no_number.to_numpy())
            hint = "Declare their codes as missing, or set decimal and thousands."
            faults.add(f"types.{name}", "has cells that are not numbers", rows=rows, hint=hint)
    faults.raise_if_any()


def _without_missing(cells: pd.Series, codes: tuple[str, ...]) -> pd.Series:
    if not codes:
        return cells
    as_text = cells.str.strip()
    missing = as_text.isin(codes)
    numbers = [float(code) for code in codes if re.fullmatch(r"[+-]?[0-9]+(?:\.[0-9]+)?", code)]
    if numbers:
        missing |= pd.to_numeric(as_text, errors="coerce").isin(numbers)
    return cells.mask(missing)


def _read_numbers(cells: pd.Series, may_have_commas: bool, options: CsvOptions) -> _Reading | None:
    codes, levels = pd.factorize(cells)
    texts = pd.Series(levels, dtype=str).str.strip()
    if len(texts) == 0:
        return _Reading(_spread(np.zeros(1), codes, cells.name), "", True)
    thousands = options.thousands
    marks = options.decimal or (".," if may_have_commas or thousands == "." else ".")
    for mark in marks:
        ungrouped = texts
        grouped = _has_thousands(texts, mark, thousands)
        if grouped is not None:
            ungrouped = texts.str.replace(grouped, "", regex=False)
        values = _numbers(ungrouped, mark)
        if values is not None and not ((codes < 0).any() and _inexact(values)):
            has_mark = texts.str.contains(mark, regex=False).any()
            certain = grouped is not None or not _may_be_thousands(texts, mark)
            return _Reading(_spread(values, codes, cells.name), mark if has_mark else "", certain)
    return None


def _has_thousands(texts: pd.Series, mark: str, declared: str | None) -> str | None:
    """Return the sign between thousands: the declared one, or one that stands beside decimals."""
    alternative = "," if mark == "." else "."
    sign = declared if declared is not None else alternative
    if sign == mark:
        return None
    groups = rf"[+-]?[0-9]{{1,3}}(?:{re.escape(sign)}[0-9]{{3}})*(?:{re.escape(mark)}[0-9]*)?"
    numbers = texts[~texts.isin(NO_NUMBER)]
    if declared is None and not numbers.str.fullmatch(r".*" + re.escape(sign) + r".*").any():
        return None
    plain = numbers.str.fullmatch(groups) | ~numbers.str.contains(sign, regex=False)
    if not plain.all():
        return None
    has_both = numbers.str.contains(sign, regex=False) & numbers.str.contains(mark, regex=False)
    return sign if declared is not None or has_both.any() else None


def _are_grouped(cells: pd.Series) -> bool:
    """Tell whether all texts are numbers, and some have a sign between thousands."""
    texts = pd.Series(cells.dropna().unique(), dtype=str).str.strip()
    grouped = texts.str.fullmatch(r"[+-]?[0-9]{1,3}(?:[., '\u00a0][0-9]{3})+(?:[.,][0-9]+)?")
    return bool(grouped.any()) and bool((grouped | texts.str.fullmatch(r"[+-]?[0-9]+")).all())


def _may_be_thousands(texts: pd.Series, mark: str) -> bool:
    """Tell whether every number with the sign has groups of three digits behind it."""
    signed = texts[texts.str.contains(mark, regex=False)]
    return len(signed) > 0 and bool(
        signed.str.fullmatch(rf"[+-]?[1-9][0-9]{{0,2}}(?:{re.escape(mark)}[0-9]{{3}})+").all()
    )


def _numbers(texts: pd.Series, mark: str) -> np.ndarray | None:
    """Return distinct texts as numbers, or None where one is not a number or two would be equal."""
    absent = texts.isin(NO_NUMBER).to_numpy()
    present = texts[~absent]
    if len(present) == 0:
        return None
    if present.str.fullmatch(WHOLE).all():
        try:
            integers = present.to_numpy(dtype=object).astype(np.int64)
        except OverflowError:
            return None
        return integers if not absent.any() else _between(integers, absent)
    sign = r"\." if mark == "." else ","
    fraction = rf"{WHOLE}(?:{sign}[0-9]*)?{EXPONENT}|[+-]?{sign}[0-9]+{EXPONENT}"
    if not present.str.fullmatch(fraction).all() or _trailing_zeros_matter(present, mark):
        return None
    values = present.str.replace(mark, ".", regex=False).to_numpy(dtype=object).astype(np.float64)
    return _between(values, absent) if np.isfinite(values).all() else None


def _trailing_zeros_matter(texts: pd.Series, mark: str) -> bool:
    """Whether codes like 10.1 and 10.10 are among the texts."""
    fractions = texts[texts.str.contains(mark, regex=False)].drop_duplicates()
    return fractions.str.rstrip("0").nunique() < len(fractions)


def _between(values: np.ndarray, absent: np.ndarray) -> np.ndarray | None:
    """Return the values with NaN where they are absent; None where a number would be rounded."""
    if absent.any() and _inexact(values):
        return None
    out = np.full(len(absent), np.nan)
    out[~absent] = values
    return out


def _inexact(values: np.ndarray) -> bool:
    """Whether whole numbers are larger than floats, which missing cells need, can hold."""
    if values.dtype.kind == "f":
        return False
    return int(values.max(initial=0)) > EXACT or int(values.min(initial=0)) < -EXACT


def _spread(values: np.ndarray, codes: np.ndarray, name: object) -> pd.Series:
    """Return the number of each row; NaN where its cell is empty."""
    missing = codes < 0
    numbers = np.where(missing, np.nan, values[codes]) if missing.any() else values[codes]
    return pd.Series(numbers, name=name)
