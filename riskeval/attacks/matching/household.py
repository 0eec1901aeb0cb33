"""Households looked up as a whole: by the keys of all their members, in any order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import run_starts
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.text import count


def runs_of(values: pd.Series) -> np.ndarray:
    """Return where runs of equal values begin, and the length at the end: int64, shape (h + 1,).

    Examples
    --------
    >>> runs_of(pd.Series(["a", "a", "b"])).tolist()
    [0, 2, 3]
    """
    if pd.api.types.is_numeric_dtype(values.dtype):
        codes = values.to_numpy()
    else:
        codes = pd.factorize(values)[0]
    return np.append(np.flatnonzero(run_starts(codes)), len(codes)).astype(np.int64)


class WholeHouseholds:
    """Moves the ends of chunks to those of households, and notes households that are torn.

    Chunks may end within a household; its members must stand one after the other.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self.waiting: pd.DataFrame | None = None
        self.seen: list[np.ndarray] = []

    def cut(self, block: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """Yield the households of a chunk; its last one waits for the next chunk."""
        if len(block) == 0:
            return
        lacking = block[self.column].isna().to_numpy()
        if lacking.any():
            rows = np.flatnonzero(lacking)
            raise InputError.of("population", self.column, "household is missing", rows=rows)
        starts = runs_of(block[self.column])
        if self.waiting is not None:
            if self.waiting[self.column].iloc[0] == block[self.column].iloc[0]:
                self.waiting = pd.concat([self.waiting, block.iloc[: starts[1]]])
                block = block.iloc[starts[1] :]
                starts = starts[1:] - starts[1]
            if len(block) == 0:
                return
            yield self._noted(self.waiting)
        last_home = int(starts[-2])
        self.waiting = block.iloc[last_home:]
        if last_home > 0:
            yield self._noted(block.iloc[:last_home])

    def finish(self) -> Iterator[pd.DataFrame]:
        """Yield the last household, then raise when a household came more than once."""
        if self.waiting is not None:
            yield self._noted(self.waiting)
        numbers = np.concatenate([np.empty(0, dtype=np.uint64), *self.seen])
        torn = len(numbers) - len(np.unique(numbers))
        if torn:
            what = f"the members of {count(torn)} households do not stand one after the other"
            raise InputError.of(
                "population", self.column, what, "Sort the population by household."
            )

    def _noted(self, chunk: pd.DataFrame) -> pd.DataFrame:
        starts = runs_of(chunk[self.column])[:-1]
        first = chunk[self.column].iloc[starts]
        self.seen.append(pd.util.hash_pandas_object(first, index=False).to_numpy())
        return chunk


class HouseholdFinder:
    """Looks for households whose members have the keys of a household of the sample.

    states: int64, shape (r,); key combination of each person of the households looked for
    household: int64, shape (r,); household of each of them, 0 ... h - 1
    """

    def __init__(self, states: np.ndarray, household: np.ndarray) -> None:
        number = np.unique(household, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((states, number))
        members, owner = states[order].astype(np.int64), number[order]
        starts = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2)).astype(np.int64)
        marks = marks_of(members, starts)
        numbers: dict[tuple[int, ...], int] = {}
        by_mark = np.argsort(marks, kind="stable")
        composition = np.empty(len(marks), dtype=np.int64)
        first_of: list[int] = []
        for h in by_mark:
            who = tuple(members[starts[h] : starts[h + 1]].tolist())
            composition[h] = numbers.setdefault(who, len(numbers))
            if composition[h] == len(first_of):
                first_of.append(int(h))
        self.marks = marks[first_of].astype(np.int64)
        self.members = np.array([s for who in numbers for s in who], dtype=np.int64)
        lengths = [len(who) for who in numbers]
        self.begin = np.cumsum([0, *lengths]).astype(np.int64)
        owner_of = np.repeat(np.arange(len(lengths)), lengths)
        pairs = np.stack([owner_of, self.members], axis=1)
        distinct, slots = np.unique(pairs, axis=0, return_inverse=True)
        self.slots = slots.reshape(-1).astype(np.int64)
        self.n_slots = len(distinct)
        # households of the population with each composition; position in it, and number of the
        # pair of composition and combination, of each person: int64, shapes (c,), (r,), (r,)
        self.count = np.zeros(len(lengths), dtype=np.int64)
        self.composition = np.empty(len(states), dtype=np.int64)
        self.composition[order] = composition[owner]
        self.slot = np.empty(len(states), dtype=np.int64)
        place = np.arange(len(members)) - starts[:-1][owner]
        self.slot[order] = self.slots[self.begin[composition[owner]] + place]

    def find(self, states: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Slot of each person of a chunk, int64, shape (n,); -1 where none."""
        from riskeval.kernels.scenarios import find_households

        slots = np.empty(len(states), dtype=np.int64)
        find_households(
            states, starts, marks_of(states, starts), self.marks, self.begin, self.members,
            self.slots, self.count, slots,
        )  # fmt: skip
        return slots


def marks_of(states: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return a number for each household, the same for the same members: int64, shape (h,)."""
    from riskeval.kernels.scenarios import mark_households

    marks = np.empty(len(starts) - 1, dtype=np.int64)
    mark_households(states, starts, marks)
    return marks
