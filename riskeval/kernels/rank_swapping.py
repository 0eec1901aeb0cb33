"""Pairs of records near each other in rank."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.kernel import kernel

TRIES = 32


@kernel
def pair_ranks(n, reach, rng):
    """Give each rank a partner at most `reach` ranks away, at random among the free ones.

    Ranks are taken up from the lowest; each free one draws among the free ones above it.

    Parameters
    ----------
    n : int
    reach : int
    rng : Generator

    Returns
    -------
    int64, shape (n,)
        Partner of each rank; its own number where nobody was free.
    """
    partner = np.arange(n)
    free = np.ones(n, dtype=np.bool_)
    for i in range(n):
        if not free[i]:
            continue
        free[i] = False
        width = min(reach, n - 1 - i)
        chosen = -1
        for _ in range(TRIES if width > 0 else 0):
            t = i + 1 + int(rng.random() * width)
            if free[t]:
                chosen = t
                break
        if chosen < 0:  # few are free: count them and draw among them
            n_free = 0
            for t in range(i + 1, i + 1 + width):
                n_free += free[t]
            wanted = int(rng.random() * n_free)
            for t in range(i + 1, i + 1 + width):
                if free[t]:
                    if wanted == 0:
                        chosen = t
                        break
                    wanted -= 1
        if chosen >= 0:
            free[chosen] = False
            partner[i], partner[chosen] = chosen, i
    return partner
