"""Cells that go missing until enough records show what each record shows.

A hole helps nobody but the record that has it, and takes a match from others. So the records that
meet when a set of keys is hidden lose it together: what they show then is shown by all of them, and
none of them moves again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

import numpy as np

from riskeval.kernels.suppression_visible import helped
from riskeval.protection.suppression.merge import key_sets
from synthpop.microdata.frame.codes import cell_ids, first_rows


def hide_until_shown(
    codes: np.ndarray,
    strata: np.ndarray,
    k: float,
    rank: np.ndarray,
    cost: np.ndarray,
    locked: np.ndarray | None = None,
) -> np.ndarray:
    """Return codes in which each record's values are all shown by at least k records.

    Sets of keys are hidden from small to large. Of one size, the set that helps most records per
    cell (or with ranks, the least important one that helps any) goes first: all records that fail
    and meet k others without it lose it together. Records that cannot be helped stay as they are.

    locked: cells that stay
    """
    m = codes.shape[1]
    ids, n_cells = cell_ids(_with_locks(codes, strata, locked))
    first = first_rows(ids, n_cells)
    bits = np.int64(1) << np.arange(m)
    stays = np.zeros(n_cells, np.int64) if locked is None else locked[first] @ bits
    cells = _Cells(
        np.column_stack([codes[first], strata[first]]).astype(np.int64),
        np.bincount(ids, minlength=n_cells), (codes[first] >= 0) @ bits, stays,
        np.zeros(n_cells, dtype=bool), cost.astype(float), float(k),
    )  # fmt: skip
    while cells.mark_failing().any():
        before = cells.masks.copy()
        for size in range(1, m + 1):
            candidates = list(_shown_sets(cells, size, rank))
            if rank.any():
                for shown in candidates:
                    cells.hide(cells.helped([shown], size)[0], shown)
            else:
                _largest_first(cells, candidates, size)
        if np.array_equal(cells.masks, before):
            break
    return np.where(cells.masks[ids][:, None] & bits, codes, -1).astype(codes.dtype)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Distinct records: what they show, and which of them fail."""

    codes: np.ndarray  # int64 array, shape (cells, keys + 1): at the start, and the stratum
    numbers: np.ndarray  # records of each
    masks: np.ndarray  # int64 array, shape (cells,): keys that are shown, one bit a key
    stays: np.ndarray  # the same for keys that must be
    failing: np.ndarray  # bool array, shape (cells,)
    cost: np.ndarray
    k: float

    def mark_failing(self) -> np.ndarray:
        """Count the records that show what each cell shows, and mark those with fewer than k."""
        for shown in np.unique(self.masks):
            rows = np.flatnonzero((self.masks & shown) == shown)
            keys = [j for j in range(len(self.cost)) if int(shown) >> j & 1]
            groups, n_groups = cell_ids(self.codes[rows][:, [*keys, -1]])
            total = np.bincount(groups, self.numbers[rows], n_groups)
            exact = self.masks[rows] == shown
            self.failing[rows[exact]] = total[groups[exact]] < self.k
        return self.failing

    def helped(self, candidates: list[int], size: int) -> tuple[np.ndarray, np.ndarray]:
        """Whom sets of keys help when at most `size` others are hidden.

        Returns the cells that the last set helps, and what each set is worth: the records that are
        helped, and how few values that takes.
        """
        worth = np.zeros(len(candidates))
        found = helped(
            self.codes, self.numbers, self.masks, self.stays, self.failing, self.k, size,
            np.array(candidates, dtype=np.int64), self.cost, worth,
        )  # fmt: skip
        return found, worth

    def hide(self, cells: np.ndarray, shown: int) -> None:
        """Let cells show only these keys."""
        self.masks[cells] = shown
        self.failing[cells] = False


def _with_locks(codes: np.ndarray, strata: np.ndarray, locked: np.ndarray | None) -> np.ndarray:
    columns = [codes, strata] if locked is None else [codes, strata, locked]
    return np.column_stack(columns).astype(np.int64)


def _shown_sets(cells: _Cells, size: int, rank: np.ndarray) -> Iterator[int]:
    """Sets of keys that are left when failing cells lose up to `size` keys."""
    masks, seen = np.unique(cells.masks[cells.failing]), set()
    for keys in key_sets(len(cells.cost), size, rank):
        without = ~sum(1 << j for j in keys)
        for shown in dict.fromkeys((masks & without).tolist()):
            if shown not in seen:
                seen.add(shown)
                yield shown


def _largest_first(cells: _Cells, candidates: list[int], size: int) -> None:
    """Hide the set that is worth most again and again.

    What a set is worth falls as others go first, so that only the best so far is looked at again.
    """
    worths = cells.helped(candidates, size)[1]
    heap = [(-worth, shown) for worth, shown in zip(worths, candidates, strict=True) if worth > 0]
    heapify(heap)
    while heap:
        shown = heap[0][1]
        found, (worth,) = cells.helped([shown], size)
        if not len(found):
            heappop(heap)
        elif len(heap) > 1 and (-worth, shown) > min(heap[1:3]):
            heapreplace(heap, (-worth, shown))
        else:
            cells.hide(found, shown)
            heappop(heap)
