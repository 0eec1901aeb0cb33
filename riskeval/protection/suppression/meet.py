"""Cells that go missing until no record fails: for targets of which only that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from riskeval.protection.suppression.merge import key_sets

SMALL = 4  # keys of which every set is tried
MOST_SETS, MOST_OF_MORE, MOST_TRIALS = 16, 2, 60
"""Sets of one or two keys that are tried, of more keys, and trials to show values again."""

Fails = Callable[[np.ndarray], np.ndarray]


def meet_targets(
    codes: np.ndarray,
    fails: Fails,
    rank: np.ndarray,
    cost: np.ndarray,
    locked: np.ndarray | None = None,
    all_fails: Fails | None = None,
) -> np.ndarray:
    """Return codes with values hidden in records that fail, until none does or none is left.

    Sets of keys are tried from small to large. Of one size, the set that helps most of the failing
    records per cell (or with ranks, the least important set that helps) is hidden in those that it
    helps. At the end values are shown again where no record fails by it.

    fails: function of codes to the records that fail, bool, shape (n,)
    locked: cells that stay
    all_fails: the same with what a hidden value never harms; looked at when values are shown again
    """
    result, stays = codes.copy(), codes < 0
    if locked is not None:
        stays = stays | locked
    while fails(result).any():
        before = result.copy()
        for size in range(1, codes.shape[1] + 1):
            result = _with_sets(result, fails, stays, size, rank, cost)
        if np.array_equal(result, before):
            break
    return _shown_again(codes, result, all_fails or fails, rank)


def _with_sets(
    codes: np.ndarray, fails: Fails, stays: np.ndarray, size: int, rank: np.ndarray,
    cost: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Hide `size` keys at a time while this helps a record."""
    result = codes.copy()
    while True:
        rows = np.flatnonzero(fails(result))
        if not len(rows):
            return result
        best, chosen = 0.0, None
        most = MOST_SETS if size <= 2 or codes.shape[1] <= SMALL else MOST_OF_MORE
        for keys in islice(key_sets(codes.shape[1], size, rank, MOST_SETS), most):
            trial = result.copy()
            trial[rows[:, None], keys] = np.where(
                stays[rows[:, None], keys], result[rows[:, None], keys], -1
            )
            cells = (trial[rows] != result[rows]) @ cost
            solved = ~fails(trial)[rows] & (cells > 0)
            worth = solved.sum() / max(cells[solved].sum(), 1.0) * solved.sum()
            if worth > best:
                best, chosen = worth, (rows[solved], trial)
                if rank.any():  # sets come in the order of importance
                    break
        if chosen is None:
            return result
        result[chosen[0]] = chosen[1][chosen[0]]


def _shown_again(
    codes: np.ndarray, result: np.ndarray, fails: Fails, rank: np.ndarray
) -> np.ndarray:
    """Show hidden values again by halves of the cells, the most important keys first."""
    cells = np.argwhere((result < 0) & (codes >= 0))
    stack = [cells[np.argsort(rank[cells[:, 1]], kind="stable")]] if len(cells) else []
    failing, trials = int(fails(result).sum()), 0
    while stack and trials < MOST_TRIALS:
        part, trials = stack.pop(), trials + 1
        trial = result.copy()
        trial[part[:, 0], part[:, 1]] = codes[part[:, 0], part[:, 1]]
        if int(fails(trial).sum()) <= failing:
            result = trial
        elif len(part) > 1:
            stack += [part[len(part) // 2 :], part[: len(part) // 2]]
    return result
