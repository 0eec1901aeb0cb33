"""What is wrong with a delimited text, in one sentence with line and remedy."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop.microdata.messages.text import count, join, plural

LINES_READ = 2_000
SIGNS = ",;\t|"  # between cells
ARCHIVE = b"PK\x03\x04"
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
FEWEST_ROWS = 3


class BrokenTextError(ValueError):
    """A fault of a text file, with its remedy."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def check_bytes(path: Path, start: bytes) -> None:
    """Refuse an archive and a file with nothing in it.

    Raises BrokenTextError.
    """
    if start.startswith(ARCHIVE):
        hint = "Unpack it first; name it .xlsx where it is a workbook."
        raise BrokenTextError("it is a ZIP archive or a workbook, no text", hint)
    if not start.strip():
        raise BrokenTextError("it is empty", "Give a file with a line of names and rows.")


def check_header(lines: Sequence[str], separator: str) -> list[str]:
    """Refuse names given twice and a first line of values; return notes on names and cells.

    Raises BrokenTextError.
    """
    rows = list(islice(csv.reader(lines, delimiter=separator), LINES_READ))
    header = [name.strip() for name in rows[0]] if rows else []
    if lines and lines[0].lower().startswith("sep="):
        raise BrokenTextError("line 1 names a separator, no columns", "Delete line 1.")
    n_cells = [len([cell for cell in row if cell]) for row in rows]
    others = [(line, n) for line, n in zip(lines[1:], n_cells[1:], strict=False) if line.strip()]
    of_another = [n < n_cells[0] and any(sign in line for sign in SIGNS) for line, n in others]
    if separator == " " and of_another and all(of_another):
        what = f"line 1 ({lines[0]!r}) is a title, no line of names"
        raise BrokenTextError(what, "Delete the lines before that of the names.")
    twice = [name for name, n in Counter(filter(None, header)).items() if n > 1]
    if twice:
        what = f"line 1 has the name {join(map(repr, twice))} more than once"
        raise BrokenTextError(what, "Give each column a name of its own.")
    numbers = [name for name in header if NUMBER.fullmatch(name)]
    in_order = all(n.isdigit() for n in numbers) and list(np.diff([*map(int, numbers)])) == [1] * (
        len(numbers) - 1
    )
    if numbers and not in_order and 2 * len(numbers) >= len(header):
        what = f"line 1 holds values ({', '.join(header[:4])}), no names"
        raise BrokenTextError(what, "Put a line with the names of the columns before it.")
    notes = []
    if "" in header:
        places = [str(k + 1) for k, name in enumerate(header) if not name]
        notes.append(f"names made up for the columns without one: {join(places)}")
    if len(header) == 1:
        notes.append("one column only: set the separator if there are more")
    return notes


def check_first_record(frame: pd.DataFrame) -> None:
    """Refuse names that are values of their own columns: those of a file without a line of names.

    Raises BrokenTextError.
    """
    names = [str(name).strip() for name in frame.columns]
    numbers = [NUMBER.fullmatch(name) is not None for name in names]
    own = [bool((frame.iloc[:LINES_READ, k] == name).any()) for k, name in enumerate(names)]
    n_texts = sum(found and not is_number for found, is_number in zip(own, numbers, strict=True))
    if n_texts and any(numbers) and 2 * (n_texts + sum(numbers)) > len(names):
        what = f"line 1 holds values ({', '.join(names[:4])}), no names"
        raise BrokenTextError(what, "Put a line with the names of the columns before it.")


def check_cells(lines: Sequence[str], separator: str) -> list[str]:
    """Return a note where rows have fewer cells than the first line has names."""
    rows = list(islice(csv.reader(lines, delimiter=separator), LINES_READ))
    short = [k + 1 for k, row in enumerate(rows) if row and len(row) < len(rows[0])]
    if not short or separator == " ":
        return []
    return [f"empty cells at the end of {plural(len(short), 'shorter row')}, the first in line "
            f"{count(short[0])}"]  # fmt: skip


def check_second_header(frame: pd.DataFrame) -> None:
    """Refuse a second line that names columns whose other cells are numbers.

    Raises BrokenTextError.
    """
    if len(frame) <= FEWEST_ROWS:
        return
    first, rest = frame.iloc[0], frame.iloc[1:LINES_READ]
    if any(isinstance(cell, str) and NUMBER.fullmatch(cell.strip()) for cell in first):
        return
    for name in frame.columns:
        cells = rest[name].dropna().str.strip()
        is_number = len(cells) >= FEWEST_ROWS and cells.str.fullmatch(NUMBER.pattern).all()
        if is_number and isinstance(first[name], str) and len(cells.unique()) > 1:
            what = f"line 2 looks like a second line of names: {first[name]!r} in column {name!r}"
            hint = f"Delete the line, or declare {first[name]!r} as a missing code."
            raise BrokenTextError(what, hint)


def check_encoding(path: Path) -> None:
    """Refuse a text of which some lines are UTF-8 and others are not.

    Raises BrokenTextError.
    """
    utf8 = other = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.isascii():
                continue
            try:
                line.decode("utf-8")
                utf8 = utf8 or number
            except UnicodeDecodeError:
                other = other or number
            if utf8 and other:
                what = f"line {utf8} is UTF-8 and line {other} is not"
                raise BrokenTextError(what, "Save the file again in one encoding.")


def ragged(problem: Exception) -> BrokenTextError:
    """Return the fault of a text that cannot be taken apart into columns."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(problem))
    if found is None:
        hint = "Look for a quotation mark that is not closed."
        return BrokenTextError("it cannot be taken apart into columns", hint)
    expected, line, saw = found.groups()
    what = f"line {line} has {saw} cells, the first line {expected} names"
    hint = f"Repair line {line}: put a text with the separator into quotation marks."
    return BrokenTextError(what, hint)
