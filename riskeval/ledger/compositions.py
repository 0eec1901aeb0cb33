"""Households of a synthetic file whose members have the ages of one in an earlier file.

Files of one fit, or of refits, that copy households of the survey hold the same compositions.
Chance is measured on the file itself: all members a year or five older or younger are as likely
where nobody was copied, with the same gaps of couples and of children, and with heaped ages.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from riskeval.ledger.columns import Readable, hash_numbers, mixed
from riskeval.verdict.verdict import EXCEEDED, Finding
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import percent

LEAST_MEMBERS = (3, 5)
"""Members from which on households are compared: the larger ones where many are alike."""
SHIFTS = (1.0, -1.0, 5.0, -5.0)
FEWEST, FEW_VALUES, LARGEST = 100, 20, 150.0
EXCESS = 0.1
"""Share of compositions beyond chance from which on they are told; there is no published limit."""


def composition_findings(
    name: str, earlier: Mapping[str, Readable], new: Mapping[str, Readable],
    homes: tuple[np.ndarray, np.ndarray] | None,
) -> list[Finding]:  # fmt: skip
    """Return columns of ages whose compositions recur in an earlier synthetic file.

    homes: household of each record of the earlier and of the new file, int64; -1 for none
    """
    found = []
    for column in new if homes is not None else ():
        sides = earlier.get(column), new[column]
        if sides[0] is None or not (_is_age(sides[0]) and _is_age(sides[1])):
            continue
        assert homes is not None
        excess, n = max(
            recurring((homes[1], sides[1]), (homes[0], sides[0]), least) for least in LEAST_MEMBERS
        )
        if excess > EXCESS:
            text = message(
                "{share} of the larger households have the values of {column} of one in {release} "
                "beyond chance: both copied them from the survey, or one holds draws of the other",
                share=percent(excess, 0),
                column=column, release=name,
            )  # fmt: skip
            found.append(Finding("households that recur", text, EXCEEDED, excess, EXCESS,
                                 "chance", n, (column,)))  # fmt: skip
    return found


def recurring(
    new: tuple[np.ndarray, Readable], other: tuple[np.ndarray, Readable], least: int
) -> tuple[float, int]:
    """Return the share of compositions that another file has, beyond chance, and their number.

    new, other: household of each record, and the column
    least: members from which on households count
    """
    every_other, every_own = _compositions(*other, least), _compositions(*new, least)
    if np.array_equal(every_other, every_own):  # the same file again tells nothing more
        return 0.0, 0
    there, own = np.unique(every_other), np.unique(every_own)
    if len(own) < FEWEST or len(there) < FEWEST:
        return 0.0, 0
    held = np.isin(own, there)
    chance = max(
        float(np.isin(np.unique(_compositions(*new, least, shift)), there).mean())
        for shift in SHIFTS
    )
    return float(held.mean()) - chance, int(held.sum())


def _is_age(column: Readable) -> bool:
    """Whether a column has whole numbers of the size of ages, many of them."""
    if column.kind != "numbers" or column.low is None or len(column.distinct) < FEW_VALUES:
        return False
    values = column.low[np.isfinite(column.low)]
    return bool((values == np.rint(values)).all() and np.abs(values).max(initial=0) <= LARGEST)


def _compositions(home: np.ndarray, column: Readable, least: int, shift: float = 0.0) -> np.ndarray:
    """Return hashes of the values of all members of each household, uint64, in their order."""
    assert column.low is not None
    order = np.argsort(home, kind="stable")
    order = order[home[order] >= 0]
    if not len(order):
        return np.empty(0, dtype=np.uint64)
    values = column.low[order]
    starts = np.flatnonzero(np.r_[True, np.diff(home[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    known = np.logical_and.reduceat(np.isfinite(values), starts)
    hashes = mixed(hash_numbers(np.where(np.isfinite(values), values + shift, 0.0)), 1)
    with np.errstate(over="ignore"):  # the order of the members does not matter
        sums = np.add.reduceat(hashes, starts)
    return np.sort(sums[known & (sizes >= least)])
