"""Where a synthetic population meets the keys of those whom the intruder looks for."""

from __future__ import annotations

import numpy as np

from riskeval.attacks.matching.household import HouseholdFinder
from riskeval.attacks.matching.key_tree import KeyTree, key_tree
from riskeval.attacks.targets import AttackTargets
from synthpop.microdata.codes import cell_ids


class PopulationLookup:
    """Counts the persons, or households, of a population that match those looked for.

    Parameters
    ----------
    targets : AttackTargets
    radix : int64, shape (m,)
        Number of codes of each key.
    households : bool
        Whether households are matched as a whole.

    Attributes
    ----------
    rows : int64, shape (r,)
        Rows of the units that are looked for.
    cell : int64, shape (r,)
        Key combination of each of them; in attacks on households also the composition of the
        household.
    n_cells : int
        The last cell is that of rows which nothing can match.
    """

    def __init__(self, targets: AttackTargets, radix: list[int], households: bool) -> None:
        self.targets = targets
        self.rows = np.flatnonzero(targets.looked_for[targets.unit])
        self._can_match = targets.frequency[targets.unit[self.rows]] > 0
        rows = self.rows[self._can_match]
        # codes from 0 are shifted by one in cell_ids, which takes -1 for missing
        states = cell_ids(targets.codes[rows], radix)[0]
        _, first, cell = np.unique(states, return_index=True, return_inverse=True)
        cell = cell.reshape(-1)
        self.tree: KeyTree = key_tree(targets.codes[rows][first], radix)
        n_cells = len(first)
        self.finder: HouseholdFinder | None = None
        if households:
            self.finder = HouseholdFinder(self.tree, cell, targets.unit[rows])
            cell, n_cells = self.finder.slot, self.finder.n_slots
        self.count = np.zeros(n_cells + 1, dtype=np.int64)
        self.n_cells = n_cells + 1
        self.cell = np.full(len(self.rows), n_cells, dtype=np.int64)
        self.cell[self._can_match] = cell

    @property
    def n_matches(self) -> np.ndarray:
        """Persons, or households, of the population that match each of `rows`: int64, (r,)."""
        if self.finder is None:
            return self.count[self.cell]
        n_matches = np.zeros(len(self.rows), dtype=np.int64)
        n_matches[self._can_match] = self.finder.count[self.finder.composition]
        return n_matches

    def find(self, codes: np.ndarray, starts: np.ndarray | None) -> np.ndarray:
        """Count a chunk of the population; return the cell of each person, -1 where none."""
        from riskeval.kernels.scenarios import count_block, find_block

        tree = self.tree
        states = np.empty(codes.shape[1], dtype=np.int64)
        find_block(codes[list(tree.order)], tree.radix, tree.start, tree.tree, states)
        if self.finder is not None and starts is not None:
            return self.finder.find(states, starts)
        count_block(states, self.count)
        return states
