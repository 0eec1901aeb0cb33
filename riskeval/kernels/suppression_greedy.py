"""Greedy suppression on distinct patterns of keys, after `suppression_cells`."""

import heapq

import numpy as np

from riskeval.kernels.suppression_cells import (
    FREE,
    LESS,
    MASKS,
    MORE,
    MOST_KEYS,
    NO_CODE,
    NODES,
    NONE,
    WORDS,
    PatternTable,
    add_to,
    enter_cell,
    matches,
    name_of,
    roomy,
    shift_counts,
    slot_of,
    word_of,
)
from synthpop.microdata.kernel import kernel


@kernel
def set_risky(table, book, c, risky):
    """Mark cell c as risky or not, and keep the counts of risky records in step."""
    if risky != book.risky_of[c]:
        book.risky_of[c] = risky
        shift_counts(table, book, c, NONE, book.n_of[c] if risky else -book.n_of[c])


@kernel
def chain_cell(table, book, c, chain_next):
    """Hang a risky cell into the chains of its mask without one key, for each key it has.

    chain_next (cap, keys + 1): the next cell of each chain; the last column says whether the cell
    hangs in its chains already.
    """
    n_keys = chain_next.shape[1] - 1
    if chain_next[c, n_keys] == 0:
        chain_next[c, n_keys] = 1
        for v in range(n_keys):
            if (book.mask_of[c] >> v) & 1:
                place = add_to(table, book, c, book.mask_of[c] & ~(1 << v), NONE, NONE)
                chain_next[c, v] = table.chains[place]
                table.chains[place] = c


@kernel
def help_risky(table, book, c, v, k, chain_next):
    """Credit the risky cells that match cell c once column v is missing and did not before.

    Walks the chains of every mask that lacks nothing of cell c but v. A cell that reaches k is no
    longer risky.
    """
    full = (1 << book.codes.shape[1]) - 1
    rest = book.mask_of[c] & ~(1 << v)
    for q in range(book.n_used[MASKS]):
        if (book.masks[q] >> v) & 1 == 0 or book.masks[q] & ~(1 << v) & ~rest:
            continue
        place = slot_of(table.words, word_of(book, c, book.masks[q] & rest, book.salts[q]))
        other = table.chains[place] if table.words[place] != FREE else -1
        while other >= 0:
            code = book.codes[other, v]
            if book.risky_of[other] and book.n_of[other] > 0 and code != book.codes[c, v]:
                credit = book.weight[0] if book.mask_of[other] == full else book.weight[1]
                if book.shares.shape[1] > 0:
                    credit *= book.shares[v, code]
                book.f[other] += credit
                if book.f[other] >= k:
                    set_risky(table, book, other, book.f[other] < k)
            other = chain_next[other, v]


@kernel
def best_key(table, book, c, k, rank, cost):
    """Choose the key whose suppression in one record of cell c helps most; -1 for none.

    The gain of a key is what the record itself comes nearer to k, plus one for each risky record
    that it newly matches, less what the records left behind in the cell lose, per suppressed cell.
    Without ranks the largest gain wins (ties: the key that brings the record to k, then the later
    key). With ranks, the least important key that brings the record nearer to k wins (ties: the
    gain).
    """
    full = (1 << book.codes.shape[1]) - 1
    mask = book.mask_of[c]
    ranked = rank[0] > 0.0
    table, now, risky_now = matches(table, book, c, mask)
    book.f[c] = now
    best, best_gain, best_good, best_rank = -1, -np.inf, False, -np.inf
    for v in range(len(rank)):
        if (mask >> v) & 1 == 0 or (book.locked[c] >> v) & 1 or now >= k:
            continue
        table, then, risky_then = matches(table, book, c, mask & ~(1 << v))
        each = book.weight[0]
        if book.shares.shape[1] > 0:
            each *= book.shares[v, book.codes[c, v]]
        gain = min(then, k) - now + each * (risky_then - risky_now)
        if mask == full:
            gain -= (1.0 - each) * (book.n_of[c] - 1)
        else:
            gain += 1.0 - book.weight[1]
        gain /= cost[v]
        good = then > now if ranked else then >= k
        if ranked:
            better = good and not best_good
            if good == best_good:
                better = rank[v] > best_rank or (rank[v] == best_rank and gain > best_gain)
        else:
            better = gain > best_gain or (gain == best_gain and (good or not best_good))
        if better:
            best, best_gain, best_good, best_rank = v, gain, good, rank[v]
    return table, best, best_gain


@kernel
def queue_risky(table, book, n_cells, k, rank, cost, chain_next):
    """Count every cell anew; chain the risky ones and return them as a heap of (-gain, cell).

    Nothing rests on the credits that were handed out before.
    """
    for c in range(n_cells):
        risky = False
        if book.n_of[c] > 0:
            table, book.f[c], _ = matches(table, book, c, book.mask_of[c])
            risky = book.f[c] < k
        set_risky(table, book, c, risky)
        chain_next[c, len(rank)] = 0
    for i in range(len(table.chains)):
        table.chains[i] = -1
    heap = [(0.0, 0) for _ in range(0)]
    for c in range(n_cells):
        if book.risky_of[c]:
            table = roomy(table, book.n_used[WORDS], len(rank))
            chain_cell(table, book, c, chain_next)
            table, v, gain = best_key(table, book, c, k, rank, cost)
            if v >= 0:
                heap.append((-gain, c))
    heapq.heapify(heap)
    return table, heap


@kernel
def target_cell(book, c, v, code, n_cells, words, cell_of_word):
    """Find the cell like c with `code` (-1: missing) in column v; n_cells when it is new."""
    word = name_of(book, c, book.mask_of[c] & ~(1 << v))
    if code >= 0:
        word += book.noise[v, code]
    place = slot_of(words, word)
    if words[place] != word:
        words[place], cell_of_word[place] = word, n_cells
        for j in range(book.codes.shape[1]):
            book.codes[n_cells, j] = book.codes[c, j] if j != v else code
        book.locked[n_cells] = book.locked[c]
        enter_cell(book, n_cells)
    return cell_of_word[place]


@kernel
def lose_match(table, book, n_cells, c, v, code, k):
    """Take one match from the cells that match cell c but not with `code` in column v."""
    for other in range(n_cells):
        value = book.codes[other, v]
        if book.n_of[other] == 0 or value < 0 or value == code:
            continue
        agree = True
        for j in range(book.codes.shape[1]):
            a, b = book.codes[c, j], book.codes[other, j]
            if a >= 0 and b >= 0 and a != b:
                agree = False
                break
        if agree:
            book.f[other] -= 1
            set_risky(table, book, other, book.f[other] < k + 1)


@kernel
def give_back(table, book, n_cells, cell_of, before, moves, tier, k, words, cell_of_word):
    """Undo suppressions that later ones have made needless; for whole matches only.

    before (n, m): codes at the start; moves: record * MOST_KEYS + key in the order in which they
    were made; tier (keys,): keys of tier 0 come back first, later moves first. `risky_of` now
    marks the cells that cannot lose a match (f < k + 1): a value comes back if the record keeps k
    matches with it and no such cell is among those that match the record only without it.
    """
    # 1. mark the cells that cannot lose a match
    for c in range(n_cells):
        if book.n_of[c] > 0:
            table, book.f[c], _ = matches(table, book, c, book.mask_of[c])
            set_risky(table, book, c, book.f[c] < k + 1)
    # 2. try to undo each move, by tier, the last one first
    for i in range((tier.max() + 1) * len(moves)):
        move = moves[len(moves) - 1 - i % len(moves)]
        record, v = move // MOST_KEYS, move % MOST_KEYS
        c, code = np.int64(cell_of[record]), before[record, v]  # type: ignore[assignment]
        if tier[v] != i // len(moves) or book.codes[c, v] >= 0 or n_cells == len(book.codes):
            continue
        # 3. would the record keep k matches, and does no marked cell lose one?
        target = target_cell(book, c, v, code, n_cells, words, cell_of_word)
        n_cells = max(n_cells, target + 1)
        table, _, tight = matches(table, book, c, book.mask_of[c])
        table, now, tight_now = matches(table, book, target, book.mask_of[target])
        if now >= k and tight == tight_now:
            # 4. move the record back, and take a match from those that it no longer matches
            table = roomy(table, book.n_used[WORDS], 2 * book.n_used[NODES])
            shift_counts(table, book, c, LESS, LESS if book.risky_of[c] else NONE)
            book.n_of[c] -= 1
            book.n_of[target] += 1
            shift_counts(table, book, target, MORE, MORE if book.risky_of[target] else NONE)
            lose_match(table, book, n_cells, c, v, code, k)
            book.f[target] = now
            set_risky(table, book, target, now < k + 1)
            cell_of[record] = target


@kernel
def suppress(book, n_cells, first_record, next_record, cell_of, before, k, rank, cost, tier):
    """Suppress one key of one record at a time until every record that has a key left is safe.

    book: codes and n_of of `n_cells` cells are filled, the rest is zero; first_record (cap,), -1
    for none, next_record (n,), cell_of (n,): records of each cell and cell of each record. All are
    changed in place. before (n, m): codes at the start; rank (keys,): all zero, or 1 for the most
    important key; cost (keys,): cells that go with the key; tier (keys,): as in `give_back`.
    Returns whether there was room.
    """
    # 1. every distinct pattern is a cell; cells are found again by their word
    cap = len(book.codes)
    chain_next = np.zeros((cap, len(rank) + 1), np.int32)
    size = 64
    while size < 2 * cap:
        size *= 2
    words, cell_of_word = np.zeros(size, np.uint64), np.zeros(size, np.int64)
    for c in range(n_cells):
        enter_cell(book, c)
        place = slot_of(words, name_of(book, c, book.mask_of[c]))
        words[place], cell_of_word[place] = name_of(book, c, book.mask_of[c]), c
    table = PatternTable(
        np.zeros(64, np.uint64),
        np.zeros(64, np.int32),
        np.zeros(64, np.int32),
        np.zeros(64, np.int32),
    )
    moves = [NONE for _ in range(0)]
    while True:
        # 2. count all cells, queue the risky ones by their gain; done when there are none
        table, heap = queue_risky(table, book, n_cells, k, rank, cost, chain_next)
        if len(heap) == 0:
            if book.weight.min() == 1.0 and book.shares.shape[1] == 0:
                give_back(
                    table, book, n_cells, cell_of, before, moves, tier, k, words, cell_of_word
                )
            return True
        while len(heap) > 0:
            # 3. take the cell with the largest gain; gains of others may have fallen since, so
            #    it is estimated anew and queued again if another one is better now (lazy greedy)
            _, c = heapq.heappop(heap)
            if book.n_of[c] == 0 or not book.risky_of[c]:
                continue
            table, v, gain = best_key(table, book, c, k, rank, cost)
            if v < 0:
                set_risky(table, book, c, book.f[c] < k)
                continue
            if len(heap) > 0 and -gain > heap[0][0]:
                heapq.heappush(heap, (-gain, c))
                continue
            if n_cells == cap:
                return False
            target = target_cell(book, c, v, NO_CODE, n_cells, words, cell_of_word)
            n_cells = max(n_cells, target + 1)
            table = roomy(table, book.n_used[WORDS], 2 * book.n_used[NODES] + len(rank))
            # 4. one record leaves cell c for the pattern without key v
            record = np.int64(first_record[c])
            first_record[c] = next_record[record]
            next_record[record] = first_record[target]
            first_record[target] = record
            cell_of[record] = target
            moves.append(record * MOST_KEYS + v)
            shift_counts(table, book, c, LESS, LESS)
            book.n_of[c] -= 1
            book.n_of[target] += 1
            shift_counts(table, book, target, MORE, MORE if book.risky_of[target] else NONE)
            # 5. risky cells that now match this record are credited; the cells of both patterns
            #    are queued again while they are risky
            help_risky(table, book, c, v, k, chain_next)
            table, book.f[target], _ = matches(table, book, target, book.mask_of[target])
            set_risky(table, book, target, book.f[target] < k)
            if book.risky_of[target]:
                table = roomy(table, book.n_used[WORDS], len(rank))
                chain_cell(table, book, target, chain_next)
                heapq.heappush(heap, (-gain, target))
            if book.n_of[c] > 0 and book.risky_of[c]:
                heapq.heappush(heap, (-gain, c))
