"""Methods around a regression: residuals, matching, counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Constraint, Flag, OneOf, check
from synthpop.models.leaves import has_leaves
from synthpop.models.residuals import log_constant, trimmed
from synthpop.stages.continuous.binned import Classes, classes_up_to_zero
from synthpop.stages.continuous.binned_method import WITHIN_CLASS
from synthpop.stages.continuous.method_base import NUMBER, ValueMethod
from synthpop.stages.continuous.values import ValueRule

REGRESSIONS = ("linear", "tree", "forest")
COUNTS = ("poisson", "negative-binomial")
RESIDUALS = ("empirical", "local", "normal", "leaves")
TRIM = (0.01, 0.01)


def _two_shares(trim: Any) -> bool:
    if np.shape(trim) != (2,) or not all(isinstance(share, Real) for share in trim):
        return False
    return min(trim) >= 0 and sum(trim) < 1


@dataclass(frozen=True, slots=True)
class _Around(ValueMethod):
    """What methods around a regression share."""

    @property
    def log(self) -> bool:
        """Whether the regression is one of the logarithm."""
        return True

    @property
    def constant(self) -> float | None:
        """What is added before the logarithm; None where the values decide."""
        return None

    @property
    def trim(self) -> tuple[float, float]:
        """Shares of the values left out of the regression below and above."""
        return TRIM

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work."""
        check(faults, self.PARAMETERS, self, label=label)
        if not _two_shares(self.trim):
            hint = "Give two shares, 0 or more, together below 1."
            faults.add(label, f"trim is {self.trim}", hint=hint)
        if self.constant is not None and not self.log:
            faults.add(label, "constant has no meaning without log", hint="Set log = true.")

    def rule(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> ValueRule:
        """Return the regression, on the scale of the logarithm where that is asked for."""
        lower, upper = _bounds(values, self.bound, label)
        constant: float | None = 0.0
        trim = (float(self.trim[0]), float(self.trim[1]))
        if self.log:
            inside = trimmed(values, weights, trim)
            least = float(values[inside].min())
            constant = self.constant
            if constant is None:
                constant = log_constant(values[inside], weights[inside])
            if least + constant <= 0:
                what = f"constant is {constant:g}, but the smallest value after trimming {least:g}"
                _fail(label, what, "Their sum must be positive for the logarithm.")
        regression, draw = self.regression_and_draw()
        return ValueRule(regression, draw, trim, self.log, float(constant or 0.0), 0, lower, upper)

    def regression_and_draw(self) -> tuple[Any, str]:
        """Return the regression and what is drawn around it, as `ValueRule` has them."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Regressed(_Around):
    """Values around a regression, with residuals drawn (book eq. 6.8 to 6.14).

    Parameters
    ----------
    model : "linear", "tree", "forest" or a scikit-learn regressor
        "linear": weighted least squares. "tree", "forest": the value of a sample person in the
        same leaf. A regressor whose ``fit`` takes ``sample_weight``: as "linear".
    log : bool
        Regression of the logarithm.
    constant : float, optional
        Added before the logarithm, subtracted after. Default: 0 where all values within `trim`
        are positive, otherwise chosen from them; see `synthpop.models.residuals.log_constant`.
        Values without a logarithm are cut off by `trim`, so they are never drawn; this is recorded.
    trim : (float, float)
        Share of the values left out of the regression below and above, by weighted quantiles of
        the stratum; their residuals are not drawn either, but with residuals="local", where they
        can become an error of persons alike only.
    residuals : "local", "empirical", "normal" or "leaves", optional
        "local" (default but for trees and forests): draw
        from the weighted residuals of the 40 sample persons with fitted values around one's
        own (and all that tie with them), for a spread and shape that differ between persons; a
        draw lies between the residual of a person and half-way to the next one, so that values
        of real persons are not repeated. "empirical": from the weighted residuals of all in the
        stratum. "normal": from a normal distribution with their weighted median and MAD. "leaves"
        (default of trees and forests): the value of a sample person in the same leaf, drawn by
        weight, of a forest in a leaf of one of its trees (`synthpop.models.leaves`).
    zeros : bool, optional
        Zero is a class of its own. Default: where more than 0.5 % of the values are zero.
    upper : float, optional
        Largest value that may be drawn; draws are from the part of their distribution between the
        smallest sample value and `upper`. Default: no bound.

    Examples
    --------
    >>> Regressed(log=True).type, Regressed("forest").type
    ('regression', 'forest')
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "log": Flag(),
        "constant": NUMBER,
        "residuals": OneOf(None, *RESIDUALS),
        "zeros": Flag() | NONE,
        "upper": NUMBER,
    }

    model: Any = "linear"
    log: bool = False
    constant: float | None = None
    trim: tuple[float, float] = TRIM
    residuals: str | None = None
    zeros: bool | None = None
    upper: float | None = None

    @property
    def type(self) -> str:
        """Name of the method in run files."""
        tree = isinstance(self.model, str) and self.model in ("tree", "forest")
        return self.model if tree else "regression"

    @property
    def learns(self) -> bool:
        """Whether coefficients of strata cannot be shrunk: a tree, forest or other regressor."""
        return not (isinstance(self.model, str) and self.model == "linear")

    @property
    def model_of_classes(self) -> str:
        """Name of the model of what kind of value a person has.

        A tree for trees and forests: the mean over a forest gives amounts to persons none of whom
        has any in the survey.
        """
        return "multinomial" if self.type == "regression" else "tree"

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work."""
        _Around.check(self, faults, label)
        if self.residuals == "leaves" and not self._has_leaves():
            what = "residuals are leaves, but the method is not a tree or forest"
            faults.add(label, what, hint='Use method "tree" or "forest", or other residuals.')
        where, name = f"{label}: method", type(self.model).__name__
        if isinstance(self.model, str) or not hasattr(self.model, "fit"):
            if not (isinstance(self.model, str) and self.model in REGRESSIONS):
                hint = did_you_mean(self.model, [*REGRESSIONS, "a scikit-learn regressor"])
                faults.add(
                    where, message("{value} is not allowed", value=repr(self.model)), hint=hint
                )
        elif not hasattr(self.model, "predict") or hasattr(self.model, "predict_proba"):
            faults.add(where, f"{name} is not a regressor", hint="Give one, or use Categorical.")
        elif "sample_weight" not in signature(self.model.fit).parameters:
            what = f"{name}.fit takes no sample_weight: survey weights would be ignored"
            faults.add(where, what, hint="Choose a regressor that takes weights.")

    def _has_leaves(self) -> bool:
        trees = isinstance(self.model, str) and self.model in ("tree", "forest")
        return trees if isinstance(self.model, str) else has_leaves(self.model)

    def regression_and_draw(self) -> tuple[Any, str]:
        """Return the regression and what is drawn around it."""
        return self.model, self.residuals or ("leaves" if self._has_leaves() else "local")


@dataclass(frozen=True, slots=True)
class BinnedRegressed(_Around):
    """Classes for negative values, zero, and a log-linear regression for positive ones.

    Parameters
    ----------
    constant, trim, residuals, upper
        See `Regressed`. The residuals cannot be "leaves".
    within_class : "steps", "exponential" or "uniform"
        Of negative values; see `Binned`.

    Examples
    --------
    >>> BinnedRegressed(residuals="normal").type
    'binned+regression'
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "constant": NUMBER,
        "residuals": OneOf(*RESIDUALS[:-1]),
        "within_class": OneOf(*WITHIN_CLASS),
        "upper": NUMBER,
    }

    constant: float | None = None
    trim: tuple[float, float] = TRIM
    residuals: str = "local"
    within_class: str = "steps"
    upper: float | None = None

    type: ClassVar[str] = "binned+regression"

    def classes(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> Classes:
        """Return classes of the negative values, zero, and one class of the positive ones."""
        return classes_up_to_zero(values, weights)

    def regression_and_draw(self) -> tuple[Any, str]:
        """Return the regression and what is drawn around it."""
        return "linear", self.residuals


@dataclass(frozen=True, slots=True)
class Matched(_Around):
    """Predictive mean matching.

    The value of one of the 5 sample persons with the nearest fitted values, drawn by weight.

    Parameters
    ----------
    log, constant, trim, zeros
        See `Regressed`.

    Examples
    --------
    >>> Matched(log=True).type
    'pmm'
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "log": Flag(),
        "constant": NUMBER,
        "zeros": Flag() | NONE,
    }

    log: bool = False
    constant: float | None = None
    trim: tuple[float, float] = TRIM
    zeros: bool | None = None

    type: ClassVar[str] = "pmm"

    def regression_and_draw(self) -> tuple[Any, str]:
        """Return the regression and what is drawn around it."""
        return "linear", "donors"


@dataclass(frozen=True, slots=True)
class Counted(ValueMethod):
    """Counts, drawn from their distribution around a regression (no rounded means).

    Parameters
    ----------
    distribution : "poisson" or "negative-binomial"
    zeros : bool
        Zero is a class of its own; counts of one and more are 1 + a count then.
    upper : float, optional
        Largest count that may be drawn. Default: no bound.

    Examples
    --------
    >>> Counted("negative-binomial", zeros=True).type
    'negative-binomial'
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "distribution": OneOf(*COUNTS),
        "zeros": Flag() | NONE,
        "upper": NUMBER,
    }
    is_count: ClassVar[bool] = True

    distribution: str = "poisson"
    zeros: bool | None = False
    upper: float | None = None

    @property
    def type(self) -> str:
        """Name of the method in run files."""
        return self.distribution

    def rule(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> ValueRule:
        """Return the regression of counts; values that are not counts are a fault."""
        _, upper = _bounds(values, self.upper, label)
        faulty_rows = np.flatnonzero((values < 0) | (values != np.round(values)))
        if len(faulty_rows):
            what = f"{len(faulty_rows)} sample values are not whole numbers from 0 on"
            hint = 'Round them, or use method "regression".'
            raise InputError.of("recipe", label, what, hint, rows=rows[faulty_rows])
        shift = int(bool(self.zeros))
        return ValueRule("counts", self.distribution, shift=shift, lower=float(shift), upper=upper)


def _bounds(values: np.ndarray, bound: float | None, label: str) -> tuple[float, float]:
    lower, upper = float(values.min()), np.inf if bound is None else float(bound)
    if upper <= lower:
        _fail(label, f"upper is {upper:g}, the smallest sample value {lower:g}", "Raise upper.")
    return lower, upper


def _fail(label: str, what: str, hint: str) -> None:
    raise InputError.of("recipe", label, what, hint)
