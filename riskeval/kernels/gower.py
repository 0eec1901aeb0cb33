"""Gower distances: sums over variables of one pair, and the loops over pairs that use them.

All loops share `gower_sums`, which is compiled into its callers. It may stop between the levels and
the numbers only: an exit after every variable is ten times slower, as it keeps the loops from
being unrolled.
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import inlined, kernel, step


@inlined
def gower_sums(
    numbers, codes, i, other_numbers, other_codes, j, ranges, number_weights, code_weights, enough
):
    """Weighted differences of two records, i and j, and the weights of what is compared.

    numbers, other_numbers : float64, shape (n, p) and (m, p); NaN is missing: the variable is left
        out. Infinity is a value with a mass of its own: 1 away from any other, and left out beside
        another infinity.
    codes, other_codes : int, shape (n, q) and (m, q); -1 is missing
    ranges, number_weights, code_weights : float64; variables with range 0 never differ
    enough : float; numbers are left out where the levels alone differ by as much
    """
    total = 0.0
    compared = 0.0
    for v in range(codes.shape[1]):
        a = codes[i, v]
        b = other_codes[j, v]
        if a >= 0 and b >= 0:
            compared += code_weights[v]
            if a != b:
                total += code_weights[v]
    if total < enough:
        for v in range(numbers.shape[1]):
            gap = abs(numbers[i, v] - other_numbers[j, v])
            if not np.isnan(gap):
                compared += number_weights[v]
                if gap == np.inf:
                    total += number_weights[v]
                elif ranges[v] > 0:
                    total += number_weights[v] * gap / ranges[v]
    return total, compared


@kernel
def gower_ranks(
    o_numbers, r_numbers, ranges, number_weights, o_codes, r_codes, code_weights, truth, slack
):
    """Rank each released record's own original by Gower distance.

    o_numbers, r_numbers : float64, shape (n_o, p) and (n_r, p); NaN is missing: the variable is
        left out of that pair
    ranges, number_weights : float64, shape (p,)
    o_codes, r_codes : int64, shape (n_o, q) and (n_r, q); codes shared by both files, -1 missing
    code_weights : float64, shape (q,)
    truth : int64, shape (n_r,); position of the own original, -1 where there is none
    slack : float; distances this near are equal

    Returns best : int64, shape (n_r,); the first nearest original, -1 where no pair can be compared
    distance : float64, shape (n_r,); to the nearest original, NaN where there is none
    own : float64, shape (n_r,); distance to the own original; NaN where it cannot be compared
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
            total, compared = gower_sums(
                o_numbers, o_codes, j, r_numbers, r_codes, i,
                ranges, number_weights, code_weights, np.inf,
            )  # fmt: skip
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
def gower_nearest(
    o_numbers, r_numbers, ranges, number_weights, o_codes, r_codes, code_weights, skip, k
):
    """Gower distances of each record r to its k nearest records o, ascending: shape (n_r, k).

    skip : int64, shape (n_r,); row of o that is left out, itself for instance; -1 for none

    Other arguments as in `gower_ranks`. Pairs without a common known variable have distance 1;
    entries beyond the number of records are infinite.
    """
    n_r, n_o = len(skip), len(o_numbers)
    all_weights = number_weights.sum() + code_weights.sum()
    nearest = np.full((n_r, k), np.inf)
    for i in range(n_r):
        # a sum of this size is too far, whichever variables are missing
        enough = np.inf
        for j in range(n_o):
            if j == skip[i]:
                continue
            total, compared = gower_sums(
                o_numbers, o_codes, j, r_numbers, r_codes, i,
                ranges, number_weights, code_weights, enough,
            )  # fmt: skip
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


@kernel
def linked_nearest(first, second, slack):
    """Probability that records nearest by two sets of variables, drawn at random, are the same.

    first, second : tuples of numbers and codes of the records o, those of the records r, ranges,
        weights of numbers and of codes, as in `gower_ranks`
    slack : float; distances this near are equal

    Returns float64, shape (n_r,).
    """
    n_o, n_r = len(first[0]), len(first[2])
    by_first, by_second = np.empty(n_o), np.empty(n_o)
    shared = np.zeros(n_r)
    for i in range(n_r):
        best_first, best_second = np.inf, np.inf
        for j in range(n_o):
            total, compared = gower_sums(
                first[0], first[1], j, first[2], first[3], i, first[4], first[5], first[6], np.inf
            )
            by_first[j] = total / compared if compared > 0 else 1.0
            best_first = min(best_first, by_first[j])
            total, compared = gower_sums(
                second[0], second[1], j, second[2], second[3], i, second[4], second[5], second[6],
                np.inf,
            )  # fmt: skip
            by_second[j] = total / compared if compared > 0 else 1.0
            best_second = min(best_second, by_second[j])
        n_first, n_second, n_both = 0, 0, 0
        for j in range(n_o):
            near = by_first[j] <= best_first + slack
            near_too = by_second[j] <= best_second + slack
            n_first += near
            n_second += near_too
            n_both += near and near_too
        shared[i] = n_both / (n_first * n_second)
    return shared


@step
def farthest_from_centre(left, n_left, numeric, nominal, n_levels, ones):
    """Place in `left` of the record farthest from the means and most frequent levels."""
    centre = np.zeros((1, numeric.shape[1]))
    modes = np.zeros((1, nominal.shape[1]), dtype=np.int64)
    for c in range(numeric.shape[1]):
        for t in range(n_left):
            centre[0, c] += numeric[left[t], c]
        centre[0, c] /= n_left
    for c in range(nominal.shape[1]):
        counts = np.zeros(n_levels[c], dtype=np.int64)
        for t in range(n_left):
            counts[nominal[left[t], c]] += 1
        for level in range(1, n_levels[c]):
            if counts[level] > counts[modes[0, c]]:
                modes[0, c] = level
    best, place = -1.0, 0
    for t in range(n_left):
        distance, _ = gower_sums(
            numeric, nominal, left[t], centre, modes, 0, ones, ones, ones, np.inf
        )
        if distance > best:
            best, place = distance, t
    return place


@kernel
def mdav_gower(numeric, coded, nominal, n_levels, k):
    """MDAV with Gower distances, in quadratic time (Domingo-Ferrer and Torra 2005): groups from 0.

    numeric : float64, shape (n, p); numbers and ranks of ordered levels divided by their range
    coded : float64, shape (n, p); `numeric`, infinite where it is the constant of a semi-continuous
        variable, which is 1 away from others
    nominal : int32, shape (n, q); codes of levels without an order, `n_levels` of each
    """
    n = len(numeric)
    group = np.zeros(n, dtype=np.int64)
    if k == 1 or n < 2 * k:
        return np.arange(n) if k == 1 else group
    ones = np.ones(max(numeric.shape[1], nominal.shape[1]))
    left, distances = np.arange(n), np.empty(n)
    n_left, last = n, 0
    neighbours, near = np.empty(k - 1, np.int64), np.empty(k - 1)
    while n_left >= 2 * k:
        place = farthest_from_centre(left, n_left, numeric, nominal, n_levels, ones)
        for turn in range(2 if n_left >= 3 * k else 1):
            if turn == 1:  # the record farthest from the first one, outside its group
                best = -1.0
                for t in range(n_left):
                    if distances[t] > best:
                        best, place = distances[t], t
            r = left[place]
            have, worst = 0, np.inf
            for t in range(n_left):
                distances[t], _ = gower_sums(
                    coded, nominal, r, coded, nominal, left[t], ones, ones, ones, np.inf
                )
                if t == place or distances[t] >= worst:
                    continue
                j = min(have, k - 2)
                while j > 0 and near[j - 1] > distances[t]:
                    near[j], neighbours[j] = near[j - 1], neighbours[j - 1]
                    j -= 1
                near[j], neighbours[j] = distances[t], left[t]
                have = min(have + 1, k - 1)
                if have == k - 1:
                    worst = near[k - 2]
            group[r] = last + 1
            for j in range(k - 1):
                group[neighbours[j]] = last + 1
            last += 1
            n_remaining = 0  # keep the order of rows, so that the first of equals is taken
            for t in range(n_left):
                if group[left[t]] == 0:
                    left[n_remaining], distances[n_remaining] = left[t], distances[t]
                    n_remaining += 1
            n_left = n_remaining
    for t in range(n_left):
        group[left[t]] = last + 1
    for t in range(n):
        group[t] -= 1
    return group


@kernel
def nearest_mixed(numeric, nominal, asked_numeric, asked_nominal):
    """Record nearest to each asked one, the first of equals, by what the asked one has.

    numeric : float64, shape (n, p); numbers divided by their range, infinity for the constant of a
        semi-continuous variable
    nominal : int32, shape (n, q)
    asked_numeric, asked_nominal : the same for m records; NaN and -1 are missing
    """
    ones = np.ones(max(numeric.shape[1], nominal.shape[1]))
    neighbours = np.zeros(len(asked_numeric), dtype=np.int64)
    for i in range(len(asked_numeric)):
        best = np.inf
        for j in range(len(numeric)):
            distance, _ = gower_sums(
                numeric, nominal, j, asked_numeric, asked_nominal, i, ones, ones, ones, best
            )
            if distance < best:
                best, neighbours[i] = distance, j
    return neighbours
