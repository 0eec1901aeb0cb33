"""Sampling designs: small frozen records that are worked out for a population by `plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from synthpop.microdata.checks import check_choice
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.parameters import Whole, check
from synthpop.microdata.text import plural
from synthpop.sampling.allocation import Allocation, Fixed, Neyman, Power, Proportional
from synthpop.sampling.plans import (
    BalancedPlan,
    ClusterPlan,
    CollectPlan,
    Plan,
    ReplacementPlan,
    SimplePlan,
    StratifiedPlan,
    SystematicPlan,
    TwoStagePlan,
    UnequalPlan,
)
from synthpop.sampling.pps import METHODS, inclusion_probabilities
from synthpop.sampling.source import ClusterSource, Units


class Design(Protocol):
    """Anything that can be worked out for a population."""

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""


def _check_n(name: str, n: object) -> None:
    faults = Faults(name)
    check(faults, {"n": Whole(0)}, {"n": n})
    faults.raise_if_any()


def _check_room(name: str, n: int, units: Units) -> None:
    if n > units.n:
        faults = Faults(name)
        faults.add("n", f"is {n}, there are {plural(units.n, 'unit')}", remedy="Draw fewer.")
        faults.raise_if_any()


@dataclass(frozen=True)
class SimpleRandom:
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

    n: int
    replace: bool = False

    def __post_init__(self) -> None:
        _check_n("simple random sample", self.n)

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        if self.replace:
            return ReplacementPlan(np.full(units.n, 1.0 / max(units.n, 1)), self.n)
        _check_room("simple random sample", self.n, units)
        return SimplePlan(units.n, self.n)


@dataclass(frozen=True)
class Systematic:
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

    n: int
    order: str | None = None

    def __post_init__(self) -> None:
        _check_n("systematic sample", self.n)

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        _check_room("systematic sample", self.n, units)
        if self.order is None:
            return SystematicPlan(units.n, self.n, None)
        codes = encode(units.column(self.order, "order"))[0]
        return SystematicPlan(units.n, self.n, np.argsort(codes, kind="stable"))


@dataclass(frozen=True)
class ProbabilityProportionalToSize:
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

    n: int
    size: str | None = None
    method: str = "conditional-poisson"
    replace: bool = False

    def __post_init__(self) -> None:
        faults = Faults("sample with unequal probabilities")
        check_choice(faults, "method", self.method, tuple(METHODS))
        faults.raise_if_any()
        _check_n("sample with unequal probabilities", self.n)

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        sizes = _sizes(units, self.size)
        if self.replace:
            return ReplacementPlan(_shares(sizes), self.n)
        _check_room("sample with unequal probabilities", self.n, units)
        return UnequalPlan(inclusion_probabilities(sizes, self.n), self.method)


def _shares(sizes: np.ndarray) -> np.ndarray:
    faults = Faults("sample with unequal probabilities")
    if (sizes < 0).any() or not sizes.sum() > 0:
        faults.add("size", "is negative, or zero for all", remedy="Give positive sizes.")
    faults.raise_if_any()
    return np.asarray(sizes / sizes.sum())


def _sizes(units: Units, name: str | None) -> np.ndarray:
    if name is not None:
        return units.numbers(name, "size")
    if isinstance(units.source, ClusterSource):
        sizes = units.source.sizes.astype(np.float64)
        return sizes if units.rows is None else sizes[units.rows]
    faults = Faults("sample with unequal probabilities")
    faults.add("size", "is needed where no clusters are drawn", remedy="Name a column.")
    faults.raise_if_any()
    raise AssertionError


@dataclass(frozen=True)
class Balanced:
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

    n: int
    auxiliary: Sequence[str]
    size: str | None = None

    def __post_init__(self) -> None:
        _check_n("balanced sample", self.n)
        names = (self.auxiliary,) if isinstance(self.auxiliary, str) else tuple(self.auxiliary)
        object.__setattr__(self, "auxiliary", names)

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        _check_room("balanced sample", self.n, units)
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


@dataclass(frozen=True)
class Cluster:
    """Draw groups of rows whole: households with all their members, schools with all pupils.

    Attributes
    ----------
    unit : str
        Column that names the group.
    design : Design
        How groups are drawn. Its columns are those of the groups: constant ones keep their value,
        numeric ones that vary within a group are summed.
    collect : bool
        The design draws rows (persons), and each group with a drawn row comes whole: its
        probability is that of drawing any of its members. For `SimpleRandom`, and for Poisson
        sampling or drawing with replacement with `ProbabilityProportionalToSize`.

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> people = pd.DataFrame({"hid": [1, 1, 2, 3, 3, 3], "age": [40, 9, 71, 30, 31, 2]})
    >>> survey = draw_sample(people, Cluster("hid", SimpleRandom(2)), seed=1)
    >>> survey.n_households, survey.weights[0].item()
    (2, 1.5)
    """

    unit: str
    design: Any
    collect: bool = False

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        clusters = ClusterSource(units, self.unit)
        if self.collect:
            return CollectPlan(clusters, self.design.plan(units))
        return ClusterPlan(clusters, self.design.plan(Units(clusters)))


@dataclass(frozen=True)
class TwoStage:
    """Draw clusters, then draw inside each drawn cluster.

    Attributes
    ----------
    first : Cluster
        Design of the primary sampling units.
    second : Design
        Used in each of them; a cluster smaller than its n is taken whole.

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> people = pd.DataFrame({"town": np.repeat(["a", "b", "c"], [50, 30, 20])})
    >>> design = TwoStage(
    ...     Cluster("town", ProbabilityProportionalToSize(2)), SimpleRandom(5)
    ... )
    >>> survey = draw_sample(people, design, seed=1)
    >>> survey.weights.round(6).tolist() == [10.0] * 10  # self-weighting
    True
    """

    first: Cluster
    second: Any

    def __post_init__(self) -> None:
        if not isinstance(self.first, Cluster):
            faults = Faults("two-stage sample")
            faults.add(
                "first", f"is a {type(self.first).__name__}", remedy="Give Cluster(unit, design)."
            )
            faults.raise_if_any()
        if self.first.collect or getattr(self.first.design, "replace", False):
            faults = Faults("two-stage sample")
            remedy = "Draw first-stage units as such and without replacement."
            faults.add("first", "collects groups, or draws with replacement", remedy=remedy)
            faults.raise_if_any()

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        first = self.first.plan(units)
        assert isinstance(first, ClusterPlan)

        def inner(rows: np.ndarray) -> Plan:
            inside = units.subset(rows)
            return capped(self.second, inside).plan(inside)

        return TwoStagePlan(first, inner)


@dataclass(frozen=True)
class Stratified:
    """Independent designs in strata.

    Attributes
    ----------
    design_by_stratum : mapping, int or allocation
        A mapping from stratum to a design or a number; a number for every stratum; or an
        allocation of one total number: `Proportional`, `Neyman`, `Power`, `Fixed`.
    by : str or sequence of str
        Columns that make the strata.
    within : design
        Used in each stratum with the allocated number as its n: simple random sampling by
        default, ``Cluster("household", SimpleRandom(1))`` for whole households (strata then
        count households).

    Examples
    --------
    >>> from synthpop.sampling import draw_sample
    >>> people = pd.DataFrame({"region": np.repeat(["n", "s"], [300, 100])})
    >>> survey = draw_sample(people, Stratified(Proportional(20), by="region"), seed=1)
    >>> survey.frame["region"].value_counts().to_dict()
    {'n': 15, 's': 5}
    """

    design_by_stratum: Any
    by: str | Sequence[str] = ""
    within: Any = field(default_factory=lambda: SimpleRandom(1))

    def __post_init__(self) -> None:
        if not self.by:
            faults = Faults("stratified sample")
            faults.add("by", "is not given", remedy="Name the column of strata.")
            faults.raise_if_any()

    @property
    def names(self) -> list[str]:
        """Columns that make the strata."""
        return [self.by] if isinstance(self.by, str) else list(self.by)

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        codes, labels = units.codes(self.names, "stratum")
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(labels) + 1))
        parts = [order[ends[h] : ends[h + 1]] for h in range(len(labels))]
        inside = [units.subset(rows) for rows in parts]
        plans = self._plans(inside, labels)
        return StratifiedPlan(units.n, tuple(zip(parts, plans, strict=True)))

    def _plans(self, inside: list[Units], labels: list[Any]) -> list[Plan]:
        wanted = self.design_by_stratum
        if isinstance(wanted, Mapping):
            designs = self._given(wanted, labels)
        elif isinstance(wanted, (int, np.integer)):
            designs = [with_size(self.within, int(wanted)) for _ in labels]
        elif isinstance(wanted, (Fixed, Proportional, Neyman, Power)):
            designs = self._allocated(wanted, inside)
        else:
            designs = [wanted for _ in labels]
        faults = Faults("stratified sample")
        plans: list[Plan] = []
        for label, design, part in zip(labels, designs, inside, strict=True):
            room = frame_of(design, part).n
            asked = size_of(design)
            if asked is not None and asked > room and not with_replacement(design):
                faults.add(
                    f"stratum {label!r}",
                    f"has {plural(room, 'unit')}, {asked} are wanted",
                    remedy="Fewer.",
                )
            elif not faults:
                plans.append(design.plan(part))
        faults.raise_if_any()
        return plans

    def _given(self, wanted: Mapping[Any, Any], labels: list[Any]) -> list[Any]:
        faults = Faults("stratified sample")
        for label in labels:
            if label not in wanted:
                faults.add(f"stratum {label!r}", "has no design", remedy="Give 0 to leave it out.")
        for label in wanted:
            if label not in labels:
                remedy = did_you_mean(label, labels)
                faults.add(f"stratum {label!r}", "is not in the population", remedy=remedy)
        faults.raise_if_any()
        return [
            with_size(self.within, int(wanted[label]))
            if isinstance(wanted[label], (int, np.integer))
            else wanted[label]
            for label in labels
        ]

    def _allocated(self, allocation: Allocation, inside: list[Units]) -> list[Any]:
        frames = [frame_of(self.within, part) for part in inside]
        counts = np.array([frame.n for frame in frames])
        moments: dict[str, np.ndarray] = {}
        if allocation.variable is not None:
            values = [frame.numbers(allocation.variable, "variable") for frame in frames]
            moments["total"] = np.array([x.sum() for x in values])
            moments["sd"] = np.array([x.std(ddof=1) if len(x) > 1 else 0.0 for x in values])
        sizes = allocation.sizes(counts, moments)
        return [with_size(self.within, int(n)) for n in sizes]


def with_replacement(design: Any) -> bool:
    """Whether a design draws its units with replacement."""
    if isinstance(design, Cluster):
        return with_replacement(design.design)
    return bool(getattr(design, "replace", False))


def frame_of(design: Any, units: Units) -> Units:
    """Return the units that a design draws: rows, or groups where it draws clusters."""
    if isinstance(design, TwoStage):
        return frame_of(design.first, units)
    if isinstance(design, Cluster) and design.collect:
        return units
    return Units(ClusterSource(units, design.unit)) if isinstance(design, Cluster) else units


def size_of(design: Any) -> int | None:
    """Return the number of units that a design draws, None where it has no single one."""
    if isinstance(design, Cluster):
        return size_of(design.design)
    if isinstance(design, TwoStage):
        return size_of(design.first)
    return getattr(design, "n", None)


def with_size(design: Any, n: int) -> Any:
    """Return the design with another number of units."""
    if isinstance(design, Cluster):
        return replace(design, design=with_size(design.design, n))
    if isinstance(design, TwoStage):
        return replace(design, first=with_size(design.first, n))
    if not hasattr(design, "n"):
        faults = Faults("stratified sample")
        faults.add("within", f"{type(design).__name__} has no number n to allocate")
        faults.raise_if_any()
    return replace(design, n=n)


def capped(design: Any, units: Units) -> Any:
    """Return the design with at most as many units as there are."""
    n = size_of(design)
    room = frame_of(design, units).n
    full = n is not None and n > room and not with_replacement(design)
    return with_size(design, room) if full else design
