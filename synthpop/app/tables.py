"""Frames as plain tables for a page: texts in rows, numbers written by the shared functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synthpop.microdata.messages.text import BLANK, number

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 50


def plain_table(frame: pd.DataFrame, rows: int = MOST_ROWS) -> dict[str, Any]:
    """Return head, rows and the number of rows that are not shown.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_table(pd.DataFrame({"a": [1.25, None], "b": ["x", "y"]}))
    {'head': ['a', 'b'], 'numbers': [True, False], 'rows': [['1.25', 'x'], ['–', 'y']], 'more': 0}
    """
    import pandas as pd

    head = frame.head(rows)
    return {
        "head": [str(name) for name in frame.columns],
        "numbers": [bool(pd.api.types.is_numeric_dtype(dtype)) for dtype in frame.dtypes],
        "rows": [[_text(value) for value in row] for row in head.to_numpy(dtype=object)],
        "more": max(0, len(frame) - rows),
    }


def shown_result(result: Any, *tables: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return what a page shows of a result: its sentences and tables."""
    return {"texts": str(result.summary()).splitlines(), "tables": list(tables), **more}


def _text(value: Any) -> str:
    import numpy as np
    import pandas as pd

    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, float, np.number)):
        return number(float(value), 4)
    return BLANK if pd.isna(value) else str(value)
