"""Uniform numbers that are spread evenly within and across groups of persons."""

import numpy as np

from synthpop.microdata.runs.kernel import kernel

GOLDEN = 0.6180339887498949  # fractional part of the golden section


@kernel
def count_groups(groups, out):
    """Add the persons of each group, groups (n,), to out (g,)."""
    for i in range(len(groups)):
        out[groups[i]] += 1


@kernel
def join_groups(counts, fewest, out):
    """Number runs of neighbouring groups, each of `fewest` persons or more.

    counts (g,): persons of each group; out (g,): run of each group. A run ends with the group that
    makes it large enough; too few persons at the end belong to the last run.
    """
    runs, persons = 0, 0
    for g in range(len(counts)):
        out[g] = runs
        persons += counts[g]
        if persons >= fewest:
            runs, persons = runs + 1, 0
    g = len(counts) - 1
    while runs > 0 and g >= 0 and out[g] == runs:
        out[g] = runs - 1
        g -= 1


@kernel
def spread_uniforms(groups, run, starts, shift, uniforms, out):
    """Turn independent uniform numbers into evenly spread ones.

    groups (n,): group of each person; run (g,): run of each group; starts: where each run begins
    when persons are sorted by run, changed in place; shift: the first number; uniforms, out (n,).
    The persons of a run are put in random order (Fisher and Yates); the person in place k of all
    then has the fractional part of shift + k * golden section.
    """
    n = len(groups)
    stops = np.empty_like(starts)
    for g in range(len(starts)):
        stops[g] = starts[g + 1] if g + 1 < len(starts) else n
    positions = np.arange(n)
    for i in range(n):
        g = run[groups[i]]
        first = starts[g]
        chosen = first + int(uniforms[i] * (stops[g] - first))
        position = positions[chosen]
        positions[chosen] = positions[first]
        starts[g] = first + 1
        u = shift + position * GOLDEN
        out[i] = u - np.floor(u)
