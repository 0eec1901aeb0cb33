"""Loops of the sampling designs. The generator is an argument; probabilities lie inside (0, 1).

p (N,): inclusion probabilities; n: their sum, a whole number; out (N,): 1 for chosen units.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def pivotal(p, rng, out):
    """Duels of neighbours: one of two units is decided, the other goes on with the rest.

    Deville and Tillé (1998). p is used up.
    """
    holder = 0
    for i in range(1, len(p)):
        a, b = p[holder], p[i]
        total = a + b
        if total < 1:
            if rng.random() * total < b:
                p[i] = total
                out[holder] = 0
                holder = i
            else:
                p[holder] = total
                out[i] = 0
        else:
            if rng.random() * (2 - total) < 1 - b:
                p[i] = total - 1
                out[holder] = 1
                holder = i
            else:
                p[holder] = total - 1
                out[i] = 1
    out[holder] = 1 if rng.random() < p[holder] else 0


@kernel
def brewer(p, n, rng, out):
    """Make n draws; at draw i a unit has chance p (n - a - p) / (n - a - p (n - i + 1)).

    a is the sum of p over the units drawn so far. Brewer (1975), Tillé (2006, procedure 6.10).
    """
    of_drawn = 0.0
    chance = np.empty(len(p))
    for i in range(1, n + 1):
        rest = n - of_drawn
        total = 0.0
        for k in range(len(p)):
            if out[k] == 0:
                total += p[k] * (rest - p[k]) / (rest - p[k] * (n - i + 1))
            chance[k] = total
        u = rng.random() * total
        k = np.searchsorted(chance, u, side="right")
        while k >= len(p) or out[k] == 1:
            k -= 1
        out[k] = 1
        of_drawn += p[k]


@kernel
def eliminate(size, n, rng, out):
    """Tillé's elimination: from all N units one leaves at each step until n are left.

    size (N,) in decreasing order. With i units left, c of them are certain (the largest), the
    others have inclusion probability (i - c) size / (sum of their sizes). A unit leaves with
    chance 1 - (probability at i) / (probability at i + 1). Tillé (1996).
    """
    n_units = len(size)
    total = 0.0
    for k in range(n_units):
        total += size[k]
    certain, outside = n_units, 0.0  # with all units left every one is certain
    pool = np.empty(n_units, np.int64)
    n_pool = 0
    for i in range(n_units - 1, n - 1, -1):
        before = certain
        rest = outside
        # certain units at i: largest c with (i - c) size[c-1] / (sum of the others) >= 1
        c = before
        while c > 0:
            if (i - (c - 1)) * size[c - 1] >= rest + size[c - 1] and i >= c:
                break
            c -= 1
            rest += size[c]
        u = rng.random()
        removed = -1
        for k in range(c, before):  # those that stop being certain at this step
            leave = 1 - (i - c) * size[k] / rest
            if u < leave:
                removed = k
                break
            u -= leave
        if removed < 0:
            # the others have one common chance
            at = min(int(rng.random() * n_pool), n_pool - 1)
            removed = pool[at]
            pool[at] = pool[n_pool - 1]
            n_pool -= 1
        out[removed] = 0
        for k in range(c, before):
            if k != removed:
                pool[n_pool] = k
                n_pool += 1
        certain, outside = c, rest
    return total


@kernel
def rejective(p, n, rng, out, limit):
    """Independent draws with probabilities p until exactly n units are in the sample.

    Returns the number of tries, or -1 after `limit` of them.
    """
    n_units = len(p)
    for attempt in range(limit):
        count = 0
        for k in range(n_units):
            if rng.random() < p[k]:
                out[k] = 1
                count += 1
            else:
                out[k] = 0
            if count > n or count + n_units - k - 1 < n:
                break
        if count == n:
            for j in range(k + 1, n_units):
                out[j] = 0
            return attempt + 1
    return -1


@kernel
def log_generating(p, turn, out):
    """Put into out (m,) the logarithm of the product over units of 1 - p + p turn (m,).

    The imaginary part is a phase, up to whole turns.
    """
    for j in range(len(turn)):
        step = turn[j] - 1.0
        z = 1.0 + 0.0j
        size = 0.0
        for k in range(len(p)):
            z *= 1.0 + p[k] * step
            if abs(z.real) + abs(z.imag) < 1e-100:
                size -= 230.0
                z *= np.exp(230.0)
        out[j] = size + np.log(z)


@kernel
def inclusion_sums(p, turn, mass, out):
    """Put into out (N,) the real part of sum_j mass_j turn_j / (1 - p + p turn_j)."""
    for k in range(len(p)):
        total = 0.0
        for j in range(len(turn)):
            total += (mass[j] * turn[j] / (1.0 + p[k] * (turn[j] - 1.0))).real
        out[k] = total


@kernel
def null_vector(b, u, tolerance):
    """Put into u (m,) a vector with b u = 0, for b (q, m) with q < m; b is used up.

    Gauss-Jordan elimination with row pivots; the first column without a pivot is set to one.
    """
    q, m = b.shape
    free = -1
    for j in range(m):
        row = j  # every column before had a pivot
        best = row
        for i in range(row + 1, q):
            if abs(b[i, j]) > abs(b[best, j]):
                best = i
        if row >= q or abs(b[best, j]) <= tolerance:
            free = j
            break
        if best != row:
            for c in range(m):
                b[row, c], b[best, c] = b[best, c], b[row, c]
        scale = b[row, j]
        for c in range(j, m):
            b[row, c] /= scale
        for i in range(q):
            if i != row and b[i, j] != 0:
                factor = b[i, j]
                for c in range(j, m):
                    b[i, c] -= factor * b[row, c]
    for j in range(m):
        u[j] = 0.0
    u[free] = 1.0
    for j in range(free):
        u[j] = -b[j, free]


@kernel
def cube_flight(a, p, rng, eps):
    """Flight phase of the cube method, fast form.

    a (N, q): balancing variables divided by the inclusion probabilities; p (N,): start, changed
    in place: on return all but at most q entries are 0 or 1, and sum a p is as before. Chauvet
    and Tillé (2006).
    """
    n_units, q = a.shape
    active = np.empty(q + 1, np.int64)
    n_active = 0
    reached = 0
    b = np.empty((q, q + 1))
    u = np.empty(q + 1)
    largest = 0.0
    for k in range(n_units):
        for j in range(q):
            largest = max(largest, abs(a[k, j]))
    while True:
        while n_active <= q and reached < n_units:
            if eps < p[reached] < 1 - eps:
                active[n_active] = reached
                n_active += 1
            else:
                p[reached] = np.round(p[reached])
            reached += 1
        if n_active <= q:
            return
        for c in range(q + 1):
            for j in range(q):
                b[j, c] = a[active[c], j]
        null_vector(b, u, 1e-11 * max(largest, 1e-300))
        up, down = np.inf, np.inf
        for c in range(q + 1):
            value = p[active[c]]
            if u[c] > 0:
                up = min(up, (1 - value) / u[c])
                down = min(down, value / u[c])
            elif u[c] < 0:
                up = min(up, -value / u[c])
                down = min(down, -(1 - value) / u[c])
        step = up if rng.random() * (up + down) < down else -down
        n_free = 0
        for c in range(q + 1):
            k = active[c]
            value = p[k] + step * u[c]
            if value <= eps:
                p[k] = 0.0
            elif value >= 1 - eps:
                p[k] = 1.0
            else:
                p[k] = value
                active[n_free] = k
                n_free += 1
        if n_free == n_active:  # rounding: decide the unit nearest to a corner
            nearest = 0
            for c in range(1, n_free):
                if abs(p[active[c]] - 0.5) > abs(p[active[nearest]] - 0.5):
                    nearest = c
            p[active[nearest]] = np.round(p[active[nearest]])
            active[nearest] = active[n_free - 1]
            n_free -= 1
        n_active = n_free
