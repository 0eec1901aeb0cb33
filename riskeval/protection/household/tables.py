"""Households side by side: one row each with what is known of all members, one size at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from riskeval.protection.household.layer import Households
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
    member: list[int]  # member of each column; -1 for a household key, which is that of all

    def prices(self, prices: np.ndarray) -> np.ndarray:
        """What a change of each column takes, by the price of each key: float64, (columns,)."""
        size = self.members.shape[1]
        return np.array([prices[keys].sum() * (size if member < 0 else 1)
                         for keys, member in zip(self.keys, self.member, strict=True)])  # fmt: skip

    def columns(self) -> Iterator[tuple[list[int], np.ndarray]]:
        """Keys and records, int64, shape (h, size or 1), that each column stands for."""
        for keys, member in zip(self.keys, self.member, strict=True):
            yield keys, self.members if member < 0 else self.members[:, [member]]


def widen(
    codes: np.ndarray, homes: Households, shared: Sequence[int], by: np.ndarray
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
        member = [-1] * len(shared) + [i for i in range(size) for _ in of_member]
        tables.append(Wide(which, members, np.column_stack(blocks), keys, member))
    return tables


def make_up_of(of_record: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Number households by the codes of their members in any order, int64, shape (H,)."""
    order = np.lexsort((codes, of_record))
    size = np.bincount(of_record)
    start = np.cumsum(size) - size
    make_up = np.zeros(len(size), dtype=np.int64)
    n_kinds = 0
    for members in np.unique(size):
        homes = np.flatnonzero(size == members)
        rows = codes[order[start[homes][:, None] + np.arange(members)]]
        kinds, place = np.unique(rows, axis=0, return_inverse=True)
        make_up[homes] = n_kinds + place.reshape(-1)
        n_kinds += len(kinds)
    return make_up
