"""The table of distinct keys of a file, and the treatments of missing keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import Codes, encode, number_rows
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.roles.microdata import Microdata

TREATMENTS = ("wildcard", "conservative", "category-size", "conservative-2", "own-category")
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
    """Return the distinct keys of a file, without weights; found once.

    Without keys all records agree: they are one cell.
    """
    keys, n = file.roles.keys, len(file)
    if not keys:
        one = min(n, 1)
        sizes = np.full(one, float(n))
        codes, cell = np.zeros((one, 0), dtype=np.int32), np.zeros(n, dtype=np.int64)
        return KeyTable((), (), codes, cell, sizes, sizes)
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


def code_table(codes: np.ndarray) -> KeyTable:
    """Return the distinct rows of a code matrix, integers (n, m); levels are the codes."""
    sizes = [int(column.max(initial=-1)) + 1 for column in codes.T]
    columns = [(column, tuple(range(size))) for column, size in zip(codes.T, sizes, strict=True)]
    return _table_of(columns, [""] * len(sizes))


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
