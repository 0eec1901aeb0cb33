"""Splitting totals by the fractions of donors."""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def find_groups(totals, cells, donors_of_cell, first, limits, out):
    """Find the group of donors of each person by its total.

    totals (n,); cells (n,); donors_of_cell (2, number of cell codes): number of the cell that has
    the donors, for negative and for positive totals; first (c + 1,): first group of each such cell;
    limits (g,): largest total of each group, ascending within a cell, the last infinite; out (n,).
    A total of zero or a missing one has none: g.
    """
    for i in range(len(totals)):
        total = totals[i]
        if not total < 0.0 and not total > 0.0:
            out[i] = len(limits)
            continue
        cell = donors_of_cell[1 if total > 0.0 else 0, cells[i]]
        low, high = first[cell], first[cell + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if limits[middle] < total:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@kernel
def split_totals(totals, groups, starts, cumulative, fractions, uniforms, donors, out):
    """Draw a donor for each person and split its total (book eq. 6.15, 6.16).

    totals (n,); groups (n,): group of donors of each person; starts (g + 1,) and cumulative (d,):
    donors of each group side by side with their cumulated share of weight, last of a group 1;
    fractions (d, p); uniforms (n,); donors (n,): the donor of each person, -1 for none; out (p, n).
    Total zero gives zeros, a missing total gives missing values. The largest part takes up what
    rounding leaves, so that the parts add up to the total.
    """
    n_parts = fractions.shape[1]
    for i in range(len(totals)):
        total = totals[i]
        if not total < 0.0 and not total > 0.0:
            donors[i] = -1
            for j in range(n_parts):
                out[j, i] = total
            continue
        low, high = starts[groups[i]], starts[groups[i] + 1] - 1
        u = uniforms[i]
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] <= u:
                low = middle + 1
            else:
                high = middle
        donors[i] = low
        rest, largest = total, 0
        for j in range(n_parts):
            part = total * fractions[low, j]
            out[j, i] = part
            rest -= part
            if abs(part) > abs(out[largest, i]):
                largest = j
        out[largest, i] += rest


@kernel
def round_parts(parts, totals, donors, scale, nearly):
    """Round the parts of each person; the largest takes up what rounding leaves.

    parts (p, n), changed in place; totals (n,); donors (n,): -1 for persons who are left as they
    are; scale: 10 to the power of the decimals; nearly: how far the largest part may be from a
    number with as many decimals, relative to the total, to be written as that number.
    """
    n_parts = len(parts)
    for i in range(len(totals)):
        if donors[i] < 0:
            continue
        largest, size, total = 0, -1.0, 0.0
        for j in range(n_parts):
            if abs(parts[j, i]) > size:
                largest, size = j, abs(parts[j, i])
            parts[j, i] = np.rint(parts[j, i] * scale) / scale
            total += parts[j, i]
        exact = parts[largest, i] + (totals[i] - total)
        rounded = np.rint(exact * scale) / scale
        near = abs(rounded - exact) <= nearly * max(abs(totals[i]), 1.0)
        parts[largest, i] = rounded if near else exact
