"""Sampling designs: small frozen records that are worked out for a population by `plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import Whole, check_choice
from synthpop.microdata.messages.text import plural
from synthpop.sampling.plans import (
    BalancedPlan,
    Plan,
    ReplacementPlan,
    SimplePlan,
    SystematicPlan,
    UnequalPlan,
)
from synthpop.sampling.pps import METHODS, inclusion_probabilities
from synthpop.sampling.source import ClusterSource, Units


class Design(Protocol):
    """Anything that can be worked out for a population."""

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""


@dataclass(frozen=True)
class SizedDesign:
    """A design of n units; messages name it by `subject`."""

    n: int
    subject: ClassVar[str]

    def __post_init__(self) -> None:
        if not Whole(0).allows(self.n):
            raise InputError.of(self.subject, "n", f"is {self.n!r}", f"Give {Whole(0).wanted}.")

    def check_room(self, units: Units) -> None:
        """Raise an InputError where there are fewer than n units."""
        if self.n > units.n:
            what = f"is {self.n}, there are {plural(units.n, 'unit')}"
            raise InputError.of(self.subject, "n", what, "Draw fewer.")


@dataclass(frozen=True)
class SimpleRandom(SizedDesign):
    """Simple random sampling.

    Attributes
    ----------
    n : int
    replace : bool
        Draw with replacement: a unit that is drawn twice comes twice (households and primary
        sampling units get ids of their own then, ``drawn_household`` and ``drawn_psu``), the
        weight of each draw is N / n, and n may be larger than N.

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> people = pd.DataFrame({"age": range(100)})
    >>> survey = draw_sample(people, SimpleRandom(10), seed=1)
    >>> survey.n_persons, float(survey.weights.sum())
    (10, 100.0)
    """

    replace: bool = False
    subject = "simple random sample"

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        if self.replace:
            return ReplacementPlan(np.full(units.n, 1.0 / max(units.n, 1)), self.n)
        self.check_room(units)
        return SimplePlan(units.n, self.n)


@dataclass(frozen=True)
class Systematic(SizedDesign):
    """Every (N / n)-th unit from a random start, a fractional step.

    Attributes
    ----------
    n : int
    order : str or None
        Numeric or categorical column to sort by first; None: the order of the file.

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> people = pd.DataFrame({"age": range(100)})
    >>> np.diff(draw_sample(people, Systematic(10), seed=1).frame["age"]).tolist()
    [10, 10, 10, 10, 10, 10, 10, 10, 10]
    """

    order: str | None = None
    subject = "systematic sample"

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        self.check_room(units)
        if self.order is None:
            return SystematicPlan(units.n, self.n, None)
        codes = encode(units.column(self.order, "order"))[0]
        return SystematicPlan(units.n, self.n, np.argsort(codes, kind="stable"))


@dataclass(frozen=True)
class ProbabilityProportionalToSize(SizedDesign):
    """Unequal probabilities, proportional to a size.

    Attributes
    ----------
    n : int
    size : str or None
        Numeric column, not negative. None: the number of members, where clusters are drawn.
    method : str
        "conditional-poisson" (maximum entropy), "sampford", "brewer", "tille", "pivotal",
        "systematic", "random-systematic" or "poisson" (the size of the sample then varies); see
        `draw_unequal`.
    replace : bool
        Draw with replacement, each time with probability size / total (Hansen and Hurwitz 1943):
        `method` has no meaning then, and no unit is certain. See `SimpleRandom`.

    Notes
    -----
    Without replacement units larger than the total divided by n come in with certainty.

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> firms = pd.DataFrame({"staff": [1.0, 2.0, 3.0, 4.0, 90.0]})
    >>> survey = draw_sample(firms, ProbabilityProportionalToSize(2, "staff"), seed=1)
    >>> float((survey.frame["staff"] * survey.weights).max())
    90.0
    """

    size: str | None = None
    method: str = "conditional-poisson"
    replace: bool = False
    subject = "sample with unequal probabilities"

    def __post_init__(self) -> None:
        faults = Faults(self.subject)
        check_choice(faults, "method", self.method, METHODS)
        faults.raise_if_any()
        super().__post_init__()

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        sizes = self._sizes(units)
        if not self.replace:
            self.check_room(units)
            return UnequalPlan(inclusion_probabilities(sizes, self.n), self.method)
        if (sizes < 0).any() or not sizes.sum() > 0:
            what = "is negative, or zero for all"
            raise InputError.of(self.subject, "size", what, "Give positive sizes.")
        return ReplacementPlan(sizes / sizes.sum(), self.n)

    def _sizes(self, units: Units) -> np.ndarray:
        if self.size is not None:
            return units.numbers(self.size, "size")
        if isinstance(units.source, ClusterSource):
            sizes = units.source.sizes.astype(np.float64)
            return sizes if units.rows is None else sizes[units.rows]
        what = "is needed where no clusters are drawn"
        raise InputError.of(self.subject, "size", what, "Name a column.")


@dataclass(frozen=True)
class Balanced(SizedDesign):
    """Cube method: Horvitz-Thompson totals of the auxiliary columns are those of the population.

    Attributes
    ----------
    n : int
        The size of the sample is fixed: it is the first thing to be balanced.
    auxiliary : tuple of str
        Columns, the most important first; a categorical one is balanced level by level.
    size : str or None
        Inclusion probabilities proportional to this column. None: equal ones.

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> people = pd.DataFrame({"age": np.arange(200.0)})
    >>> survey = draw_sample(people, Balanced(40, ["age"]), seed=1)
    >>> bool(abs(np.dot(survey.weights, survey.frame["age"]) / 19900 - 1) < 0.02)
    True
    """

    auxiliary: Sequence[str]
    size: str | None = None
    subject = "balanced sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "auxiliary", listed_names(self.auxiliary))

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        self.check_room(units)
        if self.size is None:
            p = np.full(units.n, self.n / max(units.n, 1))
        else:
            p = inclusion_probabilities(units.numbers(self.size, "size"), self.n)
        columns = [p]
        for name in self.auxiliary:
            values = units.column(name, "auxiliary")
            if pd.api.types.is_numeric_dtype(values.dtype):
                columns.append(units.numbers(name, "auxiliary"))
                continue
            codes, levels = units.codes([name], "auxiliary")
            columns.extend((codes == code).astype(np.float64) for code in range(len(levels)))
        return BalancedPlan(p, np.column_stack(columns))
