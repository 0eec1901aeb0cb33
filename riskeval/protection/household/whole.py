"""Mask numbers of all members together: one row per household, one size at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.protection.aggregating import squares_lost
from riskeval.protection.household.layer import Households
from riskeval.protection.numeric import put_numbers
from riskeval.protection.result import Protected
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join, plural

Run = Callable[[pd.DataFrame, list[str], np.ndarray | None], Protected]
"""A verb without households: the file, the variables, the household of each row (or None)."""


@dataclass(frozen=True, eq=False)
class MaskedHouseholds:
    """What masking whole households gave."""

    data: pd.DataFrame
    # ``household_groups`` (int64, shape (H,), group of each household; -1 where too few have its
    # size) and ``information_loss`` (100 SSE / SST on standardised variables)
    details: dict[str, object]
    result: Protected  # of the last size
    notes: list[str]


def mask_whole_households(
    frame: pd.DataFrame, keys: Sequence[str], k: int, homes: Households, run: Run
) -> MaskedHouseholds:
    """Mask the household keys so that at least k households share the values of all members."""
    shared = [name for name in keys if name in homes.variables]
    personal = [name for name in keys if name not in shared]
    before = {name: as_numbers(frame[name]) for name in keys}
    after = {name: values.copy() for name, values in before.items()}
    groups = np.full(len(homes), -1, dtype=np.int64)
    # members stand in the order of their values, so that households are compared alike
    by_values = np.lexsort((*(before[name] for name in reversed(personal)), homes.number))
    starts = np.cumsum(homes.size) - homes.size
    result: Protected | None = None
    for size in np.unique(homes.size):
        which = np.flatnonzero(homes.size == size)
        members = by_values[starts[which][:, None] + np.arange(size)]
        table, cells = _wide(frame, members, shared, personal)
        if int(table[list(cells)].notna().all(axis=1).sum()) < k:
            continue
        result = run(table, list(cells), None)
        for column, (name, rows) in cells.items():
            new = as_numbers(result.data[column])
            after[name][rows] = new[:, None]
        of_size = np.asarray(result.details["groups"])
        groups[which] = np.where(of_size < 0, -1, of_size + groups.max() + 1)
    if result is None:
        what = f"no size of household occurs {count(k)} times"
        raise InputError.of("microaggregate", "household_keys", what)
    # households of rare sizes take the values of the nearest ones, person by person
    rare = (groups < 0)[homes.number]
    for some in (shared, personal):
        _take_nearest(before, after, some, rare)
    released, loss = frame.copy(deep=False), np.zeros(2)
    for name in keys:
        filled = ~np.isnan(before[name])
        released[name] = put_numbers(frame[name], after[name], filled)
        loss += squares_lost(before[name][filled], after[name][filled])
    share = 100.0 * loss[0] / loss[1] if loss[1] else 0.0
    details = {"household_groups": groups, "information_loss": float(share)}
    return MaskedHouseholds(released, details, result, _notes(keys, groups, k))


def _wide(
    frame: pd.DataFrame, members: np.ndarray, shared: Sequence[str], personal: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, tuple[str, np.ndarray]]]:
    """One row per household; column -> the variable and the records it stands for, shape (h, s)."""
    table = frame.iloc[members[:, 0]].reset_index(drop=True)
    cells = {name: (name, members) for name in shared}
    columns = {}
    for place in range(members.shape[1]):
        for name in personal:
            column = message("{name} of member {place}", name=name, place=place + 1)
            rows = members[:, [place]]
            cells[column] = (name, rows)
            columns[column] = frame[name].iloc[rows[:, 0]].to_numpy()
    return pd.concat([table, pd.DataFrame(columns, index=table.index)], axis=1), cells


def _take_nearest(
    before: dict[str, np.ndarray], after: dict[str, np.ndarray], names: Sequence[str],
    rare: np.ndarray,
) -> None:  # fmt: skip
    """Give rare records the masked values of the nearest other record; `after` is changed."""
    from scipy.spatial import cKDTree

    if not names or not rare.any():
        return
    spread = np.array([np.nanstd(before[name][~rare]) for name in names])
    scale = np.where(spread > 0, spread, 1.0)
    masked = np.column_stack([after[name] for name in names])
    complete = np.flatnonzero(~rare & ~np.isnan(masked).any(axis=1))
    points = np.nan_to_num(np.column_stack([before[name][rare] for name in names]))
    nearest = complete[cKDTree(masked[complete] / scale).query(points / scale)[1]]
    for name in names:
        after[name][rare] = after[name][nearest]


def _notes(keys: Sequence[str], groups: np.ndarray, k: int) -> list[str]:
    n_groups, n_rare = len(np.unique(groups[groups >= 0])), int((groups < 0).sum())
    text = message(
        "{keys}: the values of all members are shared by at least {k} households of "
        "their size ({n_groups}).",
        keys=join(keys),
        k=count(k),
        n_groups=plural(n_groups, "group"),
    )
    if not n_rare:
        return [text]
    return [
        text,
        message(
            "{n_rare} of too rare a size took the values of the nearest persons: their "
            "composition stays rare.",
            n_rare=plural(n_rare, "household"),
        ),
    ]
