"""Multinomial logistic regression with numbers as predictors, by maximum likelihood.

The log-odds of the classes are linear in each number, and have a term for each level of the other
predictors. What `synthpop.models.multinomial` does for levels alone holds here too: a level that
never goes with a class gives it a probability of exactly zero. No ridge is used: where a number
separates classes, the steps end after a bounded number, and the gap that is left is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthpop.microdata.runs.environment import one_thread
from synthpop.models.encoding import distinct_cells
from synthpop.models.multinomial import TOLERANCE, MultinomialModel
from synthpop.models.numeric_predictors import (
    Numbers,
    level_terms,
    levels_seen,
    model_columns,
    scaled_numbers,
)

MAX_STEPS = 300
RANK_TOLERANCE = 1e-9


def fit_linear_multinomial(
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    numbers: Numbers,
    n_classes: int,
    *,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> MultinomialModel:
    """Fit class probabilities given levels and numbers by weighted maximum likelihood.

    numbers: for each predictor None, or the value that each digit stands for; NaN for digit 0
    tolerance: largest gap of a margin (of a number: of its standardised mean), as a share of all
        weight
    Other arguments are as in `fit_multinomial`. Each digit of a number has its factor, whether it
    was in the sample or not. `sweeps` counts the Newton steps.

    Persons of the same cell enter as one. Newton steps in a trust region (Nocedal and Wright 2006,
    algorithm 7.2, doi:10.1007/978-0-387-40065-5), on orthonormal columns.

    Examples
    --------
    >>> digits, classes = np.array([[1], [2], [3], [1], [2], [3]]), np.array([0, 0, 1, 0, 1, 1])
    >>> age = np.array([np.nan, 20.0, 40.0, 60.0])
    >>> model = fit_linear_multinomial(digits, classes, np.ones(6), [4], [age], 2)
    >>> from synthpop.models.multinomial import predict_multinomial
    >>> predict_multinomial(model, np.array([[2]]))[0].round(3).tolist()
    [[0.5, 0.5]]
    """
    shares = weights / weights.sum()
    tables = scaled_numbers(digits, shares, numbers)
    levels = levels_seen(digits, sizes, numbers)
    first, inverse = distinct_cells(digits, sizes)
    counts = np.zeros((len(first), n_classes))
    np.add.at(counts, (inverse, classes), shares)
    x = model_columns(digits[first], levels, tables)
    absent = _absent(x, counts, levels, tables)
    with one_thread():
        coefficients, steps, gap = _maximise(x, counts, (x @ absent) > 0, tolerance, max_steps)
    terms = [coefficients[:1], *level_terms(coefficients, levels, tables)]
    barred = [absent[:1] > 0, *(item > 0 for item in level_terms(absent, levels, tables))]
    factors = np.vstack([_factors(t, b) for t, b in zip(terms, barred, strict=True)])
    offsets = np.concatenate([[0], np.cumsum([1, *sizes])]).astype(np.int64)
    known = np.concatenate([[True], *levels])
    return MultinomialModel(offsets, factors, known, steps, gap)


def _absent(
    x: np.ndarray, counts: np.ndarray, seen: Sequence[np.ndarray], tables: Numbers
) -> np.ndarray:
    """Return 1 for each pair of a level and a class that the sample does not have, shape (p, R)."""
    absent = (x.T @ counts == 0).astype(np.float64)
    column = 1
    for j, levels in enumerate(seen):
        table = tables[j]
        if table is None:
            column += int(levels.sum())
            continue
        column += int(levels[0])
        absent[column] = 0.0  # a number is not a level
        column += 1
    return absent


def _factors(terms: np.ndarray, barred: np.ndarray) -> np.ndarray:
    """Return exp(terms), scaled to a largest of 1 in each row, and zero for barred pairs."""
    terms = np.where(barred, -np.inf, terms)
    largest = terms.max(axis=1, keepdims=True)
    return np.exp(terms - np.where(np.isfinite(largest), largest, 0.0))


def _maximise(
    x: np.ndarray, counts: np.ndarray, barred: np.ndarray, tolerance: float, max_steps: int
) -> tuple[np.ndarray, int, float]:
    """Maximise the likelihood over the coefficients, shape (p, R).

    Shapes: x (c, p); counts, shares of weight, and barred, classes of probability zero, (c, R).
    """
    from scipy.optimize import minimize

    totals = counts.sum(axis=1)
    root = np.sqrt(totals)
    _, s, vt = np.linalg.svd(root[:, None] * x, full_matrices=False)
    keep = s > RANK_TOLERANCE * s[0]
    back = vt[keep].T / s[keep]
    z = x @ back
    rank, n_classes = z.shape[1], counts.shape[1]
    free = np.delete(np.arange(n_classes), counts.sum(axis=0).argmax())

    def log_shares(flat: np.ndarray) -> np.ndarray:
        eta = np.zeros(counts.shape)
        eta[:, free] = z @ flat.reshape(rank, -1)
        eta[barred] = -np.inf
        eta -= eta.max(axis=1, keepdims=True)
        return eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_shares(flat)
        occurs = counts > 0
        gap = totals[:, None] * np.exp(log_p) - counts
        return -float(np.dot(counts[occurs], log_p[occurs])), (z.T @ gap[:, free]).ravel()

    last_call: list[np.ndarray] = []  # the point of the last call and its probabilities

    def curvature(flat: np.ndarray, direction: np.ndarray) -> np.ndarray:
        if not last_call or not np.array_equal(last_call[0], flat):
            last_call[:] = [flat.copy(), np.exp(log_shares(flat))[:, free]]
        p = last_call[1]
        along = z @ direction.reshape(rank, -1)
        change = p * (along - (p * along).sum(axis=1, keepdims=True))
        return (z.T @ (totals[:, None] * change)).ravel()

    options: dict[str, object] = {"gtol": tolerance / 10, "maxiter": max_steps}
    minimum = minimize(
        loss, np.zeros(rank * len(free)), jac=True, hessp=curvature, method="trust-ncg",
        options=options,
    )  # fmt: skip
    coefficients = np.zeros((x.shape[1], n_classes))
    coefficients[:, free] = back @ minimum.x.reshape(rank, -1)
    gap = x.T @ (totals[:, None] * np.exp(log_shares(minimum.x)) - counts)
    return coefficients, int(minimum.nit), float(np.abs(gap).max())
