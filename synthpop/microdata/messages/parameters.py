"""Declarative checks of arguments: one table beside each function or options class.

As scikit-learn's ``_parameter_constraints``, but every fault of a call is noted, with its hint::

    PARAMETERS = {
        "cooling": Between(0, 1, open="both"),
        "tolerance": Between(0, None),
        "max_proposals": Whole(1) | NONE,
        "tail": OneOf(None, "gpd", "pareto"),
        "weights": Instance(np.ndarray, "an array of weights") | NONE,
    }

    faults = Faults("anneal")
    check(faults, PARAMETERS, {"cooling": 2, "tolerance": 0, "max_proposals": None, ...})
    faults.raise_if_any()

Rules that tie arguments to each other stay code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join

LARGEST = 1e100
"""Larger numbers are refused where they are squared, weighted and added up."""
MOST_TIMES = 1_000_000
"""So often something may be repeated or drawn again: more would not end."""


class Constraint(ABC):
    """What values an argument may have; ``|`` joins alternatives."""

    @abstractmethod
    def allows(self, value: object) -> bool:
        """Whether a value is allowed."""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What to give instead, for instance "a number between 0 and 1"."""

    def note(self, faults: Faults, where: str, value: object) -> None:
        """Note that a value is not allowed."""
        faults.add(where, f"is {_shown(value)}", hint=f"Give {self.wanted}.")

    def __or__(self, other: Constraint) -> Constraint:
        return Either((*_alternatives(self), *_alternatives(other)))


@dataclass(frozen=True, slots=True)
class Between(Constraint):
    """A finite real number between two ends, or beyond one; True and False are not numbers.

    open: {"none", "low", "high", "both"}; ends that are not allowed themselves
    """

    low: float | None = None
    high: float | None = None
    open: str = "none"

    def allows(self, value: object) -> bool:
        """Whether a value is a number in the interval."""
        return is_number(value) and _inside(float(value), self.low, self.high, self.open)  # type: ignore[arg-type]

    @property
    def wanted(self) -> str:
        """The interval in words."""
        return _interval("number", self.low, self.high, self.open)


@dataclass(frozen=True, slots=True)
class Whole(Constraint):
    """A whole number between two ends; True and False are none, 3.0 is none."""

    low: int | None = None
    high: int | None = None

    def allows(self, value: object) -> bool:
        """Whether a value is a whole number in the interval."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
            return False
        number = int(value)
        return (self.low is None or number >= self.low) and (
            self.high is None or number <= self.high
        )

    @property
    def wanted(self) -> str:
        """The interval in words."""
        return _interval("whole number", self.low, self.high, "none")


@dataclass(frozen=True, slots=True, init=False)
class OneOf(Constraint):
    """One of a few values."""

    values: tuple[object, ...]

    def __init__(self, *values: object) -> None:
        object.__setattr__(self, "values", values)

    def allows(self, value: object) -> bool:
        """Whether a value is among them; True is not 1."""
        if not isinstance(value, (str, int, float, type(None))):  # arrays cannot be compared
            return False
        flag = isinstance(value, bool)
        return any(value == x and flag == isinstance(x, bool) for x in self.values)

    @property
    def wanted(self) -> str:
        """The values in words."""
        return f"one of {join([repr(value) for value in self.values])}"

    def note(self, faults: Faults, where: str, value: object) -> None:
        """Note the value with the nearest allowed one."""
        faults.add(
            where,
            message("{value} is not allowed", value=_shown(value)),
            hint=did_you_mean(value, self.values),
        )


@dataclass(frozen=True, slots=True)
class Instance(Constraint):
    """An object of a type; `words` say what it is to be."""

    kind: type | tuple[type, ...]
    words: str

    def allows(self, value: object) -> bool:
        """Whether a value is of the type."""
        return isinstance(value, self.kind)

    @property
    def wanted(self) -> str:
        """The words."""
        return self.words


class Flag(Instance):
    """True or False."""

    def __init__(self) -> None:
        super().__init__((bool, np.bool_), "True or False")


@dataclass(frozen=True, slots=True)
class Names(Constraint):
    """The name of a column, or a sequence of such names."""

    def allows(self, value: object) -> bool:
        """Whether a value is a name or a list or tuple of names."""
        if isinstance(value, (list, tuple)):
            return all(isinstance(name, str) for name in value)
        return isinstance(value, str)

    @property
    def wanted(self) -> str:
        """What to give."""
        return "names of columns"


@dataclass(frozen=True, slots=True)
class Either(Constraint):
    """One of several constraints."""

    alternatives: tuple[Constraint, ...]

    def allows(self, value: object) -> bool:
        """Whether one of them allows the value."""
        return any(one.allows(value) for one in self.alternatives)

    @property
    def wanted(self) -> str:
        """All of them in words."""
        return ", or ".join(one.wanted for one in self.alternatives)

    def note(self, faults: Faults, where: str, value: object) -> None:
        """Note the value; as the only other constraint would where the rest is None."""
        alternatives = [one for one in self.alternatives if one is not NONE]
        if len(alternatives) == 1 and isinstance(alternatives[0], OneOf):
            alternatives[0].note(faults, where, value)
        else:
            Constraint.note(self, faults, where, value)


class _Nothing(Constraint):
    def allows(self, value: object) -> bool:
        return value is None

    @property
    def wanted(self) -> str:
        return "None"


NONE = _Nothing()
"""None is allowed."""

POSITIVE = Between(0, None, open="low")
"""A positive number."""

SHARE = Between(0, 1, open="both")
"""A number between 0 and 1, without the ends."""


def check(
    faults: Faults,
    table: Mapping[str, Constraint],
    values: Mapping[str, Any] | object,
    *,
    label: str = "",
) -> None:
    """Note every value that its constraint does not allow.

    values: mapping, or object with the arguments as attributes; absent ones are not checked
    label: stands before each name, as "continuous income"
    """
    for name, constraint in table.items():
        if isinstance(values, Mapping):
            if name not in values:
                continue
            value = values[name]
        elif hasattr(values, name):
            value = getattr(values, name)
        else:
            continue
        if not constraint.allows(value):
            constraint.note(faults, f"{label}: {name}" if label else name, value)


def check_choice(faults: Faults, argument: str, value: object, allowed: Iterable[object]) -> None:
    """Note a value that is not one of the allowed ones."""
    check(faults, {argument: OneOf(*allowed)}, {argument: value})


def is_number(value: object) -> bool:
    """Whether a value is a finite real number; True and False are none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def _alternatives(constraint: Constraint) -> tuple[Constraint, ...]:
    return constraint.alternatives if isinstance(constraint, Either) else (constraint,)


def _inside(number: float, low: float | None, high: float | None, ends: str) -> bool:
    above = low is None or number > low or (number == low and ends not in ("low", "both"))
    below = high is None or number < high or (number == high and ends not in ("high", "both"))
    return above and below


def _interval(noun: str, low: float | None, high: float | None, ends: str) -> str:
    if low is None and high is None:
        return f"a {noun}"
    if high is None:
        if ends in ("low", "both"):
            return f"a positive {noun}" if low == 0 else f"a {noun} above {low:g}"
        return f"a {noun} of at least {low:g}"
    if low is None:
        return f"a {noun} {'below' if ends in ('high', 'both') else 'of at most'} {high:g}"
    if noun == "whole number":
        return f"a whole number from {count(low)} to {count(high)}"
    excluded = {"both": " (both excluded)", "low": f" ({low:g} excluded)",
                "high": f" ({high:g} excluded)"}  # fmt: skip
    return f"a {noun} between {low:g} and {high:g}{excluded.get(ends, '')}"


def _shown(value: object) -> str:
    """Show a value shortly, NumPy's numbers as numbers."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else text[:57] + "..."
