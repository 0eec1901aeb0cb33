"""Search for minimal sample uniques after SUDA2 (Manning, Haglin and Keane 2008).

Letters: an *item* is one value of one key, numbered by rank (the rarest is 0); ``D`` is a table of
rows and ``D_i`` its rows that hold item ``i``; a prefix ``p_1 < ... < p_d`` is the path of items
that led to the present table; a *support row* of item ``p`` for a set ``C`` holds all of ``C``
except ``p``. A set is a minimal sample unique of a row when the row alone holds it and every one
of its items has a support row.
"""

from __future__ import annotations

import numpy as np

from synthpop.microdata.accelerate import kernel


@kernel
def holds(items, row, n_cols, item, column, wildcard, missing):
    """Whether a row holds an item (or, with `wildcard`, misses the value of that key)."""
    for c in range(n_cols):
        if items[row, c] == item:
            return True
        if items[row, c] > item:
            break
    return wildcard and missing[row, column]


@kernel
def has_support_row(
    items,
    missing,
    column_of,
    wildcard,
    entries,
    starts,
    ends,
    na_starts,
    na_ends,
    prefix,
    left_out,
    depth,
    last,
    owner,
):
    """Whether some row other than `owner` holds the prefix and `last`, without one prefix item.

    Looks in the table before `left_out` was taken, along the shortest list of the items after it.
    """
    n_cols = items.shape[1]
    best = last
    level = left_out  # the table of the prefix p_0 ... p_{left_out - 1}
    size = ends[level, last] - starts[level, last]
    if wildcard:
        size += na_ends[level, column_of[last]] - na_starts[level, column_of[last]]
    for j in range(left_out + 1, depth):
        other = prefix[j]
        length = ends[level, other] - starts[level, other]
        if wildcard:
            length += na_ends[level, column_of[other]] - na_starts[level, column_of[other]]
        if length < size:
            size = length
            best = other
    first, stop = starts[level, best], ends[level, best]
    na_first, na_stop = 0, 0
    if wildcard:
        na_first = na_starts[level, column_of[best]]
        na_stop = na_ends[level, column_of[best]]
    for e in range((stop - first) + (na_stop - na_first)):
        place = first + e if e < stop - first else na_first + e - (stop - first)
        row = entries[place] // (n_cols + 1)
        if row == owner:
            continue
        fine = best == last or holds(
            items, row, n_cols, last, column_of[last], wildcard, missing
        )
        j = left_out + 1
        while fine and j < depth:
            if prefix[j] != best:
                fine = holds(
                    items, row, n_cols, prefix[j], column_of[prefix[j]], wildcard, missing
                )
            j += 1
        if fine:
            return True
    return False


@kernel
def minimal_uniques(
    items, missing, column_of, copies, wildcard, max_size, weight, score, share, found, sizes
):
    """Find every minimal sample unique of up to `max_size` items and add up its scores.

    Parameters
    ----------
    items : int32, shape (n_rows, n_keys); distinct rows, the ranks ascending, `n_items` as filler
    missing : bool, shape (n_rows, n_keys); the value of a key is missing (by column)
    column_of : int32, shape (n_items,); key of each item
    copies : int8, shape (n_rows,); 1 when one record has this row, 2 when several have
    wildcard : bool; whether a missing value may be any value
    max_size : int
    weight : float64, shape (n_keys + 1,); score of a set by its size
    score : float64, shape (n_rows,); out, sum of the scores
    share : float64, shape (n_rows, n_keys); out, sum of the scores of the sets with each key
    found : int64, shape (n_rows,); out, number of sets
    sizes : int64, shape (n_keys + 1,); out, number of sets by size
    """
    n_rows, n_cols = items.shape
    n_items = len(column_of)
    stride = n_cols + 1
    n_levels = max_size + 1
    capacity = n_rows * (n_cols + 1) + 1
    entries = np.empty(capacity, dtype=np.int32)  # row * stride + place after the item
    count = np.zeros((n_levels, n_items), dtype=np.int32)  # records that hold the item explicitly
    owner = np.zeros((n_levels, n_items), dtype=np.int32)
    starts = np.zeros((n_levels, n_items), dtype=np.int32)
    ends = np.zeros((n_levels, n_items), dtype=np.int32)
    na_count = np.zeros((n_levels, n_cols), dtype=np.int32)
    na_starts = np.zeros((n_levels, n_cols), dtype=np.int32)
    na_ends = np.zeros((n_levels, n_cols), dtype=np.int32)
    alive = np.zeros((n_levels, n_items), dtype=np.bool_)
    lone = np.zeros((n_levels, n_items), dtype=np.int32)  # rows of one record that hold the item
    touched = np.empty((n_levels, n_items), dtype=np.int32)
    n_touched = np.zeros(n_levels, dtype=np.int32)
    cursor = np.zeros(n_levels, dtype=np.int32)
    top = np.zeros(n_levels, dtype=np.int64)  # first free entry above the lists of a table
    prefix = np.zeros(n_levels, dtype=np.int32)
    rows = np.empty(n_rows, dtype=np.int32)
    for r in range(n_rows):
        rows[r] = r * stride
    n_current = n_rows
    depth = 0
    top_before = 0
    fresh = True
    while depth >= 0:
        if fresh:  # count the items of the table in `rows`
            fresh = False
            records = 0
            n_seen = 0
            if wildcard:
                na_count[depth, :] = 0
            for e in range(n_current):
                row = rows[e] // stride
                amount = copies[row]
                records += amount
                for c in range(rows[e] - row * stride, n_cols):
                    item = items[row, c]
                    if item == n_items:
                        break
                    if depth > 0 and not alive[depth - 1, item]:
                        continue
                    if count[depth, item] == 0:
                        touched[depth, n_seen] = item
                        n_seen += 1
                        lone[depth, item] = 0
                    count[depth, item] += amount
                    if amount == 1:
                        lone[depth, item] += 1
                    owner[depth, item] = row
                if wildcard:
                    for c in range(n_cols):
                        if missing[row, c]:
                            na_count[depth, c] += amount
            n_touched[depth] = n_seen
            # which items can still be part of a minimal unique, and which complete one
            deeper = depth + 2 <= max_size
            n_alive = 0
            for t in range(n_seen):
                item = touched[depth, t]
                column = column_of[item]
                total = count[depth, item] + (na_count[depth, column] if wildcard else 0)
                keep = total < records
                if keep and depth > 0:  # a row before with the item, but without the anchor
                    before = count[depth - 1, item]
                    if wildcard:
                        before += na_count[depth - 1, column]
                    keep = before > total
                elif depth == 0 and total == 1:
                    keep = True
                alive[depth, item] = keep and total > 1 and deeper
                if keep and total == 1:
                    row = owner[depth, item]
                    good = copies[row] == 1
                    if wildcard:
                        for j in range(depth):
                            if missing[row, column_of[prefix[j]]]:
                                good = False
                    for j in range(depth - 1):
                        if not good:
                            break
                        good = has_support_row(
                            items, missing, column_of, wildcard, entries, starts, ends,
                            na_starts, na_ends, prefix, j, depth, item, row,
                        )  # fmt: skip
                    if good:
                        size = depth + 1
                        score[row] += weight[size]
                        share[row, column] += weight[size]
                        for j in range(depth):
                            share[row, column_of[prefix[j]]] += weight[size]
                        found[row] += 1
                        sizes[size] += 1
                n_alive += alive[depth, item]
            # lists of the rows of each living item
            if n_alive > 0:
                place = top_before
                for t in range(n_seen):
                    item = touched[depth, t]
                    if alive[depth, item]:
                        starts[depth, item] = place
                        ends[depth, item] = place
                        place += (count[depth, item] + lone[depth, item] + 1) // 2
                na_place = place
                if wildcard:
                    for c in range(n_cols):
                        na_starts[depth, c] = na_place
                        na_ends[depth, c] = na_place
                        na_place += na_count[depth, c]
                if na_place > len(entries):
                    larger = np.empty(max(2 * len(entries), na_place), dtype=np.int32)
                    larger[: len(entries)] = entries
                    entries = larger
                for e in range(n_current):
                    row = rows[e] // stride
                    for c in range(rows[e] - row * stride, n_cols):
                        item = items[row, c]
                        if item == n_items:
                            break
                        if alive[depth, item]:
                            entries[ends[depth, item]] = row * stride + c + 1
                            ends[depth, item] += 1
                    if wildcard:
                        for c in range(n_cols):
                            if missing[row, c]:
                                entries[na_ends[depth, c]] = row * stride
                                na_ends[depth, c] += 1
                top[depth] = na_place
                cursor[depth] = 0
            else:
                top[depth] = top_before
                cursor[depth] = n_seen  # nothing to go down to
        # go down to the next living item, or back up
        moved = False
        while cursor[depth] < n_touched[depth]:
            item = touched[depth, cursor[depth]]
            cursor[depth] += 1
            if not alive[depth, item] or lone[depth, item] == 0:
                continue
            n_current = 0
            for e in range(starts[depth, item], ends[depth, item]):
                rows[n_current] = entries[e]
                n_current += 1
            if wildcard:
                column = column_of[item]
                for e in range(na_starts[depth, column], na_ends[depth, column]):
                    row = entries[e] // stride
                    c = 0
                    while c < n_cols and items[row, c] <= item:
                        c += 1
                    rows[n_current] = row * stride + c
                    n_current += 1
            if n_current < 2:
                continue
            prefix[depth] = item
            top_before = top[depth]
            depth += 1
            fresh = True
            moved = True
            break
        if not moved:
            for t in range(n_touched[depth]):
                item = touched[depth, t]
                count[depth, item] = 0
                alive[depth, item] = False
            depth -= 1
