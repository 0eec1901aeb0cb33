"""Files of SPSS, Stata and SAS: codes, labels and missing codes (pyreadstat)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthpop.microdata.formats.size import check_table
from synthpop.microdata.frame.dictionary import (
    Code,
    Dictionary,
    Variable,
    dictionary_of,
    with_dictionary,
)
from synthpop.microdata.messages.budget import current_budget
from synthpop.microdata.messages.text import join

NEARLY_ALL = 0.95
"""Labels become levels where at least this share of the values that are there has one."""

UserMissing = Literal["missing", "level"]
KIND = "_missing"
"""What the name of a column of kinds of missing has behind that of its number."""
ONE_KIND = "kinds of missing as one"
"""Where a frame's ``attrs`` name the columns of which several kinds of missing became one."""

_FUNCTIONS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def read_labelled(path: Path, *, user_missing: UserMissing = "missing") -> pd.DataFrame:
    """Read a file with labels; the dictionary travels in ``frame.attrs["dictionary"]``.

    Labels become the levels of a category where nearly all values have one (95 %); elsewhere the
    values stay what they are, so that an income whose only label is its missing code stays an
    income. Missing codes become missing values, or, with ``user_missing="level"``, levels of
    labelled variables; a number with several kinds of missing gets a column of these behind it.
    """
    import pyreadstat

    suffix = path.suffix.lower()
    options: dict[str, Any] = {}
    if suffix in (".sav", ".zsav", ".dta"):
        options["user_missing"] = True
    catalog = path.with_suffix(".sas7bcat")
    if suffix == ".sas7bdat" and catalog.exists():
        options["catalog_file"] = str(catalog)
    read = getattr(pyreadstat, _FUNCTIONS[suffix])
    try:
        facts = read(str(path), metadataonly=True)[1]
        columns = len(facts.column_names)
        width = sum(max(8, int(n)) for n in (facts.variable_storage_width or {}).values())
        rows = max(facts.number_rows or 0, 0)
        check_table(path, rows, columns, width * rows)
        if not rows:  # the file does not tell: no more than may be
            most = current_budget()
            fitting = min(most.cells / max(columns, 1), most.memory / max(width, 8), 2**31 - 2)
            options["row_limit"] = int(fitting) + 1
        frame, meta = read(str(path), **options)
        if len(frame) == options.get("row_limit"):
            check_table(path, len(frame), columns, width * len(frame))
    except pyreadstat.ReadstatError as problem:
        raise ValueError(str(problem)) from None
    variables = [_variable(name, frame[name], meta) for name in frame.columns]
    dictionary = Dictionary(with_missing_code(frame[v.name], v) for v in variables)
    return decoded_columns(frame, dictionary, user_missing)


def decoded_columns(
    codes: pd.DataFrame, dictionary: Dictionary, user_missing: UserMissing
) -> pd.DataFrame:
    """Return a frame of codes as `decoded` returns each column, with its dictionary.

    A number with several kinds of missing gets a column of these behind it where they are levels;
    where several kinds become one, the attributes of the frame say of which columns.
    """
    columns: dict[str, pd.Series] = {}
    kinds: list[Variable] = []
    lost: list[str] = []
    for name in codes.columns:
        column, variable = codes[name], dictionary[name]
        columns[name] = decoded(column, variable, user_missing=user_missing)
        codes_of_kinds = kinds_of_missing(column, variable)
        if len(codes_of_kinds) < 2:
            continue
        if user_missing == "missing" or f"{name}{KIND}" in codes:
            lost.append(name)
        elif not isinstance(columns[name].dtype, pd.CategoricalDtype):
            kind = kind_variable(variable, codes_of_kinds)
            is_kind = column.map(variable.is_missing, na_action="ignore").eq(True)
            columns[kind.name] = decoded(column.where(is_kind), kind)
            kinds.append(kind)
    frame = pd.DataFrame(columns, index=codes.index)
    if lost:
        frame.attrs[ONE_KIND] = lost
        note = f"several kinds of missing answers as one in {join(map(repr, lost))}"
        frame.attrs["reading"] = [note]
    return with_dictionary(frame, dictionary.updated(Dictionary(kinds)))


def kinds_of_missing(column: pd.Series, variable: Variable) -> list[Code]:
    """Return the codes of a column that stand for a missing answer, in their order."""
    present = [plain_code(code) for code in column.dropna().unique()]
    return sorted((code for code in present if variable.is_missing(code)), key=str)


def kind_variable(variable: Variable, codes: Sequence[Code]) -> Variable:
    """Return the variable of the kinds of missing of a number."""
    labels = _labels(variable)
    pairs = distinct_labels({code: labels.get(code) or str(code) for code in codes})
    label = f"{variable.label or variable.name}: kind of missing answer"
    return Variable(f"{variable.name}{KIND}", label, pairs, measure="nominal", kind=variable.kind)


def _variable(name: str, column: pd.Series, meta: Any) -> Variable:
    labels = dict(meta.variable_value_labels.get(name, {}))
    codes = {code: plain_code(code) for code in labels}
    ranges = [
        (plain_code(r["lo"]), plain_code(r["hi"]))
        for r in (meta.missing_ranges or {}).get(name, [])
    ]
    letters = (getattr(meta, "missing_user_values", None) or {}).get(name, [])
    single = [low for low, high in ranges if low == high] + list(letters)
    text = {codes[code]: str(label) for code, label in labels.items()}
    measure = (meta.variable_measure or {}).get(name)
    kind, decimals = kind_of(column, str(meta.original_variable_types.get(name, "")))
    return Variable(
        name,
        label=str(meta.column_names_to_labels.get(name) or ""),
        values=distinct_labels(text),
        missing=tuple((code, text.get(code, "")) for code in single),
        missing_ranges=tuple(pair for pair in ranges if pair[0] != pair[1]),
        measure=measure if measure in ("nominal", "ordinal", "scale") else None,
        decimals=decimals,
        kind=kind,
    )


def plain_code(value: Any) -> Any:
    """Return 1.0 as 1: codes are whole numbers where they can be."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return int(value)
    return value.item() if isinstance(value, np.generic) else value


def distinct_labels(text: dict[Any, str]) -> tuple[tuple[Code, str], ...]:
    """Return labels under which codes can be told apart: equal ones get their code."""
    texts = list(text.values())
    return tuple(
        (code, f"{label} ({code})" if texts.count(label) > 1 else label)
        for code, label in text.items()
    )


def kind_of(column: pd.Series, print_format: str) -> tuple[str | None, int | None]:
    """Return the kind of a column's values and how many decimals its format prints."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "date", None
    values = column.dropna()
    if len(values) and all(hasattr(v, "isoformat") for v in values.head(20)):
        return ("time" if hasattr(values.iloc[0], "hour") else "date"), None
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return "text", None
    printed = re.search(r"\.(\d+)(?:[fg]c?)?$", print_format)
    if len(values) and bool(np.all(np.mod(values.to_numpy(dtype=float), 1) == 0)):
        return "integer", 0
    digits = int(printed[1]) if printed and not print_format.endswith("g") else None
    return "number", digits


def decoded(
    column: pd.Series, variable: Variable, *, user_missing: UserMissing = "missing"
) -> pd.Series:
    """Turn codes into labels where nearly all values have one, and missing codes into missing.

    user_missing: missing codes become missing values, or levels of a labelled variable
    Returns a category, whole numbers where all values are whole and there, or the column itself.
    """
    if variable.kind == "date" and column.dtype == object:
        return pd.to_datetime(column)
    codes = column.map(plain_code, na_action="ignore") if column.dtype == object else column
    missing = codes.notna() & codes.map(variable.is_missing, na_action="ignore").eq(True)
    labels = _labels(variable)
    substantive = codes[codes.notna() & ~missing]
    has_labels = bool(labels) and len(substantive) > 0
    if not has_labels or substantive.isin(list(labels)).mean() < NEARLY_ALL:
        return _plain(codes.mask(missing) if missing.any() else codes, variable)
    as_missing = user_missing == "missing"
    visible = codes.mask(missing) if as_missing else codes
    present = [plain_code(code) for code in pd.unique(visible.dropna())]
    absent = [code for code in labels if as_missing and variable.is_missing(code)]
    levels = {code: label for code, label in labels.items() if code not in absent}
    levels.update({code: str(code) for code in sorted(present, key=str) if code not in levels})
    numbered = visible.map({code: k for k, code in enumerate(levels)}, na_action="ignore")
    positions = numbered.astype(float).fillna(-1).astype(int)
    categories, ordered = pd.Index(list(levels.values())), variable.measure == "ordinal"
    values = pd.Categorical.from_codes(positions.to_numpy(), categories, ordered=ordered)
    return pd.Series(values, index=column.index, name=column.name)


def _plain(column: pd.Series, variable: Variable) -> pd.Series:
    """Return whole numbers as integers where none is missing; letters of Stata become missing."""
    if variable.kind in ("integer", "number") and column.dtype == object:
        column = pd.to_numeric(column, errors="coerce")
    is_whole = variable.kind == "integer" and pd.api.types.is_float_dtype(column.dtype)
    if is_whole and column.notna().all() and column.abs().max() < 2**53:
        return column.astype(np.int64)
    return column


def _labels(variable: Variable) -> dict[Code, str]:
    """Return the labels of all codes, those of missing answers too."""
    labels = dict(variable.values)
    texts = set(labels.values())
    for code, text in variable.missing:
        if text and code not in labels and text not in texts:
            labels[code] = text
    return labels


def with_missing_code(codes: pd.Series, variable: Variable) -> Variable:
    """Note the code of the missing values, where one code stands for all of them."""
    if codes.isna().any() or not (variable.missing or variable.missing_ranges):
        return variable
    values = [plain_code(code) for code in pd.unique(codes)]
    missing = [code for code in values if variable.is_missing(code)]
    return replace(variable, missing_code=missing[0]) if len(missing) == 1 else variable


def with_kinds_as_codes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which kinds of missing are codes of their numbers again.

    A missing number without a kind, as a suppressed one, stays without a code.
    """
    dictionary = dictionary_of(frame)
    for name in [str(name) for name in frame.columns]:
        kind = f"{name}{KIND}"
        codes = {label: code for code, label in dictionary[kind].values}
        known = [code for code in codes.values() if dictionary[name].is_missing(code)]
        if kind not in frame or not known or len(known) < len(codes):
            continue
        values = frame[name].astype(object).where(frame[name].notna(), None)
        values = values.where(frame[name].notna(), frame[kind].astype(object).map(codes))
        if not any(isinstance(code, str) for code in known):
            values = values.astype(float)
        frame = frame.assign(**{name: values}).drop(columns=kind)
    return frame


def encoded(column: pd.Series, variable: Variable) -> tuple[pd.Series, Variable]:
    """Turn labels back into the codes of the dictionary.

    Levels that the dictionary does not know get the next free whole numbers as codes; a category
    without any labels in the dictionary is numbered from 1 in the order of its levels.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        labels = list(_labels(variable).values())
        texts = labels and not pd.api.types.is_numeric_dtype(column.dtype)
        if not (texts and column.dropna().isin(labels).all()):
            return column, variable
        if column.dropna().isin(list(dict(variable.values))).all():  # codes that are text
            return column, variable
        column = column.astype(pd.CategoricalDtype(list(dict.fromkeys(labels))))
    levels = list(column.cat.categories)
    if not variable.values and pd.api.types.is_numeric_dtype(column.cat.categories.dtype):
        return pd.Series(column.astype(float).to_numpy(), name=column.name), variable
    code_of_label = {label: code for code, label in _labels(variable).items()}
    whole_codes = [code for code in code_of_label.values() if isinstance(code, int)]
    free = max(whole_codes, default=0) + 1
    for level in levels:
        label = str(level)
        if label not in code_of_label:
            code_of_label[label] = free
            free += 1
    codes = [code_of_label[str(level)] for level in levels]
    table = pd.Series(codes, index=levels)
    values: pd.Series = column.astype(object).map(table.to_dict(), na_action="ignore")
    numeric = all(not isinstance(code, str) for code in codes)
    if numeric:
        values = values.astype(float)
        if values.notna().all() and (values % 1 == 0).all():
            values = values.astype(np.int64)
    pairs = tuple((code, label) for label, code in code_of_label.items())
    values.name = column.name
    return values, replace(variable, values=pairs)


READERS: dict[str, Callable[..., pd.DataFrame]] = dict.fromkeys(_FUNCTIONS, read_labelled)
