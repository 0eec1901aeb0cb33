"""Records of an earlier release that one of a new release can be."""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def candidates(order, starts, group, low_a, high_a, low_b, high_b, codes, taken, wanted, take):
    """Compare each new record with the earlier ones of its group.

    order (n_a,), starts (g + 1,): earlier records by group; group (n_b,): -1 for none
    low_a, high_a (n_a, c), low_b, high_b (n_b, c): what each value may be; two records can be one
        where the ranges meet in every column
    codes (n_a, k): values that are asked for; taken (n_a,), wanted (n_b,): whether a record is left
        out, and is looked at
    take: whether each new record takes its first candidate (written into `taken`) and looks no more

    Returns the number of candidates (n_b,), the first of them (n_b,; -1), whether all have its
    value (n_b, k), and of how many new records each earlier one is a candidate (n_a,).
    """
    n_b, n_columns, n_asked = len(group), low_a.shape[1], codes.shape[1]
    count = np.zeros(n_b, dtype=np.int64)
    first = np.full(n_b, -1, dtype=np.int64)
    agree = np.ones((n_b, n_asked), dtype=np.bool_)
    times = np.zeros(len(order), dtype=np.int64)
    for i in range(n_b):
        if group[i] < 0 or not wanted[i]:
            continue
        for position in range(starts[group[i]], starts[group[i] + 1]):
            j = order[position]
            meets = not taken[j]
            for c in range(n_columns):
                if not meets:
                    break
                meets = low_a[j, c] <= high_b[i, c] and low_b[i, c] <= high_a[j, c]
            if not meets:
                continue
            count[i] += 1
            times[j] += 1
            if first[i] < 0:
                first[i] = j
                if take:
                    taken[j] = True
                    break
            else:
                for k in range(n_asked):
                    if codes[j, k] != codes[first[i], k]:
                        agree[i, k] = False
    return count, first, agree, times
