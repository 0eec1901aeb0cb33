"""Random draws by look-up: uniforms come in, so that a kernel is a pure function of its arrays.

R classes, C cells, n persons.
"""

import numpy as np

from synthpop.microdata.kernel import kernel


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
def draw_in_classes(classes, low, high, slope, steps, knots, uniforms, out):
    """Draw inside the class of each person, from a density that is linear or a step function.

    low, high (R,): a value is low + x (high - low) with x in (0, 1], so classes are (low, high]; a
    class with low == high is a point (zero, or NaN for missing); a class with low > high is
    [high, low), the form of negative classes. steps (R,): where above 1, a value lies between two
    neighbours of the knots[r, : steps[r] + 1], which run from low to high, each pair as likely as
    any other; two that are equal are a point. Elsewhere slope (R,) in [-1, 1]: the density of x is
    1 + slope (2 x - 1); zero is uniform. Its distribution function (1 - s) x + s x^2 is inverted.
    """
    for i in range(len(classes)):
        r = classes[i]
        a, b, s = low[r], high[r], slope[r]
        if a == b:
            out[i] = b
        elif steps[r] > 1:
            v = (1.0 - uniforms[i]) * steps[r]
            j = int(np.ceil(v)) - 1
            out[i] = knots[r, j + 1] - (j + 1 - v) * (knots[r, j + 1] - knots[r, j])
        elif s == 0.0:
            out[i] = b - uniforms[i] * (b - a)
        else:
            v = 1.0 - uniforms[i]
            x = 2.0 * v / (1.0 - s + np.sqrt((1.0 - s) ** 2 + 4.0 * s * v))
            out[i] = b - (1.0 - x) * (b - a)
