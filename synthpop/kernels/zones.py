"""Households in zones: weights under multipliers of controls, and whole numbers near them."""

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step

LARGEST = 300.0  # of the exponent of a ratio of weights
TOGETHER = 64  # zones whose derivatives are added up side by side
TENURE = 8  # exchanges for which a household stays as it is after it came or left
MET, WIDE = 0.5, 2.0  # cost of a gap: below MET a total is met; above WIDE more is tried
FURTHER, HARDER = 12, 3.0  # how often more is tried, and how much more such a gap then weighs


@step
def ratio(x, q, low, high, least, most):
    """Return the ratio of a new to an old weight q, its integral from 0 to x, and its slope."""
    high = min(high, most / q)
    low = min(max(low, least / q), high)
    if high < np.inf:
        at = np.log(high)
        if x > at:
            return high, high - 1.0 + high * (x - at), 0.0
    if low > 0.0:
        at = np.log(low)
        if x < at:
            return low, low - 1.0 + low * (x - at), 0.0
    g = np.exp(min(max(x, -LARGEST), LARGEST))
    return g, g - 1.0, g


@kernel
def zone_sums(
    indptr, indices, data, start, multipliers, low, high, least, most, achieved, gram, value
):
    """Totals of the controls in each zone, and their derivatives by the multipliers.

    indptr, indices, data: matrix of households by controls (CSR), (h, k); start (z, h): weight of
    each household in each zone before, 0 where it cannot live; multipliers (z, k); low, high: of
    the ratio of new to old weights; least, most: of new weights; out: achieved (z, k),
    gram (z, k, k), value (z,). Zones are the innermost loop: it runs over neighbours in memory.
    """
    n_zones, k = multipliers.shape
    room = min(n_zones, TOGETHER)
    lam, sums, pairs = np.empty((k, room)), np.empty((k, room)), np.empty((k, k, room))
    x, weight, slope = np.empty(room), np.empty(room), np.empty(room)
    for z0 in range(0, n_zones, TOGETHER):
        n = min(TOGETHER, n_zones - z0)
        sums[:], pairs[:] = 0.0, 0.0
        for z in range(n):
            for a in range(k):
                lam[a, z] = multipliers[z0 + z, a]
        for h in range(len(indptr) - 1):
            x[:] = 0.0
            for i in range(indptr[h], indptr[h + 1]):
                row, amount = lam[indices[i]], data[i]
                for z in range(n):
                    x[z] += amount * row[z]
            for z in range(n):
                q = start[z0 + z, h]
                weight[z], slope[z] = 0.0, 0.0
                if q > 0.0:
                    g, integral, of_g = ratio(x[z], q, low, high, least, most)
                    value[z0 + z] += q * integral
                    weight[z], slope[z] = q * g, q * of_g
            for i in range(indptr[h], indptr[h + 1]):
                row, amount = sums[indices[i]], data[i]
                for z in range(n):
                    row[z] += amount * weight[z]
                for j in range(i, indptr[h + 1]):
                    both, of_both = amount * data[j], pairs[indices[i], indices[j]]
                    for z in range(n):
                        of_both[z] += both * slope[z]
        for z in range(n):
            for a in range(k):
                achieved[z0 + z, a] += sums[a, z]
                gram[z0 + z, a, a] += pairs[a, a, z]
                for b in range(a):  # of each pair one half was added up
                    gram[z0 + z, a, b] += pairs[a, b, z] + pairs[b, a, z]
                    gram[z0 + z, b, a] = gram[z0 + z, a, b]


@kernel
def zone_weights(indptr, indices, data, start, multipliers, low, high, least, most, out):
    """Weights of the households in a zone, out (h,); the other arguments as in `zone_sums`."""
    for h in range(len(indptr) - 1):
        x = 0.0
        for i in range(indptr[h], indptr[h + 1]):
            x += data[i] * multipliers[indices[i]]
        q = start[h]
        out[h] = q * ratio(x, q, low, high, least, most)[0] if q > 0.0 else 0.0


@kernel
def improve_counts(
    indptr,
    indices,
    data,
    starts,
    members,
    amounts,
    weights,
    least,
    most,
    gap,
    scale,
    first,
    sweeps,
    patience,
    tried,
    counts,
):
    """Exchange households of a zone one by one until its controls come no nearer to their totals.

    starts, members, amounts: the matrix by controls (CSC); weights (h,): of each household in the
    zone; least, most (h,): of its count; gap (k,): achieved
    less wanted, changed in place; scale (k,): what the square of a gap costs; first (k,):
    whether a control comes before the others (those of the zone before larger areas); sweeps: most
    exchanges; patience: exchanges without a gain before the best counts are taken; tried:
    households looked at on each side; counts (h,): changed in place.
    1. Rate each household by what the cost changes when one leaves, or one comes.
    2. Of the best on each side, exchange the pair that lowers the cost most, or raises it least; a
    household that came or left lately stays as it is (tabu search, Glover 1989,
    doi:10.1287/ijoc.1.3.190).
    3. Stop where each total is met, or nothing was gained for long; take the best counts. Where a
    total of persons is then missed by two, or one of households by one, its gap weighs more and the
    search goes on from where it is (breakout, Morris 1993, AAAI-93, 40-45).
    """
    n = len(counts)
    linear, square, off, cost = np.zeros(n), np.zeros(n), np.empty(n), scale.copy()
    rate(indptr, indices, data, gap, cost, linear, square)
    for h in range(n):  # a thousandth for leaving the weights, so that ties go to likely households
        off[h] = 1e-3 / (1.0 + weights[h])
    leave, come = np.empty(n), np.empty(n)
    may_leave, may_come = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    of_leaving, of_coming = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    came, left = np.full(n, -TENURE), np.full(n, -TENURE)
    dense = np.zeros(len(gap))
    best_counts, best_gap = counts.copy(), gap.copy()
    now, lowest, gained, largest, further, since = 0.0, 0.0, 0, np.inf, 0, 0
    raised = False
    for sweep in range(sweeps):
        if gained == sweep:
            largest = 0.0
            for k in range(len(gap)):
                if first[k]:
                    largest = max(largest, gap[k] * gap[k] * scale[k])
            if largest < MET:
                break
            if largest < WIDE and raised:
                raised = False
                cost[:] = scale
                rate(indptr, indices, data, gap, cost, linear, square)
        elif sweep - max(gained, since) > (patience if largest < WIDE or further else 5 * patience):
            if largest < WIDE or further == FURTHER:
                break
            further, since, raised = further + 1, sweep, True
            for k in range(len(gap)):
                if first[k] and best_gap[k] * best_gap[k] * scale[k] > WIDE:
                    cost[k] *= HARDER
            rate(indptr, indices, data, gap, cost, linear, square)
        for h in range(n):
            excess = 2.0 * (counts[h] - weights[h])
            leave[h] = square[h] - linear[h] + off[h] * (1.0 - excess)
            come[h] = square[h] + linear[h] + off[h] * (1.0 + excess)
            may_leave[h] = counts[h] > least[h] and sweep - came[h] >= TENURE
            may_come[h] = counts[h] < most[h] and sweep - left[h] >= TENURE
        n_leave = smallest(leave, may_leave, tried, of_leaving)
        n_come = smallest(come, may_come, tried, of_coming)
        best, out, into = np.inf, -1, -1
        for a in range(n_leave):
            i = of_leaving[a]
            for p in range(indptr[i], indptr[i + 1]):
                dense[indices[p]] = data[p] * cost[indices[p]]
            for b in range(n_come):
                j = of_coming[b]
                if i == j:
                    continue
                both = leave[i] + come[j]
                for p in range(indptr[j], indptr[j + 1]):
                    both -= 2.0 * dense[indices[p]] * data[p]
                if both < best:
                    best, out, into = both, i, j
            for p in range(indptr[i], indptr[i + 1]):
                dense[indices[p]] = 0.0
        if out < 0:
            break
        counts[out] -= 1
        counts[into] += 1
        left[out], came[into] = sweep, sweep
        for p in range(indptr[out], indptr[out + 1]):
            dense[indices[p]] -= data[p]
        for p in range(indptr[into], indptr[into + 1]):
            dense[indices[p]] += data[p]
        for row in (out, into):
            for p in range(indptr[row], indptr[row + 1]):
                k = indices[p]
                if dense[k] != 0.0:
                    now -= total_cost(gap[k] * gap[k] * scale[k], first[k])
                    gap[k] += dense[k]
                    now += total_cost(gap[k] * gap[k] * scale[k], first[k])
                    change = 2.0 * dense[k] * cost[k]
                    for m in range(starts[k], starts[k + 1]):
                        linear[members[m]] += change * amounts[m]
                    dense[k] = 0.0
        if now < lowest - 1e-9:
            lowest, gained = now, sweep + 1
            best_counts[:], best_gap[:] = counts, gap
    counts[:], gap[:] = best_counts, best_gap


@step
def total_cost(gap, first):
    """Cost of a gap in what counts are best: far more above WIDE."""
    return gap if gap < WIDE or not first else gap + 10.0 * (gap - WIDE)


@step
def rate(indptr, indices, data, gap, cost, linear, square):
    """Write by what each household changes the cost when one comes: linear + square."""
    linear[:], square[:] = 0.0, 0.0
    for h in range(len(linear)):
        for i in range(indptr[h], indptr[h + 1]):
            linear[h] += 2.0 * gap[indices[i]] * cost[indices[i]] * data[i]
            square[h] += cost[indices[i]] * data[i] * data[i]


@step
def smallest(values, allowed, most, out):
    """Write the positions of the smallest allowed values, at most `most`; return how many."""
    n = 0
    for h in range(len(values)):
        if not allowed[h]:
            continue
        if n < most:
            at = n
            n += 1
        elif values[h] < values[out[n - 1]]:
            at = n - 1
        else:
            continue
        while at > 0 and values[out[at - 1]] > values[h]:
            out[at] = out[at - 1]
            at -= 1
        out[at] = h
    return n
