"""Members of a household given its first member, who is drawn before the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synthpop.conditional.encodings import Encodings
from synthpop.microdata.frame.block import Block
from synthpop.microdata.statistics.weighted import quantile
from synthpop.models.encoding import DECILES, FEW_VALUES, Encoding, coded_digits, numeric_digits

FIRST_MEMBER = "first"
FIRST_VALUE = "(value of the first member)"
FIRST = np.inf  # in place of the first member's number, for the first member itself
FEWEST_IN_CLASS = 20
TOP = (0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Members:
    """Who is drawn first in the households of a sample or block, and who is drawn given them.

    reference: int array, shape (n_households,); row of the member that is drawn first
    others: int array, shape (m,); rows of the members that are drawn given the first member
    sizes: int array, shape (n_households,); persons of each household
    """

    reference: np.ndarray
    others: np.ndarray
    sizes: np.ndarray

    def handed_on(self, values: np.ndarray) -> np.ndarray:
        """Give values of the reference members, shape (n_households,), to all; shape (n,)."""
        return np.repeat(values, self.sizes)


def members_beside(
    reference: np.ndarray, offsets: np.ndarray, apart: np.ndarray | None = None
) -> Members:
    """Return the members beside those that are drawn first, without those set `apart`, (n,)."""
    is_other = np.ones(int(offsets[-1]), dtype=bool)
    is_other[reference] = False
    if apart is not None:
        is_other &= ~apart
    return Members(reference, np.flatnonzero(is_other), np.diff(offsets))


def first_members(offsets: np.ndarray) -> Members:
    """Return the first members, and all others.

    Examples
    --------
    >>> members = first_members(np.array([0, 3, 4]))
    >>> members.reference.tolist(), members.others.tolist()
    ([0, 3], [1, 2])
    """
    return members_beside(offsets[:-1], offsets)


def number_digits(values: np.ndarray, weights: np.ndarray, *, top: bool = False) -> Encoding:
    """Choose the classes of the first member's value of a number; NaN is missing, the digit 0.

    With up to 20 distinct values one class for each. Otherwise weighted deciles of the values that
    are not zero; zero, and the values below it, are apart where 20 first members have such a value.
    With `top` also their 95 % and 99 % quantiles where 20 first members are above: couples of two
    high incomes make much of the correlation of members. A last class is that of the first member
    itself, whose value is infinite.

    Examples
    --------
    >>> x = np.concatenate([np.zeros(30), np.arange(1.0, 101.0)])
    >>> number_digits(x, np.ones(130)).breaks.tolist()[:3]
    [0.0, 10.0, 20.0]
    """
    has_value = ~np.isnan(values)
    apart = has_value & (values != 0)
    if len(np.unique(values[has_value])) <= FEW_VALUES or not weights[apart].sum() > 0:
        limits = numeric_digits(FIRST_VALUE, values, weights).breaks
        return _with_first(np.zeros(0) if limits is None else limits)
    limits = np.unique(quantile(values[apart], weights[apart], DECILES))
    highest = quantile(values[apart], weights[apart], TOP if top else ())
    is_class = [bool(np.sum(values[apart] > limit) >= FEWEST_IN_CLASS) for limit in highest]
    limits = np.union1d(limits, highest[np.array(is_class, dtype=bool)])
    if (values[has_value] == 0).sum() >= FEWEST_IN_CLASS:
        limits = np.union1d(limits, [0.0])
    if (values[has_value] < 0).sum() >= FEWEST_IN_CLASS:
        limits = np.union1d(limits, [np.nextafter(0.0, -1.0)])
    return _with_first(limits[limits < values[has_value].max()])


def _with_first(limits: np.ndarray) -> Encoding:
    limits = np.append(limits, np.finfo(np.float64).max)
    return Encoding(FIRST_VALUE, len(limits) + 2, limits)


def level_digits(n_levels: int) -> Encoding:
    """Classes of the first member's value of a variable with levels: all of them, and none."""
    return coded_digits(FIRST_VALUE, n_levels)


def given_first(values: np.ndarray, offsets: np.ndarray, first: float) -> np.ndarray:
    """Return the value of the first member for the others, and `first` for itself; shape (n,).

    Examples
    --------
    >>> given_first(np.array([1, 0, 0, 2]), np.array([0, 3, 4]), 9).tolist()
    [9, 1, 1, 9]
    """
    first_values = np.repeat(values[offsets[:-1]], np.diff(offsets))
    first_values[offsets[:-1]] = first
    return first_values


def block_of(
    block: Block, rows: np.ndarray, encodings: Encodings, first_value: np.ndarray | None = None
) -> Block:
    """Return some persons of a block, with the predictors of its encodings.

    `first_value` is the value of the first member, shape (n_persons,) of the whole block.
    """
    columns = block.columns if first_value is None else {**block.columns, FIRST_VALUE: first_value}
    names = dict.fromkeys(item.name for item in encodings.variables)
    of_rows = {name: columns[name][rows] for name in names}
    return replace(block, offsets=np.arange(len(rows) + 1), columns=of_rows)


def knows_first(encodings: Encodings) -> bool:
    """Whether the value of the first member is a predictor."""
    return bool(encodings.variables) and encodings.variables[-1].name == FIRST_VALUE
