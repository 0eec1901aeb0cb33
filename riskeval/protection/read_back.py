"""What an intruder reads back of values that a verb removed, as sentences of its result."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from riskeval.protection.household import HouseholdRoles
from riskeval.recovery.recover import recover
from riskeval.recovery.result import Recovery
from synthpop.microdata.text import count, join, plural


def read_back(
    frame: pd.DataFrame,
    released: pd.DataFrame,
    names: Sequence[str],
    homes: HouseholdRoles | None,
    k: int,
) -> tuple[Recovery, list[str]]:
    """Attack the values that are missing now, by other members, rows, columns and order.

    Parameters
    ----------
    frame, released : DataFrame, n records
        Before and after.
    names : sequence of str
        Keys, on which records below `k` are counted anew.
    homes : HouseholdRoles or None
    k : int
    """
    hidden = {n: (released[n].isna() & frame[n].notna()).to_numpy() for n in names}
    recovery = recover(
        released,
        household=None if homes is None else homes.column,
        original=frame,
        suppressed=pd.DataFrame(hidden),
        household_variables=[] if homes is None else list(homes.variables),
        keys=names,
        k=k,
    )
    if not recovery.n_right:
        return recovery, []
    assert recovery.below is not None  # keys were given
    sources = join(dict.fromkeys(recovery.cells["source"]))
    below = recovery.below[1]
    remedy = ": drop what tells them, or give hierarchies with coarser values" if below else ""
    return recovery, [
        f"But {count(recovery.n_right)} of {plural(recovery.n_holes, 'missing value')} can be read "
        f"back ({sources}), and then {plural(below, 'record matches', 'records match')} fewer than "
        f"{k}{remedy}."
    ]
