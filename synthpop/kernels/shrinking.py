"""Scaling of class probabilities to margins that a penalty holds near where they start.

c cells, m terms, R classes, L levels of all terms stacked, B blocks of cells that share no level.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step

LARGEST_CHANGE = 3.0
LOWEST_EFFECT = -300.0
NEWTON_STEPS = 25
SMALL_STEP = 1e-4  # of an effect; what is left is about its square


@step
def change_of_effect(target, fitted, ridge, effect):
    """Solve target - fitted exp(d) = ridge (effect + d) for d, by Newton steps."""
    if ridge == 0.0:
        if fitted <= 0.0:
            return 0.0
        if target <= 0.0:
            return LOWEST_EFFECT
        return np.log(target / fitted)
    d, grown = 0.0, fitted
    for _ in range(NEWTON_STEPS):
        step = (target - grown - ridge * (effect + d)) / (grown + ridge)
        step = min(max(step, -LARGEST_CHANGE), LARGEST_CHANGE)
        d += step
        if abs(step) < SMALL_STEP:
            break
        grown = fitted * np.exp(d)
    return d


@step
def change_rows(low, high, ridge, target, effects, margin, factors, fits):
    """Change the effects of the rows low ... high - 1, given the fitted weights in margin.

    factors (L, R) takes by what probabilities are to be multiplied; margin is set to zero; fits
    (L, R) takes whether any cell of the level can have the class. Returns the largest gap.
    """
    gap = 0.0
    for level in range(low, high):
        for r in range(target.shape[1]):
            fitted = margin[level, r]
            margin[level, r] = 0.0
            factors[level, r] = 1.0
            fits[level, r] = fitted > 0.0
            if fitted <= 0.0:
                continue
            gap = max(gap, abs(target[level, r] - ridge * effects[level, r] - fitted))
            d = change_of_effect(target[level, r], fitted, ridge, effects[level, r])
            effects[level, r] = max(effects[level, r] + d, LOWEST_EFFECT)
            factors[level, r] = np.exp(d)
    return gap


@step
def centre_rows(low, high, constant, effects, fits):
    """Give the effects of a penalised term the sums of zero that they have at the maximum.

    A number added to all classes of a level changes no probability; nor does one added to all
    levels for a class and taken from its constant (row `constant`, -1 for none). Only the penalty
    changes, and scaling comes near its minimum slowly. Pairs that do not fit stay as they are.
    """
    n_classes = effects.shape[1]
    for level in range(low, high):
        total, count = 0.0, 0
        for r in range(n_classes):
            if fits[level, r]:
                total += effects[level, r]
                count += 1
        for r in range(n_classes):
            if fits[level, r]:
                effects[level, r] -= total / count
    if constant < 0:
        return
    for r in range(n_classes):
        total, count = 0.0, 0
        for level in range(low, high):
            if fits[level, r]:
                total += effects[level, r]
                count += 1
        if count > 0:
            effects[constant, r] += total / count
            for level in range(low, high):
                if fits[level, r]:
                    effects[level, r] -= total / count


@step
def multiply_and_add(first, last, now, following, totals, factors, probabilities, margin):
    """Multiply cells first ... last - 1 by the factors of one term, add up margins of the next.

    now, following (c,): row of the level of both terms. Even and odd classes have a sum each: a
    processor adds two at a time, and the order is the same on all of them.
    """
    n_classes = probabilities.shape[1]
    for c in range(first, last):
        row, even, odd = now[c], 0.0, 0.0
        for r in range(n_classes):
            probabilities[c, r] *= factors[row, r]
        for r in range(0, n_classes - 1, 2):
            even += probabilities[c, r]
            odd += probabilities[c, r + 1]
        total = even + odd
        if n_classes % 2:
            total += probabilities[c, n_classes - 1]
        scale = 1.0 / total if total > 0.0 else 1.0
        row, weight = following[c], totals[c]
        for r in range(n_classes):
            probabilities[c, r] *= scale
            margin[row, r] += weight * probabilities[c, r]


@step
def shrink_block(
    first, last, levels, starts, totals, target, ridge, effects, probabilities, margin, factors,
    fits, tolerance, max_sweeps,
):  # fmt: skip
    """Do the work of `shrink_to_margins` for one block: cells first ... last - 1.

    margin, factors and fits, shape (L, R), are working space; margin holds zeros.
    """
    terms, n_terms = np.empty(len(ridge), dtype=np.int64), 0
    for j in range(len(ridge)):  # np.flatnonzero takes half a second to compile
        if ridge[j] < np.inf:
            terms[n_terms] = j
            n_terms += 1
    if n_terms == 0 or last == first:
        return 0, 0.0
    n_classes = probabilities.shape[1]
    # 1. Fitted weights of the levels of the first term.
    for c in range(first, last):
        for r in range(n_classes):
            margin[levels[terms[0], c], r] += totals[c] * probabilities[c, r]
    constant = starts[0] if ridge[0] == 0.0 else -1
    sweeps = 0
    while True:
        gap = 0.0
        for position in range(n_terms):
            j, following = terms[position], terms[(position + 1) % n_terms]
            low, high = starts[j], starts[j + 1]
            # 2. Solve target - fitted exp(d) = ridge (effect + d) for each level and class.
            off = change_rows(low, high, ridge[j], target, effects, margin, factors, fits)
            gap = max(gap, off)
            # 3. Move what changes no probability to where the penalty is least.
            if ridge[j] > 0.0:
                centre_rows(low, high, constant, effects, fits)
            # 4. New probabilities, and with them the fitted weights of the next term.
            multiply_and_add(
                first, last, levels[j], levels[following], totals, factors, probabilities, margin
            )
        sweeps += 1
        if gap < tolerance or sweeps >= max_sweeps:
            for level in range(starts[0], starts[-1]):
                for r in range(n_classes):
                    margin[level, r] = 0.0
            return sweeps, gap


@kernel
def shrink_to_margins(
    levels, blocks, starts, totals, target, ridge, effects, probabilities, tolerance, max_sweeps
):
    """Change effects and probabilities until target - fitted = ridge * effect for all levels.

    levels (m, c): row of each term's level; blocks (B + 1,): where the cells of each block start;
    starts (B, m + 1): where the rows of each of its terms start; totals (c,): weight of each cell,
    sum 1 in a block; target (L, R): weight of each level and class; ridge (B, m): penalty, as a
    share of all weight, infinite for a term whose effects stay as they are; 0 for the first term
    only if it is the constant. effects (L, R) and probabilities (c, R), which must have these
    effects in them, are changed in place. Returns the number of sweeps and the largest gap of the
    last one, each of shape (B,).
    """
    n_blocks = len(starts)
    margin, factors = np.zeros(effects.shape), np.zeros(effects.shape)
    fits = np.zeros(effects.shape, dtype=np.bool_)
    sweeps, gaps = np.zeros(n_blocks, dtype=np.int64), np.zeros(n_blocks)
    for b in range(n_blocks):
        sweeps[b], gaps[b] = shrink_block(
            blocks[b], blocks[b + 1], levels, starts[b], totals, target, ridge[b], effects,
            probabilities, margin, factors, fits, tolerance, max_sweeps,
        )  # fmt: skip
    return sweeps, gaps


@kernel
def sum_changes(levels, changes, base, sums):
    """Add up the changes of each cell's effects, less the largest sum of a possible class.

    changes (L, R); a class r that a cell c cannot have, base[c, r] = 0, gets minus infinity. sums
    (c, R) is written.
    """
    n_terms = len(levels)
    n_cells, n_classes = base.shape
    for c in range(n_cells):
        for r in range(n_classes):
            sums[c, r] = 0.0
        for j in range(n_terms):
            row = levels[j, c]
            for r in range(n_classes):
                sums[c, r] += changes[row, r]
        largest = -np.inf
        for r in range(n_classes):
            if base[c, r] > 0.0:
                largest = max(largest, sums[c, r])
        for r in range(n_classes):
            sums[c, r] = sums[c, r] - largest if base[c, r] > 0.0 else -np.inf
