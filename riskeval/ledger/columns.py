"""The columns of a release as whoever joins it with another one reads them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskeval.kernels.numbering import mix_values, number_values
from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import InputError

NUMBER = r"(-?(?:\d+(?:\.\d+)?|inf))"
BETWEEN = re.compile(rf"([\[(]?)\s*{NUMBER}\s*(?:-|–|to|bis|,)\s*{NUMBER}\s*([\])]?)")
ABOVE = re.compile(
    rf"(?:>=|≥|from|ab)\s*{NUMBER}|{NUMBER}\s*(?:\+|(?:and|or|und|oder) \w+)", re.IGNORECASE
)
BELOW = re.compile(rf"(?:(<|under|below|unter)|(?:<=|≤|up to|bis))\s*{NUMBER}", re.IGNORECASE)
UNTIL = re.compile(rf"{NUMBER}\s*(?:and|or|und|oder) (?:less|under|below|younger|weniger|jünger)")
GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class Readable:
    """A column: a hash of each value, and the range in which its true value lies."""

    kind: str  # "numbers", "classes" of numbers, or "levels"
    hash: np.ndarray  # uint64 array, shape (n,): the same for the same value; 0 for a missing one
    low: np.ndarray | None  # float64 arrays, shape (n,): -inf and inf for missing; None for levels
    high: np.ndarray | None
    shown: Any  # the column itself

    @cached_property
    def distinct(self) -> np.ndarray:
        """Hashes of the values that occur, the missing one left out."""
        values = pd.unique(self.hash)
        return values[values != 0]

    @cached_property
    def has_holes(self) -> bool:
        """Whether a value is missing."""
        return bool((self.hash == 0).any())

    def at(self, rows: np.ndarray) -> Readable:
        """Return the column at some rows."""
        low, high = (None if end is None else end[rows] for end in (self.low, self.high))
        return Readable(self.kind, self.hash[rows], low, high, None)


def read_columns(frame: pd.DataFrame, without: Collection[str] = ()) -> dict[str, Readable]:
    """Read the columns of a release; lists and other values that have no order are left out."""
    frame = frame.copy(deep=False)
    frame.attrs = {}  # a dictionary would be copied with each column
    columns = {}
    for name in frame:
        if name not in without:
            try:
                columns[str(name)] = read_one(frame[name])
            except (TypeError, InputError):
                continue
    return columns


def read_one(values: pd.Series) -> Readable:
    """Read a column.

    Examples
    --------
    >>> column = read_one(pd.Series(["0-9", "10-19", None, "80 and over"]))
    >>> column.kind, column.low.tolist(), column.hash[2]
    ('classes', [0.0, 10.0, -inf, 80.0], np.uint64(0))
    """
    if is_number(values) and not isinstance(values.dtype, pd.CategoricalDtype):
        return _of_numbers(as_numbers(values), values)
    codes, levels = encode(values)
    codes = codes.astype(np.int64)
    texts = [" ".join(level_text(level).split()).casefold() for level in levels]
    limits = [class_limits(text) for text in texts]
    used = np.bincount(codes + 1, minlength=len(levels) + 1)[1:] > 0
    if used.any() and all(limits[place] is not None for place in np.flatnonzero(used)):
        low, high = np.array([pair or (np.nan, np.nan) for pair in limits]).T
        if (low == high)[used].all():
            return _of_numbers(np.append(low, np.nan)[codes], values)
        of_classes = hash_numbers(low) ^ (hash_numbers(high) << np.uint64(1)) | np.uint64(1)
        hashes = np.append(of_classes, np.uint64(0))[codes]
        high = _until_the_next(low, high)
        ends = np.append(low, -np.inf)[codes], np.append(high, np.inf)[codes]
        return Readable("classes", hashes, *ends, values)
    of_levels = pd.util.hash_array(np.array(texts, dtype=object))
    hashes = np.append(of_levels | np.uint64(1), 0).astype(np.uint64)
    return Readable("levels", hashes[codes], None, None, values)


def _of_numbers(numbers: np.ndarray, values: pd.Series) -> Readable:
    known = ~np.isnan(numbers)
    hashes = np.where(known, hash_numbers(numbers), np.uint64(0))
    if known.all():
        return Readable("numbers", hashes, numbers, numbers, values)
    low, high = np.where(known, numbers, -np.inf), np.where(known, numbers, np.inf)
    return Readable("numbers", hashes, low, high, values)


def class_limits(text: str) -> tuple[float, float] | None:
    """Return the ends of a class of numbers, open ends a little inside; None for other texts.

    Examples
    --------
    >>> class_limits("10-19"), class_limits("80+"), class_limits("north")
    ((10.0, 19.0), (80.0, inf), None)
    """
    if match := re.fullmatch(NUMBER, text):
        return float(text), float(text)
    if match := BETWEEN.fullmatch(text):
        low, high = float(match[2]), float(match[3])
        low = np.nextafter(low, np.inf) if match[1] == "(" else low
        high = np.nextafter(high, -np.inf) if match[4] == ")" else high
        return (float(low), float(high)) if low <= high else None
    if match := UNTIL.fullmatch(text):
        return -np.inf, float(match[1])
    if match := ABOVE.fullmatch(text):
        return float(match[1] or match[2]), np.inf
    if match := BELOW.fullmatch(text):
        high = float(match[2])
        return -np.inf, float(np.nextafter(high, -np.inf)) if match[1] else high
    return None


def _until_the_next(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return upper ends; those of classes of whole numbers, as 0-9 and 10-19, reach the next."""
    if not np.isin(high[low < high] + 1, low).any():
        return high
    whole = (low < high) & np.isfinite(high) & (high == np.rint(high))
    return np.where(whole, np.nextafter(high + 1, -np.inf), high)


def hash_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return a hash of each number, never 0."""
    bits = (numbers + 0.0).view(np.uint64)  # + 0.0: -0.0 is 0.0
    return mixed(bits, 0) | np.uint64(1)


def mixed(values: np.ndarray, salt: int) -> np.ndarray:
    """Return values that look random, others for another salt."""
    result = np.empty(len(values), dtype=np.uint64)
    mix_values(values, np.uint64((salt + 1) * GOLDEN % (1 << 64)), result)
    return result


def row_hash(columns: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Return one hash of several columns of hashes, shape (n,); equal rows have equal ones."""
    total = np.zeros(n, dtype=np.uint64)
    for place, values in enumerate(columns):
        total += mixed(values, place)
    return total


def numbered(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Number the distinct values of two arrays of hashes together."""
    size = 1 << int(np.ceil(np.log2(2 * (len(first) + len(second)) + 2)))
    keys, numbers = np.zeros(size, dtype=np.int64), np.full(size, -1, dtype=np.int32)
    out = np.empty(len(first), dtype=np.int64), np.empty(len(second), dtype=np.int64)
    n = 0
    for values, ids in zip((first, second), out, strict=True):
        n = int(number_values(mixed(values, 0).view(np.int64), keys, numbers, n, ids))
    return *out, n
