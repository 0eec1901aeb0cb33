"""Random draws by look-up: uniforms come in, so that a kernel is a pure function of its arrays.

R classes, C cells, n persons.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def draw_classes(cells, row_of_cell, cumulative, uniforms, lowest, out):
    """Draw a class for each person from the distribution of its cell.

    cells (n,), row_of_cell (number of cell codes,): row of each cell in `cumulative` (C, R),
    whose last column is 1; uniforms (n,) in [0, 1); out (n,): class lowest ... lowest + R - 1.
    """
    for i in range(len(cells)):
        row = row_of_cell[cells[i]]
        u = uniforms[i]
        code = 0
        while cumulative[row, code] <= u:
            code += 1
        out[i] = code + lowest


@kernel
def draw_donors(cumulative, first, uniforms, out):
    """Draw positions from one cumulative distribution with a guide table.

    cumulative (d,), last entry 1; first (g,): first[j] is the smallest position whose cumulative
    share exceeds j / g; out (n,): positions 0 ... d - 1.
    """
    g = len(first)
    for i in range(len(uniforms)):
        u = uniforms[i]
        position = first[int(u * g)]
        while cumulative[position] <= u:
            position += 1
        out[i] = position


@kernel
def draw_in_classes(classes, low, high, rate, steps, knots, uniforms, out):
    """Draw inside the class of each person, between two neighbouring knots of the class.

    low, high (R,): classes are (low, high]; one with low == high is a point (zero, or NaN for
    missing); one with low > high is [high, low), the form of negative classes. A value lies
    between two neighbours of knots[r, : steps[r] + 1], which run from low to high, each pair as
    likely as any other; two that are equal are a point. rate (R,): the place x between them, in
    (0, 1], has density proportional to exp(-rate x); zero is uniform. Its distribution function is
    inverted at 1 - u.
    """
    tilts = np.zeros(len(rate))
    for r in range(len(rate)):
        tilts[r] = np.expm1(-rate[r]) if abs(rate[r]) < 1.0 else np.exp(-rate[r])
    for i in range(len(classes)):
        r = classes[i]
        a, b = low[r], high[r]
        if a == b:
            out[i] = b
            continue
        v = (1.0 - uniforms[i]) * steps[r]
        j = int(np.ceil(v)) - 1
        rest = j + 1 - v
        if rate[r] != 0.0:
            share, k = 1.0 - rest, rate[r]
            if abs(k) < 1.0:
                place = -np.log1p(share * tilts[r]) / k
            else:
                place = -np.log(rest + share * tilts[r]) / k
            rest = min(max(1.0 - place, 0.0), 1.0)
        out[i] = knots[r, j + 1] - rest * (knots[r, j + 1] - knots[r, j])
