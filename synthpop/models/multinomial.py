"""Multinomial logistic regression on categorical predictors, fitted by scaling to its margins.

With categorical predictors the likelihood equations of the model (book eq. 6.3),

    logit p_r(x) = sum_j beta_j[x_j, r],

say that the fitted weight of every (level of predictor j, class r) equals the observed one. The
fit meets these margins directly by iterative proportional scaling of the class probabilities,
cell by cell (Bishop, Fienberg and Holland 1975, section 3.5, doi 10.1007/978-0-387-72806-3). It
goes to the maximum likelihood solution without inverting a matrix, with any number of weights. A
level that never goes with a class gets the limit of the separated solution, a probability of
exactly zero, which no ridge has to hold back; where combinations of levels separate the classes,
probabilities that have their limit at zero are small after a bounded number of sweeps, and the
remaining gap of the margins is kept in the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.models.encoding import distinct_cells
from synthpop.models.margins import MarginsOfCells, scale_to_margins

TOLERANCE = 1e-7
MAX_SWEEPS = 400


@dataclass(frozen=True, slots=True)
class MultinomialModel:
    """A fitted model."""

    # int array, shape (m + 1,): where the levels of each predictor start in `factors`; the first
    # is a constant
    offsets: np.ndarray
    # float array, shape (n_levels, R): exp(beta): the class probabilities of a cell are
    # proportional to the product of its rows
    factors: np.ndarray
    seen: np.ndarray  # bool array, shape (n_levels,): levels that occurred in the sample
    sweeps: int
    gap: float  # largest difference of a fitted margin from the observed, as a share of all weight


def fit_multinomial(
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    n_classes: int,
    *,
    tolerance: float = TOLERANCE,
    max_sweeps: int = MAX_SWEEPS,
) -> MultinomialModel:
    """Fit class probabilities given categorical predictors by weighted maximum likelihood.

    digits: int array, shape (n, m); level of each predictor, 0 ... sizes[j] - 1 (0 is missing)
    classes: int array, shape (n,); class of each person, 0 ... n_classes - 1
    tolerance: largest gap of a margin, as a share of all weight

    Examples
    --------
    >>> digits = np.array([[0], [0], [1], [1]])
    >>> model = fit_multinomial(digits, np.array([0, 1, 0, 0]), np.ones(4), [2], 2)
    >>> predict_multinomial(model, np.array([[0], [1]]))[0].round(3).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    shares = weights / weights.sum()
    first, inverse = distinct_cells(digits, sizes)
    offsets = np.concatenate([[0], np.cumsum([1, *sizes])]).astype(np.int64)
    levels = _stacked(digits, offsets)
    target = np.zeros((offsets[-1], n_classes))
    for j in range(levels.shape[1]):
        position = levels[:, j] * n_classes + classes
        target += np.bincount(position, shares, target.size).reshape(target.shape)
    totals = np.bincount(inverse, weights=shares, minlength=len(first))
    cells = np.ascontiguousarray(levels[first].T)
    possible = (target > 0.0)[cells].all(axis=0)
    effects = np.zeros_like(target)
    sample = MarginsOfCells(
        cells, np.array([0, len(first)]), offsets[None, :], totals, target,
        np.zeros((1, len(cells))),
    )  # fmt: skip
    probabilities = possible / possible.sum(axis=1, keepdims=True)
    (sweeps,), (gap,) = scale_to_margins(sample, effects, probabilities, tolerance, max_sweeps)
    factors = np.where(target > 0.0, np.exp(effects), 0.0)
    largest = factors.max(axis=1, keepdims=True)
    factors /= np.where(largest > 0, largest, 1.0)
    return MultinomialModel(offsets, factors, target.sum(axis=1) > 0, int(sweeps), float(gap))


def predict_multinomial(
    model: MultinomialModel, digits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class probabilities of cells, shape (c, R), and which cells are known, shape (c,).

    The model has no answer for a level that the sample did not have, nor for levels of which each
    excludes what the others allow. Such rows are zero.
    """
    from synthpop.kernels.predictions import multiply_factors

    probabilities = np.empty((len(digits), model.factors.shape[1]))
    known = np.empty(len(digits), dtype=np.bool_)
    multiply_factors(
        np.ascontiguousarray(digits), model.offsets, model.seen, model.factors, probabilities, known
    )
    total = probabilities.sum(axis=1)
    known &= total > 0
    probabilities /= np.where(total > 0, total, 1.0)[:, None]
    probabilities[~known] = 0.0
    return probabilities, known


def _stacked(digits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    levels = np.zeros((len(digits), len(offsets) - 1), dtype=np.int64)
    levels[:, 1:] = digits + offsets[1:-1]
    return levels
