"""The loops behind exact numbering of values: hashes, and a table of values in their order."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def number_values(values, keys, numbers, n_known, out):
    """Write the number of each value into `out`; new values get the next numbers.

    values : int64, shape (n,); their low bits say where they stand; they should look random
    keys, numbers : int64, shape (s,); the table, changed in place: value and number of each slot,
        number -1 where free. s is a power of two above ``n_known + n``.

    Returns how many values are numbered now
    """
    last = len(keys) - 1
    for j in range(len(values)):
        value = values[j]
        slot = value & last
        while numbers[slot] >= 0 and keys[slot] != value:
            slot = (slot + 1) & last
        if numbers[slot] < 0:
            keys[slot] = value
            numbers[slot] = n_known
            n_known += 1
        out[j] = numbers[slot]
    return n_known


MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@kernel
def mix_values(values, start, out):
    """Write values that look random, by the finaliser of splitmix64 (Steele et al. 2014).

    values, out : uint64, shape (n,); start, uint64, is added first
    """
    for j in range(len(values)):
        z = values[j] + start
        z = (z ^ (z >> np.uint64(30))) * MIX[0]
        z = (z ^ (z >> np.uint64(27))) * MIX[1]
        out[j] = z ^ (z >> np.uint64(31))
