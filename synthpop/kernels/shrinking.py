"""Scaling of class probabilities to margins that a penalty holds near where they start.

c cells, m terms, R classes, L levels of all terms stacked.
"""

import numpy as np

from synthpop.microdata.accelerate import kernel

LARGEST_CHANGE = 3.0
LOWEST_EFFECT = -300.0
NEWTON_STEPS = 25


@kernel
def change_of_effect(target, fitted, ridge, effect):
    """Solve target - fitted exp(d) = ridge (effect + d) for d, by Newton steps."""
    if ridge == 0.0:
        if fitted <= 0.0:
            return 0.0
        if target <= 0.0:
            return LOWEST_EFFECT
        return np.log(target / fitted)
    d = 0.0
    for _ in range(NEWTON_STEPS):
        grown = fitted * np.exp(d)
        step = (target - grown - ridge * (effect + d)) / (grown + ridge)
        step = min(max(step, -LARGEST_CHANGE), LARGEST_CHANGE)
        d += step
        if abs(step) < 1e-10:
            break
    return d


@kernel
def shrink_to_margins(levels, totals, target, ridge, effects, probabilities, tolerance, max_sweeps):
    """Change effects and probabilities until target - fitted = ridge * effect for all levels.

    levels (c, m): stacked level of each term, -1 for none; totals (c,): weight of each cell, sum 1;
    target (L, R): weight of each level and class; ridge (L,): penalty, as a share of all weight.
    effects (L, R) and probabilities (c, R), which must have these effects in them, are changed in
    place. Returns the number of sweeps and the largest gap of the last one.
    """
    n_cells, m = levels.shape
    n_levels, n_classes = target.shape
    margin = np.zeros((n_levels, n_classes))
    sweeps = 0
    while True:
        gap = 0.0
        for j in range(m):
            low, high = n_levels, 0
            for c in range(n_cells):
                if levels[c, j] >= 0:
                    low, high = min(low, levels[c, j]), max(high, levels[c, j] + 1)
            margin[low:high] = 0.0
            for c in range(n_cells):
                level = levels[c, j]
                if level >= 0:
                    for r in range(n_classes):
                        margin[level, r] += totals[c] * probabilities[c, r]
            for level in range(low, high):
                for r in range(n_classes):
                    fitted = margin[level, r]
                    held = target[level, r] - ridge[level] * effects[level, r]
                    if fitted > 0.0:
                        gap = max(gap, abs(held - fitted))
                    if fitted <= 0.0 or abs(held - fitted) < 0.01 * tolerance:
                        margin[level, r] = 1.0
                        continue
                    d = change_of_effect(target[level, r], fitted, ridge[level], effects[level, r])
                    effects[level, r] = max(effects[level, r] + d, LOWEST_EFFECT)
                    margin[level, r] = np.exp(d)
            for c in range(n_cells):
                level = levels[c, j]
                if level >= 0:
                    total = 0.0
                    for r in range(n_classes):
                        probabilities[c, r] *= margin[level, r]
                        total += probabilities[c, r]
                    if total > 0.0:
                        for r in range(n_classes):
                            probabilities[c, r] /= total
        sweeps += 1
        if gap < tolerance or sweeps >= max_sweeps:
            return sweeps, gap
