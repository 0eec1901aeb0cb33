"""Columns of households: constant among members, the relation, sizes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.messages.message import message
from synthpop.microdata.reading.lexicon import RELATION
from synthpop.microdata.reading.partitions import codes_of, mapping_of, same_partition

CONSTANT_SHARE = 0.999
FEWEST_MISSING = 10  # households that lack a value, to say that all members do
REFERENCE_SHARE = 0.98
MOST_RELATIONS = 30
MOST_PAIRS = 200_000
FEWEST_HOUSEHOLDS = 20
FEWEST_PER_ID, MOST_PER_ID = 1.2, 12


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdIndex:
    """Rows of a survey by household.

    starts, sizes: int arrays, shape (households,); first place in `order`, and number of members
    """

    index: np.ndarray  # int array, shape (n,): number of the household of each row
    order: np.ndarray  # int array, shape (n,): rows sorted by household, members in their order
    starts: np.ndarray
    sizes: np.ndarray

    def constant(self, codes: np.ndarray) -> bool:
        """Whether nearly all households of two and more have one code."""
        several = self.sizes > 1
        if not several.any():
            return False
        sorted_codes = codes[self.order]
        low = np.minimum.reduceat(sorted_codes, self.starts)
        high = np.maximum.reduceat(sorted_codes, self.starts)
        return bool(np.mean((low == high)[several]) >= CONSTANT_SHARE)

    def missing_together(self, missing: np.ndarray) -> bool:
        """Whether nearly all households of two and more miss a value for all members or none."""
        n_missing = np.add.reduceat(missing[self.order].astype(np.int64), self.starts)
        is_affected = (self.sizes > 1) & (n_missing > 0)
        all_of_them = (n_missing == self.sizes)[is_affected]
        return len(all_of_them) >= FEWEST_MISSING and bool(all_of_them.mean() >= CONSTANT_SHARE)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of the first and of each other member of households of two and more."""
        first = self.order[self.starts[self.index[self.order]]]
        other = first != self.order
        step = max(1, int(other.sum()) // MOST_PAIRS)
        return first[other][::step], self.order[other][::step]


def household_index(column: pd.Series) -> HouseholdIndex:
    """Return the rows of each household."""
    index = codes_of(column)
    order = np.argsort(index, kind="stable")
    sizes = np.bincount(index)
    starts = np.cumsum(sizes) - sizes
    return HouseholdIndex(index, order, starts, sizes)


def relation_column(frame: pd.DataFrame, names: Sequence[str], index: HouseholdIndex) -> str | None:
    """Return the column with the relation to the reference person.

    One of its levels occurs exactly once in at least 98 % of the households; columns with a name
    of a relation come first.
    """
    if not (index.sizes > 1).any():
        return None
    for name in sorted(names, key=lambda name: name.lower() not in RELATION):
        codes = codes_of(frame[name])
        n_levels = int(codes.max()) + 1
        if not 2 < n_levels <= MOST_RELATIONS or index.constant(codes):
            continue
        counts = np.bincount(index.index * n_levels + codes, minlength=len(index.sizes) * n_levels)
        if (counts <= 1).all():
            continue  # a number of members
        once = (counts.reshape(-1, n_levels) == 1).mean(axis=0)
        if once.max() >= REFERENCE_SHARE:
            return str(name)
    return None


def household_column(
    frame: pd.DataFrame, codes: Mapping[str, np.ndarray], weight: np.ndarray | None = None
) -> tuple[str, str] | None:
    """Return the ids of households where no name tells them, and why; texts or whole numbers.

    weight: codes of a weight that was named, which may be constant in households

    There are 1.2 to 12 rows a value on average. Rows of one value follow each other and another
    column is constant in these blocks; or, in any order of the rows, two columns are constant
    neither of which is a function of the other. Of several, the one with most values, blocks first.
    """
    blocks: dict[str, HouseholdIndex] = {}
    scattered: dict[str, HouseholdIndex] = {}
    for name, code in codes.items():
        column = frame[name]
        n_values = int(code.max()) + 1
        in_range = MOST_PER_ID * n_values > len(code) > FEWEST_PER_ID * n_values
        in_range &= n_values >= FEWEST_HOUSEHOLDS
        if not in_range or column.isna().any():
            continue
        # SPSS stores whole numbers as floats
        is_whole = pd.api.types.is_numeric_dtype(column.dtype) and bool((column % 1 == 0).all())
        if not (is_whole or column.dtype.kind in "OTU"):
            continue
        in_blocks = 1 + np.count_nonzero(np.diff(code)) == n_values
        (blocks if in_blocks else scattered)[name] = household_index(column)
    for candidates, needed, why in (
        (blocks, 1, message("its rows follow each other, as those of a household")),
        (scattered, 2, message("rows with the same value share others, as members of a household")),
    ):
        for name in sorted(candidates, key=lambda name: -len(candidates[name].sizes)):
            others = [code for other, code in codes.items() if other != name and code.max() > 0]
            others += [] if weight is None else [weight]
            constant = [code for code in others if candidates[name].constant(code)]
            if len(constant) >= needed and (needed == 1 or _independent(constant)):
                return name, why
    return None


def _independent(columns: Sequence[np.ndarray]) -> bool:
    """Whether neither of some two columns is a function of the other."""
    return any(
        not (mapping_of(a, b) or mapping_of(b, a) or same_partition(a, b))
        for a, b in itertools.combinations(columns, 2)
    )


def is_member_number(codes: np.ndarray, index: HouseholdIndex) -> bool:
    """Whether a column tells the members of each household apart and repeats between them."""
    n_levels = int(codes.max()) + 1
    if n_levels >= len(codes) or not (index.sizes > 1).any() or n_levels > MOST_RELATIONS:
        return False
    joint = index.index * n_levels + codes
    return len(np.unique(joint)) == len(codes)


def is_size(column: pd.Series, index: HouseholdIndex) -> bool:
    """Whether a column is the number of rows of the household."""
    if column.nunique(dropna=False) != len(np.unique(index.sizes)):
        return False
    texts = pd.Series([str(value) for value in column], dtype=object)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    return bool(np.array_equal(values, index.sizes[index.index].astype(float)))
