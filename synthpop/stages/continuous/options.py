"""Which options each method of `Continuous` has, and the rule of values they make."""

from __future__ import annotations

from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from synthpop.conditional.household_values import FORMS
from synthpop.conditional.members_before import GIVEN_MEMBERS
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Fault, Faults, InputError
from synthpop.models.leaves import has_leaves
from synthpop.models.residuals import log_constant, trimmed
from synthpop.stages.base import check_decimals, check_smallest_stratum
from synthpop.stages.continuous.tail import ESTIMATORS
from synthpop.stages.continuous.values import ValueRule

if TYPE_CHECKING:
    from synthpop.stages.continuous.stage import Continuous

LEARNER = "a scikit-learn regressor"
COUNTS = ("poisson", "negative-binomial")
TREES = ("tree", "forest")
METHODS = ("binned", "regression", "binned+regression", *COUNTS, "pmm", *TREES)
AROUND = ("regression", "binned+regression", *TREES, LEARNER)
RESIDUALS = ("empirical", "local", "normal", "leaves")
WITHIN_CLASS = ("steps", "exponential", "uniform")
MATCHED = (*AROUND, "pmm")
MEANING: dict[str, tuple[str, ...]] = {
    "zeros": ("binned", "regression", *COUNTS, "pmm", *TREES, LEARNER),
    "breaks": ("binned",),
    "tail": ("binned",),
    "intervals": ("binned",),
    "within_class": ("binned", "binned+regression"),
    "threshold": ("binned",),
    "estimator": ("binned",),
    "trim": MATCHED,
    "log": ("regression", "pmm", *TREES, LEARNER),
    "constant": MATCHED,
    "residuals": AROUND,
    "upper": ("binned", *COUNTS, *AROUND),
}


def check_options(faults: Faults, stage: Continuous) -> None:
    """Note options that cannot work, and options that the method has no use for."""
    label, kind = stage.label, _kind(stage.method)
    _check_method(faults, stage)
    check_choice(faults, f"{label}: tail", stage.tail, [None, "gpd", "pareto"])
    check_choice(faults, f"{label}: residuals", stage.residuals, [None, *RESIDUALS])
    if stage.residuals == "leaves" and not _has_leaves(stage.method):
        what = "residuals are leaves, but the method is no tree or forest"
        faults.add(label, what, remedy='Use method "tree" or "forest", or other residuals.')
    check_choice(faults, f"{label}: within_class", stage.within_class, WITHIN_CLASS)
    check_choice(
        faults, f"{label}: by_household", stage.by_household, [None, *GIVEN_MEMBERS, *FORMS]
    )
    if kind in (*METHODS, LEARNER):
        for option, methods in MEANING.items():
            if kind not in methods and _given(stage, option):
                remedy = f"It is an option of {', '.join(methods)}."
                faults.add(label, f"{option} has no meaning for the method {kind}", remedy=remedy)
    if stage.breaks is not None:
        _check_breaks(faults, stage)
    if stage.intervals is not None and len({stage.name, *stage.intervals}) != 3:
        faults.add(label, "intervals needs two names of its own", remedy="Give (lower, upper).")
    if stage.intervals is not None and stage.by_household in ("sum", "mean"):
        what = f"intervals has no meaning with by_household = {stage.by_household!r}"
        faults.add(label, what, remedy="Leave one of them out.")
    if not _two_shares(stage.trim):
        remedy = "Give two shares, 0 or more, together below 1."
        faults.add(label, f"trim is {stage.trim}", remedy=remedy)
    if stage.constant is not None and not (stage.log or kind == "binned+regression"):
        faults.add(label, "constant has no meaning without log", remedy="Set log = true.")
    _check_tail(faults, stage)
    check_decimals(faults, label, stage.decimals)
    for option in ("upper", "constant", "threshold"):
        value = getattr(stage, option)
        if value is not None and not (isinstance(value, Real) and np.isfinite(float(value))):
            faults.add(label, f"{option} is {value!r}", remedy="Give a finite number.")
    check_smallest_stratum(faults, label, stage.smallest_stratum)
    if kind in (*TREES, LEARNER) and stage.pooling not in (None, "none", "complete"):
        what = f"partial pooling ({stage.pooling!r}) has no meaning for the method {kind}"
        remedy = (
            'Set pooling = "none" or "complete", or leave it out: then the classes (missing, zero, '
            "other) are pooled by cross-validation and each stratum has a regressor of its own."
        )
        faults.add(f"{label}: pooling", what, remedy=remedy)


def _check_tail(faults: Faults, stage: Continuous) -> None:
    """Note options of a tail without one, and those of another tail."""
    label, kind = stage.label, stage.tail
    for option in ("threshold", "estimator"):
        if kind is None and _given(stage, option):
            what = f"{option} has no meaning without a tail"
            faults.add(label, what, remedy='Set tail = "gpd" or "pareto".')
    if kind in ESTIMATORS and stage.estimator is not None:
        check_choice(faults, f"{label}: estimator", stage.estimator, ESTIMATORS[kind])
    if stage.threshold is not None and stage.breaks is not None:
        what, remedy = "has both breaks and threshold", "Make the threshold the last but one break."
        faults.add(label, what, remedy=remedy)


def values_pooling(stage: Continuous) -> str | float:
    """Return the pooling of the regressions: as given, or the default of the method."""
    if stage.pooling is not None:
        return stage.pooling
    return "none" if _kind(stage.method) in (*TREES, LEARNER) else "cross-validated"


def _check_breaks(faults: Faults, stage: Continuous) -> None:
    limits = np.asarray(stage.breaks, dtype=np.float64)
    if len(limits) < 2 or not np.all(np.diff(limits) > 0):
        faults.add(stage.label, "breaks do not increase", remedy="Give two or more limits.")
    elif not np.isfinite(limits[:-1]).all():
        faults.add(stage.label, "breaks are infinite", remedy="Only the last may be.")
    elif np.isinf(limits[-1]) and stage.tail is None and stage.upper is None:
        what = "the last of breaks is infinite: there are no uniform draws up to there"
        faults.add(stage.label, what, remedy="Set tail, or upper, or a finite limit.")


def _two_shares(trim: Any) -> bool:
    if np.shape(trim) != (2,) or not all(isinstance(share, Real) for share in trim):
        return False
    return min(trim) >= 0 and sum(trim) < 1


def _has_leaves(method: Any) -> bool:
    return method in TREES if isinstance(method, str) else has_leaves(method)


def residuals_of(stage: Continuous) -> str:
    """Return what is drawn around fitted values: as given, or the default of the method."""
    return stage.residuals or ("leaves" if _has_leaves(stage.method) else "local")


def _kind(method: Any) -> Any:
    return method if isinstance(method, str) or not hasattr(method, "fit") else LEARNER


def _given(stage: Continuous, option: str) -> bool:
    """Whether an option has another value than its default."""
    default = type(stage).__dataclass_fields__[option].default
    value = getattr(stage, option)
    return value is not default and not np.array_equal(np.asarray(value), np.asarray(default))


def _check_method(faults: Faults, stage: Continuous) -> None:
    method, where = stage.method, f"{stage.label}: method"
    if _kind(method) != LEARNER:
        check_choice(faults, where, method, [*METHODS, LEARNER])
        return
    name = type(method).__name__
    if not hasattr(method, "predict") or hasattr(method, "predict_proba"):
        faults.add(where, f"{name} is no regressor", remedy="Give one, or use Categorical.")
    elif "sample_weight" not in signature(method.fit).parameters:
        what = f"{name}.fit takes no sample_weight: survey weights would be ignored"
        faults.add(where, what, remedy="Choose a regressor that takes weights.")


def make_rule(
    stage: Continuous, values: np.ndarray, weights: np.ndarray, rows: np.ndarray
) -> ValueRule:
    """Return how the values of the last class are modelled and drawn.

    Parameters
    ----------
    stage : Continuous
    values, weights : float arrays, shape (n,)
        Of the sample persons in that class.
    rows : int array, shape (n,)
        Their positions, for messages.
    """
    lower = float(values.min())
    upper = np.inf if stage.upper is None else float(stage.upper)
    if upper <= lower:
        _fail(stage, f"upper is {upper:g}, the smallest sample value {lower:g}", "Raise upper.")
    kind = _kind(stage.method)
    if kind in COUNTS:
        return _count_rule(stage, values, rows, upper)
    log = stage.log or kind == "binned+regression"
    constant: float | None = 0.0
    trim = (float(stage.trim[0]), float(stage.trim[1]))
    if log:
        inside = trimmed(values, weights, trim)
        least = float(values[inside].min())
        constant = stage.constant
        if constant is None:
            constant = log_constant(values[inside], weights[inside])
        if least + constant <= 0:
            what = f"constant is {constant:g}, but the smallest value after trimming {least:g}"
            _fail(stage, what, "Their sum must be positive for the logarithm.")
    linear = kind in ("regression", "binned+regression", "pmm")
    draw = "donors" if kind == "pmm" else residuals_of(stage)
    regression = "linear" if linear else stage.method
    return ValueRule(regression, draw, trim, log, float(constant or 0.0), 0, lower, upper)


def _count_rule(stage: Continuous, values: np.ndarray, rows: np.ndarray, upper: float) -> ValueRule:
    wrong = np.flatnonzero((values < 0) | (values != np.round(values)))
    if len(wrong):
        what = f"{len(wrong)} sample values are not whole numbers from 0 on"
        found = tuple(int(row) for row in rows[wrong[:5]])
        remedy = 'Round them, or use method "regression".'
        raise InputError("recipe", [Fault(stage.label, what, found, len(wrong), remedy)])
    shift = int(bool(stage.zeros))
    return ValueRule("counts", stage.method, shift=shift, lower=float(shift), upper=upper)


def _fail(stage: Continuous, what: str, remedy: str) -> None:
    raise InputError("recipe", [Fault(stage.label, what, remedy=remedy)])
