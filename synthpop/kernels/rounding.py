"""Controlled rounding of a two-way table of fractions.

R rows, C columns; the last of each holds what completes the totals to whole numbers. The generator
is an argument.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step

NEARLY = 1e-9
NONE = np.int64(-1)  # places are of one type, so that each step has one form


@step
def to_whole(fraction):
    """Return 0 or 1, whichever is nearer (np.round takes a third of a second to compile)."""
    return 1.0 if fraction > 0.5 else 0.0


@step
def other_column(fractions, row, column):
    """Return a column other than `column` in which the row has a fraction; -1 for none."""
    for c in range(fractions.shape[1]):
        if c != column and 0.0 < fractions[row, c] < 1.0:
            return c
    return -1


@step
def link_columns(fractions, following, preceding, head):
    """Chain the rows of each column that have a fraction.

    following, preceding (R, C): the next and the last such row, -1 for none; head (C,): the first.
    """
    n_rows, n_columns = fractions.shape
    for c in range(n_columns):
        last = -1
        for r in range(n_rows):
            if 0.0 < fractions[r, c] < 1.0:
                preceding[r, c], following[r, c] = last, -1
                if last >= 0:
                    following[last, c] = r
                else:
                    head[c] = r
                last = r


@step
def settle(fractions, row, column, following, preceding, head):
    """Set a fraction that is nearly 0 or 1 to it and take its row out of the column's chain."""
    value = fractions[row, column]
    if NEARLY < value < 1.0 - NEARLY:
        return
    fractions[row, column] = to_whole(value)
    before, after = preceding[row, column], following[row, column]
    if before >= 0:
        following[before, column] = after
    else:
        head[column] = after
    if after >= 0:
        preceding[after, column] = before


@step
def find_cycle(fractions, row, following, head, stamp, row_place, column_place, rows, columns):
    """Walk from a row along fractions, by turns within a row and a column, until a cycle closes.

    row_place (R, 2), column_place (C, 2): stamp of the walk and place on it. rows, columns take the
    cells of the cycle, neighbours with opposite signs. Returns their number, an even one; or minus
    one with the first cell that has no other fraction in its row or column.
    """
    path_rows = np.empty(fractions.shape[1] + 2, np.int64)
    path_columns = np.empty(fractions.shape[1] + 2, np.int64)
    k, column = 0, NONE
    while True:
        # 1. Leave the row by another column, unless that closes the cycle.
        leave = other_column(fractions, row, column)
        if leave < 0:
            rows[0], columns[0] = row, column
            return -1
        path_rows[k] = row
        row_place[row, 0], row_place[row, 1] = stamp, k
        if column_place[leave, 0] == stamp:
            first = column_place[leave, 1]
            n = 0
            for j in range(first + 1, k + 1):
                rows[n], columns[n] = path_rows[j], path_columns[j - 1]
                rows[n + 1] = path_rows[j]
                columns[n + 1] = path_columns[j] if j < k else leave
                n += 2
            return n
        path_columns[k] = leave
        column_place[leave, 0], column_place[leave, 1] = stamp, k
        # 2. Leave the column by another row, unless that closes the cycle.
        other = head[leave]
        if other == row:
            other = following[row, leave]
        if other < 0:
            rows[0], columns[0] = row, leave
            return -1
        if row_place[other, 0] == stamp:
            first = row_place[other, 1]
            n = 0
            for j in range(first, k + 1):
                rows[n], columns[n] = path_rows[j], path_columns[j]
                rows[n + 1] = path_rows[j + 1] if j < k else other
                columns[n + 1] = path_columns[j]
                n += 2
            return n
        row, column = other, leave
        k += 1


@kernel
def round_fractions(fractions, rng):
    """Turn fractions (R, C), whose rows and columns add up to whole numbers, into 0 and 1.

    Cox (1987): the fractions of a cycle change by turns up and down, until one of them is 0 or 1;
    which way is drawn such that no expectation changes. Rows and columns keep their sums.
    """
    n_rows, n_columns = fractions.shape
    following = np.full((n_rows, n_columns), -1, dtype=np.int64)
    preceding = np.full((n_rows, n_columns), -1, dtype=np.int64)
    head = np.full(n_columns, -1, dtype=np.int64)
    for r in range(n_rows):
        for c in range(n_columns):
            if not NEARLY < fractions[r, c] < 1.0 - NEARLY:
                fractions[r, c] = to_whole(fractions[r, c])
    # 1. Chain the fractions of each column.
    link_columns(fractions, following, preceding, head)
    row_place = np.full((n_rows, 2), -1, dtype=np.int64)
    column_place = np.full((n_columns, 2), -1, dtype=np.int64)
    rows = np.empty(2 * n_columns + 4, dtype=np.int64)
    columns = np.empty(2 * n_columns + 4, dtype=np.int64)
    row, stamp = np.int64(0), np.int64(0)
    while row < n_rows:
        if other_column(fractions, row, NONE) < 0:
            row += 1
            continue
        # 2. Find a cycle of fractions, by turns within a row and a column.
        stamp += 1
        n = find_cycle(
            fractions, row, following, head, stamp, row_place, column_place, rows, columns
        )
        if n < 0:  # rounding errors: the last fraction of a row or column is nearly whole
            r, c = rows[0], columns[0]
            fractions[r, c] = to_whole(fractions[r, c])
            settle(fractions, r, c, following, preceding, head)
            continue
        # 3. The largest changes up and down by turns that keep all fractions within 0 and 1.
        up, down = 1.0, 1.0
        for k in range(n):
            value = fractions[rows[k], columns[k]]
            rise, fall = (1.0 - value, value) if k % 2 == 0 else (value, 1.0 - value)
            up, down = min(up, rise), min(down, fall)
        # 4. Up with chance down / (up + down): the expectation of each cell stays as it was.
        change = up if rng.random() * (up + down) < down else -down
        # 5. At least one cell becomes whole, and leaves the chains.
        for k in range(n):
            fractions[rows[k], columns[k]] += change if k % 2 == 0 else -change
            settle(fractions, rows[k], columns[k], following, preceding, head)
