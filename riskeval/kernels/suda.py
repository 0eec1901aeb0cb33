"""Search for minimal sample uniques after SUDA2 (Manning, Haglin and Keane 2008).

Letters: an *item* is one value of one key, numbered by rank (the rarest is 0). A *table* holds the
rows with all items of a prefix ``p_1 < ... < p_d``, the path that led to it; the last of them is
its *anchor*. A *support row* of item ``p`` for a set ``C`` holds all of ``C`` except ``p``. A set
is a minimal sample unique of a row when that row alone holds it and each of its items has a
support row.
"""

from __future__ import annotations

import numpy as np

from riskeval.kernels.sorting import sort_first
from synthpop.microdata.runs.kernel import kernel, step


@step
def contains_found(mask, row, head, following, masks):
    """Whether a set found before for this row lies inside `mask`."""
    position = head[row]
    while position >= 0:
        if masks[position] & mask == masks[position]:
            return True
        position = following[position]
    return False


@step
def grown(values, size):
    """Return `values` with room for `size` entries at least."""
    larger = np.empty(max(2 * len(values), size), dtype=values.dtype)
    for i in range(len(values)):  # a slice takes two seconds more to compile
        larger[i] = values[i]
    return larger


@step
def count_items(
    items, absent, copies, rows, n_current, depth, prefix, wildcard,
    alive, count, lone, candidates, owner, na_count, touched,
):  # fmt: skip
    """Step 1: support of the items in a table. Returns its records and its number of items."""
    n_cols, n_items = items.shape[1], count.shape[1]
    stride = n_cols + 1
    records = n_seen = 0
    na_count[depth, :] = 0
    for e in range(n_current):
        row = rows[e] // stride
        amount = int(copies[row])
        candidate = amount == 1 and absent[row] & prefix == 0
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
                candidates[depth, item] = 0
            count[depth, item] += amount
            lone[depth, item] += amount == 1
            candidates[depth, item] += candidate
            owner[depth, item] = row
        if wildcard:
            for c in range(n_cols):
                if (absent[row] >> c) & 1:
                    na_count[depth, c] += amount
    sort_first(touched[depth], n_seen)
    return records, n_seen


@step
def add_set(row, mask, size, weight, score, share, n_sets, sizes, smallest):
    """Step 3: score a minimal sample unique of a row."""
    for c in range(share.shape[1]):
        if (mask >> c) & 1:
            share[row, c] += weight[size]
    score[row] += weight[size]
    n_sets[row] += 1
    if smallest[row] == 0 or size < smallest[row]:
        smallest[row] = size
    sizes[size] += 1


@step
def list_rows(items, absent, rows, n_current, depth, wildcard, alive, ends, na_ends, entries):
    """Step 4: list the rows of each item that goes on, behind the lists of the tables above."""
    n_cols, n_items = items.shape[1], alive.shape[1]
    stride = n_cols + 1
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
                if (absent[row] >> c) & 1:
                    entries[na_ends[depth, c]] = row * stride
                    na_ends[depth, c] += 1


@step
def rows_below(items, item, entries, first, last, na_first, na_last, rows):
    """Step 5: rows that hold an item, and those that may hold it. Returns how many."""
    n_cols = items.shape[1]
    n_current = 0
    for e in range(first, last):
        rows[n_current] = entries[e]
        n_current += 1
    for e in range(na_first, na_last):
        row = entries[e] // (n_cols + 1)
        c = 0
        while c < n_cols and items[row, c] <= item:
            c += 1
        rows[n_current] = row * (n_cols + 1) + c
        n_current += 1
    return n_current


@kernel
def minimal_uniques(
    items, absent, column_of, copies, wildcard, max_size, weight,
    score, share, n_sets, sizes, smallest,
):  # fmt: skip
    """Find every minimal sample unique of up to `max_size` items and add up the scores.

    Items are taken up in descending rank at every table, and sets that end at a table before those
    that go on. So any unique set inside another one of the same row is met first, and a set that
    is unique but holds none of those met before has all its support rows. Items whose support is
    the whole table, or whose support did not fall with the last anchor, cannot have all support
    rows, and items that no single record holds together with the prefix have no one to single out:
    they are dropped with everything below them.

    items : int32, shape (n_rows, n_keys); distinct rows, the ranks ascending, `n_items` as filler
    absent : int64, shape (n_rows,); bit c is set where the value of key c is missing
    column_of : int32, shape (n_items,); key of each item
    copies : int8, shape (n_rows,); 1 when one record has this row, 2 when several have
    wildcard : bool; whether a missing value may be any value
    weight : float64, shape (n_keys + 1,); score of a set by its size

    Filled: score and n_sets, shape (n_rows,): sum of the scores and number of sets; share, shape
    (n_rows, n_keys): sum of the scores of the sets with each key; sizes, shape (n_keys + 1,):
    number of sets by size; smallest, shape (n_rows,): keys of the smallest set, 0 for none.
    """
    n_rows, n_cols = items.shape
    n_items = len(column_of)
    stride = n_cols + 1  # rows are noted as row * stride + place of the next item to look at
    n_levels = max_size + 1
    entries = np.empty(n_rows * stride + 1, dtype=np.int32)  # lists of rows, tables on a stack
    rows = np.empty(n_rows, dtype=np.int32)  # rows of the present table
    count = np.zeros((n_levels, n_items), dtype=np.int32)  # records that hold the item
    lone = np.zeros((n_levels, n_items), dtype=np.int32)  # of these, rows of one record
    candidates = np.zeros((n_levels, n_items), dtype=np.int32)  # of these, rows it may be a set of
    owner = np.zeros((n_levels, n_items), dtype=np.int32)
    starts = np.zeros((n_levels, n_items), dtype=np.int32)
    ends = np.zeros((n_levels, n_items), dtype=np.int32)
    alive = np.zeros((n_levels, n_items), dtype=np.bool_)  # may go on to a larger set
    na_count = np.zeros((n_levels, n_cols), dtype=np.int32)  # records that may hold any item
    na_starts = np.zeros((n_levels, n_cols), dtype=np.int32)
    na_ends = np.zeros((n_levels, n_cols), dtype=np.int32)
    touched = np.empty((n_levels, n_items), dtype=np.int32)  # items seen in the table
    cursor = np.zeros(n_levels, dtype=np.int64)
    n_touched = np.zeros(n_levels, dtype=np.int64)
    top = np.zeros(n_levels, dtype=np.int64)  # first entry above the lists of the table
    prefix_mask = np.zeros(n_levels + 1, dtype=np.int64)  # keys of the prefix
    head = np.full(n_rows, -1, dtype=np.int32)  # sets of each row, as a chain
    following = np.empty(n_rows, dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.int64)
    n_masks = 0
    one = np.int64(1)
    for r in range(n_rows):
        rows[r] = r * stride
    n_current = n_rows
    depth = np.int64(0)  # of one type from the start: one form of each step
    bottom = np.int64(0)
    fresh = True
    while depth >= 0:
        if fresh:
            fresh = False
            # 1. support of the items in this table
            records, n_seen = count_items(
                items, absent, copies, rows, n_current, depth, prefix_mask[depth], wildcard,
                alive, count, lone, candidates, owner, na_count, touched,
            )  # fmt: skip
            n_touched[depth] = n_seen
            position = bottom
            for t in range(n_seen):
                # 2. items that go on to larger sets
                item = touched[depth, t]
                column = column_of[item]
                support = count[depth, item] + na_count[depth, column]
                fits = support < records or (depth == 0 and support == 1)
                fits = fits and candidates[depth, item] > 0
                if depth > 0:
                    fits = fits and support < count[depth - 1, item] + na_count[depth - 1, column]
                alive[depth, item] = fits and support > 1 and depth + 2 <= max_size
                if alive[depth, item]:
                    starts[depth, item] = position
                    ends[depth, item] = position
                    position += (count[depth, item] + lone[depth, item]) // 2
                elif fits and support == 1:
                    # 3. sets that end here: unique, with none of those met before inside
                    row = owner[depth, item]
                    mask = prefix_mask[depth] | (one << column)
                    if not contains_found(mask, row, head, following, masks):
                        if n_masks == len(masks):
                            masks = grown(masks, n_masks + 1)
                            following = grown(following, n_masks + 1)
                        masks[n_masks] = mask
                        following[n_masks] = head[row]
                        head[row] = n_masks
                        n_masks += 1
                        add_set(row, mask, depth + 1, weight, score, share, n_sets, sizes, smallest)
            # 4. rows of each item that goes on
            cursor[depth] = 0 if position == bottom else n_seen
            if wildcard and position > bottom:
                for c in range(n_cols):
                    na_starts[depth, c] = position
                    na_ends[depth, c] = position
                    position += na_count[depth, c]
            top[depth] = position
            if position > len(entries):
                entries = grown(entries, position)
            if cursor[depth] > 0:
                list_rows(
                    items, absent, rows, n_current, depth, wildcard, alive, ends, na_ends, entries
                )
        # 5. down to the next item that goes on, the most frequent one first
        while cursor[depth] > 0 and not fresh:
            cursor[depth] -= 1
            item = touched[depth, cursor[depth]]
            if not alive[depth, item]:
                continue
            column = column_of[item]
            n_current = rows_below(
                items, item, entries, starts[depth, item], ends[depth, item],
                na_starts[depth, column], na_ends[depth, column], rows,
            )  # fmt: skip
            if n_current > 1:
                prefix_mask[depth + 1] = prefix_mask[depth] | (one << column)
                bottom = top[depth]
                depth += 1
                fresh = True
        # 6. or back up, with the counts of the table cleared
        if not fresh:
            for t in range(n_touched[depth]):
                count[depth, touched[depth, t]] = 0
                alive[depth, touched[depth, t]] = False
            depth -= 1
