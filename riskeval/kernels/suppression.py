"""Counting with wildcards and greedy suppression, on distinct patterns of keys.

A pattern is a row of codes; -1 (missing) matches every code. Records with the same pattern are one
cell. C cells, m columns (keys, then perhaps a stratum that is never missing), n records; `mask` is
the set of columns with a value, as bits.

Matches of a pattern with observed set P among the cells with observed set Q are those that agree
on P & Q, so each pair (Q, T = P & Q) that is ever asked for gets its own counts, all in one open
hash table. The hash of a pattern on T is the sum of one random word a (column, code), so that one
column is taken out by a subtraction.

A table is a tuple (words, counts, risky, chains): hash words (0: free), records, risky records,
first cell of the chain of risky cells.
"""

import heapq

import numpy as np

from synthpop.microdata.accelerate import kernel

MIX = np.uint64(0xBF58476D1CE4E5B9)
FREE = np.uint64(0)
ONE = np.uint64(1)
SHIFT = np.uint64(31)


@kernel
def slot_of(words, word):
    """Position of `word` in an open hash table of a power of two, or of the free place for it."""
    last = len(words) - 1
    mixed = word ^ (word >> SHIFT)
    mixed = mixed * MIX
    mixed = mixed ^ (mixed >> SHIFT)
    place = np.int64(mixed) & last
    while words[place] != FREE and words[place] != word:
        place = (place + 1) & last
    return place


@kernel
def roomy(table, used, extra):
    """Return a table with room for `extra` more words: the same, or one twice or more as large."""
    words, counts, risky, chains = table
    size = len(words)
    if (used[0] + extra) * 2 <= size:
        return table
    while (used[0] + extra) * 2 > size:
        size *= 2
    new_words = np.zeros(size, np.uint64)
    new_counts = np.zeros(size, np.int32)
    new_risky = np.zeros(size, np.int32)
    new_chains = np.full(size, -1, np.int32)
    for i in range(len(words)):
        if words[i] != FREE:
            place = slot_of(new_words, words[i])
            new_words[place] = words[i]
            new_counts[place] = counts[i]
            new_risky[place] = risky[i]
            new_chains[place] = chains[i]
    return new_words, new_counts, new_risky, new_chains


@kernel
def word_of(codes, c, mask, salt, noise):
    """Hash word of cell c on the columns of `mask`; noise (m, most levels), salt of the set Q."""
    word = salt
    for j in range(codes.shape[1]):
        if (mask >> j) & 1:
            word += noise[j, codes[c, j]]
    return word if word != FREE else ONE


@kernel
def add_to(table, used, word, n, n_risky):
    """Add records and risky records to the counts of a word (room must be there)."""
    words, counts, risky, _ = table
    place = slot_of(words, word)
    if words[place] == FREE:
        words[place] = word
        used[0] += 1
    counts[place] += n
    risky[place] += n_risky
    return place


@kernel
def set_of(sets, mask):
    """Number of the observed set `mask`, entered if it is new.

    sets: (masks (Q,), first cell (Q,), first node (Q,), node masks, node next, numbers used (2,)).
    """
    masks, first_cell, first_node, _, _, used = sets
    for q in range(used[0]):
        if masks[q] == mask:
            return q
    q = used[0]
    if q == len(masks):
        raise ValueError("too many patterns of missing keys")
    masks[q] = mask
    first_cell[q] = -1
    first_node[q] = -1
    used[0] += 1
    return q


@kernel
def ensure_pair(table, used, cells, sets, q, part, salts, noise):
    """Make sure that the counts of (Q = set q, T = part) are in the table."""
    codes, n_of, risky_of, next_cell = cells
    _, first_cell, first_node, node_mask, node_next, sets_used = sets
    node = first_node[q]
    while node >= 0:
        if node_mask[node] == part:
            return table
        node = node_next[node]
    node = sets_used[1]
    if node == len(node_mask):
        raise ValueError("too many patterns of missing keys")
    node_mask[node] = part
    node_next[node] = first_node[q]
    first_node[q] = node
    sets_used[1] += 1
    c, size = first_cell[q], 0
    while c >= 0:
        size += 1
        c = next_cell[c]
    table = roomy(table, used, size)
    c = first_cell[q]
    while c >= 0:
        if n_of[c] > 0:
            word = word_of(codes, c, part, salts[q], noise)
            add_to(table, used, word, n_of[c], n_of[c] if risky_of[c] else 0)
        c = next_cell[c]
    return table


@kernel
def matches(table, used, cells, sets, c, mask, rule, salts, noise):
    """Count the records and the risky records that match cell c on the columns of `mask`.

    rule (weight, shares): weight (2,) is what a matching incomplete record counts for a complete
    pattern and for an incomplete one (complete records and identical patterns count 1); shares
    (m, most levels), or (m, 0) for none, is a further factor for each column that cell c has and
    the other record lacks.
    """
    codes = cells[0]
    weight, shares = rule
    full = (1 << codes.shape[1]) - 1
    masks, sets_used = sets[0], sets[5]
    total, n_risky = 0.0, 0.0
    other = weight[0] if mask == full else weight[1]
    for q in range(sets_used[0]):
        share = 1.0 if masks[q] == full or masks[q] == mask else other
        if share == 0.0:
            continue
        part = mask & masks[q]
        if shares.shape[1] > 0:
            for j in range(codes.shape[1]):
                if ((mask & ~part) >> j) & 1:
                    share *= shares[j, codes[c, j]]
        table = ensure_pair(table, used, cells, sets, q, part, salts, noise)
        words, counts, risky, _ = table
        place = slot_of(words, word_of(codes, c, part, salts[q], noise))
        if words[place] != FREE:
            total += share * counts[place]
            n_risky += risky[place]
    return table, total, n_risky


@kernel
def shift_counts(table, used, cells, sets, c, mask, q, n, n_risky, salts, noise):
    """Add to all counts that cell c takes part in."""
    codes = cells[0]
    first_node, node_mask, node_next = sets[2], sets[3], sets[4]
    table = roomy(table, used, 64)
    node = first_node[q]
    while node >= 0:
        add_to(table, used, word_of(codes, c, node_mask[node], salts[q], noise), n, n_risky)
        node = node_next[node]
    return table


@kernel
def enter_cells(codes, start, stop, mask_of, set_no, next_cell, sets):
    """Enter cells start ... stop - 1: observed set, and the list of the cells of that set."""
    first_cell = sets[1]
    for c in range(start, stop):
        mask = 0
        for j in range(codes.shape[1]):
            if codes[c, j] >= 0:
                mask |= 1 << j
        mask_of[c] = mask
        q = set_of(sets, mask)
        set_no[c] = q
        next_cell[c] = first_cell[q]
        first_cell[q] = c


@kernel
def chain_cell(table, used, c, codes, n_keys, mask, q, chain_next, salts, noise):
    """Hang a risky cell into the chains of its set without one key, for each key it has.

    chain_next (cap, n_keys + 1): the next cell of each chain; the last column says whether the
    cell hangs in its chains already.
    """
    if chain_next[c, n_keys] == 1:
        return table
    chain_next[c, n_keys] = 1
    table = roomy(table, used, n_keys)
    for v in range(n_keys):
        if (mask >> v) & 1:
            word = word_of(codes, c, mask & ~(1 << v), salts[q], noise)
            place = add_to(table, used, word, 0, 0)
            chain_next[c, v] = table[3][place]
            table[3][place] = c
    return table


@kernel
def help_risky(table, used, cells, sets, c, v, k, state, chain_next, rule, salts, noise):
    """Credit the risky cells that match cell c once column v is missing and did not before.

    Walks the chains of every observed set that lacks nothing of cell c but v. A cell that reaches
    k is no longer risky.
    """
    codes, n_of, risky_of, _ = cells
    weight, shares = rule
    full = (1 << codes.shape[1]) - 1
    mask_of, set_no, f = state
    masks, sets_used = sets[0], sets[5]
    rest = mask_of[c] & ~(1 << v)
    for q in range(sets_used[0]):
        if (masks[q] >> v) & 1 == 0 or masks[q] & ~(1 << v) & ~rest:
            continue
        part = masks[q] & rest
        place = slot_of(table[0], word_of(codes, c, part, salts[q], noise))
        if table[0][place] == FREE:
            continue
        other = table[3][place]
        while other >= 0:
            if risky_of[other] and n_of[other] > 0 and codes[other, v] != codes[c, v]:
                credit = weight[0] if mask_of[other] == full else weight[1]
                if shares.shape[1] > 0:
                    credit *= shares[v, codes[other, v]]
                f[other] += credit
                if f[other] >= k:
                    risky_of[other] = False
                    table = shift_counts(
                        table,
                        used,
                        cells,
                        sets,
                        other,
                        mask_of[other],
                        set_no[other],
                        0,
                        -n_of[other],
                        salts,
                        noise,
                    )
            other = chain_next[other, v]
    return table


@kernel
def best_key(table, used, cells, sets, c, state, n_keys, k, rule, rank, cost, salts, noise):
    """Choose the key whose suppression in one record of cell c helps most.

    The gain of a key is what the record itself comes nearer to k, plus one for each risky record
    that it newly matches, less what the records left behind in the cell lose, per suppressed cell.
    Without ranks the largest gain wins (ties: the key that brings the record to k, then the later
    key). With ranks, the least important key that brings the record nearer to k wins (ties: the
    gain).
    """
    codes, n_of = cells[0], cells[1]
    mask_of, _, f = state
    weight, shares = rule
    full = (1 << codes.shape[1]) - 1
    mask = mask_of[c]
    ranked = rank.max() > 0.0
    table, now, risky_now = matches(table, used, cells, sets, c, mask, rule, salts, noise)
    f[c] = now
    best, best_gain, best_fixes, best_rank = -1, -np.inf, False, -np.inf
    if now >= k:
        return table, -1, 0.0
    for v in range(n_keys):
        if (mask >> v) & 1 == 0:
            continue
        table, then, risky_then = matches(
            table, used, cells, sets, c, mask & ~(1 << v), rule, salts, noise
        )
        if mask != full:
            then += 1.0 - weight[1]
        each = weight[0]
        if shares.shape[1] > 0:
            each *= shares[v, codes[c, v]]
        left = (1.0 - each) * (n_of[c] - 1) if mask == full else 0.0
        gain = min(then, k) - now + each * (risky_then - risky_now) - left
        gain /= cost[v]
        fixes = then >= k
        if ranked:
            fixes = then > now
            better = fixes and not best_fixes
            if fixes == best_fixes:
                better = rank[v] > best_rank or (rank[v] == best_rank and gain > best_gain)
        else:
            better = gain > best_gain or (gain == best_gain and (fixes or not best_fixes))
        if better:
            best, best_gain, best_fixes, best_rank = v, gain, fixes, rank[v]
    return table, best, best_gain


@kernel
def set_risky(table, used, cells, sets, c, state, risky, salts, noise):
    """Mark cell c as risky or not, and keep the counts of risky records in step."""
    n_of, risky_of = cells[1], cells[2]
    mask_of, set_no, _ = state
    if risky != risky_of[c]:
        risky_of[c] = risky
        step = n_of[c] if risky else -n_of[c]
        table = shift_counts(
            table, used, cells, sets, c, mask_of[c], set_no[c], 0, step, salts, noise
        )
    return table


@kernel
def recount(table, used, cells, sets, n_cells, n_keys, state, k, rule, salts, noise):
    """Count every cell anew; return whether a risky record has a key left to suppress."""
    n_of = cells[1]
    mask_of, _, f = state
    some = False
    for c in range(n_cells):
        risky = False
        if n_of[c] > 0:
            table, f[c], _ = matches(table, used, cells, sets, c, mask_of[c], rule, salts, noise)
            risky = f[c] < k
            some = some or (risky and (mask_of[c] & ((1 << n_keys) - 1)) != 0)
        table = set_risky(table, used, cells, sets, c, state, risky, salts, noise)
    return table, some


@kernel
def queue_risky(
    table, used, cells, sets, n_cells, n_keys, state, k, rule, rank, cost, chain_next, salts, noise
):
    """Chain the risky cells and return them as a heap of (-gain, cell)."""
    codes, _, risky_of, _ = cells
    mask_of, set_no, _ = state
    for i in range(len(table[3])):
        table[3][i] = -1
    for c in range(n_cells):
        chain_next[c, n_keys] = 0
    heap = [(0.0, 0) for _ in range(0)]
    for c in range(n_cells):
        if risky_of[c]:
            table = chain_cell(
                table, used, c, codes, n_keys, mask_of[c], set_no[c], chain_next, salts, noise
            )
            table, v, gain = best_key(
                table, used, cells, sets, c, state, n_keys, k, rule, rank, cost, salts, noise
            )
            if v >= 0:
                heap.append((-gain, c))
    heapq.heapify(heap)
    return table, heap


@kernel
def target_cell(cells, sets, c, v, n_cells, state, index, first_record, noise):
    """Find the cell like c without key v; one more than the cells there are when it is new."""
    codes, n_of, _, next_cell = cells
    mask_of, set_no, _ = state
    words, places = index
    word = word_of(codes, c, mask_of[c] & ~(1 << v), ONE, noise)
    place = slot_of(words, word)
    if words[place] == word:
        return places[place]
    words[place], places[place] = word, n_cells
    codes[n_cells] = codes[c]
    codes[n_cells, v] = -1
    n_of[n_cells] = 0
    first_record[n_cells] = -1
    enter_cells(codes, n_cells, n_cells + 1, mask_of, set_no, next_cell, sets)
    return n_cells


@kernel
def move_record(table, used, cells, sets, c, target, state, records, salts, noise):
    """Move the first record of cell c to the target cell, and keep all counts in step."""
    n_of, risky_of = cells[1], cells[2]
    mask_of, set_no, _ = state
    first_record, next_record, cell_of = records
    record = first_record[c]
    cell_of[record] = target
    first_record[c] = next_record[record]
    next_record[record] = first_record[target]
    first_record[target] = record
    table = shift_counts(table, used, cells, sets, c, mask_of[c], set_no[c], -1, -1, salts, noise)
    n_of[c] -= 1
    n_of[target] += 1
    return shift_counts(
        table,
        used,
        cells,
        sets,
        target,
        mask_of[target],
        set_no[target],
        1,
        1 if risky_of[target] else 0,
        salts,
        noise,
    )


@kernel
def suppress(codes, n_of, n_cells, records, n_keys, k, rule, rank, cost, salts, noise, sets):
    """Suppress one key of one record at a time until every record that has a key left is safe.

    codes (cap, m) and n_of (cap,) hold `n_cells` cells and room for more; records: first record
    of each cell (cap,), next record of each record (n,), cell of each record (n,). All are changed
    in place. rank
    (n_keys,): all zero, or 1 for the most important key; cost (n_keys,): cells that go with the
    key. Returns the number of cells, or -1 when there was no room for another.
    """
    cap = len(codes)
    state = (np.empty(cap, np.int64), np.empty(cap, np.int32), np.zeros(cap))
    cells = (codes, n_of, np.zeros(cap, np.bool_), np.empty(cap, np.int32))
    chain_next = np.zeros((cap, n_keys + 1), np.int32)
    mask_of, set_no, f = state
    risky_of = cells[2]
    enter_cells(codes, 0, n_cells, mask_of, set_no, cells[3], sets)
    size = 64
    while size < 2 * cap:
        size *= 2
    index = (np.zeros(size, np.uint64), np.zeros(size, np.int32))
    for c in range(n_cells):
        word = word_of(codes, c, mask_of[c], ONE, noise)
        place = slot_of(index[0], word)
        index[0][place], index[1][place] = word, c
    used = np.zeros(1, np.int64)
    table = (
        np.zeros(64, np.uint64),
        np.zeros(64, np.int32),
        np.zeros(64, np.int32),
        np.full(64, -1, np.int32),
    )
    while True:
        table, some = recount(
            table, used, cells, sets, n_cells, n_keys, state, k, rule, salts, noise
        )
        if not some:
            return n_cells
        table, heap = queue_risky(
            table,
            used,
            cells,
            sets,
            n_cells,
            n_keys,
            state,
            k,
            rule,
            rank,
            cost,
            chain_next,
            salts,
            noise,
        )
        while len(heap) > 0:
            _, c = heapq.heappop(heap)
            if n_of[c] == 0 or not risky_of[c]:
                continue
            table, v, gain = best_key(
                table, used, cells, sets, c, state, n_keys, k, rule, rank, cost, salts, noise
            )
            if v < 0:
                table = set_risky(table, used, cells, sets, c, state, f[c] < k, salts, noise)
                continue
            if len(heap) > 0 and -gain > heap[0][0]:
                heapq.heappush(heap, (-gain, c))
                continue
            if n_cells == cap:
                return -1
            target = target_cell(cells, sets, c, v, n_cells, state, index, records[0], noise)
            n_cells = max(n_cells, target + 1)
            table = move_record(table, used, cells, sets, c, target, state, records, salts, noise)
            table = help_risky(
                table, used, cells, sets, c, v, k, state, chain_next, rule, salts, noise
            )
            table, f[target], _ = matches(
                table, used, cells, sets, target, mask_of[target], rule, salts, noise
            )
            table = set_risky(table, used, cells, sets, target, state, f[target] < k, salts, noise)
            if risky_of[target]:
                table = chain_cell(
                    table,
                    used,
                    target,
                    codes,
                    n_keys,
                    mask_of[target],
                    set_no[target],
                    chain_next,
                    salts,
                    noise,
                )
                heapq.heappush(heap, (-gain, target))
            if n_of[c] > 0 and risky_of[c]:
                heapq.heappush(heap, (-gain, c))
