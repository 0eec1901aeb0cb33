"""Weighted tables of counts and shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.statistics.weighted.columns import checked_weights

if TYPE_CHECKING:
    import pandas as pd

MOST_CELLS = 100_000_000
"""Cells of the largest table that is made."""


def table(
    data: Any,
    weights: npt.ArrayLike | None = None,
    *,
    missing: Literal["drop", "level"] = "drop",
    decimals: int | None = None,
) -> pd.Series:
    """Weighted counts of every combination of categories.

    Parameters
    ----------
    data : Series, array of shape (n,), or DataFrame
        Categorical columns of any type; a category dtype keeps its order and its empty categories.
    weights : array, shape (n,), optional
    missing : {"drop", "level"}
        Rows with a missing category are left out, or counted under NaN (only where there are any).
    decimals : int, optional
        Round the counts (half to even); as they are by default.

    Returns
    -------
    Series named "total"
        One entry for each combination of the levels, zero where there is no row.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["m", "f", "f"], "region": ["A", "A", "B"]})
    >>> table(frame, [1.5, 2.0, 3.0]).unstack().to_numpy()
    array([[2. , 3. ],
           [1.5, 0. ]])
    """
    import pandas as pd

    from synthpop.microdata.frame.codes import encode
    from synthpop.microdata.frame.native import to_pandas

    faults = Faults("weighted table")
    check_choice(faults, "missing", missing, ("drop", "level"))
    frame = data if isinstance(data, pd.DataFrame) else to_pandas(data)
    if frame is None and getattr(data, "ndim", 1) != 1:
        hint = "Give a frame or a column."
        raise InputError.of("weighted table", "data", "is not a column", hint)
    frame = pd.Series(data).to_frame() if frame is None else frame
    w = np.ones(len(frame)) if weights is None else checked_weights(faults, weights, len(frame))
    faults.raise_if_any()
    coded = [encode(frame.iloc[:, position]) for position in range(frame.shape[1])]
    n_cells = math.prod(len(values) + 1 for _, values in coded)
    if n_cells > MOST_CELLS:
        what = f"the table would have {count(n_cells)} cells"
        faults.add("data", what, hint="Give fewer columns, or columns with fewer levels.")
    faults.raise_if_any()
    cell = np.zeros(len(frame), dtype=np.int64)
    keep = np.ones(len(frame), dtype=bool)
    levels = []
    for raw, values in coded:
        codes = raw.astype(np.int64)
        gaps = codes < 0
        if missing == "level" and gaps.any():
            codes[gaps] = len(values)
            values = (*values, np.nan)
        else:
            keep &= ~gaps
        cell = cell * max(len(values), 1) + codes
        levels.append(list(values))
    n_cells = int(np.prod([len(values) for values in levels]))
    counts = np.bincount(cell[keep], weights=w[keep], minlength=n_cells)
    if decimals is not None:
        counts = np.round(counts, decimals)
    if len(levels) == 1:
        index: pd.Index = pd.Index(levels[0], name=frame.columns[0])
    else:
        index = pd.MultiIndex.from_product(levels, names=list(frame.columns))
    return pd.Series(counts, index=index, name="total")


def contingency(
    x: Any,
    y: Any,
    weights: npt.ArrayLike | None = None,
    *,
    decimals: int | None = None,
    correction: Literal["none", "yates"] = "none",
) -> float:
    """Pearson's contingency coefficient of two categorical variables, sqrt(X2 / (X2 + n)).

    0 is independence; the largest value is sqrt((k - 1) / k) for a k x k table.

    Parameters
    ----------
    x, y : arrays, shape (n,)
        Of any type; rows where either is missing are left out.
    weights : array, shape (n,), optional
        n of the formula is their sum.
    decimals : int, optional
        Round the cells of the table first; other software rounds to whole numbers (0).
    correction : {"none", "yates"}
        "yates": of a 2 x 2 table, take Yates' correction for continuity.

    Returns
    -------
    float
        NaN where the table is empty.

    Examples
    --------
    >>> round(contingency(["a", "a", "b", "b"], ["p", "p", "q", "q"]), 6)
    0.707107
    """
    import pandas as pd
    from scipy.stats import chi2_contingency

    faults = Faults("contingency")
    check_choice(faults, "correction", correction, ("none", "yates"))
    if len(x) != len(y):
        what = f"there are {len(x)} and {plural(len(y), 'value')}: no pairs"
        faults.add("x, y", what, hint="Give one value of each for every row.")
    faults.raise_if_any()
    frame = pd.DataFrame({"x": pd.Series(x).to_numpy(), "y": pd.Series(y).to_numpy()})
    counts = table(frame, weights, decimals=decimals).unstack().to_numpy()
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if counts.size == 0:
        return float("nan")
    chi2 = float(chi2_contingency(counts, correction=correction == "yates").statistic)
    return float(np.sqrt(chi2 / (chi2 + counts.sum())))
