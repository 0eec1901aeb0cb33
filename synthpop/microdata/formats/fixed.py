"""Fixed-format text with a metadata file, as mu-Argus writes it (``file.asc`` and ``file.rda``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop.microdata.formats.labelled import decoded
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary

_NAME = re.compile(r"^\s*(?P<name>\"[^\"]+\"|[^\s<>]+)(?P<numbers>(?:\s+\S+)*)\s*$")
_OPTION = re.compile(r"^\s*<(?P<key>[A-Z_]+)>\s*(?P<value>.*?)\s*$", re.IGNORECASE)


@dataclass(slots=True)
class _Column:
    name: str
    start: int
    length: int
    missing: list[str] = field(default_factory=list)
    numeric: bool = False
    decimals: int = 0
    codelist: str | None = None


def read_fixed(path: Path) -> pd.DataFrame:
    """Read fixed-format text whose columns the file of the same name with ``.rda`` describes.

    A line of the metadata holds name, first position (from 1), length and up to two missing codes;
    lines below it in angle brackets say more: ``<NUMERIC>``, ``<DECIMALS> 2``,
    ``<CODELIST> "sex.cdl"``. With ``<SEPARATOR> ";"`` at its top the file is delimited, without a
    header, and the metadata give names and missing codes only.

    Raises ValueError: there are no metadata, or they cannot be understood.
    """
    metadata = path.with_suffix(".rda")
    if not metadata.exists():
        raise ValueError(f"its metadata {metadata.name} are not beside it")
    separator, columns = _read_metadata(metadata)
    if not columns:
        raise ValueError(f"{metadata.name} names no variable")
    lines = [line for line in _text(path).splitlines() if line.strip()]
    if not lines:
        raise ValueError("there are no rows")
    cells = _cells(lines, columns, separator)
    variables = [_variable(column, path.parent) for column in columns]
    frame = pd.DataFrame(
        {
            column.name: decoded(_values(texts, column), variable)
            for column, texts, variable in zip(columns, cells, variables, strict=True)
        }
    )
    return with_dictionary(frame, Dictionary(variables))


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read_metadata(path: Path) -> tuple[str | None, list[_Column]]:
    separator: str | None = None
    columns: list[_Column] = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        option = _OPTION.match(line)
        if option:
            key, value = option["key"].upper(), option["value"].strip('"')
            if key == "SEPARATOR":
                separator = value or ";"
            elif not columns:
                continue
            elif key == "NUMERIC":
                columns[-1].numeric = True
            elif key == "DECIMALS":
                columns[-1].decimals = _number(value, path, number)
            elif key == "CODELIST":
                columns[-1].codelist = value
            continue
        entry = _NAME.match(line)
        if not line.strip():
            continue
        if entry is None:
            raise ValueError(f"line {number} of {path.name} is not understood")
        words = entry["numbers"].split()
        name = entry["name"].strip('"')
        if separator is None:
            if len(words) < 2:
                raise ValueError(f"line {number} of {path.name} has no position and length")
            start, length = (_number(word, path, number) for word in words[:2])
            columns.append(_Column(name, start, length, [w.strip('"') for w in words[2:4]]))
        else:
            columns.append(_Column(name, 0, 0, [w.strip('"') for w in words[1:3]]))
    return separator, columns


def _number(word: str, path: Path, line: int) -> int:
    if not word.isdigit():
        raise ValueError(f"line {line} of {path.name}: {word!r} is not a whole number")
    return int(word)


def _cells(lines: list[str], columns: list[_Column], separator: str | None) -> list[list[str]]:
    if separator is None:
        slices = [slice(c.start - 1, c.start - 1 + c.length) for c in columns]
        return [[line[positions].strip() for line in lines] for positions in slices]
    rows = [line.split(separator) for line in lines]
    wrong_rows = [k for k, row in enumerate(rows, 1) if len(row) != len(columns)]
    if wrong_rows:
        raise ValueError(f"line {wrong_rows[0]} has not the {len(columns)} cells of the metadata")
    return [[row[j].strip() for row in rows] for j in range(len(columns))]


def _variable(column: _Column, folder: Path) -> Variable:
    values: list[tuple[str, str]] = []
    if column.codelist is not None and (folder / column.codelist).exists():
        for line in _text(folder / column.codelist).splitlines():
            code, _, label = line.partition(",")
            if label:
                values.append((code.strip(), label.strip()))
    kind = "text"
    if column.numeric:
        kind = "number" if column.decimals else "integer"
    missing = tuple((_code(code, column), "") for code in column.missing)
    coded = tuple((_code(code, column), label) for code, label in values)
    decimals = column.decimals if column.numeric else None
    return Variable(column.name, values=coded, missing=missing, kind=kind, decimals=decimals)


def _code(text: str, column: _Column) -> int | float | str:
    if not column.numeric:
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _values(texts: list[str], column: _Column) -> pd.Series:
    cells = pd.Series(texts, dtype=object, name=column.name).replace("", None)
    if not column.numeric:
        return cells
    is_missing_code = cells.isin(column.missing)
    numbers = pd.to_numeric(cells, errors="coerce")
    if (numbers.isna() & cells.notna() & ~is_missing_code).any():
        raise ValueError(f"column {column.name} is numeric and holds text")
    if column.decimals:
        implied = (
            cells.notna() & ~cells.astype(str).str.contains(".", regex=False) & ~is_missing_code
        )
        numbers = numbers.where(~implied, numbers / 10**column.decimals)
    return numbers.astype(np.float64)
