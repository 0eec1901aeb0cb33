"""Draws from stretches of one long table of residuals or donors; uniforms come in.

C cells of predictors, d entries of the table, n persons.
"""

from synthpop.microdata.runs.kernel import kernel


@kernel
def bound_stretches(table, start, stop, least, most, first, last):
    """Narrow the stretch of each cell to the entries between its bounds.

    table (d,) increases within start[r] ... stop[r] - 1, all (C,); first, last (C,) receive the
    stretch of entries from least[r] to most[r], both counted in.
    """
    for r in range(len(start)):
        a, b = start[r], stop[r]
        while a < b:
            middle = (a + b) // 2
            if table[middle] < least[r]:
                a = middle + 1
            else:
                b = middle
        first[r] = a
        b = stop[r]
        while a < b:
            middle = (a + b) // 2
            if table[middle] <= most[r]:
                a = middle + 1
            else:
                b = middle
        last[r] = a


@kernel
def draw_from_table(
    rows, centre, start, stop, low, high, least, most, width, table, cumulative, uniforms, out
):
    """Draw ``centre + entry`` for each person from the stretch of the table that its cell has.

    rows (n,): cell of each person; centre, low, high (C,); start, stop (C,): the stretch
    start ... stop - 1 of table (d,); cumulative (d,): cumulated shares, increasing within a
    source; an entry is the first whose cumulated share exceeds low + u (high - low), so that a
    part of the distribution is drawn from where low > 0 or high < 1. Where width (C,) is above 0
    the entries increase, and each stands for the values half-way to its neighbours, at most
    `width` away and between least and most (C,); equal entries stand for themselves. uniforms,
    out (n,).
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
        entry = table[first]
        out[i] = centre[r] + entry
        below = cumulative[first - 1] if first > start[r] else low[r]
        if width[r] > 0.0 and cumulative[first] > below:
            position = (level - below) / (cumulative[first] - below)
            down = entry - table[first - 1] if first > start[r] else 2 * width[r]
            up = table[first + 1] - entry if first < stop[r] - 1 else 2 * width[r]
            if down > 0.0 and up > 0.0:
                reach = down / 2 if position < 0.5 else up / 2
                room = entry - least[r] if position < 0.5 else most[r] - entry
                out[i] += (2 * position - 1) * max(min(reach, width[r], room), 0.0)
