"""An original file and its release, row by row: checked once, as numbers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.checks import as_frame, check_numeric
from synthpop.microdata.errors import Faults
from synthpop.microdata.frames import as_names, check_finite, numbers
from synthpop.microdata.text import count, plural


def read_frames(
    faults: Faults, original: Any, released: Any, *, same_length: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both files as frames; note empty ones and different lengths."""
    first, second = as_frame(original, "original"), as_frame(released, "released")
    for name, frame in (("original", first), ("released", second)):
        if len(frame) == 0:
            faults.add(name, "has no records")
    if same_length and len(first) != len(second):
        faults.add(
            "released",
            f"{plural(len(second), 'record')} against {count(len(first))} of the original",
            remedy="Row i of both files must be the same unit.",
        )
    return first, second


def read_pair(
    faults: Faults, original: Any, released: Any, variables: Sequence[str] | str
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return both files as float64, shape (n, p), and the names; raise every fault found.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [1.0, None], "b": [3, 4]})
    >>> read_pair(Faults("example"), table, table, ["b", "a"])[0].tolist()
    [[3.0, 1.0], [4.0, nan]]
    """
    first, second = read_frames(faults, original, released)
    names = as_names(faults, variables, "variables")
    fine = check_numeric(faults, first, names, "variable of the original")
    fine = check_numeric(faults, second, names, "variable of the release") and fine
    if not fine or not names:
        faults.raise_if_any()
    x, y = numbers(first, names), numbers(second, names)
    check_finite(faults, x, names, "original")
    check_finite(faults, y, names, "release")
    faults.raise_if_any()
    return x, y, names
