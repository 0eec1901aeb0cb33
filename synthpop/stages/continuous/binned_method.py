"""The method "binned": classes of values, with a tail for the highest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import Options
from synthpop.microdata.messages.parameters import NONE, Constraint, Flag, OneOf, check
from synthpop.models.breaks import breaks as quantile_breaks
from synthpop.models.breaks import class_bounds, classify
from synthpop.models.encoding import DECILES_AND_TAILS
from synthpop.stages.continuous.binned import Classes, check_ends, limits_for_tail, with_zeros
from synthpop.stages.continuous.method_base import NUMBER, ValueMethod
from synthpop.stages.continuous.tail import ESTIMATORS, TopClass, fit_top_class

WITHIN_CLASS = ("steps", "exponential", "uniform")


@dataclass(frozen=True, slots=True)
class Gpd(Options):
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
class Pareto(Options):
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

    type: ClassVar[str] = "binned"

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
            what = message("{value} is not allowed", value=repr(self.tail))
            faults.add(f"{label}: tail", what, hint=did_you_mean(self.tail, [None, *TAILS]))
        elif isinstance(self.tail, (Gpd, Pareto)):
            self.tail.check(faults, f"{label}: tail")
            if self.tail.threshold is not None and self.breaks is not None:
                hint = "Make the threshold the last but one break."
                faults.add(label, "has both breaks and threshold", hint=hint)
            if self.tail.upper is not None and self.upper is not None:
                faults.add(label, "has upper twice", hint="Give it to the tail alone.")

    def _check_breaks(self, faults: Faults, label: str) -> None:
        limits = np.asarray(self.breaks, dtype=np.float64)
        if len(limits) < 2 or not np.all(np.diff(limits) > 0):
            faults.add(label, "breaks do not increase", hint="Give two or more limits.")
        elif not np.isfinite(limits[:-1]).all():
            faults.add(label, "breaks are infinite", hint="Only the last may be.")
        elif np.isinf(limits[-1]) and self.tail is None and self.upper is None:
            what = "the last of breaks is infinite: there are no uniform draws up to there"
            faults.add(label, what, hint="Set tail, or upper, or a finite limit.")

    def classes(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> Classes:
        """Return classes at limits that are given, or at weighted quantiles (book eq. 6.4, 6.5).

        Values above the upper bound count as it; a constant is a class without width.
        """
        tail, upper, zeros = self.fitted_tail, self.bound, with_zeros(values, weights, self.zeros)
        threshold = None if tail is None else tail.threshold
        check_ends(values, threshold, upper, label)
        if upper is not None:
            values = np.minimum(values, upper)
        limits = np.array([0.0, 1.0])
        if not np.isnan(values).all():
            if self.breaks is not None:
                limits = np.asarray(self.breaks, dtype=np.float64)
            else:
                limits = quantile_breaks(values, weights, zeros=zeros, probs=DECILES_AND_TAILS)
                kind = None if tail is None else tail.type
                limits = limits_for_tail(values, weights, limits, kind, threshold)
            if upper is not None:
                inner = limits[:-1]
                limits = np.append(inner[inner < upper], upper)
        codes = classify(values, limits, zeros=zeros)
        outside = (codes < 0) & ~np.isnan(values)
        if outside.any():
            span = f"{limits[0]:g} ... {limits[-1]:g}"
            what = message("{n} sample values lie outside {span}", n=int(outside.sum()), span=span)
            where = np.sort(rows[outside])
            raise InputError.of("recipe", label, what, "Widen breaks.", rows=where)
        low, high = class_bounds(limits, zeros=zeros)
        high = np.where(high == np.nextafter(low, np.inf), low, high)
        return Classes(codes.astype(np.int64) + 1, np.append(np.nan, low), np.append(np.nan, high))

    def top_class(
        self, values: np.ndarray, weights: np.ndarray, threshold: float, label: str
    ) -> tuple[TopClass | None, tuple[Fallback, ...]]:
        """Return the tail of the class that begins at a threshold."""
        tail = self.fitted_tail
        if tail is None:
            return None, ()
        return fit_top_class(
            tail.type, tail.estimator, values, weights, threshold, upper=self.bound, label=label
        )
