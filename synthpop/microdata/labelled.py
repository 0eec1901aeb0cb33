"""Files of SPSS, Stata and SAS: codes, labels and missing codes in both directions (pyreadstat)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthpop.microdata.dictionary import Code, Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.errors import OutputError
from synthpop.microdata.text import join, plural

NEARLY_ALL = 0.95
"""Labels become levels where at least this share of the values that are there has one."""

UserMissing = Literal["missing", "level"]

_FUNCTIONS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_STATA_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


def read_labelled(path: Path, *, user_missing: UserMissing = "missing") -> pd.DataFrame:
    """Read a file with labels; the dictionary travels in ``frame.attrs["dictionary"]``.

    Labels become the levels of a category where nearly all values have one (95 %); elsewhere the
    values stay what they are, so that an income whose only label is its missing code stays an
    income. Missing codes become missing values, or, with ``user_missing="level"``, levels of
    labelled variables.
    """
    import pyreadstat

    suffix = path.suffix.lower()
    options: dict[str, Any] = {}
    if suffix in (".sav", ".zsav", ".dta"):
        options["user_missing"] = True
    catalog = path.with_suffix(".sas7bcat")
    if suffix == ".sas7bdat" and catalog.exists():
        options["catalog_file"] = str(catalog)
    try:
        frame, meta = getattr(pyreadstat, _FUNCTIONS[suffix])(str(path), **options)
    except pyreadstat.ReadstatError as problem:
        raise ValueError(str(problem)) from None
    dictionary = Dictionary(_variable(name, frame[name], meta) for name in frame.columns)
    columns = {
        name: decoded(frame[name], dictionary[name], user_missing=user_missing)
        for name in frame.columns
    }
    decoded_frame = pd.DataFrame(columns, index=frame.index)
    decoded_frame.attrs["labels"] = {v.name: v.label or None for v in dictionary.variables.values()}
    return with_dictionary(decoded_frame, dictionary)


def _variable(name: str, column: pd.Series, meta: Any) -> Variable:
    labels = dict(meta.variable_value_labels.get(name, {}))
    codes = {code: _whole(code) for code in labels}
    ranges = [(_whole(r["lo"]), _whole(r["hi"])) for r in (meta.missing_ranges or {}).get(name, [])]
    letters = (getattr(meta, "missing_user_values", None) or {}).get(name, [])
    single = [low for low, high in ranges if low == high] + list(letters)
    text = {codes[code]: str(label) for code, label in labels.items()}
    measure = (meta.variable_measure or {}).get(name)
    kind, decimals = _kind(column, str(meta.original_variable_types.get(name, "")))
    return Variable(
        name,
        label=str(meta.column_names_to_labels.get(name) or ""),
        values=_distinct_labels(text),
        missing=tuple((code, text.get(code, "")) for code in single),
        missing_ranges=tuple(pair for pair in ranges if pair[0] != pair[1]),
        measure=measure if measure in ("nominal", "ordinal", "scale") else None,
        decimals=decimals,
        kind=kind,
    )


def _whole(value: Any) -> Any:
    """Return 1.0 as 1: codes are whole numbers where they can be."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return int(value)
    return value.item() if isinstance(value, np.generic) else value


def _distinct_labels(text: dict[Any, str]) -> tuple[tuple[Code, str], ...]:
    """Return labels under which codes can be told apart: equal ones get their code."""
    seen = list(text.values())
    return tuple(
        (code, f"{label} ({code})" if seen.count(label) > 1 else label)
        for code, label in text.items()
    )


def _kind(column: pd.Series, print_format: str) -> tuple[str | None, int | None]:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "date", None
    values = column.dropna()
    if len(values) and all(hasattr(v, "isoformat") for v in values.head(20)):
        return ("time" if hasattr(values.iloc[0], "hour") else "date"), None
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return "text", None
    printed = re.search(r"\.(\d+)(?:[fg]c?)?$", print_format)
    whole = bool(np.all(np.mod(values.to_numpy(dtype=float), 1) == 0)) if len(values) else False
    if whole:
        return "integer", 0
    digits = int(printed[1]) if printed and not print_format.endswith("g") else None
    return "number", digits


def decoded(
    column: pd.Series, variable: Variable, *, user_missing: UserMissing = "missing"
) -> pd.Series:
    """Turn codes into labels where nearly all values have one, and missing codes into missing.

    Parameters
    ----------
    column : Series of codes
    variable : Variable
        What the codes mean.
    user_missing : {"missing", "level"}
        Missing codes become missing values, or levels of a labelled variable.

    Returns
    -------
    Series
        A category, whole numbers where all values are whole and there, or the column itself.

    Examples
    --------
    >>> sex = Variable("sex", values=((1, "male"), (2, "female")), missing=((-9, ""),))
    >>> decoded(pd.Series([1.0, 2.0, -9.0], name="sex"), sex).tolist()
    ['male', 'female', nan]
    >>> income = Variable("income", values=((-9, "no answer"),), missing=((-9, "no answer"),))
    >>> decoded(pd.Series([-9.0, 812.5], name="income"), income).tolist()
    [nan, 812.5]
    """
    codes = column.map(_whole, na_action="ignore") if column.dtype == object else column
    missing = codes.notna() & codes.map(variable.is_missing, na_action="ignore").eq(True)
    labels = dict(variable.values)
    substantive = codes[codes.notna() & ~missing]
    has_labels = bool(labels) and len(substantive) > 0
    if not has_labels or substantive.isin(list(labels)).mean() < NEARLY_ALL:
        return _plain(codes.mask(missing) if missing.any() else codes, variable)
    as_missing = user_missing == "missing"
    visible = codes.mask(missing) if as_missing else codes
    present = [_whole(code) for code in pd.unique(visible.dropna())]
    levels = {
        code: label
        for code, label in labels.items()
        if not (as_missing and variable.is_missing(code))
    }
    levels.update({code: str(code) for code in sorted(present, key=str) if code not in levels})
    numbered = visible.map({code: k for k, code in enumerate(levels)}, na_action="ignore")
    positions = numbered.astype(float).fillna(-1).astype(int)
    ordered = variable.measure == "ordinal"
    return pd.Series(
        pd.Categorical.from_codes(
            positions.to_numpy(), pd.Index(list(levels.values())), ordered=ordered
        ),
        index=column.index,
        name=column.name,
    )


def _plain(column: pd.Series, variable: Variable) -> pd.Series:
    """Return whole numbers as integers where none is missing; letters of Stata become missing."""
    if variable.kind in ("integer", "number") and column.dtype == object:
        column = pd.to_numeric(column, errors="coerce")
    whole = variable.kind == "integer" and pd.api.types.is_float_dtype(column.dtype)
    if whole and column.notna().all() and column.abs().max() < 2**53:
        return column.astype(np.int64)
    return column


def encoded(column: pd.Series, variable: Variable) -> tuple[pd.Series, Variable]:
    """Turn labels back into the codes of the dictionary.

    Levels that the dictionary does not know get the next free whole numbers as codes; a category
    without any labels in the dictionary is numbered from 1 in the order of its levels.

    Examples
    --------
    >>> sex = Variable("sex", values=((1, "male"), (2, "female")))
    >>> codes, _ = encoded(pd.Series(["female", None, "male"], dtype="category", name="sex"), sex)
    >>> codes.tolist()
    [2.0, nan, 1.0]
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column, variable
    levels = list(column.cat.categories)
    if not variable.values and pd.api.types.is_numeric_dtype(column.cat.categories.dtype):
        return pd.Series(column.astype(float).to_numpy(), name=column.name), variable
    known = {label: code for code, label in variable.values}
    whole = [code for code in known.values() if isinstance(code, int)]
    free = max(whole, default=0) + 1
    for level in levels:
        label = str(level)
        if label not in known:
            known[label] = free
            free += 1
    codes = [known[str(level)] for level in levels]
    table = pd.Series(codes, index=levels)
    values: pd.Series = column.astype(object).map(table.to_dict(), na_action="ignore")
    numeric = all(not isinstance(code, str) for code in codes)
    if numeric:
        values = values.astype(float)
        if values.notna().all() and (values % 1 == 0).all():
            values = values.astype(np.int64)
    pairs = tuple((code, label) for label, code in known.items())
    values.name = column.name
    return values, replace(variable, values=pairs)


def write_labelled(frame: pd.DataFrame, path: Path, target: Path) -> None:
    """Write ``.sav``, ``.zsav``, ``.dta`` or ``.xpt`` with the labels of the frame's dictionary.

    Raises
    ------
    OutputError
        Lists all that such a file cannot hold; nothing is written then.
    """
    import pyreadstat

    suffix = target.suffix.lower()
    dictionary = dictionary_of(frame)
    columns: dict[str, pd.Series] = {}
    variables: dict[str, Variable] = {}
    for name in frame.columns:
        column, variable = encoded(frame[name], dictionary[str(name)])
        columns[str(name)] = _storable(column)
        variables[str(name)] = variable
    _check_names(columns, suffix, target)
    table = pd.DataFrame(columns)
    labels = {name: v.label for name, v in variables.items() if v.label}
    values = {
        name: {code: text for code, text in v.values if not isinstance(code, str)}
        for name, v in variables.items()
        if v.values and pd.api.types.is_numeric_dtype(table[name].dtype)
    }
    values = {name: pairs for name, pairs in values.items() if pairs}
    try:
        if suffix == ".xpt":
            pyreadstat.write_xport(table, str(path), column_labels=labels or None)
        elif suffix == ".dta":
            pyreadstat.write_dta(
                table, str(path), column_labels=labels or None, variable_value_labels=values or None
            )
        else:
            pyreadstat.write_sav(
                table,
                str(path),
                column_labels=labels or None,
                variable_value_labels=values or None,
                missing_ranges=_missing_ranges(variables, table) or None,
                variable_measure={n: v.measure for n, v in variables.items() if v.measure} or None,
                variable_format=_formats(variables, table) or None,
                compress=suffix == ".zsav",
            )
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, TypeError) as problem:
        raise OutputError(f"cannot write {target}: {problem}") from None


def _storable(column: pd.Series) -> pd.Series:
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(float)
    if pd.api.types.is_extension_array_dtype(dtype) and pd.api.types.is_numeric_dtype(dtype):
        whole = pd.api.types.is_integer_dtype(dtype) and column.notna().all()
        return column.astype(np.int64 if whole else float)
    if pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype):
        return column.astype(object).where(column.notna(), None)
    if isinstance(dtype, np.dtype) and dtype.kind == "u":
        return column.astype(np.int64)
    return column


def _missing_ranges(variables: dict[str, Variable], table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return missing codes as SPSS has them: three codes, or one range and one code."""
    ranges: dict[str, list[Any]] = {}
    for name, v in variables.items():
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            continue
        codes = [code for code, _ in v.missing if not isinstance(code, str)]
        entries: list[Any] = [{"lo": low, "hi": high} for low, high in v.missing_ranges]
        entries = [*entries[:1], *codes[: 1 if entries else 3]]
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


_RULES: dict[str, tuple[int, str, str]] = {
    ".sav": (64, r"[^\W\d_][\w.@#$]*", "begins with a letter and has no blanks"),
    ".zsav": (64, r"[^\W\d_][\w.@#$]*", "begins with a letter and has no blanks"),
    ".dta": (32, r"[^\W\d]\w*", "has letters, digits and _ only and begins with no digit"),
    ".xpt": (32, r"[A-Za-z_][A-Za-z0-9_]*", "has ASCII letters, digits and _ only"),
}


def _check_names(columns: dict[str, pd.Series], suffix: str, path: Path) -> None:
    """Name everything that the format cannot hold before a file is begun."""
    longest, pattern, rule = _RULES[suffix]
    problems: list[str] = []
    long = [name for name in columns if len(name.encode()) > longest]
    strange = [name for name in columns if not re.fullmatch(pattern, name)]
    lowered = [name.lower() for name in columns]
    same = [name for name in columns if lowered.count(name.lower()) > 1]
    if long:
        problems.append(f"{_names(long)}: names have at most {longest} bytes")
    if strange:
        problems.append(f"{_names(strange)}: a name {rule}")
    if same and suffix != ".dta":
        problems.append(f"{_names(same)}: names must differ in more than capital letters")
    other = [
        name
        for name, column in columns.items()
        if not (
            pd.api.types.is_numeric_dtype(column.dtype)
            or pd.api.types.is_datetime64_any_dtype(column.dtype)
            or _is_text(column)
        )
    ]
    if other:
        problems.append(f"{_names(other)}: values are neither numbers, dates nor text")
    if suffix == ".xpt":
        wide = [
            name
            for name, column in columns.items()
            if _is_text(column) and column.dropna().map(lambda text: len(text.encode())).max() > 200
        ]
        if wide:
            problems.append(f"{_names(wide)}: texts have at most 200 bytes")
    if problems:
        count = plural(len(problems), "problem")
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise OutputError(f"{path} cannot hold the data: {count}{lines}\nNothing was written.")


def _is_text(column: pd.Series) -> bool:
    values = column.dropna()
    return bool(values.map(lambda value: isinstance(value, str)).all())


def _names(names: Iterable[str]) -> str:
    shown = [repr(name) for name in names]
    more = [] if len(shown) <= 5 else [f"{len(shown) - 5} more"]
    return join([*shown[:5], *more])


READERS: dict[str, Callable[..., pd.DataFrame]] = dict.fromkeys(_FUNCTIONS, read_labelled)
WRITERS: dict[str, Callable[[pd.DataFrame, Path, Path], None]] = dict.fromkeys(
    _RULES, write_labelled
)
