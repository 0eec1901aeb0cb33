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


FEWEST_CHANGES = 10
"""Fewest changed values behind a difference of statistics that an external page shows."""
RIVAL_SHARE = 0.1
"""Part of the largest contribution that the others must hide (the p% rule with p = 10)."""


def rounded(records: Number, base: int = SMALLEST_COUNT) -> str:
    """Return a count for external readers: 0, "< 5", or a multiple of five.

    Rounded counts cannot be taken from each other: neither the records that a count leaves out of
    the total, nor the difference of two nested counts, is known to less than the base.

    Examples
    --------
    >>> rounded(0), rounded(3), rounded(98), rounded(1234.4), rounded(None)
    ('0', '< 5', '100', '1,235', '–')
    """
    if records is None or np.isnan(float(records)):
        return BLANK
    if is_small(records, base):
        return f"< {base}"
    return count(base * round(float(records) / base))


def rounded_share(
    share: Number,
    records: Number,
    *,
    text: Callable[[Number], str] = short_percent,
    base: int = SMALLEST_COUNT,
) -> str:
    """Return a share of `records` for external readers, rounded as its count is.

    Examples
    --------
    >>> rounded_share(0.983, 200), rounded_share(0.001, 200), rounded_share(0.0, 200)
    ('97.5 %', '< 2.5 %', '0 %')
    """
    if share is None or records is None or np.isnan(float(share)) or not float(records):
        return BLANK
    n = float(records)
    if is_small(float(share) * n, base):
        return f"< {text(base / n)}"
    return text(min(base * round(float(share) * n / base) / n, 1.0))


def is_dominated(contributions: ArrayLike, rival_share: float = RIVAL_SHARE) -> bool:
    """Whether the largest contribution to a total can be told from it (p% rule).

    The second largest contributor takes the own part off the total; what the others add must hide
    at least `rival_share` of the largest one (Hundepool et al. 2012, section 4.2.2).

    Parameters
    ----------
    contributions : float, shape (n,)
        Signs are ignored, missing ones left out.

    Examples
    --------
    >>> is_dominated([100, 5, 2, 1]), is_dominated([100, 90, 5, 6]), is_dominated([0, 0, 0])
    (True, False, False)
    """
    sizes = np.abs(np.asarray(contributions, dtype=np.float64))
    sizes = np.sort(sizes[~np.isnan(sizes)])[::-1]
    if not len(sizes) or sizes[0] == 0:
        return False
    return bool(sizes[2:].sum() < rival_share * sizes[0])


def is_safe_statistic(values: ArrayLike, smallest: int = SMALLEST_COUNT) -> bool:
    """Whether a mean or total of values may be shown: enough of them, and none dominates.

    Parameters
    ----------
    values : float, shape (n,)
        Missing ones do not count.

    Examples
    --------
    >>> nan = float("nan")
    >>> is_safe_statistic([777_123, nan, nan, nan, nan, nan]), is_safe_statistic([3, 4, 5, 6, 7])
    (False, True)
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return len(known) >= smallest and not is_dominated(known)


def is_safe_change(original: ArrayLike, released: ArrayLike, fewest: int = FEWEST_CHANGES) -> bool:
    """Whether statistics of linked records may be shown before and after a change.

    Their difference is the sum of the changes: it must come from none, or from at least `fewest`
    records of which none dominates. A value that is suppressed counts as changed to zero.

    Examples
    --------
    >>> before = np.array([*range(20), 1_234_500.0])
    >>> is_safe_change(before, np.minimum(before, 100)), is_safe_change(before, before)
    (False, True)
    >>> is_safe_change(before, np.r_[before[:20] + 3.0, before[20]])
    True
    """
    x, y = (np.nan_to_num(np.asarray(v, dtype=np.float64)) for v in (original, released))
    missing = np.isnan(np.asarray(original, dtype=float)) != np.isnan(
        np.asarray(released, dtype=float)
    )
    changed = (x != y) | missing
    if not changed.any():
        return True
    return int(changed.sum()) >= fewest and not is_dominated(y - x)


def safe_domains(
    domains: ArrayLike, values: ArrayLike, smallest: int = SMALLEST_COUNT
) -> list[object]:
    """Return the domains of a partition whose statistic may be shown beside that of all records.

    1. Domains with too few values, or with a dominant one, are hidden.
    2. What is hidden can be computed as the rest of all: until this rest is safe itself, and made
       of at least two domains, the smallest visible domain is hidden with it.

    Parameters
    ----------
    domains : shape (n,)
        Missing ones are a domain that is never shown.
    values : float, shape (n,)
    smallest : int

    Examples
    --------
    >>> domains = ["a"] * 20 + ["b"] * 8 + ["c"] * 9 + ["tiny"]
    >>> safe_domains(domains, np.arange(38.0))
    ['a', 'c']
    """
    labels = pd.Series(np.asarray(domains, dtype=object))
    numbers = np.asarray(values, dtype=np.float64)
    filled = labels.notna().to_numpy()
    known = ~np.isnan(numbers)
    sizes = labels[filled & known].value_counts(sort=False)
    names = [name for name in dict.fromkeys(labels[filled])]
    safe = {
        name: is_safe_statistic(numbers[(labels == name).to_numpy()], smallest) for name in names
    }
    order = sorted((name for name in names if safe[name]), key=lambda name: int(sizes[name]))
    while order:
        visible = labels.isin(order).to_numpy()
        rest = numbers[~visible]
        n_hidden = len(names) - len(order) + int((~filled).any())
        none = not (~np.isnan(rest)).any()
        if none or (n_hidden >= 2 and is_safe_statistic(rest, smallest)):
            break
        order = order[1:]
    return [name for name in names if name in order]
