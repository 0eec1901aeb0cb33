"""Exact equality of tables, fast: categories by their codes, numbers bit for bit."""

from __future__ import annotations

import numpy as np
import pandas as pd


def _same_column(name: object, left: pd.Series, right: pd.Series) -> None:
    assert left.dtype == right.dtype, f"{name}: {left.dtype} is not {right.dtype}"
    if isinstance(left.dtype, pd.CategoricalDtype):
        np.testing.assert_array_equal(
            left.cat.categories.to_numpy(), right.cat.categories.to_numpy(), err_msg=str(name)
        )
        np.testing.assert_array_equal(left.cat.codes, right.cat.codes, err_msg=str(name))
    elif isinstance(left.dtype, np.dtype) and left.dtype.kind in "iufb":
        np.testing.assert_array_equal(left.to_numpy(), right.to_numpy(), err_msg=str(name))
    elif not left.equals(right):
        pd.testing.assert_series_equal(left, right, check_exact=True)


def assert_same_frame(left: pd.DataFrame, right: pd.DataFrame) -> None:
    """Assert that two tables have the same columns, types, index and values."""
    assert list(left.columns) == list(right.columns)
    assert left.index.equals(right.index)
    for name in left.columns:
        _same_column(name, left[name], right[name])
