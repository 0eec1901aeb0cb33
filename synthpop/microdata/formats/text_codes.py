"""Texts among numbers that stand for a kind of missing answer: "N", "refused"."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from synthpop.microdata.formats.labelled import KIND, ONE_KIND, UserMissing, kind_variable
from synthpop.microdata.frame.dictionary import (
    Dictionary,
    Variable,
    dictionary_of,
    with_dictionary,
)
from synthpop.microdata.messages.text import join

FEWEST_NUMBERS, MOST_CODES = 30, 6  # distinct numbers; texts beside them


def text_codes(cells: pd.Series) -> list[str]:
    """Return the few texts without a digit that stand among many distinct numbers."""
    levels = cells.dropna().unique()
    texts = sorted(cell for cell in levels if isinstance(cell, str) and not re.search(r"\d", cell))
    few = len(texts) <= MOST_CODES < FEWEST_NUMBERS < len(levels) - len(texts)
    return texts if few else []


def with_text_codes(
    frame: pd.DataFrame, coded: Mapping[str, pd.Series], user_missing: UserMissing
) -> tuple[pd.DataFrame, list[str]]:
    """Note the codes of columns of numbers in the dictionary; return what is to be said too.

    coded: of such columns, the cells with a code, missing elsewhere
    user_missing: where there are several kinds of missing, an empty cell among them, they become
        one, or a column of these stands behind the number
    """
    columns: dict[str, pd.Series] = {}
    variables: list[Variable] = []
    lost: list[str] = []
    by_codes: dict[str, list[str]] = {}
    for name in frame.columns:
        columns[name] = frame[name]
        if name not in coded:
            continue
        codes = sorted(coded[name].dropna().unique())
        whole = pd.api.types.is_integer_dtype(frame[name].dtype)
        is_empty = bool((frame[name].isna() & coded[name].isna()).any())
        variable = Variable(
            str(name), missing=tuple((code, "") for code in codes),
            missing_code=codes[0] if len(codes) == 1 and not is_empty else None,
            kind="integer" if whole else "number",
        )  # fmt: skip
        variables.append(variable)
        by_codes.setdefault(join(map(repr, codes)), []).append(repr(name))
        if variable.missing_code is not None:
            continue
        if user_missing == "missing" or f"{name}{KIND}" in frame:
            lost.append(str(name))
        else:
            kind = kind_variable(variable, codes)
            variables.append(kind)
            columns[kind.name] = coded[name].astype(pd.CategoricalDtype(codes))
    read = pd.DataFrame(columns, index=frame.index)
    read.attrs = dict(frame.attrs) | ({ONE_KIND: lost} if lost else {})
    notes = [f"{codes} as missing in {join(names)}" for codes, names in by_codes.items()]
    return with_dictionary(read, dictionary_of(frame).updated(Dictionary(variables))), notes


def mixed_numbers(frame: pd.DataFrame, user_missing: UserMissing) -> pd.DataFrame:
    """Return a sheet whose columns of numbers with codes among them are numbers."""
    coded: dict[str, pd.Series] = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype != object or not (codes := text_codes(column)):
            continue
        is_code = column.isin(codes)
        if column[~is_code].dropna().map(lambda cell: isinstance(cell, int | float)).all():
            coded[name] = column.where(is_code)
    if not coded:
        return frame
    numbers = {name: pd.to_numeric(frame[name].mask(cells.notna())).convert_dtypes()
               for name, cells in coded.items()}  # fmt: skip
    read, notes = with_text_codes(frame.assign(**numbers), coded, user_missing)
    read.attrs["reading"] = notes
    return read
