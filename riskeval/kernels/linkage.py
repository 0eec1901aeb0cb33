"""Loops of record linkage over all pairs of a released (r) and an original (o) file.

A rank is told by counts: how many originals are nearer to a released record than its own one, and
how many are as near (its own one included).
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.kernel import kernel


@kernel
def gower_ranks(
    o_numbers, r_numbers, ranges, number_weights, o_codes, r_codes, code_weights, truth, slack
):
    """Rank each released record's own original by Gower distance.

    Parameters
    ----------
    o_numbers, r_numbers : float64, shape (n_o, p) and (n_r, p)
        NaN is missing: the variable is left out of that pair.
    ranges, number_weights : float64, shape (p,)
    o_codes, r_codes : int64, shape (n_o, q) and (n_r, q)
        Codes shared by both files, -1 missing.
    code_weights : float64, shape (q,)
    truth : int64, shape (n_r,)
        Position of the own original, -1 where there is none.
    slack : float
        Distances this near are equal.

    Returns
    -------
    best : int64, shape (n_r,)
        The first nearest original, -1 where no pair can be compared.
    distance : float64, shape (n_r,)
        To the nearest original, NaN where there is none.
    own : float64, shape (n_r,)
        Distance to the own original; NaN where it cannot be compared.
    nearer, ties : int64, shape (n_r,)
    """
    n_r, n_o = len(truth), len(o_numbers)
    best = np.full(n_r, -1, dtype=np.int64)
    distance = np.full(n_r, np.nan)
    true_distance = np.full(n_r, np.nan)
    nearer = np.zeros(n_r, dtype=np.int64)
    ties = np.zeros(n_r, dtype=np.int64)
    row = np.empty(n_o)
    for i in range(n_r):
        for j in range(n_o):
            total = 0.0
            compared = 0.0
            for k in range(o_numbers.shape[1]):
                gap = abs(o_numbers[j, k] - r_numbers[i, k])
                if not np.isnan(gap):
                    compared += number_weights[k]
                    if ranges[k] > 0:
                        total += number_weights[k] * gap / ranges[k]
            for k in range(o_codes.shape[1]):
                a = o_codes[j, k]
                b = r_codes[i, k]
                if a >= 0 and b >= 0:
                    compared += code_weights[k]
                    if a != b:
                        total += code_weights[k]
            row[j] = total / compared if compared > 0 else np.nan
            if row[j] < distance[i] or (np.isnan(distance[i]) and compared > 0):
                distance[i] = row[j]
                best[i] = j
        if truth[i] >= 0:
            true_distance[i] = row[truth[i]]
            for j in range(n_o):
                if row[j] < true_distance[i] - slack:
                    nearer[i] += 1
                elif row[j] <= true_distance[i] + slack:
                    ties[i] += 1
    return best, distance, true_distance, nearer, ties


@kernel
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

    Parameters
    ----------
    reach : float64, shape (p,)
        Numbers agree when not further apart.
    agree : bool, shape (cells,)
        Agreement of codes: entry ``start[k] + a * width[k] + b`` for original a and released b.
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

    Parameters
    ----------
    weights : float64, shape (3 ** variables,)
    truth : int64, shape (n_r,)

    Returns
    -------
    best, weight, own, nearer, ties
        As in `gower_ranks`, with the greatest weight in place of the smallest distance.
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


@kernel
def gower_nearest(
    o_numbers, r_numbers, ranges, number_weights, o_codes, r_codes, code_weights, skip, k
):
    """Gower distances of each record r to its k nearest records o, ascending: shape (n_r, k).

    Parameters
    ----------
    skip : int64, shape (n_r,)
        Row of o that is left out, itself for instance; -1 for none.
    k : int

    Other arguments as in `gower_ranks`. Pairs without a common known variable have distance 1;
    entries beyond the number of records are infinite.
    """
    n_r, n_o = len(skip), len(o_numbers)
    p, q = o_numbers.shape[1], o_codes.shape[1]
    all_weights = number_weights.sum() + code_weights.sum()
    nearest = np.full((n_r, k), np.inf)
    for i in range(n_r):
        # a sum of this size is too far, whichever variables are missing
        enough = np.inf
        for j in range(n_o):
            if j == skip[i]:
                continue
            total = 0.0
            compared = 0.0
            for v in range(q):
                a = o_codes[j, v]
                b = r_codes[i, v]
                if a >= 0 and b >= 0:
                    compared += code_weights[v]
                    if a != b:
                        total += code_weights[v]
                        if total >= enough:
                            break
            if total >= enough:
                continue
            for v in range(p):
                gap = abs(o_numbers[j, v] - r_numbers[i, v])
                if not np.isnan(gap):
                    compared += number_weights[v]
                    if ranges[v] > 0:
                        total += number_weights[v] * gap / ranges[v]
                        if total >= enough:
                            break
            if total >= enough:
                continue
            distance = total / compared if compared > 0 else 1.0
            if distance < nearest[i, k - 1]:
                place = k - 1
                while place > 0 and nearest[i, place - 1] > distance:
                    nearest[i, place] = nearest[i, place - 1]
                    place -= 1
                nearest[i, place] = distance
                enough = nearest[i, k - 1] * all_weights * (1 + 1e-12) + 1e-300
    return nearest
