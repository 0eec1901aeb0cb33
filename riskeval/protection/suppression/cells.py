"""Suppression on arrays of codes: the greedy rule, its rescue, and a count of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riskeval.keys.matching import match_counts
from riskeval.keys.table import code_table
from synthpop.microdata.frame.codes import cell_ids
from synthpop.microdata.messages.errors import Fault, InputError

if TYPE_CHECKING:
    from riskeval.kernels.suppression_cells import CellBook

SETS, PAIRS = 1 << 14, 1 << 20
SLACK = 1e-9
MOST_ROOM = 4_000_000  # patterns that suppression may make before it starts again with more room


@dataclass(frozen=True)
class SuppressRequest:
    """What is asked of the keys: k, the treatment of missing values, what each key is worth."""

    k: int
    # missing, alpha: treatment of missing values and weight of a match through one
    missing: str
    alpha: float
    # float64 array, shape (m,): 0 everywhere, or 1 for the most important key and larger for less
    # important ones
    rank: np.ndarray
    # float64 array, shape (m,): cells that one suppression takes: 1, plus the linked columns
    cost: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """What an incomplete match counts for a complete pattern and for an incomplete one."""
        by_source = {
            "wildcard": (self.alpha, self.alpha),
            "conservative-2": (0.0, 0.0),
            "conservative": (0.0, 1.0),
        }
        return np.array(by_source.get(self.missing, (1.0, 1.0)))


def count_matches(codes: np.ndarray, strata: np.ndarray, request: SuppressRequest) -> np.ndarray:
    """Count the records that each record matches.

    Records of different strata never match; shares of categories are those of the stratum.
    """
    if request.missing != "category-size":
        return _counted(np.column_stack([codes, strata]), request)
    f = np.zeros(len(codes))
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        f[rows] = _counted(codes[rows], request)
    return f


def _counted(columns: np.ndarray, request: SuppressRequest) -> np.ndarray:
    table = code_table(columns)
    return match_counts(table, request.missing, request.alpha)[0][table.cell]


def category_shares(codes: np.ndarray) -> np.ndarray:
    """Share of each level among all records, missing ones included, shape (m, most levels)."""
    most = int(codes.max(initial=0)) + 1
    counts = [np.bincount(column[column >= 0], minlength=most) for column in codes.T]
    return np.array(counts, dtype=np.float64).reshape(codes.shape[1], most) / max(len(codes), 1)


def suppress_codes(
    codes: np.ndarray,
    strata: np.ndarray,
    request: SuppressRequest,
    locked: np.ndarray | None = None,
) -> np.ndarray:
    """Codes with as few new -1 as the greedy rule needs; `locked` cells stay."""
    if request.missing == "own-category":
        from riskeval.protection.suppression.merge import merge_rare

        return merge_rare(codes, strata, request.k, request.rank, request.cost)
    if request.missing == "category-size":
        result = codes.copy()
        for stratum in range(int(strata.max(initial=-1)) + 1):
            rows = np.flatnonzero(strata == stratum)
            of_rows = None if locked is None else locked[rows]
            result[rows] = _by_category_size(codes[rows], request, of_rows)
        return result
    result = _greedy(codes, strata, request, np.zeros((0, 0)), locked)
    while request.weights.min() < 1.0:
        short = request.k - count_matches(result, strata, request)
        stuck = (short > SLACK) & (result < 0).all(axis=1)
        if not stuck.any():
            break
        helped = _rescue(result, strata, short, stuck)
        if locked is not None:
            helped = np.where(locked, result, helped)
            if np.array_equal(helped, result):
                break
        result = _greedy(helped, strata, request, np.zeros((0, 0)), locked)
    return result


def _by_category_size(
    codes: np.ndarray, request: SuppressRequest, locked: np.ndarray | None
) -> np.ndarray:
    """Repeat with new shares: they fall as cells are suppressed."""
    one = np.zeros(len(codes), dtype=np.int64)
    while True:
        new = _greedy(codes, one, request, category_shares(codes), locked)
        if np.array_equal(new, codes):
            return codes
        codes = new


def _rescue(
    codes: np.ndarray, strata: np.ndarray, short: np.ndarray, stuck: np.ndarray
) -> np.ndarray:
    """Empty some incomplete records for those that have no key left and still match too few."""
    result = codes.copy()
    for stratum in np.unique(strata[stuck]):
        inside = strata == stratum
        n_left = (codes >= 0).sum(axis=1)
        helpers = np.flatnonzero(inside & (n_left > 0) & (n_left < codes.shape[1]))
        helpers = helpers[np.argsort(n_left[helpers], kind="stable")]
        wanted = int(np.ceil(short[inside & stuck].max() - SLACK))
        result[helpers[:wanted]] = -1
    return result


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Records by their keys, their stratum and the keys that are locked."""

    # int32 array, shape (n, width): keys, and the stratum where there are several
    columns: np.ndarray
    locks: np.ndarray  # int64 array, shape (n,): keys of each record that stay, one bit a key
    ids: np.ndarray  # int64 array, shape (n,): pattern of each record
    first: np.ndarray  # int64 array, shape (cells,): first record of each pattern
    # int32 array, shape (n,): next record with the same pattern, -1 for the last one
    follows: np.ndarray


def _patterns(codes: np.ndarray, strata: np.ndarray, locked: np.ndarray | None) -> _Patterns:
    several = int(strata.max(initial=0)) > 0
    columns = np.column_stack([codes, strata]) if several else codes
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    locks = np.zeros(len(codes), dtype=np.int64)
    if locked is not None:
        locks = locked.astype(np.int64) @ (np.int64(1) << np.arange(codes.shape[1]))
    number_of_lock = np.unique(locks, return_inverse=True)[1].reshape(-1)
    named = np.column_stack([columns, number_of_lock])
    ids, n_cells = cell_ids(named)
    order = np.argsort(ids, kind="stable")
    follows = np.full(len(codes), -1, dtype=np.int32)
    same = ids[order[1:]] == ids[order[:-1]]
    follows[order[:-1][same]] = order[1:][same]
    first = order[np.searchsorted(ids[order], np.arange(n_cells))]
    return _Patterns(columns, locks, ids, first, follows)


def _book(patterns: _Patterns, request: SuppressRequest, shares: np.ndarray, room: int) -> CellBook:
    """Return the cells of the patterns, with room for those that suppression makes."""
    from riskeval.kernels.suppression_cells import CELL, MASK, PART, SUMS, CellBook

    columns, n_cells = patterns.columns, len(patterns.first)
    width = columns.shape[1]
    random = np.random.Generator(np.random.PCG64(0))  # words of a hash table, nothing else
    noise = random.integers(1, 1 << 63, (width, int(columns.max(initial=0)) + 1), dtype=np.uint64)
    book = CellBook(
        codes=np.empty((room, width), dtype=np.int32),
        cells=np.zeros(room, dtype=CELL).view(np.recarray),
        masks=np.zeros(SETS, dtype=MASK).view(np.recarray),
        parts=np.zeros(PAIRS, dtype=PART).view(np.recarray),
        pairs=np.zeros(2 * PAIRS, dtype=np.uint64),
        used=np.zeros(3, dtype=np.int64),
        noise=noise,
        sums=np.zeros(SUMS, dtype=np.uint64),
        weight=request.weights,
        shares=shares if shares.size else np.zeros((width, 0)),
        around=np.zeros((width + 2, 2)),
    )
    book.masks["salt"] = random.integers(1, 1 << 63, SETS, dtype=np.uint64)
    book.cells["locked"][:n_cells] = patterns.locks[patterns.first]
    book.cells["first_record"][:n_cells] = patterns.first
    book.cells["number"][:n_cells] = np.bincount(patterns.ids, minlength=n_cells)
    book.codes[:n_cells] = columns[patterns.first]
    return book


def _greedy(
    codes: np.ndarray,
    strata: np.ndarray,
    request: SuppressRequest,
    shares: np.ndarray,
    locked: np.ndarray | None,
) -> np.ndarray:
    from riskeval.kernels.suppression_cells import SLOT, PatternTable
    from riskeval.kernels.suppression_greedy import suppress

    n_keys = codes.shape[1]
    patterns = _patterns(codes, strata, locked)
    n_cells, k = len(patterns.first), request.k - SLACK
    tier = np.unique(request.rank - request.cost, return_inverse=True)[1].astype(np.int64)
    room = n_cells + min(2 * codes.size, MOST_ROOM)  # what is not needed is never touched
    while True:
        book = _book(patterns, request, shares, room)
        cell_of, follows = patterns.ids.astype(np.int32), patterns.follows.copy()
        chains = np.empty((room, n_keys), dtype=np.int32)
        table, names = (
            PatternTable(np.zeros(64, SLOT).view(np.recarray), np.zeros(64, dtype=np.int32))
            for _ in range(2)
        )
        try:
            has_room = suppress(
                book, n_cells, follows, cell_of, patterns.columns, k, request.rank, request.cost,
                tier, chains, table, names,
            )  # fmt: skip
        except ValueError as error:
            what = "too many patterns of missing keys"
            fault = Fault("keys", what, hint="Use fewer keys, or subsets of them.")
            raise InputError("local_suppression", [fault]) from error
        if has_room:
            return book.codes[cell_of][:, :n_keys]
        room *= 2
