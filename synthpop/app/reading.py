"""What the child process tells of a file: its first rows, and what each column holds."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from synthpop.app.state import Source

if TYPE_CHECKING:
    import pandas as pd

ROWS, LINES, CELL, BARS = 20, 400, 40, 16
MOST_LEVELS, MOST_TEXTS = 200, 50


def preview_source(folder: Path, source: Source) -> dict[str, Any]:
    """Return names and first rows of a file as it would be read, and the guesses of the reader.

    Of delimited text only the first lines are read, so that a change of an option shows at once.
    """
    from synthpop.microdata.formats.files import read_table

    path, options = folder / source.file, source.reading()
    if source.is_text:
        with TemporaryDirectory(dir=folder) as temporary:
            start = Path(temporary) / f"start{source.suffix}"
            with path.open("rb") as file, start.open("wb") as first_lines:
                first_lines.writelines(islice(file, LINES))
            frame = read_table(start, **options)
    else:
        frame = read_table(path, **options)
    return {
        "names": [str(name) for name in frame.columns],
        "types": [_type(frame[name]) for name in frame.columns],
        "rows": [[_cell(value) for value in row] for row in frame.head(ROWS).to_numpy(object)],
        "reading": list(frame.attrs.get("reading", ())),
    }


def _cell(value: Any) -> str:
    import pandas as pd

    if pd.isna(value):
        return ""
    text = str(value)
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def _type(values: pd.Series) -> str:
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(values.dtype):
        return "category"
    return "number" if pd.api.types.is_numeric_dtype(values.dtype) else "text"


def _spread(values: pd.Series, counts: pd.Series, kind: str) -> list[int]:
    """Return records by level, or by classes of equal width of a number with many values."""
    import numpy as np

    if kind == "number" and len(counts) > BARS:
        filled = values.dropna().to_numpy(dtype=float)
        return [int(n) for n in np.histogram(filled[np.isfinite(filled)], BARS)[0]]
    if len(counts) > MOST_LEVELS:
        return []
    return [int(n) for n in counts.sort_index()[:BARS]]


def describe_columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return what each column holds: type, label, distinct and missing values, levels."""
    from synthpop.microdata.frame.dictionary import dictionary_of

    meanings = dictionary_of(frame)
    described = []
    for name in frame.columns:
        values = frame[name]
        counts, kind = values.value_counts(), _type(values)
        has_numbers = kind == "number" and values.notna().any()
        few = len(counts) <= (MOST_TEXTS if kind == "text" else MOST_LEVELS)
        levels = counts.sort_index().items() if few else ()
        entry: dict[str, Any] = {
            "name": str(name),
            "type": kind,
            "distinct": len(counts),
            "missing": int(values.isna().sum()),
            "levels": [[str(level), int(n)] for level, n in levels],
            "spread": _spread(values, counts, kind),
            "range": [float(values.min()), float(values.max())] if has_numbers else [],
        }
        if name in meanings:
            entry["meaning"] = meanings[name].to_dict()
        described.append(entry)
    return {"records": len(frame), "columns": described}


def suggest_roles_of(frame: pd.DataFrame, names: dict[str, str]) -> dict[str, Any]:
    """Return the role that the data suggest for each column, and why."""
    from riskeval.keys.suggest import suggest_roles

    suggested = suggest_roles(frame)
    columns = {
        column.name: {"role": names.get(column.role, column.role), "why": column.why}
        for column in suggested.columns
    }
    return {"text": suggested.summary(), "columns": columns}
