"""What the filled cells of each group agree on."""

import numpy as np

from synthpop.microdata.kernel import kernel


@kernel
def common_levels(groups, asked, codes):
    """Level that all filled cells of a group have, (g,); -1 where they differ or none is filled.

    groups (n,): group of each record, -1 for none; asked (g,): groups that are looked at, the
    others get -1; codes (n,): -1 for a hole.
    """
    common = np.full(len(asked), -1, dtype=np.int64)
    is_open = asked.copy()
    n_open = np.count_nonzero(asked)
    for i in range(len(groups)):
        if n_open == 0:
            break
        g = groups[i]
        if g < 0 or not is_open[g] or codes[i] < 0 or codes[i] == common[g]:
            continue
        if common[g] < 0:
            common[g] = codes[i]
            continue
        common[g] = -1
        is_open[g] = False
        n_open -= 1
    return common


@kernel
def levels_of_groups(groups, n_groups, codes):
    """Smallest and largest level of the filled cells of each group, and how often each occurs.

    groups (n,): group of each record, -1 for none; codes (n,): -1 for a hole. Returns lowest,
    highest, filled, at_lowest, at_highest, each (g,); lowest and highest are -1 in a group of
    holes.
    """
    lowest = np.full(n_groups, -1, dtype=np.int64)
    highest = np.full(n_groups, -1, dtype=np.int64)
    filled = np.zeros(n_groups, dtype=np.int64)
    at_lowest = np.zeros(n_groups, dtype=np.int64)
    at_highest = np.zeros(n_groups, dtype=np.int64)
    for i in range(len(groups)):
        g, code = groups[i], codes[i]
        if g < 0 or code < 0:
            continue
        filled[g] += 1
        if code < lowest[g] or lowest[g] < 0:
            lowest[g], at_lowest[g] = code, 0
        if code > highest[g]:
            highest[g], at_highest[g] = code, 0
        at_lowest[g] += code == lowest[g]
        at_highest[g] += code == highest[g]
    return lowest, highest, filled, at_lowest, at_highest
