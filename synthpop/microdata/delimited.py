"""Reading delimited text: cells are text, and become numbers only where nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

SNIFFED = 65536
SEPARATORS = ",;\t|"
NO_NUMBER = ("NA", "NaN", "nan")
EXACT = 2**53
WHOLE = r"[+-]?(?:0|[1-9][0-9]*)"
EXPONENT = r"(?:[eE][+-][0-9]+)?"


def read_delimited(path: Path) -> pd.DataFrame:
    r"""Read delimited text with a header.

    Separators are comma, semicolon, tab, bar or blanks; the text is UTF-8 (with or without a mark
    at its start), UTF-16 with a mark, or else Latin-1. An empty cell is missing. A column becomes
    numbers where every other cell is a number and no two cells that differ would become equal:
    ``01`` and ``1`` stay text, and so do whole numbers of more digits than a number can hold. In
    such a column, and nowhere else, ``NA`` and ``NaN`` are missing too.

    Raises
    ------
    ValueError
        The text cannot be taken apart into columns.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "s.csv"
    >>> _ = file.write_text("id;region;w\n01;NA;1,5\n1;AT;2\n")
    >>> read_delimited(file).to_dict("list")
    {'id': ['01', '1'], 'region': ['NA', 'AT'], 'w': [1.5, 2.0]}
    """
    with path.open("rb") as stream:
        start = stream.read(SNIFFED)
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = start.decode(encoding, errors="replace").splitlines()
    separator = _separator(lines[0] if lines else "")
    try:
        frame = _read_text(path, separator, encoding)
    except UnicodeDecodeError:
        frame = _read_text(path, separator, "latin-1")
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError("rows have more cells than the first line has names")
    return with_numbers(frame, separator != ",")


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


def with_numbers(frame: pd.DataFrame, may_have_commas: bool) -> pd.DataFrame:
    """Turn columns of text into numbers where nothing is lost.

    A decimal comma counts where the file has no column with a decimal point; where it has both,
    both stay text, since the points may stand between thousands.
    """
    found: dict[int, pd.Series] = {}
    points: list[int] = []
    commas: list[int] = []
    for j in range(frame.shape[1]):
        codes, levels = pd.factorize(frame.iloc[:, j])
        texts = pd.Series(levels, dtype=str).str.strip()
        if len(texts) == 0:
            found[j] = _spread(np.zeros(1), codes, frame.columns[j])
            continue
        for mark in ".," if may_have_commas else ".":
            values = _numbers(texts, mark)
            if values is not None and not _loses(values, codes):
                found[j] = _spread(values, codes, frame.columns[j])
                if texts.str.contains(mark, regex=False).any():
                    (points if mark == "." else commas).append(j)
                break
    if points and commas:
        found = {j: column for j, column in found.items() if j not in (*points, *commas)}
    columns = [found.get(j, frame.iloc[:, j]) for j in range(frame.shape[1])]
    return pd.concat(columns, axis=1) if columns else frame


def _numbers(texts: pd.Series, mark: str) -> np.ndarray | None:
    """Return distinct texts as numbers, or None where one is no number or two would be equal."""
    absent = texts.isin(NO_NUMBER).to_numpy()
    there = texts[~absent]
    if len(there) == 0:
        return None
    if there.str.fullmatch(WHOLE).all():
        try:
            whole = there.to_numpy(dtype=object).astype(np.int64)
        except OverflowError:
            return None
        return whole if not absent.any() else _between(whole, absent)
    sign = r"\." if mark == "." else ","
    fraction = rf"{WHOLE}(?:{sign}[0-9]*)?{EXPONENT}|[+-]?{sign}[0-9]+{EXPONENT}"
    if not there.str.fullmatch(fraction).all() or _trailing_zeros_matter(there, mark):
        return None
    values = there.str.replace(mark, ".", regex=False).to_numpy(dtype=object).astype(np.float64)
    return _between(values, absent) if np.isfinite(values).all() else None


def _trailing_zeros_matter(texts: pd.Series, mark: str) -> bool:
    """Whether codes like 10.1 and 10.10 are among the texts."""
    parts = texts[texts.str.contains(mark, regex=False)].drop_duplicates()
    return parts.str.rstrip("0").nunique() < len(parts)


def _between(values: np.ndarray, absent: np.ndarray) -> np.ndarray | None:
    """Return the values with NaN where they are absent; None where a number would be rounded."""
    if absent.any() and _inexact(values):
        return None
    out = np.full(len(absent), np.nan)
    out[~absent] = values
    return out


def _inexact(values: np.ndarray) -> bool:
    if values.dtype.kind == "f":
        return False
    return int(values.max(initial=0)) > EXACT or int(values.min(initial=0)) < -EXACT


def _loses(values: np.ndarray, codes: np.ndarray) -> bool:
    """Whether missing cells make numbers of whole numbers that these cannot hold."""
    return bool((codes < 0).any()) and _inexact(values)


def _spread(values: np.ndarray, codes: np.ndarray, name: object) -> pd.Series:
    """Return the number of each row; NaN where its cell is empty."""
    missing = codes < 0
    if not missing.any():
        return pd.Series(values[codes], name=name)
    return pd.Series(np.where(missing, np.nan, values[codes]), name=name)
