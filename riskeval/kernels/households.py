"""Loops over pairs of households whose members may have suppressed keys."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step


@step
def holes_of_match(first, second, missing):
    """Holes that pair the members of two households of one size; -1 when they cannot be paired.

    first, second : int32, shape (s, m); keys of the members of a real and of a released household
    missing : int32, shape (m,); code of a suppressed key: in the released household it matches
        anything

    Returns how many keys are suppressed in the released household and known in the real one,
        over all members: the same for every way to pair them
    """
    size, m = first.shape
    fits = np.zeros((size, size), dtype=np.bool_)
    for a in range(size):
        for b in range(size):
            same = True
            for k in range(m):
                if second[b, k] != first[a, k] and second[b, k] != missing[k]:
                    same = False
                    break
            fits[a, b] = same
    # each real member in turn takes a released one; those before it make room along a path
    taken_by = np.full(size, -1)
    for a in range(size):
        reached_from = np.full(size, -1)
        queue = np.empty(size + 1, dtype=np.int64)
        queue[0] = a
        begin, end, last = 0, 1, -1
        while begin < end and last < 0:
            member = queue[begin]
            begin += 1
            for b in range(size):
                if fits[member, b] and reached_from[b] < 0:
                    reached_from[b] = member
                    if taken_by[b] < 0:
                        last = b
                        break
                    queue[end] = taken_by[b]
                    end += 1
        if last < 0:
            return -1
        while last >= 0:
            member = reached_from[last]
            previous = -1
            for b in range(size):
                if taken_by[b] == member:
                    previous = b
            taken_by[last] = member
            last = previous if member != a else -1
    holes = 0
    for a in range(size):
        for k in range(m):
            if second[a, k] == missing[k]:
                holes += 1
            if first[a, k] == missing[k]:
                holes -= 1
    return holes


@kernel
def fewest_holes(real, real_start, released, released_start, missing, chosen):
    """Find for each real household the released ones that match it with the fewest holes.

    real, released : int32, shapes (n, m) and (v, m); keys of the members, households one after the
        other
    real_start, released_start : int64, shapes (h + 1,) and (g + 1,); where each household begins
    missing : int32, shape (m,)
    chosen : bool, shape (h, g); filled with the pairs
    """
    for i in range(len(real_start) - 1):
        first = real[real_start[i] : real_start[i + 1]]
        best = -1
        for j in range(len(released_start) - 1):
            if released_start[j + 1] - released_start[j] != len(first):
                continue
            second = released[released_start[j] : released_start[j + 1]]
            holes = holes_of_match(first, second, missing)
            if holes < 0 or holes == second.size:
                continue
            if best < 0 or holes < best:
                best = holes
                for other in range(j):
                    chosen[i, other] = False
            chosen[i, j] = holes == best


@kernel
def count_holes(real, released, missing, holes):
    """Write the holes of every pair of households of one size, -1 where they do not match.

    real, released : int32, shapes (h, s, m) and (g, s, m)
    missing : int32, shape (m,)
    holes : int64, shape (h, g); filled, as in `holes_of_match`
    """
    for i in range(len(real)):
        for j in range(len(released)):
            holes[i, j] = holes_of_match(real[i], released[j], missing)
