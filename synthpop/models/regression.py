"""Regression of a number on categorical predictors: linear, of counts, or by a learner.

Predictors are digits (see `synthpop.models.encoding`) and enter as one indicator column for each
level. There are more columns than can be told apart, on purpose: the solution of least norm is
the same whatever level would be called the reference, and no aliased predictor makes a fitted
value missing. Which combinations of levels the data say something about is read off the row space
of the columns: a combination outside of it has no answer here, and the caller takes the next model
of its sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.runs.environment import one_thread
from synthpop.models.encoding import distinct_cells
from synthpop.models.learners import make_estimator
from synthpop.models.numeric_predictors import (
    Numbers,
    are_seen,
    learner_columns,
    level_terms,
    levels_seen,
    model_columns,
    scaled_numbers,
)

RANK_TOLERANCE = 1e-9
KNOWN_TOLERANCE = 1e-6
MAX_STEPS = 100
SMALLEST_LOG_MEAN = -30.0


@dataclass(frozen=True, slots=True)
class RegressionModel:
    """A fitted regression."""

    kind: str  # "linear", "counts" or "learner"
    # tuple of bool arrays, one for each predictor, shape (size,): levels that occurred in the
    # sample
    seen: tuple[np.ndarray, ...]
    # which predictors have digits in a meaningful order (used by learners)
    ordered: tuple[bool, ...]
    # float array, shape (p,): of the constant and of each level seen; empty for a learner
    coefficients: np.ndarray
    # float array, shape (p, rank): orthonormal basis of the row space; empty for a learner
    basis: np.ndarray
    estimator: Any = None  # fitted scikit-learn regressor or None
    # tuple of None or float arrays, shape (size,): what each digit of a predictor that enters as
    # a number stands for: its standardised value, for a learner its value; empty without such
    # predictors
    tables: Numbers = ()

    @property
    def rank(self) -> int:
        """Number of coefficients that the data can tell apart."""
        return int(self.basis.shape[1])


def least_squares(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """Weighted least squares of least norm (book eq. 6.10); columns of x, (n, p), may be aliased.

    Returns the coefficients, and an orthonormal basis of the row space of x, shape (p, rank).

    Examples
    --------
    >>> x = np.array([[1.0, 1, 0], [1, 0, 1], [1, 0, 1]])
    >>> b, basis = least_squares(x, np.array([1.0, 2, 5]), np.array([1.0, 2, 1]))
    >>> (x @ b).round(6).tolist(), basis.shape[1]
    ([1.0, 3.0, 3.0], 2)
    """
    root = np.sqrt(weights / weights.mean())
    u, s, vt = np.linalg.svd(root[:, None] * x, full_matrices=False)
    keep = s > RANK_TOLERANCE * s[0]
    coefficients = vt[keep].T @ ((u[:, keep].T @ (root * y)) / s[keep])
    return coefficients, vt[keep].T


def log_linear(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """Poisson regression with logarithmic link, by weighted maximum likelihood.

    x: float array, shape (n, p); columns may be aliased; the first is the constant
    y, weights: counts, or means of counts with the sums of weights behind them
    Returns coefficients, basis: as in `least_squares`.

    Iteratively reweighted least squares (McCullagh and Nelder 1989, section 2.5,
    doi:10.1007/978-1-4899-3242-6) with halved steps where the likelihood would fall. Where a level
    has counts of zero only, its mean goes to zero and stops at exp(-30).

    Examples
    --------
    >>> x = np.array([[1.0, 1, 0], [1, 0, 1], [1, 0, 1]])
    >>> b, _ = log_linear(x, np.array([1.0, 2, 5]), np.array([1.0, 2, 1]))
    >>> np.exp(x @ b).round(6).tolist()
    [1.0, 3.0, 3.0]
    """
    w = weights / weights.mean()
    level = max(float(np.average(y, weights=w)), np.exp(SMALLEST_LOG_MEAN))
    basis = least_squares(x, y, w)[1]
    z = x @ basis  # columns that can be told apart
    unit = np.linalg.lstsq(z, np.full(len(y), np.log(level)), rcond=None)[0]

    def likelihood(b: np.ndarray) -> float:
        eta = np.clip(z @ b, SMALLEST_LOG_MEAN, -SMALLEST_LOG_MEAN)
        return float(np.dot(w, y * eta - np.exp(eta)))

    def derivatives(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = _mean(z @ b)
        return z.T @ (w * (y - mean)), z.T @ ((w * mean)[:, None] * z)

    return basis @ maximised(likelihood, derivatives, unit, RANK_TOLERANCE), basis


def _mean(eta: np.ndarray) -> np.ndarray:
    return np.exp(np.clip(eta, SMALLEST_LOG_MEAN, -SMALLEST_LOG_MEAN))


def maximised(
    value: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    rcond: float | None = None,
) -> np.ndarray:
    """Return where a concave function is largest: Newton steps, halved where it would fall.

    derivatives: function of a point; slope and curvature (minus the second derivatives)
    """
    point, highest = start, value(start)
    for _ in range(MAX_STEPS):
        slope, curvature = derivatives(point)
        step = np.linalg.lstsq(curvature, slope, rcond=rcond)[0]
        new = value(point + step)
        while new < highest and np.abs(step).max() > 1e-12:
            step = step / 2
            new = value(point + step)
        gain, highest, point = new - highest, new, point + step
        if gain <= 1e-13 * (np.abs(highest) + 1):
            break
    return point


def negative_binomial_size(y: np.ndarray, mean: np.ndarray, weights: np.ndarray) -> float:
    """Size parameter of the negative binomial distribution, given the means.

    The variance is ``mean + mean^2 / size``. The maximum of the weighted likelihood; infinity (the
    Poisson distribution) where the counts vary no more than Poisson counts do. With the means of
    the Poisson regression this is the two-step estimator of Cameron and Trivedi (2013), section
    3.3, doi:10.1017/CBO9781139013567.

    Examples
    --------
    >>> y = np.array([0.0, 0, 0, 0, 1, 1, 2, 3, 5, 12])
    >>> round(negative_binomial_size(y, np.full(10, 2.4), np.ones(10)), 2)
    0.52
    >>> negative_binomial_size(np.array([2.0, 3, 2, 3]), np.full(4, 2.5), np.ones(4))
    inf
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    w = weights / weights.mean()
    mean = np.maximum(mean, np.exp(SMALLEST_LOG_MEAN))
    if np.dot(w, (y - mean) ** 2 - mean) <= 0:
        return float("inf")

    def loss(log_size: float) -> float:
        size = np.exp(log_size)
        log_p = gammaln(y + size) - gammaln(size) - (y + size) * np.log1p(mean / size)
        return -float(np.dot(w, log_p + y * np.log(mean / size)))

    minimum = minimize_scalar(loss, bounds=(-8.0, 14.0), method="bounded", options={"xatol": 1e-8})
    return float(np.exp(minimum.x)) if minimum.x < 13.9 else float("inf")


def fit_regression(
    kind: str,
    digits: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    numbers: Numbers = (),
) -> RegressionModel:
    """Fit a linear or a log-linear model of counts to categorical predictors.

    kind: "linear" or "counts"
    digits: int array, shape (n, m); level of each predictor, 0 ... sizes[j] - 1 (0 is missing)
    numbers: for each predictor None, or the values of its digits; such a predictor enters with one
        coefficient, for its value

    Persons of the same cell enter as one, with their weighted mean and the sum of their weights:
    the coefficients are the same.

    Examples
    --------
    >>> digits = np.array([[1], [1], [2]])
    >>> model = fit_regression("linear", digits, np.array([1.0, 3, 7]), np.array([1.0, 3, 2]), [3])
    >>> fitted, known = predict_regression(model, np.array([[1], [2], [0]]))
    >>> fitted[:2].round(6).tolist(), known.tolist()
    ([2.5, 7.0], [True, True, False])
    """
    seen, tables = levels_seen(digits, sizes, numbers), scaled_numbers(digits, weights, numbers)
    first, cell = distinct_cells(digits, sizes)
    weight = np.bincount(cell, weights=weights, minlength=len(first))
    mean = np.bincount(cell, weights=weights * y, minlength=len(first)) / weight
    solve = least_squares if kind == "linear" else log_linear
    with one_thread():
        coefficients, basis = solve(model_columns(digits[first], seen, tables), mean, weight)
    return RegressionModel(kind, seen, (False,) * len(sizes), coefficients, basis, None, tables)


def predict_regression(model: RegressionModel, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fitted value of cells, of counts on their own scale, and which cells have one.

    A cell has none where a level was not in the sample, or where the combination lies outside of
    what the sample can tell (aliased predictors).
    """
    known = are_seen(digits, model.seen)
    if model.kind == "learner":
        fitted = np.zeros(len(digits))
        if known.any():
            fitted[known] = model.estimator.predict(columns_of(model, digits[known]))
        return fitted, known
    x = model_columns(digits, model.seen, model.tables)
    outside = x - (x @ model.basis) @ model.basis.T
    known &= np.abs(outside).max(axis=1) < KNOWN_TOLERANCE
    fitted = np.full(len(digits), model.coefficients[0])
    terms = level_terms(model.coefficients, model.seen, model.tables)
    for j, of_level in enumerate(terms):  # added level by level: the same sum on every machine
        fitted += of_level[digits[:, j]]
    return (fitted if model.kind == "linear" else _mean(fitted)), known


# regressors of scikit-learn


def fit_regressor(
    model: Any,
    digits: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    seed: int,
    numbers: Numbers = (),
) -> tuple[RegressionModel, np.ndarray]:
    """Fit a scikit-learn regressor; return it and the fitted values of the sample, shape (n,).

    Residuals are around these: value and residual are of one fit, so that the two together have the
    distribution of the sample's values. (Residuals of persons that the fit has not seen are larger,
    and around fitted values that already follow an outlier they would widen the tails.)
    """
    seen, shares = levels_seen(digits, sizes, numbers), weights / weights.mean()
    x = learner_columns(digits, seen, ordered, numbers)
    estimator = make_estimator(model, x.shape[1], seed, of_numbers=True)
    with one_thread():
        _fit_weighted(estimator, x, y, shares)
        fitted = np.asarray(estimator.predict(x), dtype=np.float64)
    regression = RegressionModel(
        "learner", seen, tuple(ordered), np.empty(0), np.empty((0, 0)), estimator, tuple(numbers)
    )
    return regression, fitted


def columns_of(model: RegressionModel, digits: np.ndarray) -> np.ndarray:
    """Return the columns that a learner sees of cells whose levels it knows, shape (c, p)."""
    return learner_columns(digits, model.seen, model.ordered, model.tables)


def _fit_weighted(estimator: Any, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
    """Fit, and say in our words what a regressor refuses (a Poisson one takes no losses)."""
    try:
        estimator.fit(x, y, sample_weight=weights)
    except ValueError as problem:
        what = f"cannot be fitted: {problem}"
        hint = "Choose another regressor, or other values for it."
        name = type(estimator).__name__
        raise InputError.of("regressor", name, what, hint) from problem
