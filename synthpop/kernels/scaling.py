"""Iterative proportional scaling of conditional distributions to margins.

c cells, m predictors, R classes, L levels of all predictors stacked.
"""

import numpy as np

from synthpop.microdata.kernel import kernel

LOWEST_LOG = -300.0
LARGEST_STEP = 4.0


@kernel
def sweep_margins(levels, totals, target, factors, probabilities, margin):
    """Scale the class probabilities of each cell to every predictor margin, one after another.

    levels (c, m): stacked level of each predictor; totals (c,): weight of each cell, sum 1;
    target (L, R): weight of each level and class; factors (L, R) and probabilities (c, R) are
    changed in place; margin (L, R) is working space. Returns the largest gap of a margin found.
    """
    n_cells, m = levels.shape
    n_classes = probabilities.shape[1]
    margin[:] = 0.0
    for c in range(n_cells):
        level, weight = levels[c, 0], totals[c]
        for r in range(n_classes):
            margin[level, r] += weight * probabilities[c, r]
    gap = 0.0
    # the pass that scales to a predictor adds up the margin of the next one
    for j in range(m):
        low, high = levels[0, j], levels[0, j] + 1
        for c in range(n_cells):
            low, high = min(low, levels[c, j]), max(high, levels[c, j] + 1)
        for level in range(low, high):
            for r in range(n_classes):
                gap = max(gap, abs(margin[level, r] - target[level, r]))
                ratio = 0.0
                if margin[level, r] > 0.0:
                    ratio = target[level, r] / margin[level, r]
                margin[level, r] = ratio
                factors[level, r] *= ratio
        for c in range(n_cells):
            level, total = levels[c, j], 0.0
            for r in range(n_classes):
                p = probabilities[c, r] * margin[level, r]
                probabilities[c, r] = p
                total += p
            if j + 1 < m:
                following, weight = levels[c, j + 1], totals[c]
                for r in range(n_classes):
                    p = probabilities[c, r] / total
                    probabilities[c, r] = p
                    margin[following, r] += weight * p
            else:
                for r in range(n_classes):
                    probabilities[c, r] /= total
    return gap


@kernel
def probabilities_from_factors(levels, factors, probabilities):
    """Set probabilities[c] proportional to the product of factors[levels[c, j]] over j."""
    n_cells, m = levels.shape
    n_classes = probabilities.shape[1]
    for c in range(n_cells):
        largest = 0.0
        for r in range(n_classes):
            product = 1.0
            for j in range(m):
                product *= factors[levels[c, j], r]
            probabilities[c, r] = product
            largest = max(largest, product)
        total = 0.0
        for r in range(n_classes):
            probabilities[c, r] /= largest
            total += probabilities[c, r]
        for r in range(n_classes):
            probabilities[c, r] /= total


@kernel
def _logarithms(factors, out):
    """Centre the rows of factors, which leaves the probabilities as they are; out = logarithms."""
    n_levels, n_classes = factors.shape
    for level in range(n_levels):
        total, count = 0.0, 0
        for r in range(n_classes):
            if factors[level, r] > 0.0:
                out[level, r] = np.log(factors[level, r])
                total += out[level, r]
                count += 1
            else:
                out[level, r] = 0.0
        if count:
            for r in range(n_classes):
                if factors[level, r] > 0.0:
                    out[level, r] -= total / count
                    factors[level, r] = np.exp(out[level, r])


@kernel
def scale_to_margins(levels, totals, target, factors, probabilities, tolerance, max_sweeps):
    """Scale until every margin is met, with squared extrapolation of the logarithms of factors.

    Arguments as in `sweep_margins`; factors start at 1 and probabilities equal. After two sweeps
    with changes r and r + v the factors are carried on by -2 a r + a^2 v, a = -|r| / |v| (Varadhan
    and Roland 2008, doi 10.1111/j.1467-9469.2007.00585.x), and taken back where that widens the
    gap tenfold. Returns the number of sweeps and the largest gap in the last one.
    """
    n_levels, n_classes = factors.shape
    margin = np.zeros((n_levels, n_classes))
    start = np.zeros((n_levels, n_classes))
    first = np.zeros((n_levels, n_classes))
    second = np.zeros((n_levels, n_classes))
    sweep_margins(levels, totals, target, factors, probabilities, margin)
    largest_step, sweeps = LARGEST_STEP, 1
    while True:
        _logarithms(factors, start)
        sweep_margins(levels, totals, target, factors, probabilities, margin)
        _logarithms(factors, first)
        gap = sweep_margins(levels, totals, target, factors, probabilities, margin)
        _logarithms(factors, second)
        sweeps += 2
        if gap < tolerance or sweeps >= max_sweeps:
            return sweeps, gap
        change, curve = 0.0, 0.0
        for level in range(n_levels):
            for r in range(n_classes):
                d = first[level, r] - start[level, r]
                v = second[level, r] - first[level, r] - d
                change += d * d
                curve += v * v
        step = np.sqrt(change / curve) if curve > 0.0 else 1.0
        if step <= 1.0:
            continue
        step = min(step, largest_step)
        for level in range(n_levels):
            for r in range(n_classes):
                if factors[level, r] > 0.0:
                    d = first[level, r] - start[level, r]
                    v = second[level, r] - first[level, r] - d
                    carried = start[level, r] + 2.0 * step * d + step * step * v
                    factors[level, r] = np.exp(max(carried, LOWEST_LOG))
        probabilities_from_factors(levels, factors, probabilities)
        sweeps += 1
        if sweep_margins(levels, totals, target, factors, probabilities, margin) > 10.0 * gap:
            for level in range(n_levels):
                for r in range(n_classes):
                    if factors[level, r] > 0.0:
                        factors[level, r] = np.exp(second[level, r])
            probabilities_from_factors(levels, factors, probabilities)
            largest_step = max(largest_step / 4.0, 1.0)
        elif step == largest_step:
            largest_step *= 4.0
