"""Loops of the five intruder scenarios: one pass over the persons of a synthetic population.

Letters: u is a key combination that is looked for, a an accuracy, j a person of the population.
The tree of key combinations is one table per key: ``next[state * radix + code]`` is the state after
reading one more key, -1 when no record looked for goes on like that. After the last key the
state is u itself.
"""

from __future__ import annotations

import numpy as np

from riskeval.kernels.sorting import sort_first
from synthpop.microdata.runs.kernel import kernel


@kernel
def match_block(
    states, values, lower, upper, open_as_value, first, last, order, low, high, within, product
):
    """Update what the intruder sees of every point; arrays are changed in place.

    A point is a pair of a key combination and a true value. Points that no further person can
    bring back (a value was not close, a product is 0) leave the list of their combination, so
    that a person costs no more than the points still open.

    states : int64, shape (n,); key combination of each person, -1 where nobody of it is looked for
    values : float64, shape (n,); synthetic values, NaN where missing
    lower, upper : float64, shape (n,) or (0,); intervals the values were drawn from; empty when not
        given
    open_as_value : bool; an interval without length in numbers (NaN or infinite bound) counts as
        its value does
    first, last : int64, shape (u,); where the open points of each combination begin and end in
        `order`
    order : int64, shape (p,); points, those of one combination together
    low, high : float64, shape (p, a); the intervals around the true values
    within : bool, shape (p, a); whether all matches so far have their value inside
    product : float64, shape (p, a); product of the overlap ratios so far
    """
    n_accuracies = low.shape[1]
    with_intervals = len(lower) > 0
    for j in range(len(states)):
        state = states[j]
        if state < 0:
            continue
        value = values[j]
        i = first[state]
        while i < last[state]:
            point = order[i]
            is_open = False
            for a in range(n_accuracies):
                lo = low[point, a]
                hi = high[point, a]
                inside = value >= lo and value <= hi
                if not inside:
                    within[point, a] = False
                if with_intervals and product[point, a] > 0.0:
                    share = 0.0
                    if not np.isnan(value):
                        length = upper[j] - lower[j]
                        if not np.isfinite(length):
                            if open_as_value and inside:
                                share = 1.0
                        elif length == 0.0:
                            if lower[j] >= lo and lower[j] <= hi:
                                share = 1.0
                        else:
                            overlap = min(hi, upper[j]) - max(lo, lower[j])
                            if overlap > 0.0:
                                share = overlap / length
                    product[point, a] *= share
                if within[point, a] or (with_intervals and product[point, a] > 0.0):
                    is_open = True
            if is_open:
                i += 1
            else:
                last[state] -= 1
                order[i] = order[last[state]]
                order[last[state]] = point


@kernel
def levels_block(states, codes, first, level, right):
    """Count in `right`, int64, shape (p,), the matches that have the level of each point.

    states : int64, shape (n,); as in `match_block`
    codes : int32, shape (n,); level of each person
    first : int64, shape (u + 1,); where the points of each combination begin
    level : int64, shape (p,); true level of each point
    """
    for j in range(len(states)):
        state = states[j]
        if state < 0:
            continue
        for point in range(first[state], first[state + 1]):
            if level[point] == codes[j]:
                right[point] += 1


@kernel
def count_block(states, count):
    """Add the persons of each combination to `count`, int64, shape (u,)."""
    for j in range(len(states)):
        if states[j] >= 0:
            count[states[j]] += 1


@kernel
def mark_households(states, starts, marks):
    """Number each household by the states of its members, whatever their order.

    Households that differ may share a number. A household with an unknown member gets -1.

    states : int64, shape (n,); key combination of each member, -1 where unknown
    starts : int64, shape (h + 1,); where each household begins
    """
    for h in range(len(starts) - 1):
        mark = starts[h + 1] - starts[h]
        for j in range(starts[h], starts[h + 1]):
            if states[j] < 0:
                mark = -1
                break
            x = (states[j] * 1000003 + 12345) % 2147483647
            mark = (mark + x * x) % 2147483647
        marks[h] = mark


@kernel
def find_households(states, starts, marks, known, begin, members, slots, count, matches):
    """Look up households by all their members; `count` and `matches` are changed in place.

    states, starts, marks; as in `mark_households`, of the households of the population
    known : int64, shape (c,); marks of the households that are looked for, sorted
    begin : int64, shape (c + 1,); where their members begin in `members`
    members, slots : int64; states of their members, sorted within the household, and the number of
        each pair of household and state
    count : int64, shape (c,); households of the population with exactly these members
    matches : int64, shape (n,); slot of each person of the population, -1 where the household is
        not looked for
    """
    for h in range(len(marks)):
        lo = starts[h]
        hi = starts[h + 1]
        for j in range(lo, hi):
            matches[j] = -1
        if marks[h] < 0:
            continue
        c = np.searchsorted(known, marks[h])
        if c == len(known) or known[c] != marks[h]:
            continue
        asked_members = states[lo:hi].copy()
        sort_first(asked_members, hi - lo)
        while c < len(known) and known[c] == marks[h]:
            listed_members = members[begin[c] : begin[c + 1]]
            equal = len(listed_members) == len(asked_members)
            for j in range(hi - lo if equal else 0):
                equal = equal and listed_members[j] == asked_members[j]
            if equal:
                count[c] += 1
                for j in range(lo, hi):
                    matches[j] = slots[begin[c] + np.searchsorted(listed_members, states[j])]
                break
            c += 1


@kernel
def moments_block(codes, slots, values, gram, moment):
    """Add persons to the cross-products of the dummy-coded keys; arrays are changed in place.

    codes : int32, shape (m, n)
    slots : int32, shape (m, largest number of codes); row of `gram` of each code of each key
    values : float64, shape (n,); persons without a value (NaN) are left out
    gram : float64, shape (s, s); counts of persons with both levels; only entries of an earlier key
        against a later one, and the diagonal, are filled
    moment : float64, shape (s,); sums of the values by level
    """
    m, n = codes.shape
    row = np.empty(m, dtype=np.int64)
    for j in range(n):
        value = values[j]
        if np.isnan(value):
            continue
        for k in range(m):
            row[k] = slots[k, codes[k, j]]
        for k in range(m):
            moment[row[k]] += value
            for other in range(k, m):
                gram[row[k], row[other]] += 1.0


@kernel
def find_block(codes, radix, start, tree, states):
    """Write the combination of each person into `states`, int64, shape (n,); -1 where unknown.

    codes : int32, shape (m, n); a code not below the `radix` of its key is unknown in the sample
    start : int64, shape (m,); where the table of each key begins in `tree`
    """
    m, n = codes.shape
    for j in range(n):
        state = 0
        for k in range(m):
            code = codes[k, j]
            if code >= radix[k]:
                state = -1
                break
            state = tree[start[k] + state * radix[k] + code]
            if state < 0:
                break
        states[j] = state
