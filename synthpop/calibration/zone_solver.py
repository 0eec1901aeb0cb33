"""Weights of households in zones that meet the totals of all areas: Newton's method on a tree.

The weight of household h in zone z is ``q_hz exp(sum_k a_hk lambda_k,area(z))``, which is nearest
in entropy to the start weights q. The dual is minimised for all multipliers lambda at once. Its
Hessian joins an area only with those that it lies in, so that one elimination from the zones
upwards, and one substitution downwards, give the exact Newton step. Totals with an importance c
add ``|total| / c`` to the diagonal, as in `synthpop.calibration.newton`. Totals that must be met
are treated alike with a large c, around the multipliers of the round before (the proximal method of
multipliers, Rockafellar 1976, doi:10.1287/moor.1.2.97): where they can be met they are, and where
they contradict each other the nearest answer comes out in place of none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.calibration.zone_problem import ZoneProblem
from synthpop.microdata.messages.errors import Faults

MUST = 1e3  # importance of totals that must be met, within one round; times the largest other
ROUNDS = 12
HALVINGS = 40
RIDGE = 1e-10
FAR = 1e6  # times all weights: a step that ends there is too long
ENTRIES = 30_000_000  # of derivatives and weights held at a time


@dataclass(frozen=True, slots=True)
class WeightLimits:
    """Limits of the weight of a household in a zone (expansion factors).

    Attributes
    ----------
    ratio : (low, high)
        Of the weight to the start weight of the household in the zone.
    weight : (low, high)
        Of the weight itself.

    Raises
    ------
    InputError
        A lower limit is negative or above the upper one, or `ratio` leaves out 1.
    """

    ratio: tuple[float, float] = (0.0, np.inf)
    weight: tuple[float, float] = (0.0, np.inf)

    def __post_init__(self) -> None:
        faults = Faults("weight limits")
        for name, (low, high) in (("ratio", self.ratio), ("weight", self.weight)):
            if not 0 <= low <= high:
                faults.add(name, f"({low}, {high})", hint="Give the lower limit first, from 0 on.")
        if not self.ratio[0] <= 1 <= self.ratio[1]:
            faults.add("ratio", f"{self.ratio} leaves out 1", hint="Give limits around 1.")
        faults.raise_if_any()

    @property
    def of_zone(self) -> tuple[float, float, float, float]:
        """Both, as the kernels take them."""
        return (*self.ratio, *self.weight)

    def between(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest weight for start weights."""
        least = np.maximum(self.ratio[0] * start, self.weight[0])
        with np.errstate(invalid="ignore"):  # nothing times infinity
            most = np.fmin(self.ratio[1] * start, self.weight[1])
        live = start > 0
        return np.where(live, np.minimum(least, most), 0.0), np.where(live, most, 0.0)


ByLevel = list[np.ndarray]
"""One array per level, shape (n_areas, controls of the level)."""


@dataclass(frozen=True, slots=True)
class ZoneWeights:
    """Multipliers of all controls, and what the weights achieve."""

    multipliers: ByLevel
    achieved: ByLevel
    converged: bool
    iterations: int
    limits: WeightLimits

    def of(self, problem: ZoneProblem, region: int, part: Any, zones: np.ndarray) -> np.ndarray:
        """Weights in zones of a region, shape (zones, households of its pool)."""
        from synthpop.kernels.zones import zone_weights

        start = problem.start(region, part, zones)
        multipliers = in_zones(problem, self.multipliers, zones)
        for weights, lam in zip(start, multipliers, strict=True):
            zone_weights(
                part.indptr, part.indices, part.data, weights, lam, *self.limits.of_zone, weights
            )
        return start


@dataclass(frozen=True, slots=True)
class _Point:
    """One place of the search."""

    multipliers: ByLevel
    value: float
    achieved: ByLevel
    gradient: ByLevel
    # of each level: inverse times what joins the areas above and times the right side; its parents
    steps: list[tuple[np.ndarray, np.ndarray]]


def solve_zones(
    problem: ZoneProblem,
    *,
    tolerance: float,
    max_iterations: int,
    limits: WeightLimits | None = None,
) -> ZoneWeights:
    """Find the weights nearest to the start weights that meet the totals."""
    limits = limits or WeightLimits()
    dual = _Dual(problem, limits)
    centre = [np.zeros(targets.shape) for targets in problem.targets]
    point, iteration, before = dual.at(centre, centre), 0, np.inf
    for _ in range(ROUNDS):
        # 1. Newton steps until the penalised dual is at its minimum
        while iteration < max_iterations and dual.gap(point) > 0.1 * tolerance:
            iteration += 1
            following = dual.line_search(point, centre)
            if following is None:
                break
            point = following
        # 2. how far totals that must be met are missed; around these multipliers once more
        missed = dual.missed(point)
        if missed <= tolerance or missed > 0.9 * before or iteration >= max_iterations:
            break
        before, centre = missed, point.multipliers
        point = dual.at(centre, centre)
    return ZoneWeights(point.multipliers, point.achieved, missed <= tolerance, iteration, limits)


def in_zones(problem: ZoneProblem, by_level: ByLevel, zones: np.ndarray) -> np.ndarray:
    """Hand numbers of areas down to their zones, shape (zones, n_controls)."""
    values = np.zeros((len(zones), len(problem.level)))
    for level, of_areas in enumerate(by_level):
        values[:, problem.controls_of(level)] = of_areas[problem.areas[level, zones]]
    return values


class _Dual:
    """The penalised dual, its gradient and its Newton direction."""

    def __init__(self, problem: ZoneProblem, limits: WeightLimits) -> None:
        self.problem, self.limits = problem, limits
        self.far = FAR * float(problem.weights.sum()) * max(1.0, float(abs(problem.matrix).max()))
        self.blocks = list(problem.blocks(ENTRIES))
        soft = problem.importance[np.isfinite(problem.importance)]
        important = MUST * max(1.0, float(soft.max(initial=1.0)) / 10)
        self.free: ByLevel = []  # whether a total moves a multiplier
        self.scale: ByLevel = []
        self.penalty: ByLevel = []
        self.must: ByLevel = []
        for level, (targets, reach) in enumerate(zip(problem.targets, self._reach(), strict=True)):
            cost = problem.importance[problem.controls_of(level)]
            free = np.isfinite(targets) & reach
            scale = np.where(free, np.maximum(np.abs(targets), 1.0), 1.0)
            self.free.append(free)
            self.scale.append(scale)
            self.must.append(free & np.isinf(cost))
            self.penalty.append(
                np.where(free, scale / np.where(np.isinf(cost), important, cost), 1.0)
            )
        # columns of a block of derivatives: the controls of the level first, then those above
        self.order = np.argsort(-problem.level, kind="stable")
        self.parents = [np.zeros(1, dtype=np.int64)]
        for level in range(1, len(problem.areas)):
            parent = np.zeros(len(problem.targets[level]), dtype=np.int64)
            parent[problem.areas[level]] = problem.areas[level - 1]
            self.parents.append(parent)

    def _reach(self) -> ByLevel:
        """Whether an area has a household that a control counts."""
        problem = self.problem
        reach = [np.zeros(targets.shape, dtype=bool) for targets in problem.targets]
        for region, part, zones in self.blocks:
            is_in = (part != 0).astype(np.float64)
            counted = ((problem.start(region, part, zones) > 0).astype(np.float64) @ is_in) > 0
            for level, of_level in enumerate(reach):
                columns = counted[:, problem.controls_of(level)]
                np.logical_or.at(of_level, problem.areas[level, zones], columns)
        return reach

    def at(self, multipliers: ByLevel, centre: ByLevel) -> _Point:
        """Return value, gradient and totals, and what the Newton step is substituted from."""
        problem, last = self.problem, len(self.scale) - 1
        achieved = [np.zeros(scale.shape) for scale in self.scale]
        gradient = [np.zeros(scale.shape) for scale in self.scale]
        tree = _Elimination.of(self)
        value = 0.0
        for block in self.blocks:
            zones = block[-1]
            sums, gram, cost = self._sums(multipliers, *block)
            if not sums.max(initial=0.0) < self.far:
                return _Point(multipliers, np.inf, achieved, gradient, tree.steps)
            value += cost
            for level, total in enumerate(achieved):
                np.add.at(total, problem.areas[level, zones], sums[:, problem.controls_of(level)])
            areas = problem.areas[last, zones]
            value += self._gradient(last, areas, multipliers, centre, achieved, gradient)
            gram = gram[:, self.order][:, :, self.order]
            tree.eliminate(last, areas, gram, gradient[last][areas])
        for level in range(last - 1, -1, -1):
            areas = np.arange(len(self.scale[level]))
            value += self._gradient(level, areas, multipliers, centre, achieved, gradient)
            tree.eliminate(level, areas, tree.grams[level], gradient[level])
        return _Point(multipliers, value, achieved, gradient, tree.steps)

    def _sums(
        self, multipliers: ByLevel, region: int, part: Any, zones: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Totals and derivatives of zones, and their part of the value."""
        from synthpop.kernels.zones import zone_sums

        problem, k = self.problem, len(self.problem.level)
        sums, gram = np.zeros((len(zones), k)), np.zeros((len(zones), k, k))
        values = np.zeros(len(zones))
        zone_sums(
            part.indptr, part.indices, part.data, problem.start(region, part, zones),
            in_zones(problem, multipliers, zones), *self.limits.of_zone, sums, gram, values,
        )  # fmt: skip
        return sums, gram, float(values.sum())

    def _gradient(
        self, level: int, areas: np.ndarray, multipliers: ByLevel, centre: ByLevel,
        achieved: ByLevel, gradient: ByLevel,
    ) -> float:  # fmt: skip
        """Write the gradient of some areas; return their part of the value."""
        free, penalty = self.free[level][areas], self.penalty[level][areas]
        own = multipliers[level][areas]
        move = own - np.where(self.must[level][areas], centre[level][areas], 0.0)
        targets = np.where(free, self.problem.targets[level][areas], 0.0)
        gap = achieved[level][areas] - targets + penalty * move
        gradient[level][areas] = np.where(free, gap, 0.0)
        return float((0.5 * penalty * move**2 * free - targets * own).sum())

    def line_search(self, point: _Point, centre: ByLevel) -> _Point | None:
        """Return the first of the halved Newton steps that makes the dual smaller."""
        moves: ByLevel = []
        around = np.zeros((1, 0))
        for solved, parent in point.steps:  # downwards
            given = around[parent]
            own = solved[:, :, -1] - (solved[:, :, :-1] @ given[:, :, None])[:, :, 0]
            moves.append(own)
            around = np.hstack([own, given])
        descent = sum(float((g * m).sum()) for g, m in zip(point.gradient, moves, strict=True))
        size = 1.0
        for _ in range(HALVINGS):
            pairs = zip(point.multipliers, moves, strict=True)
            new = self.at([old + size * move for old, move in pairs], centre)
            room = 1e-12 * max(abs(point.value), 1.0)
            if np.isfinite(new.value) and new.value <= point.value + 1e-4 * size * descent + room:
                return new
            size /= 2
        return None

    def gap(self, point: _Point) -> float:
        """Largest relative gradient."""
        pairs = zip(point.gradient, self.scale, strict=True)
        return max(float((np.abs(g) / s).max(initial=0.0)) for g, s in pairs)

    def missed(self, point: _Point) -> float:
        """Largest relative gap of a total that must be met."""
        largest = 0.0
        for level, must in enumerate(self.must):
            gap = np.abs(point.achieved[level] - self.problem.targets[level])[must]
            largest = max(largest, float((gap / self.scale[level][must]).max(initial=0.0)))
        return largest


@dataclass(frozen=True, slots=True)
class _Elimination:
    """What the levels hand upwards while they are eliminated, and what substitutes them."""

    dual: _Dual
    grams: ByLevel  # derivatives of each area above the zones: its controls, then those above
    rights: ByLevel  # right sides of the same
    steps: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, dual: _Dual) -> _Elimination:
        """Begin with nothing eliminated."""
        n, last = [scale.shape[1] for scale in dual.scale], len(dual.scale) - 1
        upto = [sum(n[: j + 1]) for j in range(last + 1)]
        sizes = [len(scale) if j < last else 0 for j, scale in enumerate(dual.scale)]
        grams = [np.zeros((size, k, k)) for size, k in zip(sizes, upto, strict=True)]
        rights = [np.zeros((len(s), k)) for s, k in zip(dual.scale, upto, strict=True)]
        steps = [
            (np.zeros((len(scale), n[j], upto[j] - n[j] + 1)), dual.parents[j])
            for j, scale in enumerate(dual.scale)
        ]
        return cls(dual, grams, rights, steps)

    def eliminate(
        self, level: int, areas: np.ndarray, gram: np.ndarray, gradient: np.ndarray
    ) -> None:
        """Eliminate the multipliers of some areas; hand upwards what is left."""
        free, n = self.dual.free[level][areas], gradient.shape[1]
        right = self.rights[level][areas]
        inner = np.where(free[:, :, None] & free[:, None, :], gram[:, :n, :n], 0.0)
        along = np.arange(n)
        inner[:, along, along] += self.dual.penalty[level][areas] + RIDGE * inner[:, along, along]
        side = np.where(free[:, :, None], gram[:, :n, n:], 0.0)
        own = np.where(free, right[:, :n] - gradient, 0.0)
        solved = np.linalg.solve(inner, np.concatenate([side, own[:, :, None]], axis=2))
        self.steps[level][0][areas] = solved
        if level:
            parent, across = self.dual.parents[level][areas], side.transpose(0, 2, 1)
            np.add.at(self.grams[level - 1], parent, gram[:, n:, n:] - across @ solved[:, :, :-1])
            moved = right[:, n:] - (across @ solved[:, :, -1:])[:, :, 0]
            np.add.at(self.rights[level - 1], parent, moved)
