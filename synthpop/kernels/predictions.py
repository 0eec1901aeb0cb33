"""Class probabilities of cells from the factors and effects of the levels of their predictors.

c cells, m predictors, R classes, L levels of all predictors or terms stacked.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step

SMALL_PRODUCT = 1e-100
TABLE_OF_CODES = 200  # entries of a table for each cell that is looked up in it


@kernel
def multiply_factors(digits, offsets, seen, factors, products, known):
    """Multiply the factors of the levels of each cell, without underflow of the largest product.

    digits (c, m); offsets (m + 2,): row of the constant, then of the first level of each
    predictor; seen (L,): levels of the sample; factors (L, R). products (c, R) are written;
    known (c,) becomes False where a level is not of the sample.
    """
    n_cells, m = digits.shape
    n_classes = factors.shape[1]
    for c in range(n_cells):
        for r in range(n_classes):
            products[c, r] = factors[0, r]
        known[c] = seen[0]
        for j in range(m):
            level, largest = offsets[j + 1] + digits[c, j], 0.0
            known[c] &= seen[level]
            for r in range(n_classes):
                products[c, r] *= factors[level, r]
                if products[c, r] > largest:
                    largest = products[c, r]
            if 0.0 < largest < SMALL_PRODUCT:
                for r in range(n_classes):
                    products[c, r] /= largest


@step
def row_of_code(code, low, high, codes):
    """Return the row of a code among the sorted ones of the rows low ... high - 1, -1 for none."""
    last = high
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < last and codes[low] == code else -1


@kernel
def sum_effects(digits, columns, ends, sizes, codes, starts, needed, effects, base, sums, known):
    """Add up the effects of the levels of each cell, less the largest sum of a possible class.

    digits (c, m); columns, ends (terms + 1,): term t has the columns columns[ends[t]:ends[t + 1]];
    sizes (m,): levels of each column; codes (L,): those of the levels that have effects, sorted
    within a term, whose rows are starts[t] ... starts[t + 1] - 1; needed (terms,); effects
    (L, R); base (c, R): a class of probability 0 is impossible. sums (c, R) are changed:
    minus infinity for an impossible class. known (c,) becomes False where a needed term has no
    effect.
    """
    n_cells, n_classes = sums.shape
    spans = np.zeros(len(ends), dtype=np.int64)  # where a table of all codes has those of a term
    for t in range(len(needed)):
        span = 1
        for k in range(ends[t], ends[t + 1]):
            span *= sizes[columns[k]]
        spans[t + 1] = spans[t] + span
    pays = spans[-1] <= TABLE_OF_CODES * n_cells
    table = np.full(spans[-1] if pays else 0, -1, dtype=np.int32)
    if pays:
        for t in range(len(needed)):
            for row in range(starts[t], starts[t + 1]):
                table[spans[t] + codes[row]] = row
    for c in range(n_cells):
        for t in range(len(needed)):
            code = 0
            for k in range(ends[t], ends[t + 1]):
                code = code * sizes[columns[k]] + digits[c, columns[k]]
            if pays:
                row = int(table[spans[t] + code])
            else:
                row = row_of_code(code, starts[t], starts[t + 1], codes)
            if row >= 0:
                for r in range(n_classes):
                    sums[c, r] += effects[row, r]
            elif needed[t]:
                known[c] = False
        largest = -np.inf
        for r in range(n_classes):
            if base[c, r] > 0.0:
                largest = max(largest, sums[c, r])
        for r in range(n_classes):
            sums[c, r] = sums[c, r] - largest if base[c, r] > 0.0 else -np.inf


@kernel
def follow_members(digits, terms, kind, first, factors, probabilities):
    """Multiply the probability of the level of another member; what is not missing keeps its sum.

    digits (c, m): first members have `first` in the last column; terms (T,): columns of the levels
    of other members, 0 for nobody; kind: column of the kind of person, -1 where all are of one;
    factors (T, kinds). probabilities (c, R) are changed; the first class is missing.
    """
    n_cells, m = digits.shape
    n_classes = probabilities.shape[1]
    for c in range(n_cells):
        if digits[c, m - 1] == first:
            continue
        before, after = 0.0, 0.0
        for r in range(1, n_classes):
            before += probabilities[c, r]
        of_kind = digits[c, kind] if kind >= 0 else 0
        for t in range(len(terms)):
            level = digits[c, terms[t]]
            if level > 0:
                probabilities[c, level] *= factors[t, of_kind]
        for r in range(1, n_classes):
            after += probabilities[c, r]
        if after > 0.0:
            for r in range(1, n_classes):
                probabilities[c, r] *= before / after


@kernel
def scale_to_shares(persons, probabilities, wanted, largest, tolerance, max_rounds, factors):
    """Change factors of classes until the mean of the cells' probabilities has the shares wanted.

    persons (c,); probabilities (c, R), each cell scaled to sum 1 after its factors, one without a
    possible class counts nothing; wanted (R,), sum 1 without the first class, whose factor stays;
    factors (R,) are changed, to 1 / largest ... largest.
    """
    n_cells, n_classes = probabilities.shape
    mean = np.empty(n_classes)
    for _ in range(max_rounds):
        for r in range(n_classes):
            mean[r] = 0.0
        for c in range(n_cells):
            total = 0.0
            for r in range(n_classes):
                total += probabilities[c, r] * factors[r]
            if total > 0.0:
                each = persons[c] / total
                for r in range(n_classes):
                    mean[r] += each * probabilities[c, r]
        whole, gap = 0.0, 0.0
        for r in range(1, n_classes):
            mean[r] *= factors[r]
            whole += mean[r]
        if whole <= 0.0:
            return
        for r in range(1, n_classes):
            share = mean[r] / whole
            if wanted[r] > 0.0 and share > 0.0:
                new = factors[r] * wanted[r] / share
                factors[r] = min(max(new, 1.0 / largest), largest)
            gap = max(gap, abs(share - wanted[r]))
        if gap < tolerance:
            return
