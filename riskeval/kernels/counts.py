"""Loops of the frequency counts: wildcard matching of key patterns, and the exact risk of a cell.

Letters: K cells (distinct keys), m keys that have missing values somewhere, P patterns of
observed keys (bit j is set where key j is observed), v measured quantities (records, weights).
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel

SERIES_F = 30.0  # from this f on, and for p >= 1/2 always, the power series needs few terms
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)
PANEL = 2.0
TAIL = 40.0


@kernel
def _slot(table, used, stamp, key, n_bits):
    """Position of `key` in an open-addressing table of 2^n_bits places, or of its free place."""
    mixed = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 0x9E3779B1  # below 2^63: nothing overflows
    mixed = ((mixed ^ (mixed >> 30)) & 0x7FFFFFFF) * 0x85EBCA6B
    slot = (mixed >> 16) & ((1 << n_bits) - 1)
    while used[slot] == stamp and table[slot] != key:
        slot += 1
        if slot == (1 << n_bits):
            slot = 0
    return slot


@kernel
def _part(terms, fixed, row, shared):
    """Number of a cell cut down to the shared keys."""
    key = fixed[row]
    for j in range(terms.shape[1]):
        if (shared >> j) & 1:
            key += terms[row, j]
    return key


@kernel
def match_patterns(terms, fixed, starts, patterns, values, factors, visible, out):
    """Add up, for every cell, the values of all cells that it matches by wildcards.

    A missing key matches every value, so two cells match when they agree on the keys that both
    have. For each pattern of targets and each set of keys it can share with sources, the smaller
    side goes into a hash table and the other side runs along it.

    terms : int64 (K, m), what an observed key adds to the number of a cell (its code times the
        place value of the key); cells are sorted by pattern
    fixed : int64 (K,), number made of the keys that are never missing
    starts : int64 (P + 1,), where the cells of each pattern start
    patterns : int64 (P,), bit j set where key j is observed
    values : float64 (K, v), what each cell gives to those that match it
    visible : bool, whether a cell matches only those that have every key that it has
    factors : float64 (K, m), weight of a match through a missing value of the source at key j
    out : float64 (K, v), filled
    """
    n_cells, n_keys = terms.shape
    n_values = values.shape[1]
    n_patterns = len(patterns)
    n_places = 2
    while n_places < 2 * n_cells:
        n_places *= 2
    table = np.zeros(n_places, np.int64)
    used = np.full(n_places, -1, np.int32)
    sums = np.zeros((n_places, n_values))
    done = np.zeros(n_patterns, np.bool_)
    stamp = 0
    out[:] = 0.0
    for a in range(n_patterns):
        done[:] = False
        for first in range(n_patterns):
            if done[first]:
                continue
            shared = patterns[first] & patterns[a]
            if visible and shared != patterns[a]:
                continue
            n_sources = 0
            for b in range(first, n_patterns):
                if patterns[b] & patterns[a] == shared:
                    n_sources += starts[b + 1] - starts[b]
            n_targets = starts[a + 1] - starts[a]
            n_bits = 1
            while (1 << n_bits) < 2 * min(n_sources, n_targets):
                n_bits += 1
            by_target = n_targets < n_sources
            if by_target:
                for c in range(starts[a], starts[a + 1]):
                    key = _part(terms, fixed, c, shared)
                    slot = _slot(table, used, stamp, key, n_bits)
                    if used[slot] != stamp:
                        used[slot] = stamp
                        table[slot] = key
                        sums[slot] = 0.0
            for b in range(first, n_patterns):
                if patterns[b] & patterns[a] != shared:
                    continue
                done[b] = True
                for c in range(starts[b], starts[b + 1]):
                    key = _part(terms, fixed, c, shared)
                    slot = _slot(table, used, stamp, key, n_bits)
                    if used[slot] != stamp:
                        if by_target:
                            continue
                        used[slot] = stamp
                        table[slot] = key
                        sums[slot] = 0.0
                    for v in range(n_values):
                        sums[slot, v] += values[c, v]
            for c in range(starts[a], starts[a + 1]):
                slot = _slot(table, used, stamp, _part(terms, fixed, c, shared), n_bits)
                if used[slot] != stamp:
                    continue
                factor = 1.0
                for j in range(n_keys):
                    if (patterns[a] >> j) & 1 and not (shared >> j) & 1:
                        factor *= factors[c, j]
                for v in range(n_values):
                    out[c, v] += factor * sums[slot, v]
            stamp += 1


@kernel
def _series(f, p):
    """(p/f) 2F1(1, 1; f+1; 1-p), all terms positive."""
    q = 1.0 - p
    term = 1.0
    total = 1.0
    j = 0.0
    while term > 1e-17 * total and j < 20000.0:
        j += 1.0
        term *= q * j / (f + j)
        total += term
    return p / f * total


@kernel
def _integral(f, p):
    """Integral of p exp(-fu) / (p + q exp(-u)) over u > 0, Gauss panels; 1 < f < 2, p < 1/2."""
    q = 1.0 - p
    end = np.log(q / p) + TAIL
    total = 0.0
    start = 0.0
    while start < end:
        for i in range(len(NODES)):
            u = start + 0.5 * PANEL * (NODES[i] + 1.0)
            total += NODE_WEIGHTS[i] * np.exp(-f * u) / (p + q * np.exp(-u))
        start += PANEL
    return 0.5 * PANEL * p * total


@kernel
def cell_risk(f, p):
    """E(1/F | f) of the negative binomial model, f >= 1 and 0 < p <= 1."""
    if p >= 1.0:
        return 1.0 / f
    if p >= 0.5 or f >= SERIES_F:
        return _series(f, p)
    ratio = p / (1.0 - p)
    at = f - np.floor(f) + 1.0
    risk = -ratio * np.log(p) if at == 1.0 else _integral(at, p)
    while at < f - 0.5:  # stable upwards, as the ratio is below 1
        risk = ratio * (1.0 / at - risk)
        at += 1.0
    return risk


@kernel
def cell_risks(f, p, out):
    """`cell_risk` of each cell; all arrays float64 (K,)."""
    for c in range(len(f)):
        out[c] = cell_risk(f[c], p[c])
