"""Swaps among records near each other in rank."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step

TRIES = 32
NOBODY = -1


@step
def draw_free(free, low, high, rng):
    """Draw one free rank from low to high - 1; -1 where none is free."""
    width = high - low
    for _ in range(TRIES if width > 0 else 0):
        rank = low + int(rng.random() * width)
        if free[rank]:
            return rank
    # few are free: count them and draw among them
    n_free = 0
    for rank in range(low, high):
        n_free += free[rank]
    wanted = int(rng.random() * n_free)
    for rank in range(low, high):
        if free[rank]:
            if wanted == 0:
                return rank
            wanted -= 1
    return NOBODY


@step
def join_pair(source, i, reach, rng):
    """Let the idle rank i enter a pair within its reach: the three values go round.

    Returns whether there was a pair whose members are within `reach` of i and of each other.
    """
    n = len(source)
    low, high = max(i - reach, 0), min(i + reach + 1, n)
    n_pairs = 0
    for a in range(low, high):
        b = source[a]
        if a < b < high and b - a <= reach and source[b] == a:
            n_pairs += 1
    wanted = int(rng.random() * n_pairs)
    for a in range(low, high):
        b = source[a]
        if a < b < high and b - a <= reach and source[b] == a:
            if wanted == 0:
                if rng.random() < 0.5:
                    a, b = b, a
                source[i], source[a], source[b] = a, b, i
                return True
            wanted -= 1
    return False


@kernel
def swap_ranks(n, reach, rng):
    """Give each rank the value of another at most `reach` ranks away, at random.

    1. From a random rank upwards, each free rank draws a partner among the free ones above it.
    2. From that rank downwards, each free rank draws among the free ones within reach.
    3. A rank that is left idle enters a pair within its reach; the three values go round.

    Returns the rank whose value each rank gets; its own number where nobody was within reach
    """
    source = np.arange(n)
    free = np.ones(n, dtype=np.bool_)
    start = int(rng.random() * n)
    # 1. upwards
    for i in range(start, n):
        if free[i]:
            partner = draw_free(free, i + 1, min(i + reach + 1, n), rng)
            if partner >= 0:
                free[i], free[partner] = False, False
                source[i], source[partner] = partner, i
    # 2. downwards, and whoever was left above
    for turn in range(n):
        i = start - 1 - turn if turn < start else n - 1 - (turn - start)
        if free[i]:
            free[i] = False
            partner = draw_free(free, max(i - reach, 0), min(i + reach + 1, n), rng)
            if partner >= 0:
                free[partner] = False
                source[i], source[partner] = partner, i
            else:
                free[i] = True
    # 3. idle ranks
    for i in range(n):
        if free[i] and join_pair(source, i, reach, rng):
            free[i] = False
    return source
