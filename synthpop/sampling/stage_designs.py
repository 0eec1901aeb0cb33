"""Designs of strata, clusters and stages, made of other designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.text import plural
from synthpop.sampling.allocation import Allocation
from synthpop.sampling.designs import SimpleRandom
from synthpop.sampling.plans import ClusterPlan, CollectPlan, Plan, StratifiedPlan, TwoStagePlan
from synthpop.sampling.source import ClusterSource, Units


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
    >>> import pandas as pd
    >>> from synthpop.sampling import SimpleRandom, draw_sample
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
    >>> import numpy as np
    >>> import pandas as pd
    >>> from synthpop.sampling import ProbabilityProportionalToSize, SimpleRandom, draw_sample
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
        subject, what = "two-stage sample", f"is a {type(self.first).__name__}"
        if not isinstance(self.first, Cluster):
            raise InputError.of(subject, "first", what, "Give Cluster(unit, design).")
        if self.first.collect or getattr(self.first.design, "replace", False):
            what = "collects groups, or draws with replacement"
            hint = "Draw first-stage units as such and without replacement."
            raise InputError.of(subject, "first", what, hint)

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
    >>> import numpy as np
    >>> import pandas as pd
    >>> from synthpop.sampling import Proportional, draw_sample
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
            hint = "Name the column of strata."
            raise InputError.of("stratified sample", "by", "is not given", hint)

    @property
    def names(self) -> list[str]:
        """Columns that make the strata."""
        return list(listed_names(self.by))

    def plan(self, units: Units) -> Plan:
        """Return the plan for these units."""
        codes, labels = units.codes(self.names, "stratum")
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(labels) + 1))
        rows = [order[ends[h] : ends[h + 1]] for h in range(len(labels))]
        plans = self._plans([units.subset(positions) for positions in rows], labels)
        return StratifiedPlan(units.n, tuple(zip(rows, plans, strict=True)))

    def _plans(self, inside: list[Units], labels: list[Any]) -> list[Plan]:
        wanted = self.design_by_stratum
        if isinstance(wanted, Mapping):
            _check_strata(wanted, labels)
            designs = [wanted[label] for label in labels]
        elif isinstance(wanted, Allocation):
            designs = self._sizes(wanted, inside)
        else:
            designs = [wanted for _ in labels]
        faults = Faults("stratified sample")
        plans: list[Plan] = []
        for label, design, units in zip(labels, designs, inside, strict=True):
            if isinstance(design, (int, np.integer)):
                design = with_size(self.within, int(design))
            room = frame_of(design, units).n
            n_units = size_of(design)
            if n_units is not None and n_units > room and not with_replacement(design):
                what = f"has {plural(room, 'unit')}, {n_units} are wanted"
                faults.add(f"stratum {label!r}", what, hint="Fewer.")
            elif not faults:
                plans.append(design.plan(units))
        faults.raise_if_any()
        return plans

    def _sizes(self, allocation: Allocation, inside: list[Units]) -> list[int]:
        frames = [frame_of(self.within, units) for units in inside]
        counts = np.array([frame.n for frame in frames])
        moments: dict[str, np.ndarray] = {}
        if allocation.variable is not None:
            values = [frame.numbers(allocation.variable, "variable") for frame in frames]
            moments["total"] = np.array([x.sum() for x in values])
            moments["sd"] = np.array([x.std(ddof=1) if len(x) > 1 else 0.0 for x in values])
        sizes: list[int] = allocation.sizes(counts, moments).tolist()
        return sizes


def _check_strata(wanted: Mapping[Any, Any], labels: list[Any]) -> None:
    faults = Faults("stratified sample")
    for label in labels:
        if label not in wanted:
            faults.add(f"stratum {label!r}", "has no design", hint="Give 0 to leave it out.")
    for label in wanted:
        if label not in labels:
            hint = did_you_mean(label, labels)
            faults.add(f"stratum {label!r}", "is not in the population", hint=hint)
    faults.raise_if_any()


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
        what = f"{type(design).__name__} has no number n to allocate"
        raise InputError.of("stratified sample", "within", what)
    return replace(design, n=n)


def capped(design: Any, units: Units) -> Any:
    """Return the design with at most as many units as there are."""
    n = size_of(design)
    room = frame_of(design, units).n
    full = n is not None and n > room and not with_replacement(design)
    return with_size(design, room) if full else design
