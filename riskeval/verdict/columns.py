"""What single columns give away, whatever role they have: names, contacts, texts, dates."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from riskeval.verdict.verdict import UNKNOWN, Finding
from synthpop.microdata.frame.dictionary import dictionary_of
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number, percent
from synthpop.microdata.reading.lexicon import concept_of
from synthpop.microdata.reading.missing_codes import CODES, suspected_missing_codes

FEW_VALUES = 30
MOST_READ = 2_000
"""Values of a column of text that are read."""
MOSTLY = 0.5
WORDS = 4
"""Words of a value, on average, from which on a column is free text."""
CONTENTS = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}", re.IGNORECASE),
    "telephone numbers": re.compile(r"(\+|0|\()(?=[^a-z]*[\s/()-]|\d)[\d\s()/.-]{6,}"),
    "bank accounts": re.compile(r"[A-Z]{2}\d{2}[A-Z0-9 ]{11,30}"),
}
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}.*|\d{1,2}[./]\d{1,2}[./]\d{4}")
YEARS_OF_BIRTHS = 15
"""Years that dates span from which on they are taken for dates of birth."""


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns whose values can be compared: no lists, and one column a name.

    Examples
    --------
    >>> readable(pd.DataFrame({"age": [30], "notes": [["a", "b"]]})).columns.tolist()
    ['age']
    """
    frame = frame.loc[:, ~frame.columns.duplicated(keep=False)]
    return frame[[name for name in frame if _comparable(frame[name])]]


def _comparable(column: pd.Series) -> bool:
    try:
        column.nunique()
    except TypeError:
        return False
    return True


def column_evidence(frame: pd.DataFrame, keys: Sequence[str]) -> list[Finding]:
    """Return what single columns give away: direct identifiers, free text, dates of birth."""
    labels = dictionary_of(frame)
    found = []
    for name in frame:
        column = frame[name].dropna()
        if len(column):
            found += _of_column(str(name), column, labels[str(name)].label, name in keys)
    return found


def _of_column(name: str, column: pd.Series, label: str, is_key: bool) -> list[Finding]:
    distinct = int(column.nunique())
    share = distinct / len(column)
    match = concept_of(name, label)
    concept = "" if match is None else match[0].name
    text = "" if is_number(column) or pd.api.types.is_datetime64_any_dtype(column) else "text"
    values = column.astype(str).iloc[:MOST_READ] if text else pd.Series(dtype=str)
    is_date = not text and pd.api.types.is_datetime64_any_dtype(column)
    if text and distinct > 1:
        is_date = _share_of(DATE, values) > 1 - MOSTLY / 5
    if is_date:
        return _dates(name, column, concept, distinct)
    if distinct <= min(FEW_VALUES, len(column) / 2) or is_key:
        return []
    for what, pattern in CONTENTS.items():
        if text and _share_of(pattern, values) > MOSTLY:
            return [
                _identifier(name, message("column {name} holds " + what, name=name), len(column))
            ]
    if (
        match is not None
        and match[0].role == "identifier"
        and share > (MOSTLY if not text else 0.2)
    ):
        return [_identifier(name, message("column {name} names persons directly", name=name),
                            len(column))]  # fmt: skip
    if text and share > MOSTLY and float(values.str.count(r"\S+").mean()) >= WORDS:
        what = message("column {name} is free text, which may name anybody", name=name)
        return [Finding("free text", what, records=len(column), columns=(name,))]
    return []


def _share_of(pattern: re.Pattern[str], values: pd.Series) -> float:
    return float(values.str.strip().str.fullmatch(pattern).mean()) if len(values) else 0.0


def _identifier(name: str, text: str, n: int) -> Finding:
    return Finding("direct identifier", text, records=n, columns=(name,))


def _dates(name: str, column: pd.Series, concept: str, distinct: int) -> list[Finding]:
    dates = pd.to_datetime(column, errors="coerce", format="mixed", dayfirst=True).dropna()
    by_day = len(dates) and not (dates.dt.day == 1).all()
    years = int(np.ptp(dates.dt.year.to_numpy())) if len(dates) else 0
    births = concept == "date of birth" or years >= YEARS_OF_BIRTHS
    if not births or not by_day or distinct <= FEW_VALUES:
        return []
    text = message("column {name} holds dates of birth", name=name)
    return [Finding(message("date of birth"), text, records=len(column), columns=(name,))]


def missing_code_evidence(frame: pd.DataFrame, keys: Collection[str]) -> list[Finding]:
    """Return keys of which most values are a usual code for missing: their counts say nothing."""
    found = []
    for name in keys:
        values = pd.to_numeric(frame[name].astype(object), errors="coerce")
        numbers = as_numbers(values.astype(float))
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers) or len(numbers) < MOSTLY * len(frame):
            continue
        codes = suspected_missing_codes(numbers) or [
            code for code in CODES if (numbers == code).all()
        ]
        share = float(np.isin(numbers, codes).mean())
        if share > MOSTLY:
            text = message(
                "{share} of the values of {name} are {code}, a usual code for missing",
                share=percent(share, 0), name=name, code=number(codes[0]),
            )  # fmt: skip
            found.append(Finding("code for missing", text, UNKNOWN, share, columns=(str(name),)))
    return found
