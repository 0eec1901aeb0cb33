"""Loops of weight calibration over sparse constraints.

G units (households or persons, or groups of units with equal rows), K controls, M margins.
Row u of the constraint matrix holds how much unit u counts for each control.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def build_rows(order, offsets, cells, value_row, values, shared, share, indptr, indices, data):
    """Fill the CSR rows of units: how much each counts for each control, sorted by control.

    order (n,), offsets (G + 1,): persons of each unit; cells (M, n): control of a person in each
    margin, -1 none; value_row (M,): row of `values` (V, n) that the margin sums, -1 counts;
    shared (M,): the person counts as share (n,), its part of the household. indptr (G + 1,),
    indices and data, long enough, are filled; zeros are left out. Returns the number of entries.
    """
    end = 0
    indptr[0] = 0
    for u in range(len(offsets) - 1):
        start = end
        for j in range(offsets[u], offsets[u + 1]):
            i = order[j]
            for m in range(cells.shape[0]):
                k = cells[m, i]
                if k < 0:
                    continue
                amount = share[i] if shared[m] else 1.0
                if value_row[m] >= 0:
                    value = values[value_row[m], i]
                    amount = 0.0 if np.isnan(value) else amount * value
                p = end
                while p > start and indices[p - 1] > k:
                    p -= 1
                if p > start and indices[p - 1] == k:
                    data[p - 1] += amount
                    continue
                for q in range(end, p, -1):
                    indices[q] = indices[q - 1]
                    data[q] = data[q - 1]
                indices[p] = k
                data[p] = amount
                end += 1
        filled = start
        for p in range(start, end):
            whole = np.round(data[p])
            value = data[p]
            if abs(value - whole) < 1e-12 * max(1.0, abs(whole)):
                value = whole  # 1/3 + 1/3 + 1/3 is one household
            if value != 0.0:
                indices[filled] = indices[p]
                data[filled] = value
                filled += 1
        end = filled
        indptr[u + 1] = end
    return end


@kernel
def row_hashes(indptr, indices, data, extra, out):
    """Hash each row of a CSR matrix with sorted indices, together with `extra` (G,).

    out (G,) uint64: equal rows have equal hashes.
    """
    for u in range(len(out)):
        h = np.uint64(1469598103934665603) ^ extra[u]
        h *= np.uint64(1099511628211)
        for p in range(indptr[u], indptr[u + 1]):
            h ^= np.uint64(indices[p]) + np.uint64(0x9E3779B97F4A7C15)
            h *= np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
            h ^= data[p]
            h *= np.uint64(0x94D049BB133111EB)
            h ^= h >> np.uint64(32)
        out[u] = h


@kernel
def rows_equal(indptr, indices, data, twin):
    """Return whether each row u equals row twin[u] entry by entry."""
    for u in range(len(twin)):
        v = twin[u]
        start, other = indptr[u], indptr[v]
        n = indptr[u + 1] - start
        if n != indptr[v + 1] - other:
            return False
        for p in range(n):
            if indices[start + p] != indices[other + p] or data[start + p] != data[other + p]:
                return False
    return True


@kernel
def weighted_gram(indptr, indices, data, scale, out):
    """Add sum_u scale[u] a_u a_u' to the upper triangle of out (K, K); indices are sorted."""
    for u in range(len(scale)):
        weight = scale[u]
        if weight == 0.0:
            continue
        stop = indptr[u + 1]
        for p in range(indptr[u], stop):
            row = indices[p]
            value = weight * data[p]
            for r in range(p, stop):
                out[row, indices[r]] += value * data[r]


@kernel
def split_by_margin(indptr, indices, data, margin, pointers, controls, counts):
    """Put the entries of a CSR matrix (G, K) into one block per margin, rows in order.

    margin (K,); pointers (M, G + 1), controls and counts (entries,) are filled: the entries of
    row u for margin m lie at pointers[m, u] ... pointers[m, u + 1].
    """
    n_margins, n_units = pointers.shape[0], len(indptr) - 1
    size = np.zeros(n_margins + 1, dtype=np.int64)
    for p in range(len(indices)):
        size[margin[indices[p]] + 1] += 1
    position = size[:-1]
    for m in range(1, n_margins):
        position[m] += position[m - 1]
    for u in range(n_units):
        for m in range(n_margins):
            pointers[m, u] = position[m]
        for p in range(indptr[u], indptr[u + 1]):
            m = margin[indices[p]]
            controls[position[m]] = indices[p]
            counts[position[m]] = data[p]
            position[m] += 1
    for m in range(n_margins):
        pointers[m, n_units] = position[m]


@kernel
def proportional_fitting(
    indptr, indices, counts, sizes, targets, weights, log_factors, tolerance, max_sweeps
):
    """Iterative proportional fitting: scale to one margin after the other until all are met.

    indptr (M, G + 1): rows of each margin; indices: control; counts: how much the unit counts for
    it; counts over sizes (G,) is the exponent with which the factor of the control acts on the
    unit (1 for a person in a cell; the share of members in the cell for a household). weights
    (G,) and log_factors (K,) are changed in place. Returns the number of sweeps and the largest
    relative gap met in the last one before each scaling.
    """
    n_margins, width = indptr.shape
    n_units = width - 1
    current = np.zeros(len(targets))
    step = np.zeros(len(targets))
    gap = np.inf
    for sweep in range(max_sweeps):
        gap = 0.0
        for m in range(n_margins):
            # 1. Totals of the cells of this margin.
            for p in range(indptr[m, 0], indptr[m, n_units]):
                current[indices[p]] = 0.0
            for u in range(n_units):
                for p in range(indptr[m, u], indptr[m, u + 1]):
                    current[indices[p]] += counts[p] * weights[u]
            # 2. Factor of each cell: target over total (Deming and Stephan 1940), in logarithms.
            for p in range(indptr[m, 0], indptr[m, n_units]):
                k = indices[p]
                if current[k] >= 0.0:
                    gap = max(gap, abs(current[k] - targets[k]) / targets[k])
                    step[k] = 0.0
                    if current[k] > 0.0:
                        step[k] = np.log(targets[k] / current[k])
                    log_factors[k] += step[k]
                    current[k] = -1.0
            # 3. Units times the factors of their cells; a household takes the mean of its members.
            for u in range(n_units):
                exponent = 0.0
                for p in range(indptr[m, u], indptr[m, u + 1]):
                    exponent += counts[p] * step[indices[p]]
                if exponent != 0.0:
                    weights[u] *= np.exp(exponent / sizes[u])
        # 4. End once no margin of a sweep was off.
        if gap <= tolerance:
            return sweep + 1, gap
    return max_sweeps, gap


@kernel
def proportional_updating(
    indptr, indices, counts, targets, low, high, weights, tolerance, max_rounds, gaps
):
    """Iterative proportional updating (Ye et al. 2009): one control after the other.

    indptr (K + 1,), indices, counts: the constraint matrix by columns (CSC). Every unit that
    counts for control k is multiplied by target over current total, whatever its count, and held
    within [low, high] (G,). weights (G,) is changed in place; gaps (K,) gets the relative gap of
    each control after the last round. Returns the number of rounds and the largest gap.
    """
    n_controls = len(targets)
    gap = np.inf
    for turn in range(max_rounds):
        for k in range(n_controls):
            current = 0.0
            for p in range(indptr[k], indptr[k + 1]):
                current += counts[p] * weights[indices[p]]
            if current <= 0.0:
                continue
            # Every household that counts gets the factor, within bounds.
            factor = targets[k] / current
            for p in range(indptr[k], indptr[k + 1]):
                u = indices[p]
                weights[u] = min(max(weights[u] * factor, low[u]), high[u])
        gap = 0.0
        for k in range(n_controls):
            current = 0.0
            for p in range(indptr[k], indptr[k + 1]):
                current += counts[p] * weights[indices[p]]
            gaps[k] = abs(current - targets[k]) / targets[k]
            gap = max(gap, gaps[k])
        if gap <= tolerance:
            return turn + 1, gap
    return max_rounds, gap


@kernel
def repair_rounding(
    indptr, indices, data, up, residual, scale, odds, candidates, partners, uniforms, temperature
):
    """Swap rounded-up against rounded-down units so that the controls come nearer.

    up (G,) bool, changed in place: rounded up or not; residual (K,): current total less target,
    kept up to date; scale (K,): weight of a squared residual; odds (G,): log odds of rounding up.
    candidates, partners, uniforms (T,): pairs of units to try in turn (equal ones: a single
    change), accepted by the Metropolis rule for the density ``exp(-sum of squares / temperature)
    prod_u exp(odds[u] up[u])``. Returns the changes made.
    """
    changes = 0
    for t in range(len(candidates)):
        u, v = candidates[t], partners[t]
        if u != v and up[u] == up[v]:
            continue
        move = -1.0 if up[u] else 1.0
        gain = 0.0
        shift = move * odds[u]
        if u != v:
            shift -= move * odds[v]
        for p in range(indptr[u], indptr[u + 1]):
            k = indices[p]
            step = move * data[p]
            gain += scale[k] * step * (2.0 * residual[k] + step)
            residual[k] += step
        if u != v:
            for p in range(indptr[v], indptr[v + 1]):
                k = indices[p]
                step = -move * data[p]
                gain += scale[k] * step * (2.0 * residual[k] + step)
                residual[k] += step
        if gain < temperature * (shift - np.log(uniforms[t])) - 1e-12:
            up[u] = not up[u]
            if u != v:
                up[v] = not up[v]
            changes += 1
            continue
        for p in range(indptr[u], indptr[u + 1]):
            residual[indices[p]] -= move * data[p]
        if u != v:
            for p in range(indptr[v], indptr[v + 1]):
                residual[indices[p]] += move * data[p]
    return changes
