"""Search for the households of a region: simulated annealing on arrays."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALLEST_BATCH = 5_000
LARGEST_BATCH = 2_000_000
PROPOSALS_PER_HOUSEHOLD = 300
SMALLEST_BUDGET = 1_000_000
STALLED = 0.002  # a batch that lowers the objective by less than this share stands still
STALLS = 3
HEAT = 0.1  # start temperature in units of the mean increase of a random exchange
COLD = 0.3  # below this share of the start temperature only improvements are kept
RESIZING = 0.1  # share of proposals that add a household or take one away, once heated
ROOM = 1.25  # most households, in units of the number at the start
RESIZE = 0.02  # person totals further off than this change the number of households first


@dataclass(frozen=True, slots=True)
class SearchRegion:
    """Households of a region and the totals they have to meet."""

    # scipy CSR matrix, shape (n_households, n_cells): how much each household counts for each
    # cell
    matrix: Any
    table: np.ndarray  # int64 array, shape (n_cells,): table of each cell, 0 ... n_tables - 1.
    target: np.ndarray  # float64 array, shape (n_cells,)
    importance: np.ndarray  # float64 array, shape (n_tables,): weight of a table in the objective
    # bool array, shape (n_tables,): the table counts every household once, and all of them
    of_households: np.ndarray
    # bool array, shape (n_tables,): the table counts; False where it sums a variable
    counting: np.ndarray
    # of the households only the first so many are in the region now, the others are donors of
    # other regions; None: all
    n_own: int | None = None

    @property
    def n_households(self) -> int:
        """Number of households that are in the region now."""
        return int(self.matrix.shape[0]) if self.n_own is None else self.n_own

    def totals(self) -> np.ndarray:
        """Return what the households of the region add up to now, shape (n_cells,)."""
        now = self.matrix[: self.n_households].sum(axis=0)
        return np.asarray(now, dtype=np.float64).reshape(-1)

    def per_table(self, values: np.ndarray) -> np.ndarray:
        """Add up values of cells by table."""
        return np.bincount(self.table, values, minlength=len(self.importance))

    def limits(self, tolerance: float, cell_gap: float = 0.0) -> np.ndarray:
        """Return the sum of absolute gaps that is good enough for each table.

        A share `tolerance` of each cell's total but at least `cell_gap` where the table counts,
        added up, and what whole numbers cannot reach in any case.
        """
        broken = np.abs(self.target - np.round(self.target)) * self.counting[self.table]
        if not cell_gap:
            return tolerance * self.per_table(np.abs(self.target)) + self.per_table(broken) + 1e-6
        least = cell_gap * self.counting[self.table]
        allowed = np.maximum(tolerance * np.abs(self.target), least)
        return self.per_table(allowed) + self.per_table(broken) + 1e-6


@dataclass(frozen=True, slots=True)
class Search:
    """How to search: see `synthpop.stages.annealing.Anneal`."""

    tolerance: float = 0.0
    temperature: float | None = None
    cooling: float = 0.9
    max_proposals: int | None = None
    time_limit: float | None = None
    max_copies: int = 3
    cell_gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What the search found."""

    # int64 array, shape (n_slots,): household (row of the matrix) in each place of the new region
    slots: np.ndarray
    achieved: np.ndarray  # float array, shape (n_cells,)
    converged: bool
    proposals: int
    temperature: float  # start temperature; 0 where a descent was enough
    stopped: str  # "tolerance", "proposals" or "time"
    trace: list[tuple[int, float, float, int]]


def exchange(region: SearchRegion, search: Search, rng: np.random.Generator) -> Exchanged:
    """Exchange whole households for donors of the same region until the totals are met.

    First only exchanges that bring the totals nearer are kept. Where that stands still short of
    the tolerance, exchanges that lead away are kept too, with probability exp(-delta / T), and T
    is lowered by the factor `cooling` from batch to batch (Kirkpatrick, Gelatt and Vecchi 1983).
    From then on a tenth of the proposals adds a donor or takes a household away.
    """
    # 1. A total of 0 empties its cell: households that lie in one are not donors.
    donors = donors_of(region)
    residents = donors[donors < region.n_households]
    n_wanted = wanted_households(region, region.totals(), len(residents))
    # 2. Start from the households there; the rest are copies, each donor equally often.
    first = residents if len(residents) else donors
    slots = first[start_slots(n_wanted, len(first), rng)]
    # 3. Exchange; 4. heat and cool down where that stands still.
    state = _Exchange(region, search, rng, slots, donors)
    slots = state.search_all()
    n_copies = np.bincount(slots, minlength=region.matrix.shape[0]).astype(np.float64)
    achieved = np.asarray(region.matrix.T @ n_copies, dtype=np.float64)
    gaps = region.per_table(np.abs(achieved - region.target))
    return Exchanged(
        slots=slots,
        achieved=achieved,
        converged=bool((gaps <= region.limits(search.tolerance, search.cell_gap)).all()),
        proposals=state.proposals,
        temperature=state.heat,
        stopped=state.stopped,
        trace=state.trace,
    )


def donors_of(region: SearchRegion) -> np.ndarray:
    """Return the households that lie in no cell whose known total is 0."""
    empty = (region.target == 0) & region.counting[region.table]
    if not empty.any():
        return np.arange(region.matrix.shape[0])
    inside = np.asarray(region.matrix[:, np.flatnonzero(empty)].getnnz(axis=1)).reshape(-1)
    return np.flatnonzero(inside == 0)


def wanted_households(region: SearchRegion, totals: np.ndarray, n_donors: int) -> int:
    """Return how many households the totals ask for, from `totals` as they are now.

    The total of a table that counts every household; else, where the first table of counts is
    more than 2 % off, the number of households changed in the same proportion.
    """
    sums = region.per_table(region.target)
    if region.of_households.any():
        return max(round(float(sums[region.of_households][0])), 1)
    if not region.counting.any():
        return max(n_donors, 1)
    first = int(np.argmax(region.counting))
    now = region.per_table(totals)[first]
    ratio = float(sums[first] / now) if now > 0 else 1.0
    if abs(ratio - 1.0) <= RESIZE:
        ratio = 1.0
    return max(round(region.n_households * ratio), 1)


def start_slots(wanted: int, n_donors: int, rng: np.random.Generator) -> np.ndarray:
    """Return the donors to start from: all of them, fewer, or all and each equally often again."""
    if wanted <= n_donors:
        return np.sort(rng.permutation(n_donors)[:wanted]).astype(np.int64)
    rounds = [np.arange(n_donors)]
    while sum(map(len, rounds)) < wanted:
        left = wanted - sum(map(len, rounds))
        rounds.append(rng.permutation(n_donors)[:left])
    return np.concatenate(rounds).astype(np.int64)


class Cooling(ABC):
    """A running search: descent, then heat and cooling; the best state seen is remembered.

    A subclass proposes and knows its state; this class decides how hot and how long.
    """

    def __init__(self, search: Search, n: int) -> None:
        self.search = search
        self.budget = search.max_proposals or max(SMALLEST_BUDGET, PROPOSALS_PER_HOUSEHOLD * n)
        self.batch = int(np.clip(2 * n, SMALLEST_BATCH, LARGEST_BATCH))
        self.proposals = self.accepted = 0
        self.uphill = self.heat = 0.0
        self.heated = False
        self.began = time.monotonic()
        self.trace = [(0, 0.0, self.objective, 0)]
        self.stopped = "tolerance" if self.good_enough else ""
        self.best = self.snapshot()

    objective: float
    good_enough: bool

    @abstractmethod
    def propose(self, temperature: float, proposals: int) -> tuple[int, int, float]:
        """Make proposals; return how many, how many were kept, and the mean increase."""

    @abstractmethod
    def snapshot(self) -> tuple[float, np.ndarray]:
        """Return objective and state."""

    def search_all(self) -> np.ndarray:
        """Search until the tolerance is reached or the budget is spent; return the best state."""
        # 1. Descend: where that meets the tolerance, no heat is needed.
        if self.search.temperature is None:
            self._descend()
            self.heat = HEAT * self.uphill
        else:
            self.heat = self.search.temperature
        # 2. Anneal (Kirkpatrick et al. 1983) from a temperature that keeps some increases.
        if not self.stopped:
            self._anneal()
        else:
            self.heat = 0.0
        # 3. The best state that was met, not the last one.
        if self.good_enough or self.objective <= self.best[0]:
            self.best = self.snapshot()
        return self.best[1]

    def _run(self, temperature: float) -> None:
        n = min(self.batch, self.budget - self.proposals)
        proposals, accepted, self.uphill = self.propose(temperature, n)
        self.proposals += int(proposals)
        self.accepted += int(accepted)
        self.trace.append((self.proposals, temperature, self.objective, self.accepted))
        if self.objective < self.best[0]:
            self.best = self.snapshot()
        limit = self.search.time_limit
        if self.good_enough:
            self.stopped = "tolerance"
        elif self.proposals >= self.budget:
            self.stopped = "proposals"
        elif limit is not None and time.monotonic() - self.began > limit:
            self.stopped = "time"

    def _descend(self) -> None:
        """Keep improvements only, until that stands still."""
        stalls = 0
        while not self.stopped and stalls < STALLS:
            before = self.objective
            self._run(0.0)
            stalls = stalls + 1 if before - self.objective < STALLED * before else 0

    def _anneal(self) -> None:
        """Heat, cool down batch by batch so that the budget lasts, and descend at the end."""
        self.heated = True
        steps = max(1, int(np.ceil(np.log(COLD) / np.log(self.search.cooling))))
        self.batch = max(self.batch, (self.budget - self.proposals) // (steps + 4) + 1)
        # Geometric schedule: T falls from `heat` to `COLD` times that in so many batches.
        temperature = self.heat
        for _ in range(steps):
            if self.stopped:
                return
            self._run(temperature)
            temperature *= self.search.cooling
        while not self.stopped:
            self._run(0.0)


class _Exchange(Cooling):
    def __init__(
        self,
        region: SearchRegion,
        search: Search,
        rng: np.random.Generator,
        slots: np.ndarray,
        donors: np.ndarray,
    ) -> None:
        self.region, self.rng, self.most = region, rng, search.max_copies
        self.used = np.bincount(slots, minlength=region.matrix.shape[0]).astype(np.int64)
        self.current = np.asarray(region.matrix.T @ self.used, dtype=np.float64)
        barred = np.ones(len(self.used), dtype=bool)
        barred[donors] = False
        self.used[barred] = search.max_copies  # they are in no slot and never will be
        self.gaps = region.per_table(np.abs(self.current - region.target))
        present = np.asarray(region.matrix.getnnz(axis=0)).reshape(-1) > 0
        out_of_reach = np.where(present, 0.0, np.abs(region.target))
        self.limit = region.limits(search.tolerance, search.cell_gap)
        self.limit = self.limit + region.per_table(out_of_reach)
        self.slots = np.zeros(int(ROOM * len(slots)) + 10, dtype=np.int64)
        self.slots[: len(slots)] = slots
        self.active = np.array([len(slots)])
        super().__init__(search, len(slots))

    @property
    def objective(self) -> float:  # type: ignore[override]
        return float(self.region.importance @ self.gaps)

    @property
    def good_enough(self) -> bool:  # type: ignore[override]
        return bool((self.gaps <= self.limit).all())

    def snapshot(self) -> tuple[float, np.ndarray]:
        return self.objective, self.slots[: self.active[0]].copy()

    def propose(self, temperature: float, proposals: int) -> tuple[int, int, float]:
        from synthpop.kernels.annealing import exchange_households

        region = self.region
        return exchange_households(
            region.matrix.indptr,
            region.matrix.indices,
            region.matrix.data,
            region.table,
            region.importance,
            region.target,
            self.limit,
            temperature,
            RESIZING if self.heated else 0.0,
            proposals,
            self.rng,
            self.most,
            self.slots,
            self.active,
            self.used,
            self.current,
            self.gaps,
        )
