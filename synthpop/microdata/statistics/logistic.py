"""Weighted logistic regression by Newton steps, on a matrix or on codes of categories.

Own loop where statsmodels would do for small, well-behaved data: codes of categories need no
matrix of records by levels (sums and crossed counts are enough), columns that depend on others are
no error, and separation leaves finite probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_STEPS = 50
CHUNK = 100_000
LARGEST = 30.0  # scores are cut here: separated records have probabilities 1e-13 and 1 - 1e-13
SHRINKS_FAST = 0.2  # share of the last gain that the next may have before derivatives are new
DEPENDENT = 1e-11  # smallest eigenvalue of the crossed design with unit diagonal


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """A fitted logistic regression."""

    coefficients: np.ndarray  # float64, shape (k,)
    probabilities: np.ndarray  # float64, shape (n,)
    information: np.ndarray  # float64, shape (k, k): sum of w p (1 - p) z z'
    rank: int  # number of columns that are not combinations of others
    converged: bool


class Matrix:
    """A dense matrix, shape (n, k), crossed in parts of 100,000 rows."""

    def __init__(self, z: np.ndarray) -> None:
        self.z, self.n_columns = z, z.shape[1]

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """Return Z beta, shape (n,)."""
        return np.asarray(self.z @ beta)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return Z' values, shape (k,)."""
        return np.asarray(self.z.T @ values)

    def crossed(self, values: np.ndarray) -> np.ndarray:
        """Return Z' diag(values) Z, shape (k, k)."""
        total = np.zeros((self.n_columns, self.n_columns))
        for start in range(0, len(self.z), CHUNK):
            z = self.z[start : start + CHUNK]
            total += (z * values[start : start + CHUNK, None]).T @ z
        return total


class Categories:
    """An intercept and the indicators of all levels of variables, coded from 0."""

    def __init__(self, codes: Sequence[np.ndarray], n: int) -> None:
        self.codes = [np.zeros(n, dtype=np.int64), *codes]
        self.sizes = [int(code.max(initial=0)) + 1 for code in self.codes]
        self.starts = np.cumsum([0, *self.sizes])[:-1].tolist()
        self.n_columns = sum(self.sizes)

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """Return Z beta."""
        total = np.zeros(len(self.codes[0]))
        for code, start, size in zip(self.codes, self.starts, self.sizes, strict=True):
            total += beta[start : start + size][code]
        return total

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return Z' values."""
        pairs = zip(self.codes, self.sizes, strict=True)
        return np.concatenate([np.bincount(code, values, size) for code, size in pairs])

    def crossed(self, values: np.ndarray) -> np.ndarray:
        """Return Z' diag(values) Z from crossed counts."""
        total = np.zeros((self.n_columns, self.n_columns))
        variables = list(zip(self.codes, self.starts, self.sizes, strict=True))
        for i, (code, start, size) in enumerate(variables):
            for other, column, k in variables[i:]:
                table = np.bincount(code * k + other, values, size * k).reshape(size, k)
                total[start : start + size, column : column + k] = table
                total[column : column + k, start : start + size] = table.T
        return total


Design = Matrix | Categories


def fit_logistic(
    design: Design | np.ndarray, y: np.ndarray, weights: np.ndarray, *, ridge: float = 0.0
) -> Logistic:
    """Fit by maximum likelihood; columns that depend on others and separation do no harm.

    design: or an array, shape (n, k); with a column of ones where an intercept is wanted
    y: float64, shape (n,); 0 or 1
    ridge: half of this times the sum of squared coefficients is added to the negative log
        likelihood; it keeps levels that one side alone has from going to infinity
    """
    design = Matrix(design) if isinstance(design, np.ndarray) else design
    beta = np.zeros(design.n_columns)
    loss, p = _loss(design, y, weights, beta, ridge)
    information = crossed = design.crossed(weights * p * (1 - p))
    is_fresh, last_gain, converged = True, np.inf, False
    for _ in range(MOST_STEPS):
        # 1. Newton step; a ridge makes it unique, else, of all solutions, the shortest where
        # columns depend on each other.
        gradient = design.sums(weights * (y - p)) - ridge * beta
        if ridge > 0:
            step = np.linalg.solve(information + ridge * np.eye(design.n_columns), gradient)
        else:
            step = np.linalg.lstsq(information, gradient, rcond=1e-12)[0]
        # 2. Half of it, and so on, until the penalised likelihood does not fall.
        factor = 1.0
        while True:
            trial = beta + factor * step
            new_loss, new_p = _loss(design, y, weights, trial, ridge)
            if new_loss <= loss + 1e-12 * abs(loss) or factor < 1e-4:
                break
            factor /= 2
        gain, beta, loss, p = loss - new_loss, trial, new_loss, new_p
        is_small = abs(gain) <= 1e-10 * (abs(loss) + 1e-3)
        if is_small and is_fresh:
            converged = True
            break
        # 3. Second derivatives cost most: they stay while steps shrink fast, and the last step,
        # which decides, has its own.
        is_fresh = is_small or factor < 1 or not 0 <= gain <= SHRINKS_FAST * last_gain
        last_gain = np.inf if is_fresh else gain
        if is_fresh:
            information = design.crossed(weights * p * (1 - p))
    information = design.crossed(weights * p * (1 - p))
    rank = _rank(4 * crossed)  # with all probabilities at one half: four times a quarter
    return Logistic(beta, p, information, rank, converged)


def _loss(
    design: Design, y: np.ndarray, weights: np.ndarray, beta: np.ndarray, ridge: float
) -> tuple[float, np.ndarray]:
    """Penalised negative log likelihood, and the probabilities, shape (n,)."""
    score = np.clip(design.scores(beta), -LARGEST, LARGEST)
    loss = weights @ (np.logaddexp(0.0, score) - y * score) + ridge / 2 * (beta @ beta)
    return float(loss), np.asarray(1.0 / (1.0 + np.exp(-score)))


def _rank(cross: np.ndarray) -> int:
    """Number of columns that are not combinations of others, whatever their units."""
    size = np.sqrt(np.diag(cross))
    is_used = size > 0
    unit = cross[np.ix_(is_used, is_used)] / np.outer(size[is_used], size[is_used])
    return int((np.linalg.eigvalsh(unit) > DEPENDENT).sum()) if is_used.any() else 0
