"""Columns as codes: which rows they tell apart, and whether one follows from another."""

from __future__ import annotations

import numpy as np
import pandas as pd

ROWS_FIRST = 200  # that tell of most columns that they do not follow


def codes_of(column: pd.Series) -> np.ndarray:
    """Return codes from 0 of a column; a missing value is a level."""
    codes, _ = pd.factorize(column, use_na_sentinel=False)
    return np.asarray(codes, dtype=np.int64)


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two coded columns tell the same rows apart."""
    return int(a.max(initial=-1)) == int(b.max(initial=-1)) and _follows(a, b)


def mapping_of(function: np.ndarray, argument: np.ndarray) -> bool:
    """Whether the first coded column is a function of the second, with fewer levels."""
    k, m = int(function.max()) + 1, int(argument.max()) + 1
    return 1 < k < m and _follows(function, argument)


def _follows(function: np.ndarray, argument: np.ndarray) -> bool:
    """Whether rows with one code of the argument have one code of the function."""
    code = np.empty(int(argument.max(initial=-1)) + 1, dtype=np.int64)
    for step in (max(1, len(function) // ROWS_FIRST), 1):
        some, known = function[::step], argument[::step]
        code[known] = some
        if not np.array_equal(code[known], some):
            return False
    return True
