"""Expansion of drawn donor households to their members."""

from synthpop.microdata.runs.kernel import kernel


@kernel
def expand(donors, size, offsets, start, out):
    """List the sample rows of the members of each donor household.

    donors (h,): household numbers, all of `size` members; offsets (H + 1,): where each sample
    household starts in the member order; out: rows start ... start + h * size - 1 are set.
    """
    position = start
    for i in range(len(donors)):
        first = offsets[donors[i]]
        for member in range(size):
            out[position] = first + member
            position += 1


@kernel
def gather(values, rows, out):
    """Set out[i] = values[rows[i]]."""
    for i in range(len(rows)):
        out[i] = values[rows[i]]
