"""Loops of record linkage over all pairs of a released (r) and an original (o) file.

A rank is told by counts: how many originals are nearer to a released record than its own one, and
how many are as near (its own one included).
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step


@step
def _pattern(o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, j, i):
    """Agreement pattern of a pair in base 3: 0 disagrees, 1 agrees, 2 missing."""
    pattern = 0
    for k in range(o_numbers.shape[1]):
        gap = abs(o_numbers[j, k] - r_numbers[i, k])
        state = 2 if np.isnan(gap) else (1 if gap <= reach[k] else 0)
        pattern = pattern * 3 + state
    for k in range(o_codes.shape[1]):
        a = o_codes[j, k]
        b = r_codes[i, k]
        state = 2
        if a >= 0 and b >= 0:
            state = 1 if agree[start[k] + a * width[k] + b] else 0
        pattern = pattern * 3 + state
    return pattern


@kernel
def pattern_counts(o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, counts):
    """Count agreement patterns over all pairs into `counts`, int64, shape (3 ** variables,).

    reach : float64, shape (p,); numbers agree when not further apart
    agree : bool, shape (cells,); agreement of codes: entry ``start[k] + a * width[k] + b`` for
        original a and released b
    """
    for i in range(len(r_numbers)):
        for j in range(len(o_numbers)):
            counts[
                _pattern(o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, j, i)
            ] += 1


@kernel
def weight_ranks(
    o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, weights, truth
):
    """Rank each released record's own original by the weight of its agreement pattern.

    weights : float64, shape (3 ** variables,)

    Returns best, weight, own, nearer, ties; as in `gower_ranks`, with the greatest weight in place
        of the smallest distance
    """
    n_r, n_o = len(truth), len(o_numbers)
    best = np.full(n_r, -1, dtype=np.int64)
    weight = np.full(n_r, np.nan)
    true_weight = np.full(n_r, np.nan)
    nearer = np.zeros(n_r, dtype=np.int64)
    ties = np.zeros(n_r, dtype=np.int64)
    row = np.empty(n_o)
    for i in range(n_r):
        for j in range(n_o):
            row[j] = weights[
                _pattern(o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, j, i)
            ]
            if np.isnan(weight[i]) or row[j] > weight[i]:
                weight[i] = row[j]
                best[i] = j
        if truth[i] >= 0:
            true_weight[i] = row[truth[i]]
            for j in range(n_o):
                if row[j] > true_weight[i]:
                    nearer[i] += 1
                elif row[j] == true_weight[i]:
                    ties[i] += 1
    return best, weight, true_weight, nearer, ties


@kernel
def pair_weights(o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, weights, out):
    """Write the weight of every pair into `out`, float64, shape (n_r, n_o); else as above."""
    for i in range(len(r_numbers)):
        for j in range(len(o_numbers)):
            out[i, j] = weights[
                _pattern(o_numbers, r_numbers, reach, o_codes, r_codes, agree, start, width, j, i)
            ]


@kernel
def jaro(a, n_a, b, n_b):
    """Jaro similarity of two texts given as code points: a[:n_a] and b[:n_b] (Jaro 1989)."""
    if n_a == 0 or n_b == 0:
        return 1.0 if n_a == n_b else 0.0
    reach = max(max(n_a, n_b) // 2 - 1, 0)
    taken_a = np.zeros(n_a, dtype=np.bool_)
    taken_b = np.zeros(n_b, dtype=np.bool_)
    common = 0
    for i in range(n_a):
        for j in range(max(0, i - reach), min(n_b, i + reach + 1)):
            if not taken_b[j] and a[i] == b[j]:
                taken_a[i] = True
                taken_b[j] = True
                common += 1
                break
    if common == 0:
        return 0.0
    moved = 0
    j = 0
    for i in range(n_a):
        if taken_a[i]:
            while not taken_b[j]:
                j += 1
            if a[i] != b[j]:
                moved += 1
            j += 1
    return (common / n_a + common / n_b + (common - moved / 2) / common) / 3


@kernel
def jaro_agree(a, lengths_a, b, lengths_b, threshold):
    """Whether texts are at least `threshold` alike: bool, shape (n_a, n_b)."""
    result = np.zeros((len(a), len(b)), dtype=np.bool_)
    for i in range(len(a)):
        for j in range(len(b)):
            result[i, j] = jaro(a[i], lengths_a[i], b[j], lengths_b[j]) >= threshold
    return result
