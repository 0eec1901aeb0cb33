"""What a file format cannot hold of a frame, said before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from synthpop.microdata.formats.labelled import with_kinds_as_codes
from synthpop.microdata.formats.labelled_write import (
    LABEL_BYTES,
    SPSS,
    VALUE_LABEL_BYTES,
    Coded,
    coded_columns,
    names_text,
)
from synthpop.microdata.formats.legal_names import legal_names
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of
from synthpop.microdata.messages.text import join

LABELLED = (*SPSS, ".dta", ".xpt")


def losses(frame: pd.DataFrame, path: Path | str) -> list[str]:
    """Return what is lost when a frame is written to a file, one sentence each."""
    suffix = Path(path).suffix.lower()
    dictionary = dictionary_of(frame).only(map(str, frame.columns))
    if suffix in LABELLED:
        frame = frame if suffix == ".xpt" else with_kinds_as_codes(frame)
        made = legal_names(map(str, frame.columns), suffix)
        names = [f"{old!r} (written as {new})" for old, new in made.items()]
        told = [f"the names {join(names)}"] if names else []
        return told + _losses_of_labelled(coded_columns(frame, suffix), dictionary, suffix)
    if suffix in (".csv", ".tsv", ".xlsx", ".rds"):
        return _losses_of_plain(frame, dictionary, suffix)
    return []


def _named(dictionary: Dictionary, has: Callable[[Variable], object]) -> list[str]:
    return [v.name for v in dictionary.variables.values() if has(v)]


def _sentences(pairs: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    return [f"{what}: {names_text(names)}" for what, names in pairs if names]


def _losses_of_plain(frame: pd.DataFrame, dictionary: Dictionary, suffix: str) -> list[str]:
    labels = [] if suffix == ".rds" else _named(dictionary, lambda v: v.label)
    # codes that are more than places of the labels (1, 2, ...), which R numbers itself
    codes = _named(dictionary, lambda v: v.values and v.kind != "text")
    pairs = [
        ("labels of variables", labels),
        ("codes of categories (their labels are written)", codes),
        ("missing codes", _named(dictionary, lambda v: v.missing or v.missing_ranges)),
        ("units", _named(dictionary, lambda v: v.unit)),
    ]
    if suffix in (".csv", ".tsv"):
        ordered = [
            str(name)
            for name in frame.columns
            if isinstance(frame[name].dtype, pd.CategoricalDtype) and frame[name].cat.ordered
        ]
        pairs.append(("the order of categories", ordered))
    sentences = _sentences(pairs)
    if suffix == ".xlsx" and len(frame) and bool(frame.iloc[-1].isna().all()):
        sentences.append("rows at the end in which every cell is missing")
    return sentences


def _losses_of_labelled(
    columns: dict[str, Coded], dictionary: Dictionary, suffix: str
) -> list[str]:
    pairs: list[tuple[str, Sequence[str]]] = []
    variables = {name: item.variable for name, item in columns.items()}
    long_labels = [n for n, v in variables.items() if len(v.label.encode()) > LABEL_BYTES[suffix]]
    pairs.append((f"labels beyond {LABEL_BYTES[suffix]} bytes are cut", long_labels))
    if suffix == ".xpt":
        pairs.append(("labels of codes", [n for n, v in variables.items() if v.values]))
        missing = _named(dictionary, lambda v: v.missing or v.missing_ranges)
        pairs.append(("missing codes (missing values have none)", missing))
    else:
        most = VALUE_LABEL_BYTES[suffix]
        wide = [n for n, v in variables.items() if any(len(t.encode()) > most for _, t in v.values)]
        pairs.append((f"labels of codes beyond {most} bytes are cut", wide))
    if suffix == ".dta":
        numbers = [
            name
            for name, v in dictionary.variables.items()
            if v.missing_ranges or any(not isinstance(code, str) for code, _ in v.missing)
        ]
        what = "missing codes become the letters .a to .z, which keep their labels"
        pairs.append((what, numbers))
    if suffix in SPSS:
        fewer = [
            name
            for name, v in dictionary.variables.items()
            if name in variables and len(variables[name].missing) < len(v.missing)
        ]
        pairs.append(("missing codes beyond those that SPSS can declare", fewer))
    pairs.append(("units", _named(dictionary, lambda v: v.unit)))
    if suffix not in SPSS:
        pairs.append(("measurement levels", _named(dictionary, lambda v: v.measure)))
    return _sentences(pairs)
