"""Loops of the five intruder scenarios: one pass over the persons of a synthetic population.

Letters: u is a record that is unique in the sample, a an accuracy, j a person of the population.
The tree of key combinations is one table a key: ``next[state * radix + code]`` is the state after
reading one more key, -1 when no sample-unique record goes on like that. After the last key the
state is u itself.
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.accelerate import kernel


@kernel
def match_block(
    codes,
    radix,
    start,
    tree,
    values,
    lower,
    upper,
    open_as_value,
    low,
    high,
    count,
    within,
    product,
):
    """Update what the intruder sees of every sample-unique record; arrays are changed in place.

    Parameters
    ----------
    codes : int32, shape (m, n)
        Keys of the persons; a code not below `radix` is unknown in the sample.
    radix, start : int64, shape (m,)
        Codes of each key, and where its table begins in `tree`.
    tree : int32, shape (cells,)
    values : float64, shape (n,)
        Synthetic values, NaN where missing.
    lower, upper : float64, shape (n,) or (0,)
        Intervals the values were drawn from; empty when not given.
    open_as_value : bool
        An interval without length in numbers (NaN or infinite bound) counts as its value does.
    low, high : float64, shape (u, a)
        The intervals around the true values; NaN where the true value is missing.
    count : int64, shape (u,)
        Matches so far.
    within : bool, shape (u, a)
        Whether all matches so far have their value inside.
    product : float64, shape (u, a)
        Product of the overlap ratios so far.
    """
    m, n = codes.shape
    n_accuracies = low.shape[1]
    with_intervals = len(lower) > 0
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
        if state < 0:
            continue
        count[state] += 1
        value = values[j]
        for a in range(n_accuracies):
            lo = low[state, a]
            hi = high[state, a]
            inside = value >= lo and value <= hi
            if not inside:
                within[state, a] = False
            if with_intervals and product[state, a] > 0.0:
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
                product[state, a] *= share


@kernel
def moments_block(codes, slots, values, gram, moment):
    """Add persons to the cross-products of the dummy-coded keys; arrays are changed in place.

    Parameters
    ----------
    codes : int32, shape (m, n)
    slots : int32, shape (m, largest number of codes)
        The row of `gram` that belongs to each code of each key.
    values : float64, shape (n,)
        Persons without a value (NaN) are left out.
    gram : float64, shape (s, s)
        Counts of persons with both levels; only entries of an earlier key against a later one,
        and the diagonal, are filled.
    moment : float64, shape (s,)
        Sums of the values by level.
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

    Arguments as in `match_block`.
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
