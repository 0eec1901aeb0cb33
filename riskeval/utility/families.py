"""Fits of regression families, with what a design-based variance needs.

Models with a logarithm as link and ordered ones are fitted by statsmodels. Logistic models have a
loop of their own (`synthpop.microdata.statistics.logistic`): releases of few records are often
separated, which statsmodels ends with an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from synthpop.microdata.statistics.logistic import fit_logistic

LARGEST = 30.0


def _exponential(score: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.clip(score, -LARGEST, LARGEST)))


MEANS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda score: score,
    "logistic": lambda score: 1 / (1 + _exponential(-score)),
    "poisson": _exponential,
    "gamma": _exponential,
}
"""Family -> mean of the response at a linear predictor."""

FAMILIES = (*MEANS, "ordered")


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A fitted family."""

    coefficients: np.ndarray  # float64, shape (k,)
    values: np.ndarray  # float64, shape (n,): fitted means; linear predictors of "ordered"
    # float64, shape (n, k): weighted score of each record times the inverse information: the
    # variance of its sum over the design is that of the coefficients (Binder 1983)
    influence: np.ndarray
    r_squared: float = float("nan")  # NaN for all but "linear"


def fit_family(x: np.ndarray, y: np.ndarray, weights: np.ndarray, family: str) -> Estimate:
    """Fit a regression to independent columns.

    x: float64, shape (n, k); with a column of ones; without one for "ordered"
    y: float64, shape (n,); 0 or 1 for "logistic", codes of the levels from 0 for "ordered"
    weights: float64, shape (n,); not used by "ordered"
    family: one of `FAMILIES`; "poisson" and "gamma" have the logarithm as link
    """
    # columns in units of their size: variables of very different size stay well conditioned
    scale = np.sqrt(np.maximum((weights[:, None] * x**2).sum(axis=0), np.finfo(float).tiny))
    fit = {"linear": _linear, "logistic": _logistic, "ordered": _ordered}.get(family)
    solution = fit(x / scale, y, weights) if fit else _log_link(x / scale, y, weights, family)
    return replace(
        solution, coefficients=solution.coefficients / scale, influence=solution.influence / scale
    )


def _linear(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> Estimate:
    """Least squares by the normal equations of independent columns, with one refinement."""
    inverse = np.linalg.inv((x * w[:, None]).T @ x)
    coefficients = inverse @ (x.T @ (w * y))
    coefficients += inverse @ (x.T @ (w * (y - x @ coefficients)))
    values = x @ coefficients
    residuals, centred = y - values, y - np.average(y, weights=w)
    spread = float(w @ centred**2)
    r_squared = 1 - float(w @ residuals**2) / spread if spread > 0 else float("nan")
    influence = (x * (w * residuals)[:, None]) @ inverse
    return Estimate(coefficients, values, influence, r_squared)


def _logistic(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> Estimate:
    fit = fit_logistic(x, y, w)
    bread = np.linalg.pinv(fit.information, hermitian=True)
    influence = (x * (w * (y - fit.probabilities))[:, None]) @ bread
    return Estimate(fit.coefficients, fit.probabilities, influence)


def _log_link(x: np.ndarray, y: np.ndarray, w: np.ndarray, family: str) -> Estimate:
    import statsmodels.api as sm

    log = sm.families.links.Log()
    law = sm.families.Poisson(log) if family == "poisson" else sm.families.Gamma(log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gradient is checked below
        fit = sm.GLM(y, x, family=law, var_weights=w).fit(maxiter=200, tol=1e-12)
    mean = np.asarray(fit.fittedvalues)
    score = w * (y - mean) / (1.0 if family == "poisson" else mean)
    influence = (x * score[:, None]) @ fit.normalized_cov_params
    steps = influence.sum(axis=0)  # a Newton step that would still be taken
    known = np.isfinite(fit.params).all() and np.abs(steps).max(initial=0) <= 1e-4 * max(
        1.0, float(np.abs(fit.params).max(initial=0))
    )
    if not known:
        return _nothing(x)
    return Estimate(np.asarray(fit.params), mean, influence)


def _nothing(x: np.ndarray) -> Estimate:
    """Return an estimate of NaN: the fit found no finite solution."""
    return Estimate(np.full(x.shape[1], np.nan), np.full(len(x), np.nan), np.full(x.shape, np.nan))


def _ordered(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> Estimate:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    k, n = x.shape[1], len(y)
    levels, codes = np.unique(y, return_inverse=True)  # a file may lack levels of the other
    if len(levels) < 2:
        return _nothing(x)
    unit = np.sqrt(n)  # columns have length 1 here; the optimiser wants them of size 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # see `converged`
        model = OrderedModel(codes, x * unit, distr="logit")
        fit = model.fit(method="bfgs", disp=False, maxiter=500, gtol=1e-6)
        scores = model.score_obs(fit.params)
        bread = np.linalg.pinv(-model.hessian(fit.params), hermitian=True)
    coefficients = np.asarray(fit.params[:k]) * unit
    if not np.isfinite(coefficients).all() or np.abs(x @ coefficients).max(initial=0) > LARGEST:
        return _nothing(x)  # separated
    return Estimate(coefficients, x @ coefficients, (scores @ bread)[:, :k] * unit)
