"""Where a synthetic population meets the keys of those whom the intruder looks for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from riskeval.attacks.counting.compatible import compatible_pairs, household_holes, member_pairs
from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.matching.household import HouseholdFinder
from riskeval.attacks.matching.key_tree import KeyTree, key_tree
from riskeval.attacks.targets import AttackTargets
from synthpop.microdata.frame.codes import cell_ids

SILENT = 1 << 20
"""Holes that a match without any value of a target counts beside those of its keys."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockMatches:
    """Persons of a block who match somebody looked for by keys with so many holes."""

    # suppressed keys of the person that the one looked for has; of a household all together
    n_holes: int
    person: np.ndarray  # int64, shape (k,): position in the block
    cell: np.ndarray  # int64, shape (k,): key combination that the person matches; -1 for none


class PopulationLookup:
    """Counts the persons, or households, of a population that match those looked for.

    A suppressed key of the population matches anything where `wildcard` says so: whoever no person
    matches exactly is matched by those with the fewest holes.

    coders: one a key
    households: whether households are matched as a whole
    """

    def __init__(
        self, targets: AttackTargets, coders: Collection[LevelCoder], households: bool,
        wildcard: bool,
    ) -> None:  # fmt: skip
        self.targets = targets
        self.wildcard = wildcard
        self.missing = np.array([coder.n_known for coder in coders], dtype=np.int32)
        radix = [coder.radix for coder in coders]
        # int64, shape (r,): rows of the units that are looked for
        self.rows = np.flatnonzero(targets.looked_for[targets.unit])
        can_match = targets.frequency[targets.unit[self.rows]] > 0
        rows = self.rows[can_match]
        # codes from 0 are shifted by one in cell_ids, which takes -1 for missing
        states = cell_ids(targets.codes[rows], radix)[0]
        _, first, cell = np.unique(states, return_index=True, return_inverse=True)
        cell = cell.reshape(-1)
        self.combinations = targets.codes[rows][first]
        self.tree: KeyTree = key_tree(self.combinations, radix)
        n_cells, n_groups, group = len(first), len(first), cell
        self.finder: HouseholdFinder | None = None
        if households:
            self.finder = HouseholdFinder(cell, targets.unit[rows])
            cell, n_cells = self.finder.slot, self.finder.n_slots
            group, n_groups = self.finder.composition, len(self.finder.count)
        # int64, shape (r,): key combination of each row; in attacks on households also the
        # composition of the household; the last cell is that of rows which nothing can match
        self.n_cells = n_cells + 1
        self.cell = np.full(len(self.rows), n_cells, dtype=np.int64)
        self.cell[can_match] = cell
        # matches are counted by key combination, or by composition of a household
        self._group = np.full(len(self.rows), n_groups, dtype=np.int64)
        self._group[can_match] = group
        self._count = np.zeros(n_groups + 1, dtype=np.int64)
        self._holes = np.full(n_groups + 1, np.iinfo(np.int64).max)

    @property
    def n_matches(self) -> np.ndarray:
        """Persons, or households, that match each of `rows` with the fewest holes: int64, (r,)."""
        return self._count[self._group]

    @property
    def n_holes(self) -> np.ndarray:
        """Holes of the matches of each of `rows`, int64, (r,); the largest integer where none."""
        return self._holes[self._group]

    def find(
        self, codes: np.ndarray, starts: np.ndarray | None, silent: np.ndarray
    ) -> list[BlockMatches]:
        """Count a chunk of the population; return who matches, those with few holes first.

        starts: where the households begin, shape (h + 1,)
        silent: bool, shape (n,); persons without any value of a target. Where suppressed values
            match anything they count only where nobody else matches, with however many holes.
        """
        from riskeval.kernels.scenarios import find_block

        tree = self.tree
        states = np.empty(codes.shape[1], dtype=np.int64)
        find_block(codes[list(tree.order)], tree.radix, tree.start, tree.tree, states)
        if starts is not None:  # a household is silent as a whole
            together = np.logical_and.reduceat(silent, starts[:-1])
            silent = np.repeat(together, np.diff(starts))
        if not self.wildcard or not silent.any():
            return self._find_among(codes, starts, states, None, 0)
        return [
            *self._find_among(codes, starts, np.where(silent, -1, states), ~silent, 0),
            *self._find_among(codes, starts, np.where(silent, states, -1), silent, SILENT),
        ]

    def _find_among(
        self, codes: np.ndarray, starts: np.ndarray | None, states: np.ndarray,
        taking_part: np.ndarray | None, more_holes: int,
    ) -> list[BlockMatches]:  # fmt: skip
        """Matches of those who take part (None: all); `more_holes` is added to their holes."""
        holed = np.zeros(codes.shape[1], dtype=np.bool_)
        for column, missing in zip(codes, self.missing, strict=True) if self.wildcard else ():
            holed |= column == missing
        if taking_part is not None:
            holed &= taking_part
        groups = states[states >= 0]
        if self.finder is not None and starts is not None:
            count = self.finder.count.copy()
            states = self.finder.find(states, starts)
            groups = np.repeat(np.arange(len(count)), self.finder.count - count)
        self._note(more_holes, groups[self._holes[groups] >= more_holes])
        if self.finder is None or starts is None:
            pairs = self._holed_persons(codes, np.flatnonzero(holed), more_holes)
        else:
            pairs = self._holed_households(self.finder, codes, starts, holed, more_holes)
        if not more_holes:
            return [BlockMatches(0, np.arange(codes.shape[1]), states), *pairs]
        person = np.flatnonzero(states >= 0)
        return [BlockMatches(more_holes, person, states[person]), *pairs]

    def _note(self, n_holes: int, group: np.ndarray) -> None:
        """Count matches of groups; fewer holes than before make those before void."""
        fewer = np.unique(group[self._holes[group] > n_holes])
        self._count[fewer] = 0
        self._holes[fewer] = n_holes
        np.add.at(self._count, group, 1)

    def _holed_persons(
        self, codes: np.ndarray, persons: np.ndarray, more_holes: int
    ) -> list[BlockMatches]:
        """Persons with suppressed keys, and the combinations that no better match was met for."""
        result = []
        if len(persons):
            released = np.ascontiguousarray(codes[:, persons].T)
            waiting = np.flatnonzero(self._holes[:-1] > more_holes)
            pairs = compatible_pairs(self.combinations[waiting], released, self.missing)
            for own_holes, cell, person in pairs:
                group, n_holes = waiting[cell], own_holes + more_holes
                better = self._holes[group] >= n_holes
                if own_holes and better.any():
                    self._note(n_holes, group[better])
                    result.append(BlockMatches(n_holes, persons[person[better]], group[better]))
        return result

    def _holed_households(
        self, finder: HouseholdFinder, codes: np.ndarray, starts: np.ndarray, holed: np.ndarray,
        more_holes: int,
    ) -> list[BlockMatches]:  # fmt: skip
        """Members of households with suppressed keys, and the members they may be."""
        if not holed.any():
            return []
        # 1. the households with a hole, and the compositions that none matches exactly
        of_person = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        homes = np.unique(of_person[holed])
        waiting = np.flatnonzero(self._holes[:-1] > more_holes)
        people = [np.arange(starts[h], starts[h + 1]) for h in homes]
        begin, members = finder.begin, finder.members
        real = [self.combinations[members[begin[c] : begin[c + 1]]] for c in waiting]
        released = [np.ascontiguousarray(codes[:, rows].T) for rows in people]
        # 2. pairs of them with the number of holes, and of their members
        which, home, own_holes = household_holes(real, released, self.missing)
        holes = own_holes + more_holes
        result = []
        for n_holes in np.unique(holes):
            pairs = np.flatnonzero((holes == n_holes) & (self._holes[waiting[which]] >= n_holes))
            self._note(int(n_holes), waiting[which[pairs]])
            person, cell = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
            for pair in pairs:
                c, h = which[pair], home[pair]
                real_rows, released_rows = member_pairs(real[c], released[h], self.missing)
                slots = finder.slots[begin[waiting[c]] : begin[waiting[c] + 1]]
                distinct = np.unique(np.stack([slots[real_rows], people[h][released_rows]]), axis=1)
                cell.append(distinct[0])
                person.append(distinct[1])
            result.append(BlockMatches(int(n_holes), np.concatenate(person), np.concatenate(cell)))
        return result
