"""Splitting totals by the fractions of donors."""

from synthpop.microdata.accelerate import kernel


@kernel
def split_totals(totals, cells, group_of_cell, starts, cumulative, fractions, uniforms, out):
    """Draw a donor for each person and split its total (book eq. 6.15, 6.16).

    totals (n,); cells (n,); group_of_cell (2, number of cell codes): donor group for negative and
    for positive totals; starts (g + 1,) and cumulative (d,): donors of each group side by side
    with their cumulated share of weight, last of a group 1; fractions (d, p); uniforms (n,);
    out (p, n). Total zero gives zeros, a missing total gives missing values. The largest part
    takes up what rounding leaves, so that the parts add up to the total.
    """
    n_parts = fractions.shape[1]
    for i in range(len(totals)):
        total = totals[i]
        if not total < 0.0 and not total > 0.0:
            for j in range(n_parts):
                out[j, i] = total
            continue
        group = group_of_cell[1 if total > 0.0 else 0, cells[i]]
        low, high = starts[group], starts[group + 1] - 1
        u = uniforms[i]
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] <= u:
                low = middle + 1
            else:
                high = middle
        rest, largest = total, 0
        for j in range(n_parts):
            part = total * fractions[low, j]
            out[j, i] = part
            rest -= part
            if abs(part) > abs(out[largest, i]):
                largest = j
        out[largest, i] += rest
