"""Partial pooling of regressions: the coefficients of a stratum shrunk towards those of all strata.

The pooled model has the stratum as a further predictor; b0 are its coefficients of the other
predictors. A stratum has a constant a of its own, which is free, and coefficients b that maximise

    sum_i w_i log f(y_i | a + x_i b) - (k / 2) (b - b0)' D (b - b0),

w the survey weights with mean one in the stratum, D the curvature of the pooled log likelihood for
one average person, the constant maximised out: k counts in persons. For counts (log link, Poisson)

    D = sum_i w_i m_i (x_i - x)(x_i - x)' / sum_i w_i,    x: mean of the x_i with weights w_i m_i,

m the pooled means; for the linear model m_i = 1 and the residual variance, by which log likelihood
and D are both divided, cancels. k = 0 is the model of the stratum alone, k = infinity the
coefficients of all strata. Which level of a predictor is the reference does not matter. This is the
mean of a stratum's coefficients given the data where b is a draw from a normal distribution around
b0 with the information of k persons (Lindley and Smith 1972,
doi:10.1111/j.2517-6161.1972.tb00885.x; for counts the mode). `regression_methods`
fits those of all strata and chooses k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from synthpop.conditional.fallback import ModelDesign
from synthpop.models.encoding import distinct_cells
from synthpop.models.numeric_predictors import level_terms, model_columns
from synthpop.models.regression import (
    SMALLEST_LOG_MEAN,
    RegressionModel,
    fit_regression,
    maximised,
    predict_regression,
)

CURVATURE_TOLERANCE = 1e-11  # of the largest, to be told from none


@dataclass(frozen=True, slots=True)
class Centre:
    """The pooled regression, as strata see it.

    model: without the stratum; the constant is that of no stratum
    constants: float array, shape (n_strata,); what the stratum adds to it
    middle: float array, shape (p - 1,); mean of the columns but the constant
    scale: float array, shape (p - 1, q); coefficients b0 + scale u have the penalty (k / 2) |u|^2
    """

    model: RegressionModel
    constants: np.ndarray
    middle: np.ndarray
    scale: np.ndarray


def centre_of(kind: str, design: ModelDesign, y: np.ndarray) -> tuple[RegressionModel, Centre]:
    """Fit the pooled regression, "linear" or of "counts"; return it, and as strata see it."""
    wide = design.with_strata()
    fitted = fit_regression(kind, wide.digits, y, wide.weights, wide.sizes, wide.numbers)
    tables = fitted.tables[:-1]
    constants = level_terms(fitted.coefficients, fitted.seen, fitted.tables)[-1]
    p = len(fitted.coefficients) - int(fitted.seen[-1].sum())
    first, cell = distinct_cells(wide.digits, wide.sizes)
    x = model_columns(design.digits[first], fitted.seen[:-1], tables)
    weight = np.bincount(cell, weights=design.weights, minlength=len(first))
    middle, values, vectors = _directions(x[:, 1:], weight)
    span = np.vstack([np.append(1.0, middle), np.pad(vectors.T, ((0, 0), (1, 0)))])
    basis = np.linalg.qr(span.T)[0]
    if kind == "counts":
        weight = weight * predict_regression(fitted, wide.digits[first])[0]
        middle, values, vectors = _directions(x[:, 1:], weight)
    scale = vectors / np.sqrt(values / design.weights.sum())
    model = replace(
        fitted,
        seen=fitted.seen[:-1],
        ordered=fitted.ordered[:-1],
        coefficients=fitted.coefficients[:p],
        basis=basis,
        tables=tables,
    )
    return fitted, Centre(model, constants, middle, scale)


def _directions(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of the columns, and the axes in which rows differ with their sums."""
    middle = weight @ x / weight.sum()
    deviations = x - middle
    values, vectors = np.linalg.eigh((deviations.T * weight) @ deviations)
    keep = values > CURVATURE_TOLERANCE * max(float(values.max(initial=0.0)), 1e-300)
    return middle, values[keep], vectors[:, keep]


Solved = tuple[float, np.ndarray]


@dataclass(frozen=True, slots=True)
class Unit:
    """The values of a stratum beside the pooled regression."""

    centre: Centre
    n_persons: int  # of the stratum, without those that the pooled regression does not know
    # function of the amount: returns the constant a, beside b0, and u; see `Centre`
    solve: Callable[[float], Solved]

    @classmethod
    def of(cls, centre: Centre, persons: ModelDesign, y: np.ndarray) -> Unit:
        """Take the persons of a stratum that the pooled regression knows."""
        model = centre.model
        rows = np.flatnonzero(predict_regression(model, persons.digits)[1])
        persons, y = persons.rows(rows), y[rows]
        first, cell = distinct_cells(persons.digits, persons.sizes)
        total = np.bincount(cell, weights=persons.weights, minlength=len(first))
        mean = np.bincount(cell, weights=persons.weights * y, minlength=len(first)) / total
        x = model_columns(persons.digits[first], model.seen, model.tables)[:, 1:]
        weights = total * (len(y) / max(total.sum(), 1e-300))
        expected, z = x @ model.coefficients[1:], (x - centre.middle) @ centre.scale
        if model.kind == "linear":
            return cls(centre, len(y), _linear(z, mean - expected, weights))
        return cls(centre, len(y), partial(_log_linear, z, mean, expected, weights))

    def regression(self, amount: float) -> RegressionModel:
        """Return the regression of the stratum with this amount of pooling, above 0."""
        model = self.centre.model
        constant, u = self.solve(amount)
        move = self.centre.scale @ u
        constant -= float(self.centre.middle @ move)
        coefficients = np.concatenate([[constant], model.coefficients[1:] + move])
        return replace(model, coefficients=coefficients)


def _linear(z: np.ndarray, y: np.ndarray, w: np.ndarray) -> Callable[[float], Solved]:
    """Return what minimises sum w (y - a - z u)^2 + k |u|^2, as a function of k."""
    total = max(float(w.sum()), 1e-300)
    z_mean, mean = w @ z / total, float(w @ y) / total
    deviations = z - z_mean
    values, vectors = np.linalg.eigh((deviations.T * w) @ deviations)
    slope = vectors.T @ (deviations.T @ (w * (y - mean)))

    def solved(k: float) -> Solved:
        u = vectors @ (slope / (np.maximum(values, 0.0) + k))
        return mean - float(z_mean @ u), u

    return solved


def _log_linear(z: np.ndarray, y: np.ndarray, near: np.ndarray, w: np.ndarray, k: float) -> Solved:
    """Maximise sum w (y eta - exp eta) - k |u|^2 / 2, eta = near + a + z u; return a, u."""
    bound = -SMALLEST_LOG_MEAN
    level = max(float(w @ y), w.sum() * np.exp(SMALLEST_LOG_MEAN))
    start = np.log(level / float(w @ np.exp(np.clip(near, -bound, bound))))
    if np.isinf(k):
        return float(start), np.zeros(z.shape[1])
    x = np.column_stack([np.ones(len(y)), z])
    ridge = np.append(0.0, np.full(z.shape[1], k))

    def value(b: np.ndarray) -> float:
        eta = np.clip(near + x @ b, -bound, bound)
        return float(w @ (y * eta - np.exp(eta)) - ridge @ b**2 / 2)

    def derivatives(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = np.exp(np.clip(near + x @ b, -bound, bound))
        slope = x.T @ (w * (y - mean)) - ridge * b
        return slope, (x.T * (w * mean)) @ x + np.diag(ridge)

    coefficients = maximised(value, derivatives, np.append(start, np.zeros(z.shape[1])))
    return float(coefficients[0]), coefficients[1:]
