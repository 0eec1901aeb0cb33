"""How `Continuous` draws values: one frozen record of options for each method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import signature
from numbers import Real
from typing import Any, ClassVar, TypedDict

import numpy as np

from synthpop.microdata.block import Fallback
from synthpop.microdata.errors import Fault, Faults, InputError, did_you_mean
from synthpop.microdata.parameters import NONE, Between, Constraint, Flag, OneOf, check
from synthpop.models.leaves import has_leaves
from synthpop.models.residuals import log_constant, trimmed
from synthpop.stages.base import keep_own
from synthpop.stages.continuous.binned import (
    Classes,
    classes_up_to_zero,
    kind_classes,
    value_classes,
    with_zeros,
)
from synthpop.stages.continuous.tail import ESTIMATORS, TopClass, fit_top_class
from synthpop.stages.continuous.values import ValueRule

REGRESSIONS = ("linear", "tree", "forest")
COUNTS = ("poisson", "negative-binomial")
WITHIN_CLASS = ("steps", "exponential", "uniform")
RESIDUALS = ("empirical", "local", "normal", "leaves")
NUMBER = Between() | NONE
TRIM = (0.01, 0.01)


@dataclass(frozen=True, slots=True)
class _Options:
    """Options that check themselves by a table."""

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {}

    def __post_init__(self) -> None:
        """Keep copies of lists."""
        keep_own(self)

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work."""
        check(faults, self.PARAMETERS, self, label=label)


# Tails of the top class


@dataclass(frozen=True, slots=True)
class Gpd(_Options):
    """A generalised Pareto distribution for the values of the top class.

    Parameters
    ----------
    threshold : float, optional
        Where the tail begins. Default: the top classes are joined until the highest has 20 sample
        values.
    estimator : "mle", "pwm", "pwm-biased" or "moments"
        See `synthpop.tails.fit_gpd`.
    upper : float, optional
        See `Binned`.

    Examples
    --------
    >>> Gpd(upper=200_000.0).type
    'gpd'
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "threshold": NUMBER,
        "estimator": OneOf(*ESTIMATORS["gpd"]),
        "upper": NUMBER,
    }
    type: ClassVar[str] = "gpd"

    threshold: float | None = None
    estimator: str = "mle"
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Pareto(_Options):
    """A Pareto distribution for the values of the top class.

    Parameters
    ----------
    threshold : float, optional
        Where the tail begins. Default: van Kerm's threshold of the positive values.
    estimator : "pdc", "hill", "ise" or "moment"
        See `synthpop.tails.fit_pareto`.
    upper : float, optional
        See `Binned`.

    Examples
    --------
    >>> Pareto(estimator="hill").type
    'pareto'
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "threshold": NUMBER,
        "estimator": OneOf(*ESTIMATORS["pareto"]),
        "upper": NUMBER,
    }
    type: ClassVar[str] = "pareto"

    threshold: float | None = None
    estimator: str = "pdc"
    upper: float | None = None


TAILS: dict[str, Callable[..., Gpd | Pareto]] = {"gpd": Gpd, "pareto": Pareto}
"""Tails by the name that stands for one with default options."""


# Methods


@dataclass(frozen=True, slots=True)
class ValueMethod(_Options):
    """What every method of `Continuous` is; these are the defaults of what it does not have."""

    is_count: ClassVar[bool] = False

    @property
    def within_class(self) -> str:
        """How values lie inside their class."""
        return "steps"

    @property
    def intervals(self) -> tuple[str, str] | None:
        """Names of the columns of bounds."""
        return None

    @property
    def type(self) -> str:
        """Name of the method in run files, short for the method with default options."""
        raise NotImplementedError

    @property
    def learns(self) -> bool:
        """Whether coefficients of strata cannot be shrunk: a tree, forest or other regressor."""
        return False

    @property
    def zeros(self) -> bool | None:
        """Whether zero is a class of its own; None where the values decide."""
        return None

    @property
    def upper(self) -> float | None:
        """Option of that name."""
        return None

    @property
    def bound(self) -> float | None:
        """Largest value that may be drawn."""
        return self.upper

    def classes(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> Classes:
        """Return the classes of the sample's values; `rows` of the file and `label` for faults."""
        return kind_classes(values, zeros=with_zeros(values, weights, self.zeros))

    def top_class(
        self, values: np.ndarray, weights: np.ndarray, threshold: float, label: str
    ) -> tuple[TopClass | None, tuple[Fallback, ...]]:
        """Return the tail of the class that begins at a threshold, if the method has one."""
        return None, ()

    def rule(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> ValueRule:
        """Return how the values of the last class are modelled and drawn.

        Parameters
        ----------
        values, weights : float arrays, shape (n,)
            Of the sample persons in that class.
        rows : int array, shape (n,)
            Their positions, for messages.
        label : str
            Of the stage, for messages.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Binned(ValueMethod):
    """A class of values is drawn from a multinomial model, then a value inside it (eq. 6.4 to 6.7).

    Parameters
    ----------
    zeros : bool, optional
        Zero is a class of its own. Default: where more than 0.5 % of the values are zero.
    breaks : sequence of numbers, optional
        Class limits; must enclose the values of the sample. Default: weighted quantiles
        in steps of 10 % and at 1, 5, 95, 97.5 and 99 % (of the positive values, with zeros;
        deciles of the negative ones), and the extremes.
    tail : None, "gpd", "pareto", `Gpd` or `Pareto`
        Draw the values of the top class from a distribution fitted to the weighted sample values
        in it, pooled over strata, and cut at `upper`; the class keeps its weighted mean
        (`synthpop.models.tilted`).
    upper : float, optional
        Largest value that may be drawn; sample values above it count as `upper`. Default: the
        largest sample value, and of a tail twice that value, or the value that half a person is
        expected above where that is less (a tail so heavy that it has no variance then gives a
        `ModelWarning`). The smallest sample value is always the lower bound.
    intervals : (str, str), optional
        Names of two further columns that hold the bounds of the class each value was drawn from
        (what an intruder who knows the generating process would know).
    within_class : "steps", "exponential" or "uniform"
        How values lie inside their class. "steps": between weighted quantiles of the sample's
        values there, at most 32 steps of 10 values on average; values that many persons share stay
        such. "exponential": over the class as a whole. Both with a density exp(-rate x) of the
        place x between two limits, the rate such that the class keeps its weighted mean.
        "uniform": evenly, as in the book; means of classes move then.

    Examples
    --------
    >>> Binned(tail=Gpd(upper=200_000.0)).bound
    200000.0
    """

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {
        "zeros": Flag() | NONE,
        "upper": NUMBER,
        "within_class": OneOf(*WITHIN_CLASS),
    }
    OPTION_TYPES: ClassVar[Mapping[str, Mapping[str, Any]]] = {"tail": TAILS}

    zeros: bool | None = None
    breaks: Sequence[float] | None = None
    tail: str | Gpd | Pareto | None = None
    upper: float | None = None
    intervals: tuple[str, str] | None = None
    within_class: str = "steps"

    @property
    def type(self) -> str:
        """Name of the method in run files."""
        return "binned"

    @property
    def bound(self) -> float | None:
        """Largest value that may be drawn."""
        tail = self.fitted_tail
        return tail.upper if tail is not None and tail.upper is not None else self.upper

    @property
    def fitted_tail(self) -> Gpd | Pareto | None:
        """The tail with its options; None where there is none, or an unknown one."""
        if isinstance(self.tail, str):
            return TAILS[self.tail]() if self.tail in TAILS else None
        return self.tail

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work."""
        check(faults, self.PARAMETERS, self, label=label)
        if self.breaks is not None:
            self._check_breaks(faults, label)
        if self.tail is None:
            return
        if not isinstance(self.tail, (Gpd, Pareto)) and self.tail not in TAILS:
            what = f"{self.tail!r} is not allowed"
            faults.add(f"{label}: tail", what, remedy=did_you_mean(self.tail, [None, *TAILS]))
        elif isinstance(self.tail, (Gpd, Pareto)):
            self.tail.check(faults, f"{label}: tail")
            if self.tail.threshold is not None and self.breaks is not None:
                remedy = "Make the threshold the last but one break."
                faults.add(label, "has both breaks and threshold", remedy=remedy)
            if self.tail.upper is not None and self.upper is not None:
                faults.add(label, "has upper twice", remedy="Give it to the tail alone.")

    def _check_breaks(self, faults: Faults, label: str) -> None:
        limits = np.asarray(self.breaks, dtype=np.float64)
        if len(limits) < 2 or not np.all(np.diff(limits) > 0):
            faults.add(label, "breaks do not increase", remedy="Give two or more limits.")
        elif not np.isfinite(limits[:-1]).all():
            faults.add(label, "breaks are infinite", remedy="Only the last may be.")
        elif np.isinf(limits[-1]) and self.tail is None and self.upper is None:
            what = "the last of breaks is infinite: there are no uniform draws up to there"
            faults.add(label, what, remedy="Set tail, or upper, or a finite limit.")

    def classes(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> Classes:
        """Return classes at the limits that are given, or at weighted quantiles."""
        tail = self.fitted_tail
        return value_classes(
            values,
            weights,
            zeros=with_zeros(values, weights, self.zeros),
            breaks=self.breaks,
            tail=None if tail is None else tail.type,
            threshold=None if tail is None else tail.threshold,
            upper=self.bound,
            label=label,
            where=rows,
        )

    def top_class(
        self, values: np.ndarray, weights: np.ndarray, threshold: float, label: str
    ) -> tuple[TopClass | None, tuple[Fallback, ...]]:
        """Return the tail of the class that begins at a threshold."""
        tail = self.fitted_tail
        if tail is None:
            return None, ()
        return fit_top_class(
            tail.type,
            values,
            weights,
            threshold,
            upper=self.bound,
            estimator=tail.estimator,
            label=label,
        )


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
            remedy = "Give two shares, 0 or more, together below 1."
            faults.add(label, f"trim is {self.trim}", remedy=remedy)
        if self.constant is not None and not self.log:
            faults.add(label, "constant has no meaning without log", remedy="Set log = true.")

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

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work."""
        _Around.check(self, faults, label)
        if self.residuals == "leaves" and not self._has_leaves():
            what = "residuals are leaves, but the method is no tree or forest"
            faults.add(label, what, remedy='Use method "tree" or "forest", or other residuals.')
        where, name = f"{label}: method", type(self.model).__name__
        if isinstance(self.model, str) or not hasattr(self.model, "fit"):
            if not (isinstance(self.model, str) and self.model in REGRESSIONS):
                remedy = did_you_mean(self.model, [*REGRESSIONS, "a scikit-learn regressor"])
                faults.add(where, f"{self.model!r} is not allowed", remedy=remedy)
        elif not hasattr(self.model, "predict") or hasattr(self.model, "predict_proba"):
            faults.add(where, f"{name} is no regressor", remedy="Give one, or use Categorical.")
        elif "sample_weight" not in signature(self.model.fit).parameters:
            what = f"{name}.fit takes no sample_weight: survey weights would be ignored"
            faults.add(where, what, remedy="Choose a regressor that takes weights.")

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
        See `Regressed`; without "leaves".
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

    @property
    def type(self) -> str:
        """Name of the method in run files."""
        return "binned+regression"

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

    @property
    def type(self) -> str:
        """Name of the method in run files."""
        return "pmm"

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
        """Return the regression of counts; values that are no counts are a fault."""
        _, upper = _bounds(values, self.upper, label)
        wrong = np.flatnonzero((values < 0) | (values != np.round(values)))
        if len(wrong):
            what = f"{len(wrong)} sample values are not whole numbers from 0 on"
            first = tuple(int(row) for row in rows[wrong[:5]])
            remedy = 'Round them, or use method "regression".'
            raise InputError("recipe", [Fault(label, what, first, len(wrong), remedy)])
        shift = int(bool(self.zeros))
        return ValueRule("counts", self.distribution, shift=shift, lower=float(shift), upper=upper)


METHODS: dict[str, Callable[..., ValueMethod]] = {
    "binned": Binned,
    "regression": Regressed,
    "binned+regression": BinnedRegressed,
    "poisson": partial(Counted, "poisson"),
    "negative-binomial": partial(Counted, "negative-binomial"),
    "pmm": Matched,
    "tree": partial(Regressed, "tree"),
    "forest": partial(Regressed, "forest"),
}
"""Methods by the name that stands for one with default options."""


class MethodOptions(TypedDict, total=False):
    """Options that may stand beside the name of a method; each method has some of them."""

    zeros: bool | None
    breaks: Sequence[float] | None
    tail: str | Gpd | Pareto | None
    threshold: float | None
    estimator: str | None
    upper: float | None
    intervals: tuple[str, str] | None
    within_class: str
    log: bool
    constant: float | None
    trim: tuple[float, float]
    residuals: str | None


def with_options(label: str, method: Any, options: MethodOptions) -> ValueMethod:
    """Return a named method, or a regressor, with options of its own; those it lacks are faults.

    Options that are None or False where the method has none of that name ask for nothing.

    Examples
    --------
    >>> with_options("income", "binned", {"tail": "gpd", "threshold": 9e4, "residuals": None})
    Binned(zeros=None, breaks=None, tail=Gpd(threshold=90000.0, estimator='mle', upper=None), \
upper=None, intervals=None, within_class='steps')
    """
    faults = Faults("recipe")
    wanted: dict[str, Any] = dict(options)
    of_tail = {key: wanted.pop(key) for key in ("threshold", "estimator") if key in wanted}
    of_tail = {key: value for key, value in of_tail.items() if value is not None}
    tail = wanted.get("tail")
    if of_tail and isinstance(tail, str) and tail in TAILS:
        wanted["tail"] = TAILS[tail](**of_tail)
    elif of_tail:
        faults.add(f"{label}: {min(of_tail)}", "needs a tail", remedy='Give tail = "gpd".')
    made = value_method(method)
    if made is None or isinstance(method, ValueMethod):
        what = "stands beside an object of options" if made is not None else "has no method"
        faults.add(f"{label}: {min(options)}", what, remedy="Give it to the method itself.")
    faults.raise_if_any()
    assert made is not None
    names = {option.name for option in fields(made)}
    for name, value in wanted.items():
        if name not in names and value is not None and value is not False:
            remedy = f"It has {', '.join(sorted(names))}."
            faults.add(f"{label}: {name}", f"is no option of {made.type!r}", remedy=remedy)
    faults.raise_if_any()
    return replace(made, **{name: value for name, value in wanted.items() if name in names})


def value_method(method: Any) -> ValueMethod | None:
    """Return the options that a name or a regressor stands for; None for what is unknown."""
    if isinstance(method, ValueMethod):
        return method
    if isinstance(method, str):
        return METHODS[method]() if method in METHODS else None
    return Regressed(method) if hasattr(method, "fit") else None


def _bounds(values: np.ndarray, bound: float | None, label: str) -> tuple[float, float]:
    """Return the smallest and largest value that may be drawn."""
    lower, upper = float(values.min()), np.inf if bound is None else float(bound)
    if upper <= lower:
        _fail(label, f"upper is {upper:g}, the smallest sample value {lower:g}", "Raise upper.")
    return lower, upper


def _fail(label: str, what: str, remedy: str) -> None:
    raise InputError("recipe", [Fault(label, what, remedy=remedy)])
