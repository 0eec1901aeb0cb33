"""Groups of at least k similar records: MDAV on a tree of boxes, the optimal univariate grouping.

Letters: `x` are standardised values, ``k`` the smallest group. A *tree* halves the records again
and again along the widest side of their box; node ``i`` has the children ``2i + 1`` and ``2i + 2``.
Every node knows the box (`low`, `high`), the sum, the number and the smallest row number of the
records that are still there; taking a record away updates the nodes above it. A query looks into a
node only if its box could hold a better answer, so it gives what a look at all records would give,
first row first where distances are equal.
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step

LEAF, LEAF_OF_MANY, MANY = 64, 512, 5  # records in a box, and from so many columns on


@step
def less(x, axis, a, b):
    """Whether row `a` stands before row `b`: by value, then by row number."""
    return x[a, axis] < x[b, axis] or (x[a, axis] == x[b, axis] and a < b)


@step
def place_middle(x, axis, order, first, last, middle):
    """Rearrange ``order[first:last]`` so that what is before `middle` stands before it."""
    left, right = first, last - 1
    while left < right:
        pivot = order[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while less(x, axis, order[i], pivot):
                i += 1
            while less(x, axis, pivot, order[j]):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@step
def widest(x, order, first, last):
    """Column with the largest range of the rows ``order[first:last]``."""
    best, axis = -1.0, 0
    for c in range(x.shape[1]):
        low = high = x[order[first], c]
        for t in range(first + 1, last):
            value = x[order[t], c]
            low, high = min(low, value), max(high, value)
        if high - low > best:
            best, axis = high - low, c
    return axis


@kernel
def halved(x, most):
    """Halve the rows of `x`, shape (n, p), until no part has more than `most`.

    Returns order : int64, shape (n,); rows, part after part
    bounds : int64, shape (n_parts + 1,); n_parts is a power of two
    """
    n = len(x)
    order = np.arange(n)
    n_parts = 1
    while (n + n_parts - 1) // n_parts > most:
        n_parts *= 2
    bounds = np.zeros(n_parts + 1, dtype=np.int64)
    bounds[n_parts] = n
    step = n_parts
    while step > 1:
        for part in range(0, n_parts, step):
            first, last = bounds[part], bounds[part + step]
            middle = (first + last) // 2
            bounds[part + step // 2] = middle
            if last > first:
                place_middle(x, widest(x, order, first, last), order, first, last, middle)
        step //= 2
    return order, bounds


@step
def refresh_leaf(points, rows, start, number, node, low, high, smallest):
    """Box and smallest row of the first `number` records from `start`."""
    smallest[node] = np.iinfo(np.int64).max
    for t in range(start, start + number):
        smallest[node] = min(smallest[node], rows[t])
    for c in range(len(points)):
        least, most = np.inf, -np.inf
        for t in range(start, start + number):
            least, most = min(least, points[c, t]), max(most, points[c, t])
        low[node, c], high[node, c] = least, most


@step
def sum_leaf(points, start, number, node, total):
    """Sum of the first `number` records from `start`, in four parts side by side."""
    for c in range(len(points)):
        column = points[c, start : start + number]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(number // 4):
            s0 += column[4 * i]
            s1 += column[4 * i + 1]
            s2 += column[4 * i + 2]
            s3 += column[4 * i + 3]
        for i in range(number // 4 * 4, number):
            s0 += column[i]
        total[node, c] = (s0 + s1) + (s2 + s3)


@step
def refresh_above(node, low, high, total, number, smallest):
    """Box, sum, number and smallest row of a node from its children."""
    a, b = 2 * node + 1, 2 * node + 2
    number[node] = number[a] + number[b]
    smallest[node] = min(smallest[a], smallest[b])
    for c in range(low.shape[1]):
        low[node, c] = min(low[a, c], low[b, c])
        high[node, c] = max(high[a, c], high[b, c])
        total[node, c] = total[a, c] + total[b, c]


@step
def take(row, points, rows, place, leaf_of, starts, low, high, total, number, smallest):
    """Take a record out of the tree."""
    node = leaf_of[row]
    start = starts[node - (len(number) - 1) // 2]
    number[node] -= 1
    position, end = place[row], start + number[node]
    other = rows[end]
    touches = smallest[node] == row  # most records lie inside of the box
    for c in range(len(points)):
        value = points[c, position]
        touches = touches or value == low[node, c] or value == high[node, c]
        points[c, position], points[c, end] = points[c, end], value
    rows[position], rows[end] = other, row
    place[other], place[row] = position, end
    sum_leaf(points, start, number[node], node, total)
    if touches:
        refresh_leaf(points, rows, start, number[node], node, low, high, smallest)
    while node > 0:
        node = (node - 1) // 2
        refresh_above(node, low, high, total, number, smallest)


@step
def nearest_bound(q, low, high, node):
    """Squared distance from `q` to the nearest point of a box."""
    bound = 0.0
    for c in range(len(q)):
        gap = 0.0
        if q[c] < low[node, c]:
            gap = low[node, c] - q[c]
        elif q[c] > high[node, c]:
            gap = q[c] - high[node, c]
        bound += gap * gap
    return bound


@step
def farthest_bound(q, low, high, node):
    """Squared distance from `q` to the farthest point of a box."""
    bound = 0.0
    for c in range(len(q)):
        gap = max(abs(q[c] - low[node, c]), abs(high[node, c] - q[c]))
        bound += gap * gap
    return bound


@step
def measure_leaf(q, points, start, number, lengths):
    """Squared distances from `q` to the first `number` records from `start`, column by column."""
    for i in range(number):
        lengths[i] = 0.0
    for c in range(len(q)):
        value, column = q[c], points[c, start : start + number]
        for i in range(len(column)):  # a slice: places that cannot be negative let it vectorise
            gap = value - column[i]
            lengths[i] += gap * gap


@step
def farthest(q, points, rows, starts, low, high, number, smallest, stack, bounds, lengths):
    """Row of the record farthest from `q`, the first of equals."""
    n_inner = (len(number) - 1) // 2
    best, best_row = -1.0, np.int64(-1)
    size = 1
    stack[0], bounds[0] = 0, farthest_bound(q, low, high, 0)
    while size > 0:
        size -= 1
        node, bound = stack[size], bounds[size]
        if bound < best or (bound == best and smallest[node] > best_row):
            continue
        if node >= n_inner:
            start = starts[node - n_inner]
            measure_leaf(q, points, start, number[node], lengths)
            for i in range(number[node]):
                distance = lengths[i]
                if distance > best or (distance == best and rows[start + i] < best_row):
                    best, best_row = distance, rows[start + i]
            continue
        a, b = 2 * node + 1, 2 * node + 2
        bound_a = farthest_bound(q, low, high, a) if number[a] else -1.0
        bound_b = farthest_bound(q, low, high, b) if number[b] else -1.0
        if bound_a > bound_b or (bound_a == bound_b and smallest[a] < smallest[b]):
            a, b = b, a
            bound_a, bound_b = bound_b, bound_a
        if bound_a >= best and number[a]:
            stack[size], bounds[size] = a, bound_a
            size += 1
        if bound_b >= best and number[b]:
            stack[size], bounds[size] = b, bound_b
            size += 1
    return best_row


@step
def nearest(
    q, points, rows, starts, low, high, number, smallest, stack, bounds, lengths,
    neighbours, distances,
):  # fmt: skip
    """Put the rows of the ``len(neighbours)`` records nearest to `q` there, in order."""
    n_inner = (len(number) - 1) // 2
    wanted, have = len(neighbours), 0
    worst, worst_row = np.inf, np.iinfo(np.int64).max
    size = 1
    stack[0], bounds[0] = 0, nearest_bound(q, low, high, 0)
    while size > 0:
        size -= 1
        node, bound = stack[size], bounds[size]
        if bound > worst or (bound == worst and smallest[node] > worst_row):
            continue
        if node >= n_inner:
            start = starts[node - n_inner]
            measure_leaf(q, points, start, number[node], lengths)
            for i in range(number[node]):
                distance = lengths[i]
                if distance > worst or (distance == worst and rows[start + i] > worst_row):
                    continue
                row = rows[start + i]
                j = min(have, wanted - 1)
                while j > 0 and (
                    distances[j - 1] > distance
                    or (distances[j - 1] == distance and neighbours[j - 1] > row)
                ):
                    distances[j], neighbours[j] = distances[j - 1], neighbours[j - 1]
                    j -= 1
                distances[j], neighbours[j] = distance, row
                have = min(have + 1, wanted)
                if have == wanted:
                    worst, worst_row = distances[wanted - 1], neighbours[wanted - 1]
            continue
        a, b = 2 * node + 1, 2 * node + 2
        bound_a = nearest_bound(q, low, high, a) if number[a] else np.inf
        bound_b = nearest_bound(q, low, high, b) if number[b] else np.inf
        if bound_a < bound_b or (bound_a == bound_b and smallest[a] < smallest[b]):
            a, b = b, a
            bound_a, bound_b = bound_b, bound_a
        if bound_a <= worst and number[a]:
            stack[size], bounds[size] = a, bound_a
            size += 1
        if bound_b <= worst and number[b]:
            stack[size], bounds[size] = b, bound_b
            size += 1


@kernel
def mdav(x, k, leaf):
    """Maximum distance to average vector, exactly, in much less than quadratic time.

    While 3 k records or more are left: a group is made around the record r farthest from the mean
    of those left, another around the record farthest from r. With 2 k to 3 k - 1 left one more
    group is made; the rest is a group.

    x : float64, shape (n, p); standardised values
    leaf : int; most records in a box that is not halved any more (changes the time only): `LEAF`,
        or `LEAF_OF_MANY` with `MANY` columns or more, where boxes hardly tell what lies in them

    Returns int64, shape (n,); group of each record, from 0; each has at least k members when n >= k
    """
    n, p = x.shape
    group = np.zeros(n, dtype=np.int64)
    if k == 1 or n < 2 * k:
        return np.arange(n) if k == 1 else group
    order, starts = halved(x, leaf)
    n_leaves = len(starts) - 1
    n_inner, n_nodes = n_leaves - 1, 2 * n_leaves - 1
    points, lengths = np.empty((p, n), dtype=np.float64), np.empty(leaf, dtype=np.float64)
    rows, place, leaf_of = order.copy(), np.empty(n, np.int64), np.empty(n, np.int64)
    low, high = np.empty((n_nodes, p)), np.empty((n_nodes, p))
    total = np.empty((n_nodes, p))
    number, smallest = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    for i in range(n_leaves):
        for t in range(starts[i], starts[i + 1]):
            place[order[t]], leaf_of[order[t]] = t, n_inner + i
            for c in range(p):
                points[c, t] = x[order[t], c]
        node = n_inner + i
        number[node] = starts[i + 1] - starts[i]
        refresh_leaf(points, rows, starts[i], number[node], node, low, high, smallest)
        sum_leaf(points, starts[i], number[node], node, total)
    for node in range(n_inner - 1, -1, -1):
        refresh_above(node, low, high, total, number, smallest)
    stack, bounds = np.empty(200, np.int64), np.empty(200, np.float64)
    neighbours, distances = np.empty(k - 1, np.int64), np.empty(k - 1)
    centre = np.empty(p)
    last = 0
    left = n
    while left >= 2 * k:
        # 1. the centre of the records that are left
        for c in range(p):
            centre[c] = total[0, c] / number[0]
        q = centre
        # 2. r, the farthest from the centre, and then s, the farthest from r (with 3 k records)
        for _ in range(2 if left >= 3 * k else 1):
            r = farthest(
                q, points, rows, starts, low, high, number, smallest, stack, bounds, lengths
            )
            q = x[r]
            # 3. it and its k - 1 nearest are a group and leave
            take(r, points, rows, place, leaf_of, starts, low, high, total, number, smallest)
            nearest(
                q, points, rows, starts, low, high, number, smallest, stack, bounds, lengths,
                neighbours, distances,
            )  # fmt: skip
            group[r] = last
            for j in range(k - 1):
                group[neighbours[j]] = last
                take(
                    neighbours[j], points, rows, place, leaf_of, starts, low, high, total, number,
                    smallest,
                )  # fmt: skip
            last += 1
            left -= k
    # 4. the k to 2 k - 1 records that are left are the last group
    for t in range(n):
        row = rows[t]
        node = leaf_of[row]
        if t < starts[node - n_inner] + number[node]:
            group[row] = last
    return group


@kernel
def optimal_cuts(values, k):
    """Group n >= k ascending values: groups of k to 2 k - 1 neighbours with the least SSE.

    The shortest path of Hansen and Mukherjee (2003): ``cost[j]`` is the least sum of squared
    deviations of the first j values; the last group before j has k to 2 k - 1 members, whose sum
    of squares grows by one member at a time. Memory is linear in n, time is n k.
    """
    n = len(values)
    cost = np.full(n + 1, np.inf)
    previous = np.full(n + 1, -1, dtype=np.int64)
    cost[0] = 0.0
    for j in range(k, n + 1):
        mean = squares = 0.0
        for size in range(1, min(2 * k, j + 1)):
            step = values[j - size] - mean
            mean += step / size
            squares += step * (values[j - size] - mean)
            if size >= k and cost[j - size] + squares < cost[j]:
                cost[j], previous[j] = cost[j - size] + squares, j - size
    group = np.zeros(n, dtype=np.int64)
    j = n
    while j > 0:  # mark the first value of each group, then count
        j = previous[j]
        if j > 0:
            group[j] = 1
    for i in range(1, n):
        group[i] += group[i - 1]
    return group
