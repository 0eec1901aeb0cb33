"""Weighted distribution functions, of all rows or given a category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.statistics.weighted.columns import as_numbers, checked_weights

if TYPE_CHECKING:
    import pandas as pd


def distribution(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    by: Any = None,
    at: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Weighted distribution function of a number, given the levels of a category or of all rows.

    Parameters
    ----------
    values : array, shape (n,)
        Missing values (NaN) are left out.
    weights : array, shape (n,), optional
    by : Series or array of shape (n,), optional
        A category; rows where it is missing are left out. A category dtype keeps its order.
    at : array of numbers, optional
        Where the function is evaluated. Default: the distinct values of all rows.

    Returns
    -------
    DataFrame, index "value", one column per level ("all" without `by`)
        Weighted share of the level's rows whose value is at most that of the index; NaN for a level
        without a value.

    Raises
    ------
    InputError
        Values or weights are not numbers, or of different lengths.

    Examples
    --------
    >>> table = distribution([1.0, 2.0, 2.0, 5.0], [1, 1, 2, 4], by=["a", "b", "a", "b"], at=[1, 2])
    >>> table.round(3).to_dict()
    {'a': {1.0: 0.333, 2.0: 1.0}, 'b': {1.0: 0.0, 2.0: 0.2}}
    """
    import pandas as pd

    faults = Faults("weighted distribution")
    numbers = as_numbers(faults, values, "values")
    w = np.ones(len(numbers))
    if weights is not None:
        w = checked_weights(faults, weights, len(numbers))
    if by is not None and np.shape(by) != numbers.shape:
        what = f"has shape {np.shape(by)} for {len(numbers)} values"
        faults.add("by", what, hint="Give one level for each value.")
    points = None if at is None else as_numbers(faults, at, "at")
    faults.raise_if_any()
    groups = pd.Categorical(np.full(len(numbers), "all") if by is None else by)
    has_value = ~np.isnan(numbers) & (w > 0)
    grid = np.unique(numbers[has_value]) if points is None else points
    columns = {}
    for code, level in enumerate(groups.categories):
        rows = np.flatnonzero(has_value & (groups.codes == code))
        order = rows[np.argsort(numbers[rows], kind="stable")]
        total = np.concatenate([[0.0], np.cumsum(w[order])])
        positions = np.searchsorted(numbers[order], grid, side="right")
        columns[level] = total[positions] / total[-1] if len(rows) else np.full(len(grid), np.nan)
    return pd.DataFrame(columns, index=pd.Index(grid, name="value"))
