"""Households that are rare by what is known of all their members: values hidden before persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskeval.protection.household import HouseholdRoles
from riskeval.protection.suppression.cells import (
    SLACK,
    SuppressRequest,
    count_matches,
    suppress_codes,
)
from synthpop.microdata.frame.codes import cell_ids

MOST_COLUMNS = 14


@dataclass(frozen=True, eq=False)
class Wide:
    """Households of one size, one row each."""

    homes: np.ndarray  # int64 array, shape (h,): their numbers
    # int64 array, shape (h, size): rows of the file, members in the order of their keys
    members: np.ndarray
    # int64 array, shape (h, columns): household keys, then the keys of each member
    codes: np.ndarray
    keys: list[list[int]]  # keys of the file (positions) that each column stands for
    place: list[int]  # member of each column; -1 for a household key


def widen(
    codes: np.ndarray, homes: HouseholdRoles, shared: Sequence[int], by: np.ndarray
) -> list[Wide]:
    """Return the households of each size, smallest first.

    Members stand in the order of their keys in `by`, so that two households with the same multiset
    of members agree in every column. With more than `MOST_COLUMNS` columns all keys of a member are
    one column. `shared` are the keys that all members share.
    """
    personal = [j for j in range(codes.shape[1]) if j not in shared]
    order = (
        np.lexsort((*by[:, personal[::-1]].T, homes.number))
        if personal
        else np.argsort(homes.number)
    )
    starts = np.append(0, np.cumsum(homes.size))
    tables = []
    for size in np.unique(homes.size):
        which = np.flatnonzero(homes.size == size)
        members = order[starts[which][:, None] + np.arange(size)]
        together = len(personal) > 1 and size * len(personal) + len(shared) > MOST_COLUMNS
        of_member = [personal] if together else [[j] for j in personal]
        blocks = [codes[members[:, 0]][:, list(shared)]]
        if together:  # one code for all keys of a member, alike for all members
            ids = cell_ids(codes[members.reshape(-1)][:, personal])[0]
            blocks.append(ids.reshape(members.shape))
        else:
            blocks += [codes[members[:, i]][:, personal] for i in range(size)]
        keys = [[j] for j in shared] + of_member * int(size)
        place = [-1] * len(shared) + [i for i in range(size) for _ in of_member]
        tables.append(Wide(which, members, np.column_stack(blocks), keys, place))
    return tables


def rare_households(
    codes: np.ndarray, homes: HouseholdRoles, shared: Sequence[int], k: int, by: np.ndarray
) -> int:
    """Count the households that fewer than k match, member by member in the order of `by`."""
    request = SuppressRequest(k, "wildcard", 1.0, np.zeros(0), np.zeros(0))
    total = 0
    for table in widen(codes, homes, shared, by):
        strata = np.zeros(len(table.homes), dtype=np.int64)
        total += int((count_matches(table.codes, strata, request) < k - SLACK).sum())
    return total


def hide_rare_households(
    codes: np.ndarray, homes: HouseholdRoles, shared: Sequence[int], k: int
) -> np.ndarray:
    """Cells to hide so that each household matches k of its size, where that many have it."""
    hidden = np.zeros(codes.shape, dtype=bool)
    for table in widen(codes, homes, shared, codes):
        n_columns = table.codes.shape[1]
        if len(table.homes) < k or n_columns > MOST_COLUMNS + 6:
            continue
        size = table.members.shape[1]
        cost = np.array([size if place < 0 else len(keys)
                         for place, keys in zip(table.place, table.keys, strict=True)])  # fmt: skip
        request = SuppressRequest(k, "wildcard", 1.0, np.zeros(n_columns), cost.astype(np.float64))
        strata = np.zeros(len(table.homes), dtype=np.int64)
        result = suppress_codes(table.codes, strata, request)
        suppressed = (result < 0) & (table.codes >= 0)
        for column, (place, keys) in enumerate(zip(table.place, table.keys, strict=True)):
            members = table.members if place < 0 else table.members[:, [place]]
            rows = members[suppressed[:, column]].reshape(-1)
            hidden[rows[:, None], keys] = True
    return hidden & (codes >= 0)
