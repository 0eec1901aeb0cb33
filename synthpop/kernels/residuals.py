"""Draws from stretches of one long table of residuals or donors; uniforms come in.

C cells of predictors, d entries of the table, n persons.
"""

from synthpop.microdata.accelerate import kernel


@kernel
def draw_from_table(rows, centre, start, stop, low, high, table, cumulative, uniforms, out):
    """Draw ``centre + entry`` for each person from the stretch of the table that its cell has.

    rows (n,): cell of each person; centre, low, high (C,); start, stop (C,): the stretch
    start ... stop - 1 of table (d,); cumulative (d,): cumulated shares, increasing within a
    source; an entry is the first whose cumulated share exceeds low + u (high - low), so that a
    part of the distribution is drawn from where low > 0 or high < 1. uniforms, out (n,).
    """
    for i in range(len(rows)):
        r = rows[i]
        level = low[r] + uniforms[i] * (high[r] - low[r])
        first, last = start[r], stop[r] - 1
        while first < last:
            middle = (first + last) // 2
            if cumulative[middle] > level:
                last = middle
            else:
                first = middle + 1
        out[i] = centre[r] + table[first]
