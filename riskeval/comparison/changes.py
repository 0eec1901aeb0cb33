"""Which variables of a linked release changed in so few records that a difference tells them."""

from __future__ import annotations

import pandas as pd

from riskeval.comparison.alignment import Aligned
from synthpop.microdata.frame.codes import encode, recode_to
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.suppression import FEWEST_CHANGES, is_safe_change


def few_changes(aligned: Aligned) -> list[str]:
    """Variables with 1 to 9 changed records, or with a change that dominates the others.

    Where one variable is among them, differences between the estimates of original and release
    are (nearly) one person's value. Files that cannot be linked have none.
    """
    rows = aligned.release.rows
    if rows is None:
        return []
    pairs = ((name, aligned.x[name].iloc[rows], aligned.y[name]) for name in aligned.y)
    return [str(name) for name, x, y in pairs if not is_safe_pair(x, y)]


def is_safe_pair(x: pd.Series, y: pd.Series) -> bool:
    """Whether a column changed in no record, or in enough of them without a dominant change."""
    if is_number(x) and is_number(y):
        one, two = (as_numbers(c) for c in (x, y))
        return is_safe_change(one, two)
    codes, levels = encode(x)
    released, unknown = recode_to(y, levels)
    changed = int(((codes != released) | unknown).sum())
    return changed == 0 or changed >= FEWEST_CHANGES
