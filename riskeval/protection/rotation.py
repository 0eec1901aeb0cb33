"""Random orthogonal matrix masking: records are mixed, mean and covariance stay."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from synthpop.microdata.runs.environment import one_thread

STEPS = 25


def rotated(values: np.ndarray, level: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Mix complete records, n >= 3, with random orthogonal matrices that keep the vector of ones.

    Z = A X with A' A = I and A 1 = 1 keeps every sum and cross-product (Ting, Fienberg and
    Trottini). A works on random sets of about `size` records, so that time and memory stay linear
    in n. On the space orthogonal to ones, A comes from the Gram-Schmidt procedure on I + s M, M
    with independent normal numbers; s is chosen so that the mean squared change is `level` times
    the variance (2 would be without any relation to the original).
    """
    n = len(values)
    order = rng.permutation(n)
    mixed = values.copy()
    with one_thread("blas"):  # several would wait for one another: the matrices are small
        for rows in np.array_split(order, max(1, n // size)):
            m = len(rows) - 1
            basis = _contrasts(len(rows))
            centred = values[rows] - values[rows].mean(axis=0)
            turn = _orthogonal(np.eye(m) + _strength(m, level) * rng.standard_normal((m, m)))
            mixed[rows] = values[rows].mean(axis=0) + basis @ (turn @ (basis.T @ centred))
    return mixed


def _contrasts(m: int) -> np.ndarray:
    """Orthonormal columns orthogonal to the vector of ones, shape (m, m - 1) (Helmert)."""
    steps = np.arange(1, m)
    below = np.tril(np.ones((m - 1, m)), 0)
    below[np.arange(m - 1), steps] = -steps
    return (below / np.sqrt(steps * (steps + 1))[:, None]).T


def _orthogonal(matrix: np.ndarray) -> np.ndarray:
    """Gram-Schmidt, with signs so that a matrix near the identity stays near it."""
    q, r = np.linalg.qr(matrix)
    return q * np.where(np.diag(r) < 0, -1.0, 1.0)


@lru_cache(maxsize=256)
def _strength(m: int, level: float) -> float:
    """Factor, on fixed matrices, for which the mean squared change, 2 - 2 tr(A) / m, is level."""
    normals = np.random.default_rng(0).standard_normal((max(1, 60 // m), m, m))
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        if _change(high, normals) >= level or high > 1e6:
            break
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _change(middle, normals) < level else (low, middle)
    return high


def _change(strength: float, drawn: np.ndarray) -> float:
    traces = [np.trace(_orthogonal(np.eye(len(one)) + strength * one)) for one in drawn]
    return float(2 - 2 * np.mean(traces) / drawn.shape[1])
