"""Loops over pairs of key combinations: the nearest released ones, whatever they leave out."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel

HOLE = 1e-9


@kernel
def nearest_keys(numbers, codes, own_numbers, own_codes, ranges, nearest):
    """Find the released key combinations nearest to each real one; all that are equally near.

    The distance is the mean over the keys that both have: the gap divided by the range of a
    number, 0 or 1 for a category. Of equally near ones those with fewer holes are nearer.
    Combinations that have less than half of the keys in common are never compared.

    numbers, codes : float64 and int64, shapes (v, p) and (v, q); released combinations; NaN and -1
        are missing
    own_numbers, own_codes : shapes (u, p) and (u, q); real combinations
    ranges : float64, shape (p,)
    nearest : int64, shape (u, t); filled with the first t of the equally near ones; -1 where there
        are fewer
    """
    v, p = numbers.shape
    q = codes.shape[1]
    for i in range(len(own_numbers)):
        best = np.inf
        n_ties = 0
        for j in range(v):
            total = 0.0
            compared = 0
            for k in range(q):
                a = codes[j, k]
                b = own_codes[i, k]
                if a >= 0 and b >= 0:
                    compared += 1
                    if a != b:
                        total += 1.0
            for k in range(p):
                gap = abs(numbers[j, k] - own_numbers[i, k])
                if not np.isnan(gap):
                    compared += 1
                    if ranges[k] > 0:
                        total += gap / ranges[k]
            if 2 * compared < p + q or compared == 0:
                continue
            distance = total / compared + HOLE * (p + q - compared)
            if distance < best - HOLE / 2:
                best = distance
                n_ties = 0
                for t in range(nearest.shape[1]):
                    nearest[i, t] = -1
            if distance <= best + HOLE / 2 and n_ties < nearest.shape[1]:
                nearest[i, n_ties] = j
                n_ties += 1
