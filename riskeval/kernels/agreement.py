"""What the filled cells of each group agree on."""

import numpy as np

from synthpop.microdata.kernel import kernel


@kernel
def common_levels(order, starts, sizes, asked, codes):
    """Level that all filled cells of a group have, (g,); -1 where they differ or none is filled.

    order (m,): records of the groups, side by side; starts, sizes (g,): where each group starts,
    and its records; asked (g,): groups that are looked at, the others get -1; codes (n,): -1 for a
    hole.
    """
    common = np.full(len(starts), -1, dtype=np.int64)
    for g in range(len(starts)):
        if not asked[g]:
            continue
        for i in range(starts[g], starts[g] + sizes[g]):
            code = codes[order[i]]
            if code < 0 or code == common[g]:
                continue
            if common[g] >= 0:
                common[g] = -1
                break
            common[g] = code
    return common


@kernel
def levels_of_groups(order, starts, codes):
    """Smallest and largest level of the filled cells of each group, and how often each occurs.

    order (m,): records of the groups, side by side; starts (g,): where each group starts; codes
    (n,): -1 for a hole. Returns lowest, highest, filled, at_lowest, at_highest, each (g,); lowest
    and highest are -1 in a group of holes.
    """
    n_groups = len(starts)
    lowest = np.full(n_groups, -1, dtype=np.int64)
    highest = np.full(n_groups, -1, dtype=np.int64)
    filled = np.zeros(n_groups, dtype=np.int64)
    at_lowest = np.zeros(n_groups, dtype=np.int64)
    at_highest = np.zeros(n_groups, dtype=np.int64)
    for g in range(n_groups):
        end = starts[g + 1] if g + 1 < n_groups else len(order)
        for i in range(starts[g], end):
            code = codes[order[i]]
            if code < 0:
                continue
            filled[g] += 1
            if code < lowest[g] or lowest[g] < 0:
                lowest[g], at_lowest[g] = code, 0
            if code > highest[g]:
                highest[g], at_highest[g] = code, 0
            at_lowest[g] += code == lowest[g]
            at_highest[g] += code == highest[g]
    return lowest, highest, filled, at_lowest, at_highest
