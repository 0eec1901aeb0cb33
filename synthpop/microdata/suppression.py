"""The small-cell rule: what readers outside of the office see of counts of 1 to 4 records.

One rule for every page of both packages (Hundepool et al. 2012, *Statistical Disclosure Control*,
section 4.2, the minimum frequency rule): counts of fewer than five records, shares that stand for
so few and statistics that rest on so few are replaced by "< 5" or left out. A count of zero is
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from synthpop.microdata.text import BLANK, Number, count, number, short_percent

SMALLEST_COUNT = 5
"""Smallest number of records that an external page shows."""


def is_small(records: Number, smallest: float = SMALLEST_COUNT) -> bool:
    """Whether a count, or an expected number of records, is between 0 and `smallest`.

    Examples
    --------
    >>> [is_small(x) for x in (0, 0.2, 4, 5, None)]
    [False, True, True, False, False]
    """
    return records is not None and 0 < float(records) < smallest


def shown(
    records: Number,
    external: bool = True,
    *,
    text: Callable[[Number], str] = count,
    smallest: int = SMALLEST_COUNT,
) -> str:
    """Return a number of records as text, for external readers by the rule.

    Parameters
    ----------
    records : float
        A count or an expected number; None and NaN become a dash.
    external : bool
        False shows every number.
    text : callable
        How a number is written that may be seen; `synthpop.microdata.text.number` for expected
        numbers.
    smallest : int

    Examples
    --------
    >>> shown(1234), shown(3), shown(0), shown(3, external=False), shown(None)
    ('1,234', '< 5', '0', '3', '–')
    """
    return f"< {smallest}" if external and is_small(records, smallest) else text(records)


def shown_share(
    share: Number,
    records: Number,
    external: bool = True,
    *,
    text: Callable[[Number], str] = short_percent,
    smallest: int = SMALLEST_COUNT,
) -> str:
    """Return a share as text, for external readers by the rule.

    Parameters
    ----------
    share : float
        Between 0 and 1; NaN becomes a dash.
    records : float
        Records that the share refers to; its product with the share is what the rule looks at.
        Zero where the share refers to no records, so that every share is shown.
    external : bool
    text : callable
    smallest : int

    Examples
    --------
    >>> shown_share(0.0415, 2000), shown_share(0.001, 2000), shown_share(0.0, 2000)
    ('4.15 %', '< 0.25 %', '0 %')
    >>> shown_share(0.001, 2000, external=False)
    '0.1 %'
    """
    if share is None or np.isnan(float(share)):
        return BLANK
    n = 0.0 if records is None else float(records)
    if external and n and is_small(float(share) * n, smallest):
        return f"< {text(smallest / n)}"
    return text(share)


def shown_mean(value: Number, records: Number, external: bool = True) -> str:
    """Return a mean risk as text; `records` times it is an expected number of records.

    Examples
    --------
    >>> shown_mean(0.0123, 10_000), shown_mean(0.0001, 10_000)
    ('0.0123', '< 0.0005')
    """
    return shown_share(value, records, external, text=number)


def drop_small(
    table: pd.DataFrame,
    records: str,
    columns: Sequence[str],
    smallest: int = SMALLEST_COUNT,
) -> pd.DataFrame:
    """Return a table with NaN in `columns` of the rows that rest on fewer than `smallest` records.

    Parameters
    ----------
    table : DataFrame
    records : str
        Column with the number of records of each row. Rows of zero records are dropped as well:
        nothing can be said about them.
    columns : sequence of str
    smallest : int

    Examples
    --------
    >>> table = pd.DataFrame({"n": [3, 12], "mean": [2.5, 7.0]})
    >>> drop_small(table, "n", ["mean"])["mean"].tolist()
    [nan, 7.0]
    """
    return hide(table, columns, (table[records] < smallest).to_numpy())


def hide(table: pd.DataFrame, columns: Sequence[str], rows: ArrayLike) -> pd.DataFrame:
    """Return a table with NaN in these columns of these rows, shape (n,) of bool.

    Examples
    --------
    >>> hide(pd.DataFrame({"a": [1, 2]}), ["a"], np.array([True, False]))["a"].tolist()
    [nan, 2.0]
    """
    mask = np.asarray(rows, dtype=bool)
    return table.assign(**{c: np.where(mask, np.nan, table[c].astype(float)) for c in columns})
