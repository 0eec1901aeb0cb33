"""The loop behind exact numbering of values: an open-addressed table, met values in order."""

from __future__ import annotations

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
