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


@step
def group_boxes(numbers, codes, order, begin, end):
    """Smallest and largest number and code of each group of `gower_tree`."""
    low = np.full((len(begin), numbers.shape[1]), np.inf)
    high = np.full(low.shape, -np.inf)
    code_low = np.full((len(begin), codes.shape[1]), np.iinfo(np.int32).max, codes.dtype)
    code_high = np.full(code_low.shape, -1, codes.dtype)
    for node in range(len(begin)):
        for t in range(begin[node], end[node]):
            for v in range(low.shape[1]):
                x = numbers[order[t], v]
                known = np.isfinite(x)
                low[node, v] = min(low[node, v], x if known else -np.inf)
                high[node, v] = max(high[node, v], x if known else np.inf)
            for v in range(code_low.shape[1]):
                code_low[node, v] = min(code_low[node, v], codes[order[t], v])
                code_high[node, v] = max(code_high[node, v], codes[order[t], v])
    return low, high, code_low, code_high


@kernel
def gower_tree(numbers, codes, ranges, number_weights, code_weights, leaf):
    """Halve records again and again by the variable in which they differ most.

    numbers, codes, ranges, number_weights, code_weights : as in `gower_ranks`
    leaf : int; groups of so many records are not halved

    Returns order : int64, shape (n,); the rows, those of a group side by side
    begin, end : int64, shape (nodes,); the places of a group in `order`
    child : int64, shape (nodes,); first of the two groups that it is halved into; 0 for none
    low, high : float64, shape (nodes, p); smallest and largest number; infinite where one of the
        group is missing or infinite
    code_low, code_high : int, shape (nodes, q); the same of codes; -1 where one is missing
    """
    n, p, q = len(numbers), numbers.shape[1], codes.shape[1]
    order, larger = np.arange(n), np.empty(n, np.int64)
    begin, end = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n + 1, np.int64)
    child = np.zeros(2 * n + 1, np.int64)
    end[0], n_nodes, node = n, 1, 0
    spread = np.empty(p + q)
    while node < n_nodes:
        first, last = begin[node], end[node]
        node += 1
        if last - first <= leaf:
            continue
        # 1. How much pairs of records differ in each variable
        for offset in ((last - first) // 2, 1):
            spread[:] = 0.0
            for t in range(first, last - offset):
                i, j = order[t], order[t + offset]
                for v in range(p):
                    gap = abs(numbers[i, v] - numbers[j, v])
                    if gap > 0 and (gap == np.inf or ranges[v] > 0):
                        spread[v] += number_weights[v] * min(gap / ranges[v], 1.0)
                for v in range(q):
                    if codes[i, v] != codes[j, v]:
                        spread[p + v] += code_weights[v]
            if spread.max() > 0:
                break
        if not spread.max() > 0:
            continue
        # 2. Halve at the mean; what is missing or infinite goes to the larger ones
        column = spread.argmax()
        total, n_known = 0.0, 0
        for t in range(first, last):
            value = numbers[order[t], column] if column < p else codes[order[t], column - p]
            if np.isfinite(value):
                total += value
                n_known += 1
        cut, others = first, 0
        for t in range(first, last):
            value = numbers[order[t], column] if column < p else codes[order[t], column - p]
            if np.isfinite(value) and value <= total / n_known:
                order[cut] = order[t]
                cut += 1
            else:
                larger[others] = order[t]
                others += 1
        for t in range(others):
            order[cut + t] = larger[t]
        if first < cut < last:
            child[node - 1] = n_nodes
            begin[n_nodes], end[n_nodes] = first, cut
            begin[n_nodes + 1], end[n_nodes + 1] = cut, last
            n_nodes += 2
    boxes = group_boxes(numbers, codes, order, begin[:n_nodes], end[:n_nodes])
    return order, begin[:n_nodes], end[:n_nodes], child[:n_nodes], *boxes


@inlined
def least_sum(tree, node, numbers, codes, i, ranges, number_weights, code_weights):
    """At most the sum of `gower_sums` of record i and any record of a group, to the last digit."""
    low, high, code_low, code_high = tree
    total = 0.0
    for v in range(codes.shape[1]):
        code = codes[i, v]
        low_code, high_code = code_low[node, v], code_high[node, v]
        if code >= 0 and low_code >= 0 and (code < low_code or code > high_code):
            total += code_weights[v]
    for v in range(numbers.shape[1]):
        if ranges[v] > 0:
            gap = max(low[node, v] - numbers[i, v], numbers[i, v] - high[node, v])
            if gap == np.inf:
                total += number_weights[v]
            elif gap > 0:
                total += number_weights[v] * gap / ranges[v]
    return total


@step
def next_group(
    child, boxes, numbers, codes, i, ranges, number_weights, code_weights,
    waiting, least, n_waiting, enough,
):  # fmt: skip
    """Take groups from the stack until one is not halved and may have a record within `enough`.

    Of two halves the one that may be nearer is looked at first. Returns the group, -1 where none
    is left, and the size of the stack.
    """
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        if least[n_waiting] >= enough:
            continue
        first = child[node]
        if first == 0:
            return node, n_waiting
        sums = (
            least_sum(boxes, first, numbers, codes, i, ranges, number_weights, code_weights),
            least_sum(boxes, first + 1, numbers, codes, i, ranges, number_weights, code_weights),
        )
        nearer = int(sums[1] < sums[0])
        for part in (1 - nearer, nearer):
            waiting[n_waiting], least[n_waiting] = first + part, sums[part]
            n_waiting += 1
    return -1, 0


@kernel
def gower_nearest(tree, records, r_numbers, ranges, number_weights, r_codes, code_weights, skip, k):
    """Gower distances of each record r to its k nearest records o, ascending: shape (n_r, k).

    tree : what `gower_tree` returns of the records o
    records : numbers and codes of the records o in the order of the tree
    skip : int64, shape (n_r,); row of o that is left out, itself for instance; -1 for none

    Other arguments as in `gower_ranks`. Pairs without a common known variable have distance 1;
    entries beyond the number of records are infinite.
    """
    order, begin, end, child = tree[:4]
    boxes = tree[4:]
    o_numbers, o_codes = records
    all_weights = number_weights.sum() + code_weights.sum()
    nearest = np.full((len(skip), k), np.inf)
    waiting, least = np.zeros(len(child), np.int64), np.zeros(len(child))
    for i in range(len(skip)):
        # a sum of this size is too far, whichever variables are missing
        enough = np.inf
        n_waiting, waiting[0], least[0] = 1, 0, 0.0
        while True:
            node, n_waiting = next_group(
                child, boxes, r_numbers, r_codes, i, ranges, number_weights, code_weights,
                waiting, least, n_waiting, enough,
            )  # fmt: skip
            if node < 0:
                break
            for t in range(begin[node], end[node]):
                if order[t] == skip[i]:
                    continue
                total, compared = gower_sums(
                    o_numbers, o_codes, t, r_numbers, r_codes, i,
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
def gower_ties(
    tree, records, r_numbers, ranges, number_weights, r_codes, code_weights, slack, hole
):
    """Find all records o that are nearest to each record r.

    slack : float; distances this near are equal
    hole : float; added for each variable (of weight 1) that one of both lacks, and pairs that have
        less than half of the variables in common are left out; 0: they are not

    Other arguments as in `gower_nearest`. Returns starts : int64, shape (n_r + 1,), and rows :
    int64; those of the records nearest to r[i] are rows[starts[i] : starts[i + 1]].
    """
    order, begin, end, child = tree[:4]
    boxes = tree[4:]
    o_numbers, o_codes = records
    n_r = len(r_numbers)
    all_weights = number_weights.sum() + code_weights.sum()
    starts, rows, n_rows = np.zeros(n_r + 1, np.int64), np.empty(n_r, np.int64), 0
    near, distances = np.empty(len(order), np.int64), np.empty(len(order))
    waiting, least = np.zeros(len(child), np.int64), np.zeros(len(child))
    for i in range(n_r):
        best, enough, n_near = np.inf, np.inf, 0
        n_waiting, waiting[0], least[0] = 1, 0, 0.0
        while True:
            node, n_waiting = next_group(
                child, boxes, r_numbers, r_codes, i, ranges, number_weights, code_weights,
                waiting, least, n_waiting, enough,
            )  # fmt: skip
            if node < 0:
                break
            for t in range(begin[node], end[node]):
                total, compared = gower_sums(
                    o_numbers, o_codes, t, r_numbers, r_codes, i,
                    ranges, number_weights, code_weights, enough,
                )  # fmt: skip
                if total >= enough or (hole > 0 and 2 * compared < all_weights):
                    continue
                distance = total / compared if compared > 0 else 1.0
                distance += hole * (all_weights - compared)
                if distance <= best + slack:
                    near[n_near], distances[n_near] = order[t], distance
                    n_near += 1
                    best = min(best, distance)
                    enough = (best + slack) * all_weights * (1 + 1e-12) + 1e-300
        if n_rows + n_near > len(rows):
            longer = np.empty(2 * (n_rows + n_near), np.int64)
            longer[:n_rows] = rows[:n_rows]
            rows = longer
        for t in range(n_near):
            if distances[t] <= best + slack:
                rows[n_rows] = near[t]
                n_rows += 1
        starts[i + 1] = n_rows
    return starts, rows[:n_rows]


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
