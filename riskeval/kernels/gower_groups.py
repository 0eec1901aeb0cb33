"""Groups of records with numbers and levels: MDAV with Gower distances, and the nearest record."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.kernel import kernel


@kernel
def gower(i, j, numeric, special, nominal):
    """Gower distance of two records, summed over variables: see `mdav_gower`."""
    distance = 0.0
    for c in range(numeric.shape[1]):
        if special[i, c] or special[j, c]:
            distance += 0.0 if special[i, c] and special[j, c] else 1.0
        else:
            distance += abs(numeric[i, c] - numeric[j, c])
    for c in range(nominal.shape[1]):
        distance += 0.0 if nominal[i, c] == nominal[j, c] else 1.0
    return distance


@kernel
def farthest_from_centre(left, n_left, numeric, nominal, n_levels):
    """Place in `left` of the record farthest from the means and most frequent levels."""
    centre = np.zeros(numeric.shape[1])
    modes = np.zeros(nominal.shape[1], dtype=np.int64)
    for c in range(numeric.shape[1]):
        for t in range(n_left):
            centre[c] += numeric[left[t], c]
        centre[c] /= n_left
    for c in range(nominal.shape[1]):
        counts = np.zeros(n_levels[c], dtype=np.int64)
        for t in range(n_left):
            counts[nominal[left[t], c]] += 1
        modes[c] = np.argmax(counts)
    best, place = -1.0, 0
    for t in range(n_left):
        distance = 0.0
        for c in range(numeric.shape[1]):
            distance += abs(numeric[left[t], c] - centre[c])
        for c in range(nominal.shape[1]):
            distance += 0.0 if nominal[left[t], c] == modes[c] else 1.0
        if distance > best:
            best, place = distance, t
    return place


@kernel
def mdav_gower(numeric, special, nominal, n_levels, k):
    """MDAV with Gower distances, in quadratic time (Domingo-Ferrer and Torra 2005).

    Parameters
    ----------
    numeric : float64, shape (n, p); numbers and ranks of ordered levels divided by their range
    special : bool, shape (n, p); the constant of a semi-continuous variable: 1 away from others
    nominal : int32, shape (n, q); codes of levels without an order
    n_levels : int64, shape (q,)
    k : int

    Returns
    -------
    int64, shape (n,)
        Group of each record, from 0.
    """
    n = len(numeric)
    group = np.zeros(n, dtype=np.int64)
    if k == 1 or n < 2 * k:
        return np.arange(n) if k == 1 else group
    left, distances = np.arange(n), np.empty(n)
    n_left, last = n, 0
    neighbours, near = np.empty(k - 1, np.int64), np.empty(k - 1)
    while n_left >= 2 * k:
        place = farthest_from_centre(left, n_left, numeric, nominal, n_levels)
        for turn in range(2 if n_left >= 3 * k else 1):
            if turn == 1:  # the record farthest from the first one, outside its group
                best = -1.0
                for t in range(n_left):
                    if distances[t] > best:
                        best, place = distances[t], t
            r = left[place]
            have, worst = 0, np.inf
            for t in range(n_left):
                distances[t] = gower(r, left[t], numeric, special, nominal)
                if t == place or distances[t] >= worst:
                    continue
                j = min(have, k - 2)
                while j > 0 and near[j - 1] > distances[t]:
                    near[j], neighbours[j] = near[j - 1], neighbours[j - 1]
                    j -= 1
                near[j], neighbours[j] = distances[t], left[t]
                have = min(have + 1, k - 1)
                if have == k - 1:
                    worst = near[k - 2]
            group[r] = last + 1
            for j in range(k - 1):
                group[neighbours[j]] = last + 1
            last += 1
            n_remaining = 0  # keep the order of rows, so that the first of equals is taken
            for t in range(n_left):
                if group[left[t]] == 0:
                    left[n_remaining], distances[n_remaining] = left[t], distances[t]
                    n_remaining += 1
            n_left = n_remaining
    for t in range(n_left):
        group[left[t]] = last + 1
    return group - 1


@kernel
def nearest_mixed(numeric, special, nominal, asked_numeric, asked_special, asked_nominal):
    """Record nearest to each asked one by Gower distances over what the asked one has.

    Parameters
    ----------
    numeric : float64, shape (n, p); special : bool, shape (n, p); nominal : int32, shape (n, q)
        As in `mdav_gower`, nothing missing.
    asked_numeric, asked_special, asked_nominal : the same for m records; NaN and -1 are missing

    Returns
    -------
    int64, shape (m,); the first of equals
    """
    neighbours = np.zeros(len(asked_numeric), dtype=np.int64)
    for i in range(len(asked_numeric)):
        best = np.inf
        for j in range(len(numeric)):
            distance = 0.0
            for c in range(numeric.shape[1]):
                if np.isnan(asked_numeric[i, c]):
                    continue
                if special[j, c] != asked_special[i, c]:
                    distance += 1.0
                elif not special[j, c]:
                    distance += abs(numeric[j, c] - asked_numeric[i, c])
            for c in range(nominal.shape[1]):
                if asked_nominal[i, c] >= 0 and asked_nominal[i, c] != nominal[j, c]:
                    distance += 1.0
            if distance < best:
                best, neighbours[i] = distance, j
    return neighbours
