"""Values around a regression: fitted by stratum on a sequence, drawn once for each person.

A source is a fitted regression with what is drawn around it: residuals, a normal distribution,
donors, or counts. Each cell takes the first source that has an answer for it: the stratum's own
(which may be shrunk towards the pooled one), the one pooled over strata (the stratum is a predictor
then), the mean of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.pooling.regression_methods import (
    PooledRegressions,
    RegressionPooling,
    fit_partial_regressions,
)
from synthpop.microdata.frame.block import Fallback, Sample
from synthpop.microdata.messages.message import message
from synthpop.models.leaves import Leaves, fit_leaves, leaves_of
from synthpop.models.regression import (
    RegressionModel,
    columns_of,
    fit_regression,
    fit_regressor,
    negative_binomial_size,
    predict_regression,
)
from synthpop.models.residuals import median_and_mad, residual_table, trimmed

VALUES_PER_COEFFICIENT = 3
LARGEST_LOG = 700.0
ALL = -1


@dataclass(frozen=True, slots=True)
class ValueRule:
    """How values are modelled and drawn."""

    regression: Any  # "linear", "counts", "tree", "forest" or a scikit-learn regressor
    # "empirical", "local", "normal", "donors", "leaves", "poisson" or "negative-binomial"
    draw: str
    trim: tuple[float, float] = (0.0, 0.0)  # (float, float)
    log: bool = False
    constant: float = 0.0  # added before the logarithm
    # subtracted from counts before the model: 1 where zeros are a class of their own
    shift: int = 0
    # lower, upper: bounds of the values
    lower: float = -np.inf
    upper: float = np.inf

    def to_model(self, values: Any) -> Any:
        """Return values on the scale of the model; minus infinity where there is no logarithm."""
        if not self.log:
            return values - self.shift
        moved = np.asarray(values, dtype=np.float64) + self.constant
        has_moved = moved > 0
        return np.where(has_moved, np.log(np.where(has_moved, moved, 1.0)), -np.inf)

    def from_model(self, values: np.ndarray) -> np.ndarray:
        """Return values on their own scale, within the bounds."""
        if self.log:
            values = np.exp(np.minimum(values, LARGEST_LOG)) - self.constant
        return np.clip(values + self.shift, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class ValueSource:
    """A regression and what is drawn around it.

    table, cumulative: float arrays, shape (d,); sorted residuals, or local residuals or values of
        donors in the order of `fitted`, and their cumulated shares of weight
    """

    model: RegressionModel | None  # None: the same centre for everybody
    centre: float
    table: np.ndarray
    cumulative: np.ndarray
    # float array, shape (d,): fitted values of donors or residuals, sorted; empty for other draws
    fitted: np.ndarray
    # location, scale: of the normal distribution of residuals
    location: float = 0.0
    scale: float = 0.0
    size: float = np.inf  # of the negative binomial distribution; infinity for Poisson counts
    leaves: Leaves | None = None  # donors of the leaves of trees

    def predict(self, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the centre of cells and which cells have one."""
        if self.model is None:
            return np.full(len(digits), self.centre), np.ones(len(digits), dtype=bool)
        return predict_regression(self.model, digits)


@dataclass(frozen=True, slots=True)
class Values:
    """The sequence of sources of one variable."""

    rule: ValueRule
    by_stratum: tuple[ValueSource | None, ...]
    pooled: ValueSource
    marginal: ValueSource
    pooling: RegressionPooling


def fit_values(
    rule: ValueRule,
    design: ModelDesign,
    values: np.ndarray,
    *,
    smallest_stratum: int,
    seed: int,
    pooling: str | float = "none",
) -> tuple[Values, dict[int, str]]:
    """Fit the sources to the persons who have a value.

    smallest_stratum: strata with fewer values have no model of their own
    pooling: amount of partial pooling (`synthpop.conditional.pooling.regression`); only "none" and
        "complete" for regressors of scikit-learn
    Returns the sources, and notes: stratum -> why it has no model of its own; `ALL` -> values that
        the rule leaves out.
    """
    y = rule.to_model(values)
    pooled_fit = _shrunk(rule, design, y, smallest_stratum, seed, pooling)
    by_stratum: list[ValueSource | None] = []
    notes: dict[int, str] = {}
    for stratum in range(design.n_strata) if pooling != "complete" else ():
        rows = np.flatnonzero(design.strata == stratum)
        source, why = None, message("only {n} values in the sample", n=len(rows))
        shrunk = pooled_fit.by_stratum[stratum] if pooled_fit else None
        if len(rows) >= max(1, smallest_stratum) and (shrunk or not pooled_fit):
            of_stratum = design.rows(rows), y[rows], values[rows]
            source = _fit_source(rule, *of_stratum, seed + stratum + 1, shrunk)
            rank = 0 if pooled_fit or source is None or source.model is None else source.model.rank
            if len(rows) < VALUES_PER_COEFFICIENT * rank:
                source, why = (
                    None,
                    message("only {n} values for {rank} coefficients", n=len(rows), rank=rank),
                )
        by_stratum.append(source)
        if source is None and len(rows):
            notes[stratum] = message("{why}: values from the model pooled over strata", why=why)
    wide = design.with_strata() if design.n_strata > 1 else design
    pooled = _fit_source(rule, wide, y, values, seed, pooled_fit.pooled if pooled_fit else None)
    marginal = _fit_source(replace(rule, regression="mean"), design, y, values, seed)
    assert pooled is not None
    assert marginal is not None  # the constant leaves some values
    missed = int((~np.isfinite(y)).sum())
    if missed:
        notes[ALL] = message(
            "{missed} sample values have no logarithm and are cut off: never drawn", missed=missed
        )
    strata_pooling = pooled_fit.pooling if pooled_fit else RegressionPooling(
        "complete" if pooling == "complete" else "none")  # fmt: skip
    models = tuple(by_stratum) or (None,) * design.n_strata
    return Values(rule, models, pooled, marginal, strata_pooling), notes


def _shrunk(
    rule: ValueRule,
    design: ModelDesign,
    y: np.ndarray,
    smallest_stratum: int,
    seed: int,
    pooling: str | float,
) -> PooledRegressions | None:
    """Fit the regressions of strata shrunk towards the pooled one, where that is asked for."""
    if pooling in ("none", "complete", 0) or design.n_strata < 2:
        return None
    sizes = np.bincount(design.strata, minlength=design.n_strata)
    enough = sizes >= max(1, smallest_stratum)
    keep = partial(_kept, rule)
    return fit_partial_regressions(rule.regression, design, y, keep, enough, seed, pooling)


def _kept(rule: ValueRule, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return trimmed(y, weights, rule.trim) & np.isfinite(y)


def _fit_source(
    rule: ValueRule,
    design: ModelDesign,
    y: np.ndarray,
    values: np.ndarray,
    seed: int,
    near: RegressionModel | None = None,
) -> ValueSource | None:
    """Fit a source; with the regression `near` that is already there."""
    w = design.weights
    keep = _kept(rule, y, w)
    if not keep.any():
        return None
    model, centre, kind = None, 0.0, rule.regression
    sample = kind, design.digits[keep], y[keep], w[keep], design.sizes
    if isinstance(kind, str) and kind == "mean":
        centre = float(np.average(y[keep], weights=w[keep]))
        fitted = np.full(len(y), centre)
    elif isinstance(kind, str) and kind in ("linear", "counts"):
        model = near or fit_regression(*sample, design.numbers)
        fitted = predict_regression(model, design.digits)[0]
    else:
        fitted = np.zeros(len(y))
        model, fitted[keep] = fit_regressor(*sample, design.ordered, seed, design.numbers)
    empty = np.empty(0)
    source = ValueSource(model, centre, empty, empty, empty)
    if rule.draw == "leaves":
        return _with_leaves(source, design, values)
    if rule.draw == "donors":
        known = source.predict(design.digits)[1]
        order = np.flatnonzero(known)[np.argsort(fitted[known], kind="stable")]
        share = np.cumsum(w[order]) / w[order].sum()
        return replace(source, table=values[order], cumulative=share, fitted=fitted[order])
    if rule.draw == "negative-binomial":
        return replace(source, size=negative_binomial_size(y, fitted, w))
    if rule.draw == "poisson":
        return source
    residuals = (y - fitted)[keep]
    if rule.draw == "normal":
        location, scale = median_and_mad(residuals, w[keep])
        return replace(source, location=location, scale=scale)
    if rule.draw == "local":
        return _with_all_residuals(source, design, y, fitted, keep)
    table, cumulative = residual_table(residuals, w[keep])
    return replace(source, table=table, cumulative=cumulative)


def _with_leaves(source: ValueSource, design: ModelDesign, values: np.ndarray) -> ValueSource:
    """Return a source with everybody in the leaves of its trees, also those that the fit left out.

    Without a model all are in one leaf.
    """
    known = source.predict(design.digits)[1]
    leaf = np.zeros((len(values), 1), dtype=np.int64)
    if source.model is not None:
        leaf = leaves_of(source.model.estimator, columns_of(source.model, design.digits[known]))
    return replace(source, leaves=fit_leaves(leaf, values[known], design.weights[known]))


def _with_all_residuals(
    source: ValueSource, design: ModelDesign, y: np.ndarray, fitted: np.ndarray, keep: np.ndarray
) -> ValueSource:
    """Return a source with everybody's residual: also of values that the fit left out.

    Those are drawn for persons alike, so that they cannot become large errors of others.
    """
    centre, known = source.predict(design.digits)
    centre[keep], known[keep] = fitted[keep], True
    rows = np.flatnonzero(known & np.isfinite(y))
    rows = rows[np.argsort(centre[rows], kind="stable")]
    share = np.cumsum(design.weights[rows]) / design.weights[rows].sum()
    return replace(source, table=(y - centre)[rows], cumulative=share, fitted=centre[rows])


def notes_of(notes: dict[int, str], label: str, sample: Sample) -> tuple[Fallback, ...]:
    """Return the notes of a fit as fallbacks."""
    return tuple(
        Fallback(label, "all" if k == ALL else str(sample.strata_levels[k]), what)
        for k, what in notes.items()
    )
