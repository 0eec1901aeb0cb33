"""Counting with wildcards on distinct patterns of keys: the cells that suppression works on.

A pattern is a row of codes; -1 (missing) matches every code. Records with the same pattern are one
cell. C cells, m columns (keys, then perhaps a stratum that is never missing), n records; a mask is
a set of columns as bits, the mask of a cell the columns it has.

Matches of a pattern with mask P among the cells with mask Q are those that agree on P & Q, so each
pair (Q, T = P & Q) that is ever asked for gets its own counts, all in one open hash table. The hash
of a pattern on T is the sum of one random word a (column, code), so that equal patterns have equal
words and different ones, but for one chance in 2^64, have not. What rests on it is counted again,
without words, by the caller.
"""

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


class PatternTable(NamedTuple):
    """Open hash table: words (0 is free), records, risky records, first cell of a chain."""

    words: np.ndarray
    counts: np.ndarray
    risky: np.ndarray
    chains: np.ndarray


class CellBook(NamedTuple):
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
    new = PatternTable(
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
