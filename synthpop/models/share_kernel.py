"""Shares of donors drawn again near those of the donor, so that no vector of shares is a copy.

A donor's shares f_1, ..., f_p of a total add up to 1. Those that are not zero are drawn from a
Dirichlet distribution around them (the kernel of Aitchison and Lauder 1985 for compositions has
the same purpose; doi:10.2307/2347365),

    f* ~ Dirichlet(a f_1, ..., a f_p),   E f*_j = f_j,   Var f*_j = f_j (1 - f_j) / (a + 1),

so means of shares stay, and a share of zero stays zero. The concentration a is such that the draw
adds 1 % to the variance of shares among donors who have the same parts; where there are fewer than
ten of them, the variance among all donors within their patterns. It is at least 4 / min f_j, so
that no part vanishes. Where ten donors or more all have the same shares these stay: they tell
nothing of one person.

With parts below zero the parts of each sign add up to q < 0 and 1 - q. Then q is drawn again as
q G, with G a gamma number of mean 1 and shape a |q|, and the shares of each sign as above.
"""

from __future__ import annotations

import numpy as np

ADDED = 0.01  # of the variance of shares among donors with the same parts
FEWEST = 10  # donors with the same parts, for a concentration of their own
SMALLEST_SHAPE = 4.0  # of a part; a gamma number of this shape is nearly never close to zero
LARGEST = 1e12
WITHOUT_VARIANCE = 100.0  # where no two donors have the same parts


def concentrations(fractions: np.ndarray) -> np.ndarray:
    """Return the concentration of each donor; 0 for donors whose shares, (d, p), stay as they are.

    Examples
    --------
    >>> shares = np.linspace(0.2, 0.8, 20)
    >>> concentrations(np.column_stack([shares, 1 - shares])).round(0)[[0, 10]]
    array([620., 620.])
    >>> concentrations(np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([0., 0.])
    """
    result = np.zeros(len(fractions))
    several = np.flatnonzero((fractions != 0).sum(axis=1) > 1)
    if len(several) == 0:
        return result
    shares = fractions[several]
    _, pattern = np.unique(np.sign(shares), axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    n = np.bincount(pattern)
    squares = np.zeros(len(n))
    for share in shares.T:
        centred = share - (np.bincount(pattern, share) / n)[pattern]
        squares += np.bincount(pattern, centred**2)
    spread = np.abs(shares) * (1 - np.abs(shares)).clip(min=0)
    noise = np.bincount(pattern, spread.sum(axis=1))
    free = len(shares) - len(n)
    pooled = _ratio(noise.sum() / len(shares), squares.sum() / max(free, 1))
    pooled = pooled if pooled < LARGEST else WITHOUT_VARIANCE
    of_patterns = zip(noise / n, squares / np.maximum(n - 1, 1), strict=True)
    of_itself = np.array([_ratio(*pair) for pair in of_patterns])
    concentration = np.where(n >= FEWEST, of_itself, pooled)[pattern]
    smallest = np.where(shares != 0, np.abs(shares), np.inf).min(axis=1)
    concentration = np.maximum(concentration, SMALLEST_SHAPE / smallest)
    result[several] = np.where(concentration > LARGEST, 0.0, concentration)
    return result


def _ratio(noise: float, variance: float) -> float:
    """Return the concentration that adds the wanted share of the variance."""
    return noise / (ADDED * variance) - 1 if variance > noise / LARGEST else np.inf


def drawn_near(
    fractions: np.ndarray, concentration: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return shares drawn near those of donors, shape (n, p), each row adding up to 1.

    fractions: of the donor of each person
    rng: one gamma number for each share that is not zero; one more for each row with a negative
        share

    Examples
    --------
    >>> rows = drawn_near(np.array([[0.7, 0.3, 0.0]]), np.array([500.0]), np.random.default_rng(1))
    >>> rows.round(3).tolist(), float(rows.sum())
    ([[0.698, 0.302, 0.0]], 1.0)
    """
    gammas = rng.standard_gamma(np.abs(fractions) * concentration[:, None])
    below = np.where(fractions < 0, gammas, 0.0).sum(axis=1)
    negative = np.where(fractions < 0, fractions, 0.0).sum(axis=1)
    rows = np.flatnonzero(negative < 0)
    shape = -negative[rows] * concentration[rows]
    negative[rows] *= rng.standard_gamma(shape) / shape
    above = np.where(fractions > 0, gammas, 0.0).sum(axis=1)
    of_sign = np.where(
        fractions > 0,
        ((1 - negative) / above)[:, None],
        (negative / np.where(below > 0, below, 1.0))[:, None],
    )
    return gammas * of_sign


def split_near(
    totals: np.ndarray, fractions: np.ndarray, concentration: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return totals split by shares near those of donors, shape (p, n); see `drawn_near`.

    The largest part takes up what rounding leaves, so that parts add up to the total.
    """
    amounts: np.ndarray = drawn_near(fractions, concentration, rng).T * totals
    largest, persons = np.abs(amounts).argmax(axis=0), np.arange(len(totals))
    amounts[largest, persons] += totals - amounts.sum(axis=0)
    return amounts
