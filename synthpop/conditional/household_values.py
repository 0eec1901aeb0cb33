"""One value for all members of a household: the sum or mean of theirs, or one member's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.messages.message import message

FORMS = ("sum", "mean", "random", "shared")
JOINED = FORMS[:3]  # every member has a value of its own first


def joined(
    values: np.ndarray, offsets: np.ndarray, form: str, rng: np.random.Generator | None = None
) -> np.ndarray:
    """Give every member the household's value; shape (n,).

    form: "sum", "mean" or "random": of the members' values that are not missing (missing where all
        are); "shared": the value of the first member
    rng: for "random", one number for each household

    Examples
    --------
    >>> x, offsets = np.array([1.0, np.nan, 3.0, np.nan]), np.array([0, 3, 4])
    >>> joined(x, offsets, "sum").tolist()
    [4.0, 4.0, 4.0, nan]
    >>> joined(x, offsets, "mean").tolist(), joined(x, offsets, "shared").tolist()
    ([2.0, 2.0, 2.0, nan], [1.0, 1.0, 1.0, nan])
    >>> joined(x, offsets, "random", np.random.default_rng(3)).tolist()
    [1.0, 1.0, 1.0, nan]
    """
    sizes, first = np.diff(offsets), offsets[:-1]
    if form == "shared" or len(sizes) == 0:
        return np.repeat(values[first], sizes)
    has_value = ~np.isnan(values)
    total = np.add.reduceat(np.where(has_value, values, 0.0), first)
    count = np.add.reduceat(has_value.astype(np.float64), first)
    if form == "random" and rng is not None:
        n_filled = np.cumsum(has_value)
        ranks = (n_filled - has_value)[first] + np.floor(rng.random(len(sizes)) * count) + 1
        rows = np.minimum(np.searchsorted(n_filled, ranks), len(values) - 1)
        return np.repeat(np.where(count > 0, values[rows], np.nan), sizes)
    divisor = np.maximum(count, 1.0) if form == "mean" else 1.0
    return np.repeat(np.where(count > 0, total / divisor, np.nan), sizes)


def first_members_of_sample(sample: Sample) -> Sample:
    """Return the sample of first members, each with the weight of its household."""
    first = sample.offsets[:-1]
    return replace(
        sample,
        columns={name: values[first] for name, values in sample.columns.items()},
        weights=sample.household_weights,
        strata=sample.strata[first],
        offsets=np.arange(len(first) + 1),
    )


def first_members_of_block(block: Block) -> Block:
    """Return the block of first members; fallbacks go to the same list."""
    first = block.offsets[:-1]
    columns = {name: values[first] for name, values in block.columns.items()}
    return replace(block, offsets=np.arange(len(first) + 1), columns=columns)


def drawn_by_household(
    block: Block, draw: Callable[[Block], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Draw the columns of first members and give their values to all of their households."""
    columns, sizes = draw(first_members_of_block(block)), np.diff(block.offsets)
    return {name: np.repeat(values, sizes) for name, values in columns.items()}


def unshared(values: np.ndarray, offsets: np.ndarray, label: str) -> tuple[Fallback, ...]:
    """Note households of the sample whose members do not have one and the same value."""
    first = np.repeat(values[offsets[:-1]], np.diff(offsets))
    differs = ~((values == first) | (np.isnan(values) & np.isnan(first)))
    count = int((np.add.reduceat(differs.astype(np.int64), offsets[:-1]) > 0).sum())
    if count == 0:
        return ()
    what = message(
        "members of {count} sample households have different values: the value of the "
        "first member is used",
        count=count,
    )
    return (Fallback(label, "all", what),)
