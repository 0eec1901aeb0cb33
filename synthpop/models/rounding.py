"""Whole numbers for a table of expected counts, with its totals kept."""

from __future__ import annotations

import numpy as np

NEARLY = 1e-9  # of a count: what rounding errors of sums of weights amount to


def controlled_rounding(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Round a two-way table of counts at random such that cells and totals stay within one.

    Each cell, each sum of a row or column and the sum of all is the next whole number below or
    above, and its expectation is the number of the table. A whole number stays.

    Unbiased controlled rounding: Cox (1987), doi:10.1080/01621459.1987.10478456.

    Examples
    --------
    >>> counts = controlled_rounding(np.full((4, 5), 0.1), np.random.default_rng(1))
    >>> int(counts.sum()), int(counts.sum(axis=0).max()), int(counts.sum(axis=1).max())
    (2, 1, 1)
    """
    from synthpop.kernels.rounding import round_fractions

    # 1. Take the whole numbers out; sums that are whole but for rounding errors count as whole.
    nearest = np.rint(table)
    table = np.where(np.abs(table - nearest) <= NEARLY * np.maximum(nearest, 1.0), nearest, table)
    whole = np.floor(table)
    fractions = table - whole
    # 2. Complete rows and columns to whole numbers.
    complete = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    complete[:-1, :-1] = fractions
    complete[:-1, -1] = _to_next_whole(fractions.sum(axis=1))
    complete[-1, :-1] = _to_next_whole(fractions.sum(axis=0))
    complete[-1, -1] = 1.0 - _to_next_whole(fractions.sum())
    # 3. Move along cycles until no fraction is left.
    round_fractions(complete, rng)
    return (whole + complete[:-1, :-1]).astype(np.int64)


def _to_next_whole(sums: np.ndarray | float) -> np.ndarray:
    """Return what is missing to the next whole number, 0 where nothing is."""
    missing = np.ceil(sums) - sums
    return np.where(missing > 1.0 - NEARLY, 0.0, missing)
