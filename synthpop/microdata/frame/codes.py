"""Coded columns: small integers that point into a tuple of levels; missing is -1.

Everything categorical is coded once at the edge; after it, code works on integer arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import usual_type
from synthpop.microdata.messages.errors import SHOWN_ROWS, Fault, InputError

MISSING = -1
MISSING_LABEL = "missing"
"""How tables and figures name a missing value."""
DENSE_CELLS = 1 << 22
FEW_CELLS = 1 << 16  # for which a look-up table costs next to nothing
LARGEST_SPAN = 1 << 62  # numbers of rows that 64 bits hold
WHOLE = re.compile(r"-?\d+\.0+")


def smallest_int(n_levels: int) -> np.dtype[Any]:
    """Return the smallest signed integer type that holds codes -1 ... n_levels - 1."""
    for dtype in (np.int8, np.int16, np.int32):
        if n_levels <= np.iinfo(dtype).max:
            return np.dtype(dtype)
    return np.dtype(np.int64)


def unhashable(values: pd.Series) -> np.ndarray:
    """Return where values are lists, dicts or others that cannot be levels; row positions."""
    if values.dtype != object or pd.api.types.infer_dtype(values, skipna=True)[:5] != "mixed":
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero([not _is_hashable(value) for value in values])


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def unhashable_fault(name: str, values: pd.Series, where: np.ndarray) -> Fault:
    """Return the fault of a column whose values at these rows cannot be levels."""
    kind = type(values.iloc[int(where[0])]).__name__
    hint = "Give text or numbers: one value per row."
    rows = tuple(int(row) for row in where[:SHOWN_ROWS])
    return Fault(name, f"holds values of the kind {kind}", rows, len(where), hint)


Codes = tuple[np.ndarray, tuple[Any, ...]]
"""A column coded: the position of each value in the levels, -1 where it is missing."""


def encode(values: pd.Series | np.ndarray) -> Codes:
    """Code one column; the position of each value in the levels, -1 where it is missing.

    A categorical keeps the order of its categories (unused ones included); any other column has its
    distinct values sorted (text and mixed types by their text). Levels are plain Python objects.

    Raises InputError: values are lists or others that cannot be compared as a whole.
    """
    if isinstance(values, pd.DataFrame):  # a table with two columns of one name
        name = str(values.columns[0])
        raise InputError.of("categories", name, "is there more than once", "Rename one.")
    series = values if isinstance(values, pd.Series) else pd.Series(values)
    series = usual_type(series)
    if isinstance(series.dtype, pd.CategoricalDtype):
        levels = tuple(series.cat.categories.tolist())
        return series.cat.codes.to_numpy().astype(smallest_int(len(levels))), levels
    where = unhashable(series)
    if len(where):
        raise InputError("categories", [unhashable_fault(str(series.name), series, where)])
    coded_numbers = _whole_numbers(series)
    if coded_numbers is not None:
        return coded_numbers
    codes, uniques = pd.factorize(series, use_na_sentinel=True)
    order, plain = _in_order(uniques)
    rank = np.empty(len(plain) + 1, dtype=np.int64)
    rank[order] = np.arange(len(plain))
    rank[-1] = MISSING
    return rank[codes].astype(smallest_int(len(plain))), plain


def _in_order(uniques: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return the order of distinct values, and the values in it as plain Python objects."""
    if isinstance(uniques.dtype, np.dtype) and uniques.dtype.kind in "biuf":
        numbers = np.asarray(uniques)
        order = np.argsort(numbers)  # distinct: any sort gives the same order
        return order, tuple(numbers[order].tolist())
    distinct = np.asarray(uniques, dtype=object)
    try:
        order = np.argsort(distinct, kind="stable")
    except TypeError:  # mixed types have no order of their own
        order = np.array(sorted(range(len(distinct)), key=lambda place: str(distinct[place])))
    levels = (item.item() if isinstance(item, np.generic) else item for item in distinct[order])
    return order, tuple(levels)


def _whole_numbers(values: pd.Series) -> tuple[np.ndarray, tuple[Any, ...]] | None:
    """Code whole numbers of a narrow range without sorting; None where it is wide."""
    if not len(values) or not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "iu":
        return None
    numbers = values.to_numpy()
    if numbers.itemsize < 8:  # differences of small types do not fit into them
        numbers = numbers.astype(np.int64)
    lowest = int(numbers.min())
    width = int(numbers.max()) - lowest + 1
    if width > min(DENSE_CELLS, max(FEW_CELLS, 32 * len(numbers))):
        return None
    codes, n_levels = _compact((numbers - lowest).astype(np.int64), width)
    levels = np.empty(n_levels, dtype=numbers.dtype)
    levels[codes] = numbers
    return codes.astype(smallest_int(n_levels)), tuple(levels.tolist())


def level_text(level: Any) -> str:
    """Return the text by which a level is compared with one of another type.

    A whole number has the same text however it is held: 8, 8.0 and the texts "8" and "8.0". A
    column of whole numbers becomes 8.0 by one missing value.
    """
    text = str(level)
    return text[: text.index(".")] if WHOLE.fullmatch(text) else text


def recode_to(values: pd.Series, levels: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Code a column against known levels: -1 where missing or unknown, and which are unknown."""
    own_codes, own_levels = encode(values)
    position = {level: code for code, level in enumerate(levels)}
    table = np.array([position.get(level, MISSING) for level in own_levels] + [MISSING])
    codes = table[own_codes].astype(smallest_int(len(levels)))
    return codes, (codes == MISSING) & (own_codes != MISSING)


@dataclass(frozen=True, slots=True)
class CodedKeys:
    """Several coded columns side by side."""

    names: tuple[str, ...]
    codes: np.ndarray  # int32 array, shape (n, m): one column per key; -1 is missing
    levels: tuple[tuple[Any, ...], ...]  # levels of each key


def run_starts(values: np.ndarray) -> np.ndarray:
    """Return whether a run of equal values begins at each, bool, shape (n,)."""
    starts = np.ones(len(values), dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts


def encode_keys(frame: pd.DataFrame, keys: Sequence[str]) -> CodedKeys:
    """Code several columns of a frame (see `encode`); columns must exist."""
    return side_by_side(keys, [encode(frame[key]) for key in keys], len(frame))


def side_by_side(names: Sequence[str], columns: Sequence[Codes], n: int) -> CodedKeys:
    """Put coded columns of n rows into one matrix."""
    codes = np.empty((n, len(names)), dtype=np.int32)
    for j, (column, _) in enumerate(columns):
        codes[:, j] = column
    return CodedKeys(tuple(names), codes, tuple(levels for _, levels in columns))


def cell_ids(codes: np.ndarray, sizes: Sequence[int] | None = None) -> tuple[np.ndarray, int]:
    """Number the distinct rows of a code matrix, (n, m), in lexicographic order; -1 is a value too.

    sizes: number of levels of each column; None to count them
    Returns ids, int64, shape (n,), and the number of distinct rows.
    """
    ids = np.zeros(len(codes), dtype=np.int64)
    n_cells = 1
    if sizes is None:
        # column by column: 15 times as fast as along an axis
        sizes = [int(column.max(initial=0)) + 1 for column in codes.T]
    for j, size in enumerate(sizes):
        radix = int(size) + 1
        ids = ids * radix + (codes[:, j].astype(np.int64) + 1)
        n_cells *= radix
        if n_cells > DENSE_CELLS:
            ids, n_cells = _compact(ids, n_cells)
    return _compact(ids, n_cells)


def number_rows(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """Number distinct rows of code columns, -1 first: as `cell_ids`, with less memory."""
    ids = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * (size + 1) >= LARGEST_SPAN:
            ids, span = _renumbered(ids, span)
        ids *= size + 1
        ids += column
        ids += 1
        span *= size + 1
    return _renumbered(ids, span)


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


def _renumbered(ids: np.ndarray, span: int) -> tuple[np.ndarray, int]:
    if span <= max(FEW_CELLS, 4 * len(ids)):
        present = np.zeros(span, dtype=bool)
        present[ids] = True
        rank = np.cumsum(present, dtype=np.int32 if span < 1 << 31 else np.int64)
        return rank[ids] - 1, int(rank[-1])
    positions, distinct = pd.factorize(ids)
    order = np.argsort(distinct)
    rank = np.empty(len(distinct), dtype=np.int32 if len(distinct) < 1 << 31 else np.int64)
    rank[order] = np.arange(len(distinct))
    return rank[positions], len(distinct)


def first_rows(ids: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the first row of each cell 0 ... n_cells - 1 (0 where a cell has none)."""
    first = np.zeros(n_cells, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    return first


def extremes(
    values: np.ndarray, groups: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest value of each group; crossed over where a group is empty."""
    ends = np.finfo(float) if values.dtype.kind == "f" else np.iinfo(values.dtype)
    low = np.full(n_groups, ends.max, dtype=values.dtype)
    high = np.full(n_groups, ends.min, dtype=values.dtype)
    np.minimum.at(low, groups, values)
    np.maximum.at(high, groups, values)
    return low, high


def _compact(ids: np.ndarray, n_cells: int) -> tuple[np.ndarray, int]:
    if n_cells <= min(DENSE_CELLS, max(FEW_CELLS, 32 * len(ids))):  # otherwise sorting is quicker
        present = np.zeros(n_cells, dtype=bool)
        present[ids] = True
        rank = np.cumsum(present, dtype=np.int64) - 1
        return rank[ids], int(rank[-1]) + 1 if n_cells else 0
    distinct, inverse = np.unique(ids, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), len(distinct)
