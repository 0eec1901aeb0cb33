"""The table of distinct keys of a file, and the treatments of missing keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import Codes, encode
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.roles.microdata import Microdata

TREATMENTS = ("wildcard", "conservative", "category-size", "conservative-2", "own-category")
DENSE_CELLS = 1 << 16  # combinations of levels for which a look-up table costs next to nothing
LARGEST = 1 << 62
ALONE = ("record alone in its cell", "records alone in their cells")
"""What models of cells count: beside missing keys these are not the unique records."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """The distinct keys of a file; a missing value is a value of its own here."""

    names: tuple[str, ...]  # the m keys
    levels: tuple[tuple[Any, ...], ...]  # levels of each key
    # int32 array, shape (K, m): distinct keys in lexicographic order of their codes; -1 is
    # missing
    codes: np.ndarray
    cell: np.ndarray  # integer array, shape (n,): row of `codes` of each record
    # counts, weights: float64 arrays, shape (K,): records and sum of weights of each distinct key
    # (`weights` equals `counts` without weights)
    counts: np.ndarray
    weights: np.ndarray

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each key."""
        return tuple(len(levels) for levels in self.levels)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.cell)

    def frame(self) -> pd.DataFrame:
        """The distinct keys as columns with their levels, missing where a key is missing."""
        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(self.codes[:, j], pd.Index(self.levels[j]))
                for j, name in enumerate(self.names)
            }
        )


def tabulate(frame: pd.DataFrame, keys: Sequence[str]) -> KeyTable:
    """Find the distinct keys of a frame; columns must exist."""
    return _table_of([encode(frame[key]) for key in keys], keys)


def key_table(file: Microdata) -> KeyTable:
    """Return the distinct keys of a file, without weights; found once."""
    keys = file.roles.keys
    return file.remembered(
        ("key table", keys), lambda: _table_of([file.codes(key) for key in keys], keys)
    )


def weighted_key_table(file: Microdata) -> KeyTable:
    """Return the distinct keys of a file with the sums of its weights, where it has some."""
    table = key_table(file)
    if file.weights is None:
        return table
    sums = np.bincount(table.cell, weights=file.weights, minlength=len(table.codes))
    return replace(table, weights=sums)


def _table_of(coded: Sequence[Codes], names: Sequence[str]) -> KeyTable:
    columns, levels = [codes for codes, _ in coded], tuple(levels for _, levels in coded)
    cell, n_cells = number_rows(columns, [len(values) for values in levels])
    n = len(cell)
    first = np.zeros(n_cells, dtype=np.int64)
    first[cell[::-1]] = np.arange(n - 1, -1, -1)
    codes = np.empty((n_cells, len(columns)), dtype=np.int32)
    for j, column in enumerate(columns):
        codes[:, j] = column[first]
    counts = np.bincount(cell, minlength=n_cells).astype(np.float64)
    return KeyTable(tuple(names), levels, codes, cell, counts, counts)


def number_rows(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """Number distinct rows of code columns, -1 first: as `cell_ids`, with less memory."""
    ids = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * (size + 1) >= LARGEST:
            ids, span = _compact(ids, span)
        ids *= size + 1
        ids += column
        ids += 1
        span *= size + 1
    return _compact(ids, span)


def observed_patterns(observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a bool matrix in their order, and which of them each row is; in linear time.

    Examples
    --------
    >>> patterns, which = observed_patterns(np.array([[True, False], [False, True], [True, False]]))
    >>> patterns.tolist(), which.tolist()
    ([[False, True], [True, False]], [1, 0, 1])
    """
    columns = observed.T.astype(np.int8) - 1
    which, n_patterns = number_rows(list(columns), [1] * len(columns))
    patterns = np.empty((n_patterns, len(columns)), dtype=np.bool_)
    patterns[which] = observed
    return patterns, which


def _compact(ids: np.ndarray, span: int) -> tuple[np.ndarray, int]:
    if span <= max(DENSE_CELLS, 4 * len(ids)):
        present = np.zeros(span, dtype=bool)
        present[ids] = True
        rank = np.cumsum(present, dtype=np.int32 if span < 1 << 31 else np.int64)
        return rank[ids] - 1, int(rank[-1])
    positions, distinct = pd.factorize(ids)
    order = np.argsort(distinct)
    rank = np.empty(len(distinct), dtype=np.int32 if len(distinct) < 1 << 31 else np.int64)
    rank[order] = np.arange(len(distinct))
    return rank[positions], len(distinct)


def check_treatment(faults: Faults, missing: str, alpha: float = 1.0) -> None:
    """Note a treatment of missing keys or an alpha that means nothing."""
    check_choice(faults, "missing", missing, TREATMENTS)
    number = isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha <= 1:
        faults.add("alpha", f"is {alpha!r}", hint="Give a number from 0 to 1.")
    elif alpha != 1 and missing in TREATMENTS and missing != "wildcard":
        faults.add(
            "alpha",
            f"is {alpha:g}, which has no meaning with missing={missing!r}",
            hint='Leave it out, or use missing="wildcard".',
        )
