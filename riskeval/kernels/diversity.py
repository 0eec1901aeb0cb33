"""Loops over the sensitive values inside groups of records that share a key.

Letters: a group t is made of segments s (records of one pattern of missing keys); each is a stretch
``begin[s, t] ... end[s, t]`` of the arrays `value` and `count`, weighted with ``factor[s, t]`` (an
empty table of factors: 1). V values; p is the distribution in the group, q in the file.
"""

from __future__ import annotations

import numpy as np

from riskeval.kernels.sorting import sort_first
from synthpop.microdata.runs.kernel import kernel


@kernel
def merge_segments(t, begin, end, factor, value, count, amount, touched):
    """Fill `amount` (V,) with the group's total of each value; return how many are touched."""
    n_touched = 0
    for s in range(len(begin)):
        weight = factor[s, t] if len(factor) > 0 else 1.0
        for e in range(begin[s, t], end[s, t]):
            v = value[e]
            if amount[v] == 0.0:
                touched[n_touched] = v
                n_touched += 1
            amount[v] += weight * count[e]
    return n_touched


@kernel
def group_diversity(begin, end, factor, value, count, n_values, gap, c, out):
    """Distinct, entropy and recursive diversity of each group.

    gap : value that stands for missing, or -1; it is one more category where a group has others
    c : constant of the recursive measure
    out : float64 (T, 3), filled with distinct, entropy (as a number of values) and recursive
    """
    amount = np.zeros(n_values)
    touched = np.zeros(n_values, np.int64)
    for t in range(begin.shape[1]):
        n = merge_segments(t, begin, end, factor, value, count, amount, touched)
        sizes = np.empty(n)
        for i in range(n):
            sizes[i] = amount[touched[i]]
            amount[touched[i]] = 0.0
        if n == 0 or (n == 1 and touched[0] == gap):
            out[t, 0] = 0.0
            out[t, 1] = 1.0
            out[t, 2] = 1.0
            continue
        sort_first(sizes, n)
        total = entropy = 0.0
        for i in range(n):
            total += sizes[i]
        for i in range(n):
            entropy -= sizes[i] / total * np.log(sizes[i] / total)
        largest = sizes[n - 1]
        best = 1
        rest = 0.0
        for i in range(n):  # rest = r_l + ... + r_m for l = n - i
            rest += sizes[i]
            if largest < c * rest:
                best = n - i
                break
        out[t, 0] = n
        out[t, 1] = np.exp(entropy)
        out[t, 2] = max(best, 1)


@kernel
def group_tree_distance(begin, end, factor, value, count, node_of, q, out):
    """Earth mover's distance on a tree whose leaves are the values, of each group from the file.

    node_of : int64 (H, V), node of each value at heights 0 ... H-1 (0 are the leaves)
    q : float64 (H, N), share of each node in the file
    out : float64 (T,); groups without values get 0
    """
    n_levels, n_values = node_of.shape
    amount = np.zeros(n_values)
    touched = np.zeros(n_values, np.int64)
    at_node = np.zeros(q.shape[1])
    nodes = np.zeros(n_values, np.int64)
    for t in range(begin.shape[1]):
        n = merge_segments(t, begin, end, factor, value, count, amount, touched)
        total = 0.0
        for i in range(n):
            total += amount[touched[i]]
        distance = 0.0
        for h in range(n_levels):
            n_nodes = 0
            for i in range(n):
                node = node_of[h, touched[i]]
                if at_node[node] == 0.0:
                    nodes[n_nodes] = node
                    n_nodes += 1
                at_node[node] += amount[touched[i]] / total
            distance += 1.0
            for i in range(n_nodes):
                node = nodes[i]
                distance += abs(at_node[node] - q[h, node]) - q[h, node]
                at_node[node] = 0.0
        for i in range(n):
            amount[touched[i]] = 0.0
        out[t] = distance / (2.0 * n_levels) if n > 0 else 0.0


@kernel
def group_ordered_distance(begin, end, factor, value, count, below, summed, out):
    """Earth mover's distance on equally spaced ordered values, of each group from the file.

    below : float64 (V,), cumulative distribution of the file
    summed : float64 (V + 1,), cumulative sums of `below`, starting at 0
    out : float64 (T,); groups without values get 0
    """
    n_values = len(below)
    amount = np.zeros(n_values)
    touched = np.zeros(n_values, np.int64)
    for t in range(begin.shape[1]):
        n = merge_segments(t, begin, end, factor, value, count, amount, touched)
        sort_first(touched, n)
        total = 0.0
        for i in range(n):
            total += amount[touched[i]]
        distance = summed[touched[0]] if n > 0 else 0.0
        level = 0.0
        for i in range(n):  # between two present values the group's distribution is flat
            level += amount[touched[i]] / total
            start = touched[i]
            stop = touched[i + 1] if i + 1 < n else n_values
            low, high = start, stop  # first place where the file is above the level
            while low < high:
                middle = (low + high) // 2
                if below[middle] < level:
                    low = middle + 1
                else:
                    high = middle
            distance += (low - start) * level - (summed[low] - summed[start])
            distance += (summed[stop] - summed[low]) - (stop - low) * level
            amount[start] = 0.0
        out[t] = max(distance, 0.0) / (n_values - 1) if n > 0 and n_values > 1 else 0.0


@kernel
def group_gain(begin, end, factor, value, count, q, watched, out):
    """Largest share of a watched value, and largest gain over the file, of each group.

    q : float64 (V,), shares in the file
    watched : bool (V,)
    out : float64 (T, 3), filled with the largest share of a watched value, the largest
        (p - q) / q over them, and the largest (p - q) / q among values where it is above -log q
        (0 where there is none)
    """
    n_values = len(q)
    amount = np.zeros(n_values)
    touched = np.zeros(n_values, np.int64)
    for t in range(begin.shape[1]):
        n = merge_segments(t, begin, end, factor, value, count, amount, touched)
        total = 0.0
        for i in range(n):
            total += amount[touched[i]]
        share = 0.0
        gain = 0.0
        broken = 0.0
        for i in range(n):
            v = touched[i]
            p = amount[v] / total
            amount[v] = 0.0
            if not watched[v]:
                continue
            share = max(share, p)
            g = (p - q[v]) / q[v]
            gain = max(gain, g)
            if g > -np.log(q[v]) * (1.0 + 1e-12):
                broken = max(broken, g)
        out[t, 0] = share
        out[t, 1] = gain
        out[t, 2] = broken
