"""Numbers of the members of a household as a chain: highest first, linked by the gaps between them.

p members of all households, one chain after another; s numbers in a stretch; k kinds of members;
t tables of gaps; v values 0 ... v - 1.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step


@step
def factors_of_chain(first, last, low, numbers, kinds, sides, values, weight):
    """Write the factors of the numbers that members first ... last - 1 can get.

    low, numbers, kinds (p,): where the stretch begins, the old number, the kind; sides (v,): side
    of the limits that a value is on; values (k, v). weight (members of a chain, s): 0 where the
    number is not a value or beyond a limit.
    """
    span = weight.shape[1]
    for i in range(first, last):
        side = sides[numbers[i]]
        for a in range(span):
            value = low[i] + a
            inside = 0 <= value < values.shape[1]
            weight[i - first, a] = 0.0
            if inside and sides[value] == side:
                weight[i - first, a] = values[kinds[i], value]


@step
def gap_factor(gaps, table, gap):
    """Return the factor of a gap, 0 of one that is not possible."""
    return gaps[table, gap] if 0 <= gap < gaps.shape[1] else 0.0


@step
def messages_up(first, last, low, kinds, tables, gaps, weight, up):
    """Write what the lower members say about each number of a member; the largest is 1.

    tables (k, k): table of the kinds of two neighbours; gaps (t, v); up (members of a chain, s).
    """
    span = weight.shape[1]
    for a in range(span):
        up[last - first - 1, a] = 1.0
    for i in range(last - 2, first - 1, -1):
        table, k, largest = tables[kinds[i], kinds[i + 1]], i - first, 0.0
        apart, longest = low[i] - low[i + 1], gaps.shape[1] - 1
        for a in range(span):
            total = 0.0
            for b in range(max(apart + a - longest, 0), min(apart + a + 1, span)):
                total += gaps[table, apart + a - b] * (weight[k + 1, b] * up[k + 1, b])
            up[k, a] = total
            largest = max(largest, total)
        for a in range(span):
            up[k, a] /= largest


@kernel
def draw_chains(ends, low, numbers, kinds, sides, values, tables, gaps, uniforms, span, out):
    """Draw the number of each member, the highest of a chain first, given those before.

    ends (chains + 1,): where chains begin and end; uniforms (p,) in [0, 1); out (p,). Other
    arguments as in `factors_of_chain` and `messages_up`.
    """
    longest = 1
    for chain in range(len(ends) - 1):
        longest = max(longest, ends[chain + 1] - ends[chain])
    weight, up, share = np.zeros((longest, span)), np.zeros((longest, span)), np.zeros(span)
    for chain in range(len(ends) - 1):
        first, last = ends[chain], ends[chain + 1]
        factors_of_chain(first, last, low, numbers, kinds, sides, values, weight)
        messages_up(first, last, low, kinds, tables, gaps, weight, up)
        for i in range(first, last):
            total = 0.0
            for a in range(span):
                factor = weight[i - first, a] * up[i - first, a]
                if i > first:
                    table = tables[kinds[i - 1], kinds[i]]
                    factor *= gap_factor(gaps, table, out[i - 1] - low[i] - a)
                total += factor
                share[a] = total
            position = 0
            while position < span - 1 and share[position] <= uniforms[i] * total:
                position += 1
            out[i] = low[i] + position


@kernel
def add_expected(
    ends, low, numbers, kinds, sides, values, tables, gaps, weights, span, by_value, by_gap
):
    """Add the expected weight of each value of each kind, and of each gap of each table.

    weights (p,): of the members; by_value (k, v) and by_gap (t, v) are changed. Other arguments
    as in `draw_chains`.
    """
    longest = 1
    for chain in range(len(ends) - 1):
        longest = max(longest, ends[chain + 1] - ends[chain])
    weight, up = np.zeros((longest, span)), np.zeros((longest, span))
    down, joint = np.zeros((longest, span)), np.zeros((span, span))
    n_values = values.shape[1]
    for chain in range(len(ends) - 1):
        first, last = ends[chain], ends[chain + 1]
        factors_of_chain(first, last, low, numbers, kinds, sides, values, weight)
        messages_up(first, last, low, kinds, tables, gaps, weight, up)
        down[0, :] = 1.0
        for i in range(first, last):
            k, total = i - first, 0.0
            for a in range(span):
                total += weight[k, a] * up[k, a] * down[k, a]
            share = weights[i] / total
            for a in range(span):
                position = min(max(low[i] + a, 0), n_values - 1)
                by_value[kinds[i], position] += weight[k, a] * up[k, a] * down[k, a] * share
            if i + 1 == last:
                continue
            table, total, largest = tables[kinds[i], kinds[i + 1]], 0.0, 0.0
            apart = low[i] - low[i + 1]
            for b in range(span):
                down[k + 1, b] = 0.0
                for a in range(max(b - apart, 0), min(b - apart + by_gap.shape[1], span)):
                    before = weight[k, a] * down[k, a] * gaps[table, apart + a - b]
                    down[k + 1, b] += before
                    joint[a, b] = before * (weight[k + 1, b] * up[k + 1, b])
                    total += joint[a, b]
                largest = max(largest, down[k + 1, b])
            share = weights[i] / total
            for b in range(span):
                down[k + 1, b] /= largest
                for a in range(max(b - apart, 0), min(b - apart + by_gap.shape[1], span)):
                    by_gap[table, apart + a - b] += joint[a, b] * share
