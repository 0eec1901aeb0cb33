"""Loops of suppression on visible values: whom a set of keys helps when the others are hidden.

Letters: K cells (distinct keys), m keys; a set of keys is an integer, bit j for key j.
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def _agree(codes, shown, a, b):
    """Whether two cells have the same values of the keys shown, and the same stratum."""
    m = codes.shape[1] - 1
    agree = codes[a, m] == codes[b, m]
    for j in range(m):
        agree = agree and (not (shown >> j) & 1 or codes[a, j] == codes[b, j])
    return agree


@kernel
def _group(codes, shown, row, table, used, stamp):
    """Position of the cell's group in an open-addressing table of first cells."""
    m, n_places = codes.shape[1] - 1, len(table)
    key = codes[row, m] + 1
    for j in range(m):
        if (shown >> j) & 1:
            key = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 0x9E3779B1 + codes[row, j]
    key = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 0x85EBCA6B
    slot = (key >> 16) & (n_places - 1)
    while used[slot] == stamp and not _agree(codes, shown, table[slot], row):
        slot = (slot + 1) & (n_places - 1)
    return slot


@kernel
def _n_bits(keys):
    """Size of a set of keys."""
    n = 0
    while keys:
        keys &= keys - 1
        n += 1
    return n


@kernel
def helped(codes, numbers, masks, stays, failing, k, size, candidates, cost, worth):
    """Find the cells that no longer fail once they show only a set of keys, at most `size` fewer.

    codes : int64 (K, m + 1), codes of the keys, and the stratum
    numbers : int64 (K,), records of each cell
    masks, stays : int64 (K,), keys that each cell shows, and those that it must show
    failing : bool (K,)
    k : float, records that must show what a cell shows
    candidates : int64 (c,), sets of keys
    cost : float64 (m,), cells that go with a value of each key
    worth : float64 (c,), filled: squared number of records that are helped over the cells it takes

    Returns the cells that the last candidate helps, int64.
    """
    n_cells, m = len(codes), len(cost)
    n_places = 2
    while n_places < 2 * n_cells:
        n_places *= 2
    table = np.zeros(n_places, np.int64)
    used = np.full(n_places, -1, np.int64)
    sums = np.zeros(n_places, np.int64)
    moving = np.zeros(n_cells, np.int64)
    slots = np.zeros(n_cells, np.int64)
    n_found = 0
    for c in range(len(candidates)):
        shown = candidates[c]
        n_moving = 0
        for row in range(n_cells):
            if masks[row] & shown != shown:
                continue
            lost = masks[row] & ~shown
            moves = failing[row] and lost != 0 and lost & stays[row] == 0
            moves = moves and _n_bits(lost) <= size
            if failing[row] and not moves:
                continue
            slot = _group(codes, shown, row, table, used, c)
            if used[slot] != c:
                used[slot], table[slot], sums[slot] = c, row, 0
            sums[slot] += numbers[row]
            if moves:
                moving[n_moving], slots[n_moving] = row, slot
                n_moving += 1
        n_found, records, values = 0, 0, 0.0
        for i in range(n_moving):
            if sums[slots[i]] < k:
                continue
            row = moving[i]
            moving[n_found] = row
            n_found += 1
            records += numbers[row]
            lost = masks[row] & ~shown
            for j in range(m):
                if (lost >> j) & 1:
                    values += cost[j] * numbers[row]
        worth[c] = records * records / max(values, 1.0)
    return moving[:n_found].copy()
