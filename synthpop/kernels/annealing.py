"""Exchange of whole households until known totals are met.

H donors (households of the region), S slots (households of the result), K cells, M tables, A
areas. Row h of the sparse table holds how much household h counts for each cell.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step


@kernel
def _count(indptr, indices, counts, table, target, household, sign, current, change):
    """Add (sign 1) or take away (sign -1) one household; add up the change of absolute gaps."""
    for p in range(indptr[household], indptr[household + 1]):
        k = indices[p]
        before = abs(current[k] - target[k])
        current[k] += sign * counts[p]
        change[table[k]] += abs(current[k] - target[k]) - before


@step
def _uncount(indptr, indices, counts, household, sign, current):
    for p in range(indptr[household], indptr[household + 1]):
        current[indices[p]] -= sign * counts[p]


@kernel
def exchange_households(
    indptr,
    indices,
    counts,
    table,
    importance,
    target,
    limit,
    temperature,
    resizing,
    proposals,
    rng,
    most,
    slots,
    active,
    used,
    current,
    gaps,
):
    """Propose exchanges of one household for a donor drawn at random; keep the good ones.

    indptr (H + 1,), indices, counts: rows of the households; table (K,): table of each cell;
    importance (M,): weight of a table in the objective; target (K,); limit (M,): largest sum of
    absolute gaps of each table that is good enough. A share `resizing` of the proposals adds a
    donor or takes a household away instead. A donor that `most` slots hold already is not
    proposed. A proposal that changes the objective by delta is kept when delta < 0, and with
    probability exp(-delta / temperature) when delta > 0. Changed in place: slots (S,) donor of
    each slot, active (1,) number of slots in use, used (H,) slots of each donor, current (K,)
    totals, gaps (M,) sums of absolute gaps. Returns the proposals made, those kept and the mean of
    the deltas above zero; stops early when every gap is within its limit.
    """
    n_donors, n_tables = len(indptr) - 1, len(gaps)
    change = np.zeros(n_tables)
    accepted, worse, uphill = 0, 0, 0.0
    step = 0
    while step < proposals:
        step += 1
        # 1. Draw a place and a donor; sometimes a new place, or one that is given up.
        slot = int(rng.random() * active[0])
        new = int(rng.random() * n_donors)
        old = slots[slot]
        if resizing > 0.0:
            u = rng.random()
            if u < resizing / 2.0 and active[0] < len(slots):
                old = -1
            elif resizing / 2.0 <= u < resizing and active[0] > 1:
                new = -1
        if old == new or (new >= 0 and used[new] >= most):
            continue
        # 2. Change of the objective: only cells of the two households move.
        change[:] = 0.0
        if old >= 0:
            _count(indptr, indices, counts, table, target, old, -1.0, current, change)
        if new >= 0:
            _count(indptr, indices, counts, table, target, new, 1.0, current, change)
        delta = 0.0
        for m in range(n_tables):
            delta += importance[m] * change[m]
        if delta > 0.0:
            worse += 1
            uphill += delta
        # 3. Metropolis rule: improvements always, others with probability exp(-delta / T).
        if delta < -1e-9 or (
            delta > 1e-9 and temperature > 0.0 and rng.random() < np.exp(-delta / temperature)
        ):
            if old < 0:
                slots[active[0]] = new
                active[0] += 1
            elif new < 0:
                active[0] -= 1
                slots[slot] = slots[active[0]]
            else:
                slots[slot] = new
            if old >= 0:
                used[old] -= 1
            if new >= 0:
                used[new] += 1
            accepted += 1
            # 4. End once the gaps of all tables are within their limits.
            good = True
            for m in range(n_tables):
                gaps[m] += change[m]
                good = good and gaps[m] <= limit[m]
            if good:
                break
        else:  # as it was
            if old >= 0:
                _uncount(indptr, indices, counts, old, -1.0, current)
            if new >= 0:
                _uncount(indptr, indices, counts, new, 1.0, current)
    return step, accepted, uphill / max(worse, 1)


@kernel
def swap_areas(
    indptr,
    indices,
    counts,
    table,
    importance,
    target,
    limit,
    temperature,
    proposals,
    rng,
    areas,
    current,
    gaps,
):
    """Propose that two households of one region change their areas; keep the good swaps.

    indptr (H + 1,), indices, counts: rows of the households over the K cells of any one area;
    table (K,), importance (M,); target (A, K); limit (M,). Changed in place: areas (H,), current
    (A, K), gaps (M,). The number of households of each area stays as it is. Returns the proposals
    made, the swaps kept and the mean of the deltas above zero.
    """
    n_households, n_tables = len(areas), len(gaps)
    change = np.zeros(n_tables)
    accepted, worse, uphill = 0, 0, 0.0
    step = 0
    while step < proposals:
        step += 1
        i = int(rng.random() * n_households)
        j = int(rng.random() * n_households)
        a, b = areas[i], areas[j]
        if a == b:
            continue
        change[:] = 0.0
        _count(indptr, indices, counts, table, target[a], i, -1.0, current[a], change)
        _count(indptr, indices, counts, table, target[b], i, 1.0, current[b], change)
        _count(indptr, indices, counts, table, target[b], j, -1.0, current[b], change)
        _count(indptr, indices, counts, table, target[a], j, 1.0, current[a], change)
        delta = 0.0
        for m in range(n_tables):
            delta += importance[m] * change[m]
        if delta > 0.0:
            worse += 1
            uphill += delta
        if delta < -1e-9 or (
            delta > 1e-9 and temperature > 0.0 and rng.random() < np.exp(-delta / temperature)
        ):
            areas[i], areas[j] = b, a
            accepted += 1
            good = True
            for m in range(n_tables):
                gaps[m] += change[m]
                good = good and gaps[m] <= limit[m]
            if good:
                break
        else:
            _uncount(indptr, indices, counts, i, -1.0, current[a])
            _uncount(indptr, indices, counts, i, 1.0, current[b])
            _uncount(indptr, indices, counts, j, -1.0, current[b])
            _uncount(indptr, indices, counts, j, 1.0, current[a])
    return step, accepted, uphill / max(worse, 1)
