"""Counting with wildcards and greedy suppression, on distinct patterns of keys.

A pattern is a row of codes; -1 (missing) matches every code. Records with the same pattern are one
cell. C cells, m columns (keys, then perhaps a stratum that is never missing), n records; a mask is
a set of columns as bits, the mask of a cell the columns it has.

Matches of a pattern with mask P among the cells with mask Q are those that agree on P & Q, so each
pair (Q, T = P & Q) that is ever asked for gets its own counts, all in one open hash table. The hash
of a pattern on T is the sum of one random word a (column, code), so that equal patterns have equal
words and different ones, but for one chance in 2^64, have not. What rests on it is counted again,
without words, by the caller.
"""

import heapq
from typing import NamedTuple

import numpy as np

from synthpop.microdata.kernel import kernel

MIX = np.uint64(0xBF58476D1CE4E5B9)
FREE = np.uint64(0)
ONE = np.uint64(1)
SHIFT = np.uint64(31)
NONE, LESS, MORE = np.int64(0), np.int64(-1), np.int64(1)  # steps of counts, all of one type
NO_CODE = np.int32(-1)
MOST_KEYS = 64


class Table(NamedTuple):
    """Open hash table: words (0 is free), records, risky records, first cell of a chain."""

    words: np.ndarray
    counts: np.ndarray
    risky: np.ndarray
    chains: np.ndarray


class Book(NamedTuple):
    """All that is kept of the cells (arrays with room for new cells) and of their masks.

    codes (cap, m); n_of, risky_of, mask_of, set_of, next_cell, f (cap,): records, whether f < k,
    mask, number of the mask, next cell of the same mask, matching records; masks, first_cell,
    first_node (sets,): the masks that occur, their first cell and first node; node_mask, node_next
    (nodes,): the T of each pair (Q, T); n_used (3,): masks, nodes and words in use; salts (sets,),
    noise (m, levels): hash words; weight (2,): what an incomplete match counts for a complete
    pattern and for an incomplete one; locked (cap,): columns of a cell that must stay, as bits;
    shares (m, levels), or (m, 0) for none: a further factor for
    each column that a pattern has and the match lacks.
    """

    codes: np.ndarray
    n_of: np.ndarray
    risky_of: np.ndarray
    mask_of: np.ndarray
    set_of: np.ndarray
    next_cell: np.ndarray
    f: np.ndarray
    masks: np.ndarray
    first_cell: np.ndarray
    first_node: np.ndarray
    node_mask: np.ndarray
    node_next: np.ndarray
    n_used: np.ndarray
    salts: np.ndarray
    noise: np.ndarray
    weight: np.ndarray
    shares: np.ndarray
    locked: np.ndarray


MASKS, NODES, WORDS = 0, 1, 2


@kernel
def slot_of(words, word):
    """Position of `word` in a hash table whose size is a power of two, or the place for it."""
    last = len(words) - 1
    mixed = (word ^ (word >> SHIFT)) * MIX
    place = np.int64(mixed ^ (mixed >> SHIFT)) & last
    while words[place] != FREE and words[place] != word:
        place = (place + 1) & last
    return place


@kernel
def roomy(table, n_words, extra):
    """Return a table that is at most half full with `extra` more words: the same, or a larger."""
    size = len(table.words)
    if (n_words + extra) * 2 <= size:
        return table
    while (n_words + extra) * 2 > size:
        size *= 2
    new = Table(
        np.zeros(size, np.uint64),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
    )
    for i in range(len(table.words)):
        if table.words[i] != FREE:
            place = slot_of(new.words, table.words[i])
            new.words[place] = table.words[i]
            new.counts[place] = table.counts[i]
            new.risky[place] = table.risky[i]
            new.chains[place] = table.chains[i]
    return new


@kernel
def word_of(book, c, mask, salt):
    """Hash word of cell c on the columns of `mask`."""
    word = salt
    for j in range(book.codes.shape[1]):
        if (mask >> j) & 1:
            word += book.noise[j, book.codes[c, j]]
    return word if word != FREE else ONE


@kernel
def name_of(book, c, mask):
    """Word by which a cell is known: its codes on `mask` and the columns that must stay."""
    return word_of(book, c, mask, ONE) + np.uint64(book.locked[c]) * MIX


@kernel
def add_to(table, book, c, mask, n, n_risky):
    """Add to the counts of cell c on the columns of `mask`; return the place (room must be)."""
    word = word_of(book, c, mask, book.salts[book.set_of[c]])
    place = slot_of(table.words, word)
    if table.words[place] == FREE:
        table.words[place] = word
        table.chains[place] = -1
        book.n_used[WORDS] += 1
    table.counts[place] += n
    table.risky[place] += n_risky
    return place


@kernel
def shift_counts(table, book, c, n, n_risky):
    """Add to all counts that cell c takes part in (room must be)."""
    node = book.first_node[book.set_of[c]]
    while node >= 0:
        add_to(table, book, c, book.node_mask[node], n, n_risky)
        node = book.node_next[node]


@kernel
def enter_cell(book, c):
    """Give cell c its mask and hang it into the list of that mask."""
    mask = 0
    for j in range(book.codes.shape[1]):
        if book.codes[c, j] >= 0:
            mask |= 1 << j
    q = 0
    while q < book.n_used[MASKS] and book.masks[q] != mask:
        q += 1
    if q == book.n_used[MASKS]:
        if q == len(book.masks):
            raise ValueError
        book.masks[q] = mask
        book.first_cell[q] = -1
        book.first_node[q] = -1
        book.n_used[MASKS] += 1
    book.mask_of[c] = mask
    book.set_of[c] = q
    book.next_cell[c] = book.first_cell[q]
    book.first_cell[q] = c


@kernel
def ensure_pair(table, book, q, part):
    """Make sure that the counts of (Q = mask number q, T = part) are in the table."""
    node = book.first_node[q]
    while node >= 0:
        if book.node_mask[node] == part:
            return table
        node = book.node_next[node]
    node = book.n_used[NODES]
    if node == len(book.node_mask):
        raise ValueError
    book.node_mask[node] = part
    book.node_next[node] = book.first_node[q]
    book.first_node[q] = node
    book.n_used[NODES] += 1
    c, size = book.first_cell[q], 0
    while c >= 0:
        size += 1
        c = book.next_cell[c]
    table = roomy(table, book.n_used[WORDS], size)
    c = book.first_cell[q]
    while c >= 0:
        if book.n_of[c] > 0:
            add_to(table, book, c, part, book.n_of[c], book.n_of[c] if book.risky_of[c] else NONE)
        c = book.next_cell[c]
    return table


@kernel
def matches(table, book, c, mask):
    """Count the records and the risky records that match cell c on the columns of `mask`."""
    m = book.codes.shape[1]
    full = (1 << m) - 1
    total, n_risky = 0.0, 0.0
    other = book.weight[0] if mask == full else book.weight[1]
    for q in range(book.n_used[MASKS]):
        lacking = book.masks[q]
        share = 1.0 if lacking in (full, mask) else other
        if share == 0.0:
            continue
        part = mask & lacking
        if book.shares.shape[1] > 0:
            for j in range(m):
                if ((mask & ~part) >> j) & 1:
                    share *= book.shares[j, book.codes[c, j]]
        table = ensure_pair(table, book, q, part)
        place = slot_of(table.words, word_of(book, c, part, book.salts[q]))
        if table.words[place] != FREE:
            total += share * table.counts[place]
            n_risky += table.risky[place]
    return table, total, n_risky


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
        c, code = cell_of[record], before[record, v]
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
    table = Table(
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
