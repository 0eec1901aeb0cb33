"""Suppression of values in records whose risk is above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, own_frame, protected, suppress_cells
from synthpop.microdata.checks import check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.text import plural


def suppress_risky(data: Any, column: str, *, risk: Any, threshold: float) -> Protected:
    """Make the value of one column missing in every record whose risk is above a threshold.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    column : str
        The column to suppress, usually a key variable.
    risk : array of shape (n,), or a result with such an array as ``risk``
        Risk of each record in the order of the file, for instance of ``individual_risk``.
    threshold : float
        Records with a risk strictly above it lose their value.

    Returns
    -------
    Protected
        ``details`` has ``above``, the number of records above the threshold; it is larger than
        the number of changed cells where values were missing before. Nothing is drawn at random.
        The risk of the new file is not known before it is estimated anew.

    Raises
    ------
    InputError
        Unknown column, risk of another length or with missing values.

    Notes
    -----
    Templ (2017), section 4.2.2.2.

    Examples
    --------
    >>> people = pd.DataFrame({"region": ["A", "A", "B"]})
    >>> result = suppress_risky(people, "region", risk=[0.01, 0.01, 0.5], threshold=0.1)
    >>> result.data["region"].isna().tolist()
    [False, False, True]
    """
    frame = own_frame(data)
    faults = Faults("suppress_risky")
    check_columns(faults, frame, [column], "column to suppress")
    values = np.asarray(getattr(risk, "risk", risk), dtype=object).reshape(-1)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    if len(numbers) != len(frame):
        faults.add(
            "risk", f"has {plural(len(numbers), 'value')} for {plural(len(frame), 'record')}"
        )
    elif np.isnan(numbers).any():
        faults.add("risk", "is missing or no number", rows=np.flatnonzero(np.isnan(numbers)))
    number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
    if not number or np.isnan(threshold):
        faults.add("threshold", f"is {threshold!r}", remedy="Give a number.")
    faults.raise_if_any()
    above = numbers > threshold
    released = frame.copy(deep=False)
    released[column] = suppress_cells(frame[column], above)
    return protected(
        frame,
        released,
        [column],
        method="suppress_risky",
        parameters={"column": column, "risk": numbers.tolist(), "threshold": float(threshold)},
        notes=[f"{plural(int(above.sum()), 'record')} had a risk above {threshold:g}."],
        details={"above": int(above.sum())},
    )
