"""Greedy suppression on distinct patterns of keys, after `suppression_cells`."""

import heapq

import numpy as np

from riskeval.kernels.suppression_cells import (
    FREE,
    LESS,
    MASKS,
    MIX,
    MOST_KEYS,
    NO_CODE,
    NONE,
    ONCE,
    ONE,
    OUTSIDE,
    PARTS,
    WORDS,
    ensure_pair,
    enter_cell,
    fill_sums,
    look_around,
    roomy,
    shift_counts,
    slot_of,
    sum_of,
    word_of,
)
from synthpop.microdata.runs.kernel import kernel, step


@step
def set_risky(table, book, c, risky):
    """Mark cell c as risky or not, and keep the counts of risky records in step."""
    if risky != book.cells[c].risky:
        book.cells[c].risky = risky
        number = book.cells[c].number
        shift_counts(table, book, c, NONE, number if risky else -number)


@step
def chain_cell(table, book, c, chain_next):
    """Hang a risky cell into the chains of its mask without one key, for each key it has.

    chain_next (cap, keys): the next cell of each chain, -1 for none, -2 for a cell that does not
    hang in it.
    """
    q, mask = np.int64(book.cells[c].mask_number), book.cells[c].mask
    for v in range(chain_next.shape[1]):
        if (mask >> v) & 1 and chain_next[c, v] == OUTSIDE:
            part = mask & ~(1 << v)
            table = ensure_pair(table, book, q, part)
            place = slot_of(table.slots, word_of(book, c, part, book.masks[q].salt))
            chain_next[c, v] = table.chains[place]
            table.chains[place] = c
    return table


@step
def help_risky(table, book, c, v, k, chain_next):
    """Credit the risky cells that match cell c once column v is missing and did not before.

    Walks the chains of every mask that lacks nothing of cell c but v, and takes out the cells that
    are empty or safe. A cell that reaches k is no longer risky.
    """
    full, bit = (1 << book.codes.shape[1]) - 1, 1 << v
    rest = book.cells[c].mask & ~bit
    slots, chains, masks, cells = table.slots, table.chains, book.masks, book.cells
    codes, sums, helped = book.codes, book.sums, [NONE for _ in range(0)]
    fill_sums(codes, book.noise, c, sums)
    for q in range(book.used[MASKS]):
        mask = masks[q].mask
        if mask & bit == 0 or mask & ~bit & ~rest:
            continue
        place = slot_of(slots, sum_of(sums, mask & rest, masks[q].salt))
        other = chains[place] if slots[place].word != FREE else NO_CODE
        previous = NO_CODE
        while other >= 0:
            following = chain_next[other, v]
            if not cells[other].risky or cells[other].number == 0:
                chain_next[other, v] = OUTSIDE
                if previous < 0:
                    chains[place] = following
                else:
                    chain_next[previous, v] = following
                other = following
                continue
            if codes[other, v] != codes[c, v]:
                credit = book.weight[0] if mask == full else book.weight[1]
                if book.shares.shape[1] > 0:
                    credit *= book.shares[v, codes[other, v]]
                cells[other].f += credit
                if cells[other].f >= k:
                    helped.append(np.int64(other))
            previous, other = other, following
    for other in helped:
        set_risky(table, book, other, NONE)


@step
def best_key(table, book, c, k, rank, cost):
    """Choose the key whose suppression in one record of cell c helps most; -1 for none.

    The gain of a key is what the record itself comes nearer to k, plus one for each risky record
    that it newly matches, less what the records left behind in the cell lose, per suppressed cell.
    Without ranks the largest gain wins (ties: the key that brings the record to k, then the later
    key). With ranks, the least important key that brings the record nearer to k wins (ties: the
    gain).
    """
    m, mask = book.codes.shape[1], book.cells[c].mask
    tried = mask & ~book.cells[c].locked & ((1 << len(rank)) - 1)
    table = look_around(table, book, c, tried)
    now, risky_now = book.around[m, 0], book.around[m, 1]
    book.cells[c].f = now
    best, best_gain, best_good, best_rank = -1, -np.inf, False, -np.inf
    for v in range(len(rank)):
        if (tried >> v) & 1 == 0 or now >= k:
            continue
        then, risky_then = book.around[v, 0], book.around[v, 1]
        each = book.weight[0]
        if book.shares.shape[1] > 0:
            each *= book.shares[v, book.codes[c, v]]
        gain = min(then, k) - now + each * (risky_then - risky_now)
        if mask == (1 << m) - 1:
            gain -= (1.0 - each) * (book.cells[c].number - 1)
        else:
            gain += 1.0 - book.weight[1]
        gain /= cost[v]
        good = then > now if rank[0] > 0.0 else then >= k
        if rank[0] > 0.0 and good != best_good:
            better = good
        elif rank[0] > 0.0:
            better = rank[v] > best_rank or (rank[v] == best_rank and gain > best_gain)
        else:
            better = gain > best_gain or (gain == best_gain and (good or not best_good))
        if better:
            best, best_gain, best_good, best_rank = v, gain, good, rank[v]
    return table, best, best_gain


@step
def count_cell(table, book, c, k):
    """Count what cell c matches, and mark it as risky when that is below k."""
    table = look_around(table, book, c, NONE)
    f = book.around[book.codes.shape[1], 0]
    book.cells[c].f = f
    set_risky(table, book, c, ONCE if f < k else NONE)
    return table


@step
def queue_risky(table, book, n_cells, k, rank, cost, chain_next):
    """Count every cell anew; chain the risky ones and return them as a heap of (-gain, cell).

    Nothing rests on the credits that were handed out before.
    """
    for c in range(n_cells):
        if book.cells[c].number > 0:
            table = count_cell(table, book, c, k)
        else:
            set_risky(table, book, c, NONE)
        chain_next[c] = OUTSIDE
    for i in range(len(table.chains)):
        table.chains[i] = -1
    heap = [(0.0, 0) for _ in range(0)]
    for c in range(n_cells):
        if book.cells[c].risky:
            table = chain_cell(table, book, c, chain_next)
            table, v, gain = best_key(table, book, c, k, rank, cost)
            if v >= 0:
                heap.append((-gain, c))
    heapq.heapify(heap)
    return table, heap


@step
def target_cell(book, c, v, code, n_cells, names):
    """Find the cell like c with `code` (-1: missing) in column v; n_cells when it is new.

    `names` tells the cell of a word, as number of its slot; half of it at least is free.
    """
    word = name_of(book, c, book.cells[c].mask & ~(1 << v))
    if code >= 0:
        word += book.noise[v, code]
    place = slot_of(names.slots, word)
    if names.slots[place].word != word:
        names.slots[place].word, names.slots[place].number = word, n_cells
        for j in range(book.codes.shape[1]):
            book.codes[n_cells, j] = book.codes[c, j] if j != v else code
        book.cells[n_cells].locked = book.cells[c].locked
        enter_cell(book, n_cells)
    return np.int64(names.slots[place].number)


@step
def name_of(book, c, mask):
    """Word by which a cell is known: its codes on `mask` and the columns that must stay."""
    return word_of(book, c, mask, ONE) + np.uint64(book.cells[c].locked) * MIX


@step
def move_record(table, book, source, target):
    """Let one record leave a cell for another one, in all counts (room must be)."""
    shift_counts(table, book, source, LESS, LESS if book.cells[source].risky else NONE)
    book.cells[source].number -= 1
    book.cells[target].number += 1
    shift_counts(table, book, target, ONCE, ONCE if book.cells[target].risky else NONE)


@step
def lose_match(table, book, c, target, v, k):
    """Take one match from the cells that match cell c but not `target`, which has column v too.

    Only masks are looked at in which fewer records match `target`.
    """
    mask, losers = book.cells[c].mask, [NONE for _ in range(0)]
    slots, masks, cells, codes, sums = table.slots, book.masks, book.cells, book.codes, book.sums
    fill_sums(codes, book.noise, target, sums)
    for q in range(book.used[MASKS]):
        part, salt = mask & masks[q].mask, masks[q].salt
        if (masks[q].mask >> v) & 1 == 0:
            continue
        number = slots[slot_of(slots, sum_of(sums, part, salt))].number
        if number == slots[slot_of(slots, sum_of(sums, part | (1 << v), salt))].number:
            continue
        other = np.int64(masks[q].first_cell)
        while other >= 0:
            agree = cells[other].number > 0 and codes[other, v] != codes[target, v]
            for j in range(codes.shape[1] if agree else 0):
                a, b = codes[c, j], codes[other, j]
                if a >= 0 and b >= 0 and a != b:
                    agree = False
                    break
            if agree:
                losers.append(other)
            other = np.int64(cells[other].next)
    for other in losers:
        f = cells[other].f - 1
        cells[other].f = f
        set_risky(table, book, other, ONCE if f < k + 1 else NONE)


@step
def give_back(table, book, n_cells, cell_of, before, moves, tier, k, names):
    """Undo suppressions that later ones have made needless; for whole matches only.

    before (n, m): codes at the start; moves: record * MOST_KEYS + key in the order in which they
    were made; tier (keys,): keys of tier 0 come back first, later moves first. `risky` now marks
    the cells that cannot lose a match (f < k + 1): a value comes back if the record keeps k
    matches with it and no such cell is among those that match the record only without it. Returns
    whether there was room.
    """
    # 1. mark the cells that cannot lose a match
    for c in range(n_cells):
        if book.cells[c].number > 0:
            table = count_cell(table, book, c, k + 1)
    # 2. try to undo each move, by tier, the last one first
    last = book.codes.shape[1]
    n_tiers = 0  # np.max takes a third of a second to compile
    for v in range(len(tier)):
        n_tiers = max(n_tiers, tier[v] + 1)
    for i in range(n_tiers * len(moves)):
        move = moves[len(moves) - 1 - i % len(moves)]
        record, v = move // MOST_KEYS, move % MOST_KEYS
        c, code = np.int64(cell_of[record]), before[record, v]  # type: ignore[assignment]
        if tier[v] != i // len(moves) or book.codes[c, v] >= 0:
            continue
        if n_cells == len(book.codes):
            return False
        # 3. would the record keep k matches, and does no marked cell lose one?
        names = roomy(names, n_cells, ONCE)
        target = target_cell(book, c, v, code, n_cells, names)
        n_cells = max(n_cells, target + 1)
        table = look_around(table, book, c, NONE)
        tight = book.around[last, 1]
        table = look_around(table, book, target, NONE)
        now = book.around[last, 0]
        if now >= k and tight == book.around[last, 1]:
            # 4. move the record back, and take a match from those that it no longer matches
            table = roomy(table, book.used[WORDS], 2 * book.used[PARTS])
            move_record(table, book, c, target)
            lose_match(table, book, c, target, v, k)
            book.cells[target].f = now
            set_risky(table, book, target, ONCE if now < k + 1 else NONE)
            cell_of[record] = target
    return True


@kernel
def suppress(
    book, n_cells, next_record, cell_of, before, k, rank, cost, tier, chain_next, table, names
):
    """Suppress one key of one record at a time until every record that has a key left is safe.

    book: codes, numbers, first records (-1 for none) and locked columns of `n_cells` cells are
    filled, the rest is zero; next_record (n,), cell_of (n,): records of each cell and cell of each
    record. All are changed in place. before (n, m): codes at the start; rank (keys,): all zero, or
    1 for the most important key; cost (keys,): cells that go with the key; tier (keys,): as in
    `give_back`; chain_next (cap, keys): for the chains; table, names: empty tables of 64 slots.
    Returns whether there was room.
    """
    # 1. every distinct pattern is a cell; cells are found again by their word
    names = roomy(names, NONE, n_cells)
    for c in range(n_cells):
        enter_cell(book, c)
        word = name_of(book, c, book.cells[c].mask)
        place = slot_of(names.slots, word)
        names.slots[place].word, names.slots[place].number = word, c
    moves = [NONE for _ in range(0)]
    while True:
        # 2. count all cells, queue the risky ones by their gain; done when there are none
        table, heap = queue_risky(table, book, n_cells, k, rank, cost, chain_next)
        if len(heap) == 0:
            if book.weight[0] == 1.0 == book.weight[1] and book.shares.shape[1] == 0:
                return give_back(table, book, n_cells, cell_of, before, moves, tier, k, names)
            return True
        while len(heap) > 0:
            # 3. take the cell with the largest gain; gains of others may have fallen since, so
            #    it is re-estimated and queued again if another one is better now (lazy greedy)
            _, c = heapq.heappop(heap)
            if book.cells[c].number == 0 or not book.cells[c].risky:
                continue
            table, v, gain = best_key(table, book, c, k, rank, cost)
            if v < 0:
                set_risky(table, book, c, ONCE if book.cells[c].f < k else NONE)
                continue
            if len(heap) > 0 and -gain > heap[0][0]:
                heapq.heappush(heap, (-gain, c))
                continue
            if n_cells == len(book.codes):
                return False
            names = roomy(names, n_cells, ONCE)
            target = target_cell(book, c, v, NO_CODE, n_cells, names)
            if target == n_cells:
                book.cells[target].first_record, chain_next[target] = -1, OUTSIDE
                n_cells += 1
            table = roomy(table, book.used[WORDS], 2 * book.used[PARTS] + len(rank))
            # 4. one record leaves cell c for the pattern without key v
            record = np.int64(book.cells[c].first_record)
            book.cells[c].first_record = next_record[record]
            next_record[record] = book.cells[target].first_record
            book.cells[target].first_record = record
            cell_of[record] = target
            moves.append(record * MOST_KEYS + v)
            move_record(table, book, c, target)
            # 5. risky cells that now match this record are credited; the cells of both patterns
            #    are queued again while they are risky
            help_risky(table, book, c, v, k, chain_next)
            table = count_cell(table, book, target, k)
            if book.cells[target].risky:
                table = chain_cell(table, book, target, chain_next)
                heapq.heappush(heap, (-gain, target))
            if book.cells[c].number > 0 and book.cells[c].risky:
                heapq.heappush(heap, (-gain, c))
