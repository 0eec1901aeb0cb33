"""The small-cell rule: what readers outside of the office see of counts of 1 to 4 records.

One rule for every page of both packages (Hundepool et al. 2012, *Statistical Disclosure Control*,
section 4.2, the minimum frequency rule): counts of fewer than five records, shares that stand for
so few and statistics that rest on so few are replaced by "< 5" or left out. A count of zero is
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from synthpop.microdata.messages.text import BLANK, Number, count, short_percent

SMALLEST_COUNT = 5
"""Smallest number of records that an external page shows."""
FEWEST_CHANGES = 10
"""Fewest changed values behind a difference of statistics that an external page shows."""
RIVAL_SHARE = 0.1
"""Part of the largest contribution that the others must hide (the p% rule with p = 10)."""


def is_small(records: Number) -> bool:
    """Whether a count, or an expected number of records, lies between 0 and `SMALLEST_COUNT`."""
    return records is not None and 0 < float(records) < SMALLEST_COUNT


def hide(table: pd.DataFrame, columns: Sequence[str], rows: ArrayLike) -> pd.DataFrame:
    """Return a table with NaN in these columns of these rows, shape (n,) of bool."""
    mask = np.asarray(rows, dtype=bool)
    return table.assign(**{c: np.where(mask, np.nan, table[c].astype(float)) for c in columns})


def rounded_count(records: float) -> float:
    """Return a count as the nearest multiple of five; NaN for one that is too small to be shown."""
    if is_small(records):
        return float("nan")
    return float(SMALLEST_COUNT * np.rint(records / SMALLEST_COUNT))


def rounded(records: Number) -> str:
    """Return a count for external readers: 0, "< 5", or a multiple of five.

    Rounded counts cannot be taken from each other: neither the records that a count leaves out of
    the total, nor the difference of two nested counts, is known to less than the base.
    """
    if records is None or np.isnan(float(records)):
        return BLANK
    if is_small(records):
        return f"< {SMALLEST_COUNT}"
    return count(rounded_count(float(records)))


def rounded_share(
    share: Number, records: Number, *, text: Callable[[Number], str] = short_percent
) -> str:
    """Return a share of `records` for external readers, rounded as its count is."""
    if share is None or records is None or np.isnan(float(share)) or records < SMALLEST_COUNT:
        return BLANK
    n = float(records)
    if is_small(float(share) * n):
        return f"< {text(SMALLEST_COUNT / n)}"
    return text(min(rounded_count(float(share) * n) / n, 1.0))


def is_dominated(contributions: ArrayLike) -> bool:
    """Whether the largest contribution, shape (n,), to a total can be told from it (p% rule).

    The second largest contributor can take its own contribution off the total; what the others add
    must hide at least a tenth of the largest one (Hundepool et al. 2012, section 4.2.2). Signs are
    ignored.
    """
    sizes = np.abs(np.asarray(contributions, dtype=np.float64))
    sizes = sizes[~np.isnan(sizes)]
    largest = sizes.max(initial=0.0)
    if largest == 0 or len(sizes) < 3:
        return bool(largest > 0)
    return bool(np.partition(sizes, -2)[:-2].sum() < RIVAL_SHARE * largest)


def is_safe_statistic(values: ArrayLike) -> bool:
    """Whether a mean or total of values may be shown: enough are known, and none dominates."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return len(known) >= SMALLEST_COUNT and not is_dominated(known)


def is_safe_change(original: ArrayLike, released: ArrayLike) -> bool:
    """Whether statistics of linked records may be shown before and after a change.

    Their difference is the sum of the changes: it must come from none, or from `FEWEST_CHANGES`
    records of which none dominates. A value that is suppressed counts as changed to zero.
    """
    before, after = (np.asarray(values, dtype=np.float64) for values in (original, released))
    x, y = np.nan_to_num(before), np.nan_to_num(after)
    changed = (x != y) | (np.isnan(before) != np.isnan(after))
    if not changed.any():
        return True
    return int(changed.sum()) >= FEWEST_CHANGES and not is_dominated(y - x)


def safe_domains(domains: ArrayLike, values: ArrayLike, *, beside_all: bool = True) -> list[Any]:
    """Return the domains of a partition whose statistic may be shown beside that of all records.

    1. Domains with too few values, or with a dominant one, are hidden.
    2. What is hidden can be computed as the rest of all: until this rest is safe itself, and made
       of at least two domains, the smallest visible domain is hidden with it.

    domains: missing ones are a domain that is never shown
    beside_all: False where the statistic of all records is not shown: nothing is left to compute
    """
    codes, names = pd.factorize(np.asarray(domains, dtype=object))
    numbers = np.asarray(values, dtype=np.float64)
    is_number = ~np.isnan(numbers)
    sizes = np.bincount(codes[(codes >= 0) & is_number], minlength=len(names))
    safe = [k for k in range(len(names)) if is_safe_statistic(numbers[codes == k])]
    order = sorted(safe, key=lambda k: int(sizes[k]))
    while order and beside_all:
        values_beside = numbers[~np.isin(codes, order)]
        n_hidden = len(names) - len(order) + int((codes < 0).any())
        nothing_beside = np.isnan(values_beside).all()
        if nothing_beside or (n_hidden >= 2 and is_safe_statistic(values_beside)):
            break
        order = order[1:]
    return [name for k, name in enumerate(names) if k in order]
