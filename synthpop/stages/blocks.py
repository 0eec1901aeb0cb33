"""Cutting a population into blocks of whole households of one stratum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.frame.codes import run_starts
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.text import count
from synthpop.microdata.messages.text import number as number_text
from synthpop.microdata.statistics.streams import Streams
from synthpop.models.rounding import controlled_rounding
from synthpop.stages.structure import StructureModel

MOST_PERSONS = 2**40
MOST_BLOCKS = 10_000_000


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """One block: where it lies and how many households of each size it has.

    number: of the block within its stratum
    first_household, first_person: positions in the whole population
    sizes, counts: int arrays, shape (s,); household sizes, ascending, and the households of each
    """

    stratum: int
    number: int
    first_household: int
    first_person: int
    sizes: np.ndarray
    counts: np.ndarray

    @property
    def n_households(self) -> int:
        """Number of households."""
        return int(self.counts.sum())

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return int((self.sizes * self.counts).sum())

    def offsets(self) -> np.ndarray:
        """Return where each household starts, shape (n_households + 1,)."""
        ends = np.cumsum(np.repeat(self.sizes, self.counts))
        return np.concatenate([[0], ends]).astype(np.int64)


def make_plan(
    model: StructureModel, method: str, scale: float, streams: Streams, rows_per_block: int
) -> list[BlockPlan]:
    """Cut the population into blocks of at most `rows_per_block` persons of one stratum.

    A household larger than a block has a block of its own. The plan depends on the counts and on
    `rows_per_block` only.
    """
    check_size(model.sizes, model.totals, scale, rows_per_block)
    blocks: list[BlockPlan] = []
    household = person = 0
    for stratum, counts in enumerate(household_counts(model, method, scale, streams)):
        for number, of_block in enumerate(_cut_counts(model.sizes, counts, rows_per_block)):
            present = of_block > 0
            sizes = model.sizes[present].astype(np.int64)
            block = BlockPlan(stratum, number, household, person, sizes, of_block[present])
            household += block.n_households
            person += block.n_persons
            blocks.append(block)
    return blocks


def household_table(model: StructureModel, plans: Sequence[BlockPlan]) -> np.ndarray:
    """Return how many households are made, by stratum and size; none at all is a fault."""
    counts = np.zeros(model.totals.shape, dtype=np.int64)
    for plan in plans:
        counts[plan.stratum, np.searchsorted(model.sizes, plan.sizes)] += plan.counts
    if not counts.any():
        what = f"leaves no household: {number_text(model.totals.sum())} are expected at scale 1"
        raise InputError.of("simulate", "scale", what, "Give a larger scale.")
    return counts


def check_size(sizes: np.ndarray, totals: np.ndarray, scale: float, rows_per_block: int) -> None:
    """Refuse a population that is too large, before anything is planned.

    totals: float array, shape (number of strata, s); estimated households of each stratum and size
    """
    faults = Faults("simulate")
    with np.errstate(over="ignore"):
        households = totals * scale
        persons = float((households * sizes).sum())
        blocks = float((households / np.maximum(1, rows_per_block // sizes)).sum())
    if not persons <= MOST_PERSONS:
        what = f"the population would have {persons:.3g} persons, more than {count(MOST_PERSONS)}"
        faults.add("scale", what, hint="Check the weights, or give a smaller scale.")
    if not blocks <= MOST_BLOCKS:
        what = f"the population would have {blocks:.3g} blocks, more than {count(MOST_BLOCKS)}"
        faults.add("rows_per_block", what, hint="Give more rows per block.")
    faults.raise_if_any()


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of a population in memory that make one block."""

    stratum: int
    number: int
    start: int
    stop: int
    n_households: int

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return self.stop - self.start


def cut_rows(
    households: np.ndarray, strata: np.ndarray | None, rows_per_block: int
) -> Iterator[RowBlock]:
    """Yield the blocks of a population whose households lie side by side, sorted by stratum.

    The same blocks as `make_plan` makes of households in the same order.

    households, strata: arrays, shape (n_persons,); household id of each person, and position of
        its stratum; None without strata

    Examples
    --------
    >>> [block.n_persons for block in cut_rows(np.array([1, 1, 2, 3, 3, 3]), None, 3)]
    [3, 3]
    """
    n = len(households)
    starts = np.flatnonzero(run_starts(households))
    ends = np.append(starts[1:], n).astype(np.int64)
    of_household = np.zeros(len(starts), np.int64) if strata is None else strata[starts]
    for stratum in np.unique(of_household).tolist():
        low, high = np.searchsorted(of_household, [stratum, stratum + 1]).tolist()
        number = 0
        while low < high:
            fit = int(np.searchsorted(ends[low:high], starts[low] + rows_per_block, side="right"))
            stop = low + max(1, fit)
            yield RowBlock(stratum, number, int(starts[low]), int(ends[stop - 1]), stop - low)
            low, number = stop, number + 1


def _cut_counts(sizes: np.ndarray, counts: np.ndarray, rows_per_block: int) -> list[np.ndarray]:
    parts: list[np.ndarray] = []
    current, room = np.zeros(len(sizes), dtype=np.int64), rows_per_block
    for s, size in enumerate(sizes):
        left = int(counts[s])
        while left:
            fit = max(0, min(left, room // int(size)))
            if fit == 0 and not current.any():
                fit = 1  # larger than a whole block
            current[s] += fit
            left -= fit
            room -= fit * int(size)
            if left:
                parts.append(current)
                current, room = np.zeros(len(sizes), dtype=np.int64), rows_per_block
    if current.any():
        parts.append(current)
    return parts


def household_counts(
    model: StructureModel, method: str, scale: float, streams: Streams
) -> np.ndarray:
    """Return how many households of each stratum and size there are to be, int array (K, L)."""
    totals = model.totals * scale
    rng = streams.at("structure", "sizes")
    if method == "direct":
        return controlled_rounding(totals, rng)
    counts = np.zeros(totals.shape, dtype=np.int64)
    households = controlled_rounding(totals.sum(axis=1)[:, None], rng)[:, 0]
    for stratum in np.flatnonzero(households):
        level = model.strata_levels[stratum]
        shares = totals[stratum] / totals[stratum].sum()
        of_stratum = streams.at("structure", "sizes", level)
        counts[stratum] = of_stratum.multinomial(households[stratum], shares)
    return counts
