"""Iterative proportional scaling of conditional distributions to margins.

c cells, m predictors, R classes, L levels of all predictors stacked.
"""

import numpy as np

from synthpop.microdata.accelerate import kernel


@kernel
def scale_to_margins(levels, totals, target, factors, probabilities, tolerance, max_sweeps):
    """Scale the class probabilities of each cell until every predictor margin is met.

    levels (c, m): stacked level of each predictor; totals (c,): weight of each cell, sum 1;
    target (L, R): weight of each level and class. factors (L, R) and probabilities (c, R) are
    changed in place: probabilities[c] is proportional to the product of factors[levels[c, j]].
    Returns the number of sweeps and the largest gap of a margin in the last one.
    """
    n_cells, m = levels.shape
    n_classes = probabilities.shape[1]
    margin = np.zeros(target.shape)
    gap = np.inf
    for sweep in range(max_sweeps):
        gap = 0.0
        for j in range(m):
            for c in range(n_cells):
                for r in range(n_classes):
                    margin[levels[c, j], r] = 0.0
            for c in range(n_cells):
                for r in range(n_classes):
                    margin[levels[c, j], r] += totals[c] * probabilities[c, r]
            low = levels[:, j].min()
            high = levels[:, j].max() + 1
            for level in range(low, high):
                for r in range(n_classes):
                    gap = max(gap, abs(margin[level, r] - target[level, r]))
                    ratio = 0.0
                    if margin[level, r] > 0.0:
                        ratio = target[level, r] / margin[level, r]
                    margin[level, r] = ratio
                    factors[level, r] *= ratio
            for c in range(n_cells):
                total = 0.0
                for r in range(n_classes):
                    probabilities[c, r] *= margin[levels[c, j], r]
                    total += probabilities[c, r]
                for r in range(n_classes):
                    probabilities[c, r] /= total
        if gap < tolerance:
            return sweep + 1, gap
    return max_sweeps, gap
