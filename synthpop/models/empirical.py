"""Observed conditional distributions: the weighted class shares of each cell of predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.models.encoding import distinct_cells


@dataclass(frozen=True, slots=True)
class EmpiricalModel:
    """A fitted table."""

    sizes: tuple[int, ...]  # number of levels of each predictor
    cells: dict[tuple[int, ...], int]  # dict from a row of digits, as a tuple, to a row of `shares`
    shares: np.ndarray  # float array, shape (c, R)


def fit_empirical(
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    n_classes: int,
) -> EmpiricalModel:
    """Tabulate weighted class shares by cell; arguments as in `fit_multinomial`.

    Examples
    --------
    >>> model = fit_empirical(np.array([[0], [0]]), np.array([0, 1]), np.array([1.0, 3.0]), [2], 2)
    >>> predict_empirical(model, np.array([[0], [1]]))
    (array([[0.25, 0.75],
           [0.  , 0.  ]]), array([ True, False]))
    """
    first, inverse = distinct_cells(digits, sizes)
    counts = np.zeros((len(first), n_classes))
    np.add.at(counts, (inverse, classes), weights)
    cells = {tuple(row): position for position, row in enumerate(digits[first].tolist())}
    return EmpiricalModel(tuple(sizes), cells, counts / counts.sum(axis=1, keepdims=True))


def predict_empirical(model: EmpiricalModel, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the class shares of cells, and which cells the sample had; see the multinomial."""
    rows = np.array([model.cells.get(tuple(row), -1) for row in digits.tolist()], dtype=np.int64)
    known = rows >= 0
    probabilities = np.where(known[:, None], model.shares[rows], 0.0)
    return probabilities, known
