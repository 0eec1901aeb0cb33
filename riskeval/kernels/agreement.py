"""What the filled cells of each group agree on."""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


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
def leave_one_out(groups, n_groups, codes):
    """How often the other filled cells of its group agree on the level of a cell, or on another.

    groups (n,): group of each record, -1 for none; codes (n,): -1 for a hole. Returns the filled
    cells of each group, (g,), and cases, (2, 2): right and wrong ones that rest on one other cell
    (first row) and on several.
    """
    levels = np.full((n_groups, 2), -1, dtype=np.int64)  # lowest and highest of each group
    n_at = np.zeros((n_groups, 2), dtype=np.int64)  # cells at these two
    filled = np.zeros(n_groups, dtype=np.int64)
    for i in range(len(groups)):
        g, code = groups[i], codes[i]
        if g < 0 or code < 0:
            continue
        filled[g] += 1
        if code < levels[g, 0] or levels[g, 0] < 0:
            levels[g, 0], n_at[g, 0] = code, 0
        if code > levels[g, 1]:
            levels[g, 1], n_at[g, 1] = code, 0
        n_at[g, 0] += code == levels[g, 0]
        n_at[g, 1] += code == levels[g, 1]
    cases = np.zeros((2, 2), dtype=np.int64)
    for g in range(n_groups):
        if filled[g] < 2:
            continue
        several = 1 if filled[g] > 2 else 0
        is_pure = levels[g, 0] == levels[g, 1]
        # one cell deviates: the others agree on a wrong level for it; of two, both are wrong
        all_at_two = n_at[g, 0] + n_at[g, 1] == filled[g]
        deviates = all_at_two & (min(n_at[g, 0], n_at[g, 1]) == 1) & (not is_pure)
        cases[several, 0] += filled[g] * is_pure
        cases[several, 1] += (2 - several) * deviates
    return filled, cases
