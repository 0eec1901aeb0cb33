"""Counting with wildcards on distinct patterns of keys: the cells that suppression works on.

A pattern is a row of codes; -1 (missing) matches every code. Records with the same pattern are one
*cell*. C cells, m columns (keys, then perhaps a stratum that is never missing), n records; a mask
is a set of columns as bits, the mask of a cell the columns it has.

Matches of a pattern with mask P among the cells with mask Q are those that agree on P & Q, so each
pair (Q, T = P & Q) that is ever asked for gets its own counts, all in one open hash table. The hash
of a pattern on T is the sum of one random word a (column, code), so that equal patterns have equal
words and different ones, but for one chance in 2^64, have not. What rests on it is counted again,
without words, by the caller. The sums of all sets of eight columns of a cell are made at once
(`fill_sums`), so that the word of any mask is a sum of m / 8 of them.
"""

from typing import NamedTuple

import numpy as np

from synthpop.microdata.runs.kernel import step

MIX = np.uint64(0xBF58476D1CE4E5B9)
FREE = np.uint64(0)
ONE = np.uint64(1)
SHIFT = np.uint64(31)
NONE, ONCE, LESS = np.int64(0), np.int64(1), np.int64(-1)  # all of one type, for fewer forms
NO_CODE = np.int32(-1)
OUTSIDE = np.int32(-2)  # a cell that does not hang in a chain
MOST_KEYS = 64
MASKS, PARTS, WORDS = 0, 1, 2  # places in `used`
SUMS = 8 * 256

SLOT = np.dtype([("word", "u8"), ("number", "i4"), ("risky", "i4")])
CELL = np.dtype(
    [("mask", "i8"), ("locked", "i8"), ("number", "i8"), ("f", "f8")]
    + [(name, "i4") for name in ("mask_number", "next", "first_record", "risky")]
)
MASK = np.dtype([("mask", "i8"), ("salt", "u8"), ("first_cell", "i4"), ("first_part", "i4")])
PART = np.dtype([("mask", "i8"), ("next", "i8")])


class PatternTable(NamedTuple):
    """Open hash table: slots (word 0 is free) with numbers of records, first cell of a chain."""

    slots: np.ndarray
    chains: np.ndarray


class CellBook(NamedTuple):
    """All that is kept of the cells (arrays with room for new cells) and of their masks.

    codes (cap, m); cells (cap,): mask, columns that must stay as bits, records, matching records f,
    number of the mask, next cell of the same mask, first record, whether f < k; masks: those that
    occur, their hash word, first cell and first part; parts: the T of each pair (Q, T); pairs:
    hash set of these; used (3,): masks, parts and words in use; noise (m, levels): hash words;
    sums: words of all sets of columns of one cell; weight (2,): what an incomplete match counts
    for a complete pattern and for an incomplete one; shares (m, levels), or (m, 0) for none: a
    further factor for each column that a pattern has and the match lacks; around (m + 2, 2):
    matches and risky matches once a key is missing, then as it is; the last row is for its maker.
    """

    codes: np.ndarray
    cells: np.ndarray
    masks: np.ndarray
    parts: np.ndarray
    pairs: np.ndarray
    used: np.ndarray
    noise: np.ndarray
    sums: np.ndarray
    weight: np.ndarray
    shares: np.ndarray
    around: np.ndarray


@step
def slot_of(slots, word):
    """Position of `word` in a hash table whose size is a power of two, or the place for it."""
    last = len(slots) - 1
    mixed = (word ^ (word >> SHIFT)) * MIX
    place = np.int64(mixed ^ (mixed >> SHIFT)) & last
    while slots[place].word != FREE and slots[place].word != word:
        place = (place + 1) & last
    return place


@step
def roomy(table, n_words, extra):
    """Return a table that is at most half full with `extra` more words: the same, or a larger."""
    size = len(table.slots)
    if (n_words + extra) * 2 <= size:
        return table
    while (n_words + extra) * 2 > size:
        size *= 2
    new = PatternTable(np.zeros(size, table.slots.dtype), np.zeros(size, np.int32))
    for i in range(len(table.slots)):
        if table.slots[i].word != FREE:
            place = slot_of(new.slots, table.slots[i].word)
            new.slots[place].word = table.slots[i].word
            new.slots[place].number = table.slots[i].number
            new.slots[place].risky = table.slots[i].risky
            new.chains[place] = table.chains[i]
    return new


@step
def word_of(book, c, mask, salt):
    """Hash word of cell c on the columns of `mask`."""
    word = salt
    for j in range(book.codes.shape[1]):
        if (mask >> j) & 1:
            word += book.noise[j, book.codes[c, j]]
    return word if word != FREE else ONE


@step
def fill_sums(codes, noise, c, sums):
    """Sum the words of cell c over every set of columns, eight columns at a time."""
    for j in range(codes.shape[1]):
        code, first, size = codes[c, j], (j >> 3) * 256, 1 << (j & 7)
        if size == 1:
            sums[first] = FREE
        word = noise[j, code] if code >= 0 else FREE
        for bits in range(first, first + size):
            sums[size + bits] = sums[bits] + word


@step
def sum_of(sums, mask, salt):
    """Return what `word_of` gives for the cell of `fill_sums`."""
    word, place = salt, 0
    while mask > 0:
        word += sums[place + (mask & 255)]
        place += 256
        mask >>= 8
    return word if word != FREE else ONE


@step
def add_to(slots, chains, used, word, number, risky):
    """Add to the counts of a word (room must be)."""
    place = slot_of(slots, word)
    if slots[place].word == FREE:
        slots[place].word = word
        chains[place] = -1
        used[WORDS] += 1
    slots[place].number += number
    slots[place].risky += risky


@step
def shift_counts(table, book, c, number, risky):
    """Add to all counts that cell c takes part in (room must be)."""
    slots, chains, parts, used, sums = table.slots, table.chains, book.parts, book.used, book.sums
    fill_sums(book.codes, book.noise, c, sums)
    q = book.cells[c].mask_number
    salt, node = book.masks[q].salt, np.int64(book.masks[q].first_part)
    while node >= 0:
        add_to(slots, chains, used, sum_of(sums, parts[node].mask, salt), number, risky)
        node = parts[node].next


@step
def enter_cell(book, c):
    """Give cell c its mask and hang it into the list of that mask."""
    mask = 0
    for j in range(book.codes.shape[1]):
        if book.codes[c, j] >= 0:
            mask |= 1 << j
    q = 0
    while q < book.used[MASKS] and book.masks[q].mask != mask:
        q += 1
    if q == book.used[MASKS]:
        if q == len(book.masks):
            raise ValueError
        book.masks[q].mask = mask
        book.masks[q].first_cell = -1
        book.masks[q].first_part = -1
        book.used[MASKS] += 1
    book.cells[c].mask = mask
    book.cells[c].mask_number = q
    book.cells[c].next = book.masks[q].first_cell
    book.masks[q].first_cell = c


@step
def place_of_pair(pairs, m, salt, q, part):
    """Place of a pair in the hash set of pairs; those of up to eight columns lie side by side."""
    name, last = salt + np.uint64(part) * MIX, len(pairs) - 1
    place = (q << 8) + part
    if m > 8:
        place = np.int64((name ^ (name >> SHIFT)) * MIX >> SHIFT)
    place &= last
    while pairs[place] != FREE and pairs[place] != name:
        place = (place + 1) & last
    return place


@step
def ensure_pair(table, book, q, part):
    """Make sure that the counts of (Q = mask number q, T = part) are in the table."""
    # 1. known already?
    place = place_of_pair(book.pairs, book.codes.shape[1], book.masks[q].salt, q, part)
    if book.pairs[place] != FREE:
        return table
    node = book.used[PARTS]
    if node == len(book.parts):
        raise ValueError
    book.pairs[place] = book.masks[q].salt + np.uint64(part) * MIX
    # 2. count the cells of the mask
    book.parts[node].mask = part
    book.parts[node].next = book.masks[q].first_part
    book.masks[q].first_part = node
    book.used[PARTS] += 1
    c, size = np.int64(book.masks[q].first_cell), NONE
    while c >= 0:
        size += 1
        c = np.int64(book.cells[c].next)
    table = roomy(table, book.used[WORDS], size)
    c = np.int64(book.masks[q].first_cell)
    while c >= 0:
        number = book.cells[c].number
        if number > 0:
            word = word_of(book, c, part, book.masks[q].salt)
            risky = number if book.cells[c].risky else NONE
            add_to(table.slots, table.chains, book.used, word, number, risky)
        c = np.int64(book.cells[c].next)
    return table


@step
def share_of(book, c, mask, lacking):
    """What a match of cells with mask `lacking` counts for the codes of cell c on `mask`."""
    full = (1 << book.codes.shape[1]) - 1
    share = 1.0
    if lacking != full and lacking != mask:
        share = book.weight[0] if mask == full else book.weight[1]
    for j in range(book.codes.shape[1] if book.shares.shape[1] > 0 else 0):
        if ((mask & ~lacking) >> j) & 1:
            share *= book.shares[j, book.codes[c, j]]
    return share


@step
def look_on(slots, book, c, tried, q, v):
    """Go on with `look_around` from mask number q and key v; stop at a pair without counts.

    Nothing is assigned again here that holds a reference: taking and returning references would
    take as long as the look-ups themselves.
    """
    m, mask, n_masks = book.codes.shape[1], book.cells[c].mask, book.used[MASKS]
    masks, pairs, sums, around = book.masks, book.pairs, book.sums, book.around
    alike = book.weight[0] == 1.0 and book.weight[1] == 1.0 and book.shares.shape[1] == 0
    last = len(slots) - 1
    number, risky = np.int64(around[m + 1, 0]), np.int64(around[m + 1, 1])
    while q < n_masks:
        lacking, salt = masks[q].mask, masks[q].salt
        both = mask & lacking
        while v >= 0:
            if v < m and (tried >> v) & 1 == 0:
                v -= 1
                continue
            without = mask & ~(1 << v) if v < m else mask
            share = 1.0 if alike else share_of(book, c, without, lacking)
            part, amount, endangered = without & lacking, number, risky
            if share != 0.0 and (number < 0 or part != both):
                # 1. the steps of `sum_of` and `slot_of`
                word, bits, start = salt, part, 0
                while bits > 0:
                    word += sums[start + (bits & 255)]
                    start += 256
                    bits >>= 8
                if word == FREE:
                    word = ONE
                mixed = (word ^ (word >> SHIFT)) * MIX
                place = np.int64(mixed ^ (mixed >> SHIFT)) & last
                while slots[place].word != FREE and slots[place].word != word:
                    place = (place + 1) & last
                # 2. no such cells, or never counted?
                if (
                    slots[place].word == FREE
                    and pairs[place_of_pair(pairs, m, salt, q, part)] == FREE
                ):
                    around[m + 1, 0], around[m + 1, 1] = number, risky
                    return q, v, part
                amount, endangered = np.int64(slots[place].number), np.int64(slots[place].risky)
                if part == both:
                    number, risky = amount, endangered
            if share != 0.0:
                around[v, 0] += share * amount
                around[v, 1] += endangered
            v -= 1
        q, v, number, risky = q + 1, m, np.int64(-1), NONE
    return q, v, NONE


@step
def look_around(table, book, c, tried):
    """Count the records and the risky records that match cell c, as it is and without each key.

    `tried` are the keys to leave out in turn, as bits; `book.around` takes the counts.
    """
    m = np.int64(book.codes.shape[1])
    fill_sums(book.codes, book.noise, c, book.sums)
    for v in range(m + 1):
        book.around[v, 0] = book.around[v, 1] = 0.0
    book.around[m + 1, 0] = -1.0
    q, v, part = look_on(table.slots, book, c, tried, NONE, m)
    while q < book.used[MASKS]:
        table = ensure_pair(table, book, q, part)
        q, v, part = look_on(table.slots, book, c, tried, q, v)
    return table
