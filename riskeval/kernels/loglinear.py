"""Sums over all cells of a product table, without building it."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel, step


@step
def slope_and_bend(mean, c):
    """Return h' and h'' of h(x) = (1 - exp(-c x)) / (c x)."""
    x = c * mean
    if x < 0.02:
        slope = c * (-1 / 2 + x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144))))
        bend = c * c * (1 / 3 - x * (1 / 4 - x * (1 / 10 - x * (1 / 36 - x / 168))))
        return slope, bend
    e = np.exp(-x)
    slope = c * (e * (x + 1) - 1) / (x * x)
    bend = c * c * (2 - e * (x * x + 2 * x + 2)) / (x * x * x)
    return slope, bend


@step
def error_terms(f, mean, pi, out, sign):
    """Add the terms of one cell: of B_1, B_2, and of the variances of both.

    With m = pi * mean, g = f - m, w = mean * exp(-m), the term of B is
    w * (-h' * g + h'' * (g * g - f) / (2 pi)); of its variance w^2 (h'^2 m + h''^2 m^2 / (2 pi^2)).
    """
    c = 1 - pi
    m = pi * mean
    g = f - m
    w = mean * np.exp(-m)
    e = np.exp(-c * mean)
    slope, bend = -c * e, c * c * e
    out[0] += sign * w * (-slope * g + bend * (g * g - f) / (2 * pi))
    out[2] += sign * w * w * (slope * slope * m + bend * bend * m * m / (2 * pi * pi))
    slope, bend = slope_and_bend(mean, c)
    out[1] += sign * w * (-slope * g + bend * (g * g - f) / (2 * pi))
    out[3] += sign * w * w * (slope * slope * m + bend * bend * m * m / (2 * pi * pi))


@kernel
def error_sums(first, second, counts, means, pi):
    """Sum the error terms over all cells of the table ``outer(first, second)``.

    first, second : float64; population means of the cells are all products of the two
    counts, means : float64, shape (n_observed,); sample count and mean of the cells with records

    Returns float64, shape (4,); B_1, B_2 and their variances
    """
    out = np.zeros(4)
    for a in first:
        if a > 0:
            for b in second:
                if b > 0:
                    error_terms(0.0, a * b, pi, out, 1.0)
    for j in range(len(counts)):
        if means[j] > 0:
            error_terms(0.0, means[j], pi, out, -1.0)
            error_terms(counts[j], means[j], pi, out, 1.0)
    return out
