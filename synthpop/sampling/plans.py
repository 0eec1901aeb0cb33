"""Plans: designs worked out for one population, ready to draw again and again.

A plan knows positions and probabilities only. `draw` returns positions among its units and the
inclusion probability of each; `probabilities` those of all units; `joint` the second-order ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from synthpop.microdata.messages.errors import InputError
from synthpop.sampling.balanced import draw_balanced
from synthpop.sampling.conditional_poisson import working_probabilities
from synthpop.sampling.pps import (
    EDGE,
    draw_unequal,
    joint_probabilities,
    rejective,
    systematic_joint,
)
from synthpop.sampling.source import ClusterSource

Selection = tuple[np.ndarray, np.ndarray]


class Plan(Protocol):
    """A design for one population."""

    @property
    def n_units(self) -> int:
        """Number of units."""

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return positions of the drawn units and their inclusion probabilities."""

    def probabilities(self) -> np.ndarray:
        """Return first-order inclusion probabilities, shape (n_units,)."""

    def joint(self) -> np.ndarray:
        """Return second-order inclusion probabilities, shape (n_units, n_units)."""


def unknown_joint(design: str) -> InputError:
    """Return the error of a design that has no known second-order probabilities."""
    what = f"{design} has no known joint inclusion probabilities"
    hint = "Use simple random, stratified, conditional-poisson, sampford or tille sampling."
    return InputError.of("joint probabilities", "design", what, hint)


def _in_order(positions: np.ndarray, p: np.ndarray) -> Selection:
    order = np.argsort(positions, kind="stable")
    return positions[order], p[order]


@dataclass(frozen=True)
class EqualPlan:
    """n of the units, all with the same probability."""

    n_units: int
    n: int

    @property
    def share(self) -> float:
        """Probability of every unit, n / N."""
        return self.n / max(self.n_units, 1)

    def probabilities(self) -> np.ndarray:
        """Return n / N for all."""
        return np.full(self.n_units, self.share)


@dataclass(frozen=True)
class SimplePlan(EqualPlan):
    """Simple random sampling without replacement."""

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return n distinct positions."""
        rows = np.sort(rng.choice(self.n_units, self.n, replace=False, shuffle=False))
        return rows, np.full(self.n, self.share)

    def joint(self) -> np.ndarray:
        """Return n (n - 1) / (N (N - 1)) off the diagonal."""
        size = self.n_units
        joint = np.full((size, size), self.n * (self.n - 1) / max(size * (size - 1), 1))
        np.fill_diagonal(joint, self.share)
        return joint


@dataclass(frozen=True)
class ProbabilityPlan:
    """A probability for each unit, shape (n_units,)."""

    p: np.ndarray

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.p)

    def probabilities(self) -> np.ndarray:
        """Return the given probabilities."""
        return self.p


@dataclass(frozen=True)
class ReplacementPlan(ProbabilityPlan):
    """n draws with replacement, each with probabilities p that add up to one."""

    n: int

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return positions, some of them several times, and the expected number of draws."""
        ends = np.cumsum(self.p)
        points = np.sort(rng.random(self.n)) * ends[-1]
        rows = np.searchsorted(ends, points, side="right")
        return rows, self.n * self.p[rows]

    def probabilities(self) -> np.ndarray:
        """Return the probabilities of at least one draw, 1 - (1 - p)^n."""
        return np.asarray(1 - (1 - self.p) ** self.n)

    def joint(self) -> np.ndarray:
        """Return the probabilities of at least one draw of both."""
        none = (1 - self.p) ** self.n
        neither = np.maximum(1 - self.p[:, None] - self.p[None, :], 0.0) ** self.n
        joint = 1 - none[:, None] - none[None, :] + neither
        np.fill_diagonal(joint, 1 - none)
        return joint


@dataclass(frozen=True)
class SystematicPlan(EqualPlan):
    """Every (N / n)-th unit from a random start."""

    order: np.ndarray | None

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return positions floor((u + i) N / n) in the order of the units."""
        step = self.n_units / self.n if self.n else 0.0
        ranks = np.floor((rng.random() + np.arange(self.n)) * step).astype(np.int64)
        ranks = np.minimum(ranks, self.n_units - 1)
        rows = ranks if self.order is None else np.sort(self.order[ranks])
        return rows, np.full(self.n, self.share)

    def joint(self) -> np.ndarray:
        """Return the share of starts that hit both; many are zero."""
        ordered = systematic_joint(self.probabilities())
        if self.order is None:
            return ordered
        joint = np.empty_like(ordered)
        joint[np.ix_(self.order, self.order)] = ordered
        return joint


@dataclass(frozen=True)
class UnequalPlan(ProbabilityPlan):
    """Unequal probabilities; working probabilities are kept from draw to draw."""

    method: str
    _working: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return positions drawn by the method."""
        if self.method != "conditional-poisson":
            rows = draw_unequal(self.p, rng, method=self.method)
            return rows, self.p[rows]
        unsure = np.flatnonzero((self.p > EDGE) & (self.p < 1 - EDGE))
        rows = np.flatnonzero(self.p >= 1 - EDGE)
        if len(unsure):
            if "p" not in self._working:
                self._working["p"] = working_probabilities(self.p[unsure])
            n = round(float(self.p[unsure].sum()))
            chosen = rejective(self._working["p"], n, rng)
            rows = np.sort(np.concatenate([rows, unsure[chosen]]))
        return rows, self.p[rows]

    def joint(self) -> np.ndarray:
        """Return the joint probabilities of the method."""
        if self.method in ("random-systematic", "brewer", "pivotal"):
            raise unknown_joint(f"method {self.method!r}")
        return joint_probabilities(self.p, method=self.method)


@dataclass(frozen=True)
class BalancedPlan(ProbabilityPlan):
    """The cube method."""

    auxiliary: np.ndarray

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return a balanced sample."""
        rows = draw_balanced(self.p, self.auxiliary, rng)
        return rows, self.p[rows]

    def joint(self) -> np.ndarray:
        """Refuse: they are not known."""
        raise unknown_joint("balanced sampling")


@dataclass(frozen=True)
class StratifiedPlan:
    """Independent plans in strata."""

    n_units: int
    strata: tuple[tuple[np.ndarray, Plan], ...]

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return the draws of all strata."""
        drawn = [(rows, plan.draw(rng)) for rows, plan in self.strata]
        positions = np.concatenate([rows[chosen] for rows, (chosen, _) in drawn])
        return _in_order(positions, np.concatenate([p for _, (_, p) in drawn]))

    def probabilities(self) -> np.ndarray:
        """Return those of the strata."""
        p = np.zeros(self.n_units)
        for rows, plan in self.strata:
            p[rows] = plan.probabilities()
        return p

    def joint(self) -> np.ndarray:
        """Return products between strata, those of the plans within."""
        p = self.probabilities()
        joint = np.outer(p, p)
        for rows, plan in self.strata:
            joint[np.ix_(rows, rows)] = plan.joint()
        return joint


@dataclass(frozen=True)
class _PlanOfClusters:
    clusters: ClusterSource
    plan: Plan

    @property
    def n_units(self) -> int:
        """Number of units inside the clusters."""
        return int(self.clusters.offsets[-1])

    @cached_property
    def _cluster(self) -> np.ndarray:
        """Cluster of each unit, shape (n_units,)."""
        cluster = np.empty(self.n_units, dtype=np.int64)
        rows, which = self.clusters.members(np.arange(self.clusters.n))
        cluster[rows] = which
        return cluster


@dataclass(frozen=True)
class ClusterPlan(_PlanOfClusters):
    """Whole clusters."""

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return all units of the drawn clusters."""
        chosen, p = self.plan.draw(rng)
        rows, which = self.clusters.members(chosen)
        if self.clusters.order is None:
            return rows, p[which]
        return _in_order(rows, p[which])

    def probabilities(self) -> np.ndarray:
        """Return the probability of the cluster for each unit."""
        return self.plan.probabilities()[self._cluster]

    def joint(self) -> np.ndarray:
        """Return the joint probabilities of the clusters; members come together."""
        return self.plan.joint()[np.ix_(self._cluster, self._cluster)]


@dataclass(frozen=True)
class CollectPlan(_PlanOfClusters):
    """Rows are drawn, and every cluster with a drawn row comes whole."""

    @cached_property
    def _chance(self) -> np.ndarray:
        """Probability of each cluster: that of drawing any member."""
        plan, sizes = self.plan, self.clusters.sizes
        if isinstance(plan, SimplePlan):
            # N - m units of other clusters fill the sample: C(N - m, n) / C(N, n)
            from scipy.special import gammaln

            n_others = plan.n_units - sizes
            room = np.maximum(n_others - plan.n, 0)
            log_none = gammaln(n_others + 1) - gammaln(room + 1)
            log_all = gammaln(plan.n_units + 1) - gammaln(plan.n_units - plan.n + 1)
            return np.asarray(np.where(n_others >= plan.n, 1 - np.exp(log_none - log_all), 1.0))
        if isinstance(plan, ReplacementPlan):
            share = np.bincount(self._cluster, weights=plan.p, minlength=self.clusters.n)
            return np.asarray(1 - np.maximum(1 - share, 0.0) ** plan.n)
        if isinstance(plan, UnequalPlan) and plan.method == "poisson":
            log_none = np.log1p(-np.minimum(plan.p, 1 - 1e-15))
            total = np.bincount(self._cluster, weights=log_none, minlength=self.clusters.n)
            return np.asarray(-np.expm1(total))
        what = "has no known probability of drawing any member of a group"
        hint = "Use SimpleRandom, or Poisson sampling, or draw with replacement."
        raise InputError.of("sample of collected groups", "design", what, hint)

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return all units of the clusters with a drawn unit."""
        chance = self._chance
        drawn, _ = self.plan.draw(rng)
        chosen = np.unique(self._cluster[drawn])
        rows, which = self.clusters.members(chosen)
        return _in_order(rows, chance[chosen][which])

    def probabilities(self) -> np.ndarray:
        """Return the probability of the cluster for each unit."""
        return self._chance[self._cluster]

    def joint(self) -> np.ndarray:
        """Refuse: they are not known."""
        raise unknown_joint("collecting groups")


@dataclass(frozen=True)
class TwoStagePlan:
    """Clusters first, then units inside each drawn cluster, independently."""

    first: ClusterPlan
    inner: Callable[[np.ndarray], Plan]
    _plans: dict[int, Plan] = field(default_factory=dict, repr=False)

    @property
    def n_units(self) -> int:
        """Number of units inside the clusters."""
        return self.first.n_units

    def _members(self, cluster: int) -> np.ndarray:
        return self.first.clusters.members(np.array([cluster]))[0]

    def _plan(self, cluster: int) -> Plan:
        if cluster not in self._plans:
            self._plans[cluster] = self.inner(self._members(cluster))
        return self._plans[cluster]

    def draw(self, rng: np.random.Generator) -> Selection:
        """Return the units drawn inside the drawn clusters."""
        chosen, p = self.first.plan.draw(rng)
        rows, probabilities = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for cluster, outer in zip(chosen.tolist(), p.tolist(), strict=True):
            inside, inner = self._plan(cluster).draw(rng)
            rows.append(self._members(cluster)[inside])
            probabilities.append(outer * inner)
        return _in_order(np.concatenate(rows), np.concatenate(probabilities))

    def probabilities(self) -> np.ndarray:
        """Return products of the two stages."""
        outer = self.first.plan.probabilities()
        p = np.empty(self.n_units)
        for cluster in range(self.first.clusters.n):
            p[self._members(cluster)] = outer[cluster] * self._plan(cluster).probabilities()
        return p

    def joint(self) -> np.ndarray:
        """Return joint probabilities of clusters times those inside."""
        first = self.first.plan.joint()
        members = [self._members(cluster) for cluster in range(self.first.clusters.n)]
        joint = np.empty((self.n_units, self.n_units))
        for i, rows in enumerate(members):
            for j, others in enumerate(members):
                if i == j:
                    inside = self._plan(i).joint()
                else:
                    inside = np.outer(self._plan(i).probabilities(), self._plan(j).probabilities())
                joint[np.ix_(rows, others)] = first[i, j] * inside
        return joint
