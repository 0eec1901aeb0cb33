"""What a survey is given: tables, names and complete columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import Faults


def table_of(data: Any) -> Any:
    """Return the table of a population; anything else as it is."""
    frame = getattr(data, "frame", None)
    return frame() if callable(frame) else data


def free_name(names_in_use: Iterable[Any], name: str = "weight") -> str:
    """Return `name`, with a number where it is taken."""
    names = set(map(str, names_in_use))
    candidates = (name if k == 0 else f"{name}_{k}" for k in range(len(names) + 1))
    return next(candidate for candidate in candidates if candidate not in names)


def rows_that_differ(household: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the rows with another code than the first of their household; -1 is none."""
    rows = np.flatnonzero((household >= 0) & (codes >= 0))
    _, first, member = np.unique(household[rows], return_index=True, return_inverse=True)
    differs = codes[rows] != codes[rows][first][member.reshape(-1)]
    return rows[differs]


def check_complete(faults: Faults, frame: pd.DataFrame, name: str | None, role: str) -> None:
    """Note a column with missing values."""
    if name is not None:
        missing = frame[name].isna().to_numpy()
        faults.add_where(missing, name, f"{role} is missing", hint="Every row needs one.")
