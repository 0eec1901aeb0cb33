"""The lattice of levels of several keys, and the minimal nodes that leave no small group."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from riskeval.protection.hierarchies import Hierarchy
from riskeval.protection.household.tables import make_up_of
from riskeval.protection.targets import Constraints
from synthpop.microdata.frame.codes import cell_ids, first_rows

Node = tuple[int, ...]


class LatticeSearch:
    """Counts of the lattice, on the distinct rows of the file.

    k, limit: records (or households) of a group, and records that may be in smaller ones
    home: household of each record, int64, shape (n,), or None where no column names them
    household_keys: keys of which an intruder knows the values of all members
    constraints: what else must hold for every group
    """

    def __init__(
        self,
        sequences: list[Hierarchy],
        k: int,
        limit: int,
        home: np.ndarray | None = None,
        household_keys: tuple[int, ...] = (),
        constraints: Constraints | None = None,
    ) -> None:
        self.sequences, self.k, self.limit = sequences, k, limit
        self.home, self.household_keys = home, household_keys
        self.constraints = constraints or None
        base = np.column_stack([sequence.codes[0] for sequence in sequences])
        self.cell, n_cells = cell_ids(base)
        self.sizes = np.bincount(self.cell, minlength=n_cells)
        first = first_rows(self.cell, n_cells)
        self.codes = [[codes[first] for codes in sequence.codes] for sequence in sequences]
        self.counted = 0

    def groups(self, keys: tuple[int, ...], node: Node) -> tuple[np.ndarray, np.ndarray]:
        """Group of each distinct row, and records of each group."""
        columns = np.column_stack([self.codes[j][h] for j, h in zip(keys, node, strict=True)])
        ids, n_groups = cell_ids(columns)
        return ids, np.bincount(ids, self.sizes, n_groups)

    def below(self, keys: tuple[int, ...], node: Node) -> int:
        """Records in groups smaller than k."""
        self.counted += 1
        if self.home is not None or self.constraints is not None:
            return int(self._small(keys, node).sum())
        _, sizes = self.groups(keys, node)
        return int(sizes[sizes < self.k].sum())

    @property
    def rising(self) -> bool:
        """Whether everything above a node that holds, holds; else every node is counted.

        A mixture of groups is as diverse and as close as its parts are on average, not as the best
        of them: where a part may fail (and is suppressed), joining it with others can fail more.
        """
        if self.constraints is None or self.constraints.counted:
            return True
        return self.limit == 0 and self.home is None

    def minimal_nodes(self) -> list[Node]:
        """All minimal nodes, by the levels of the first key, the second, ..."""
        m = len(self.sequences)
        holds: dict[tuple[int, ...], dict[Node, bool]] = {}
        for size in range(1 if self.rising else m, m + 1):
            for keys in combinations(range(m), size):
                holds[keys] = self._subset(keys, holds)
        table = holds[tuple(range(m))]
        return [
            node
            for node, good in table.items()
            if good and not any(table.get(lower, False) for lower in below_node(node))
        ]

    def _subset(
        self, keys: tuple[int, ...], holds: dict[tuple[int, ...], dict[Node, bool]]
    ) -> dict[Node, bool]:
        result: dict[Node, bool] = {}
        spans = [range(self.sequences[j].top + 1) for j in keys]
        for node in product(*spans):
            if not self.rising:
                result[node] = self.below(keys, node) <= self.limit
            elif any(result[lower] for lower in below_node(node)):
                result[node] = True
            elif len(keys) > 1 and not all(
                holds[keys[:i] + keys[i + 1 :]][node[:i] + node[i + 1 :]] for i in range(len(keys))
            ):
                result[node] = False
            else:
                result[node] = self.below(keys, node) <= self.limit
        return result

    def small_records(self, node: Node) -> np.ndarray:
        """Records in groups that are too small or fail a target, bool, shape (n,)."""
        return self._small(tuple(range(len(node))), node)

    def _small(self, keys: tuple[int, ...], node: Node) -> np.ndarray:
        if self.home is not None:
            return self._small_households(keys, node, self.home)
        ids, sizes = self.groups(keys, node)
        small = (sizes[ids] < self.k)[self.cell]
        return (
            small
            if self.constraints is None
            else small | self.constraints.groups_fail(ids[self.cell])
        )

    def _small_households(self, keys: tuple[int, ...], node: Node, home: np.ndarray) -> np.ndarray:
        """Records of households that lose their keys, until all groups left have k households."""
        ids, sizes = self.groups(keys, node)
        pairs = np.unique(np.column_stack([ids[self.cell], home]), axis=0)
        emptied = np.zeros(int(home.max(initial=-1)) + 1, dtype=bool)
        make_up = self._make_up(keys, node, home)
        while True:
            not_emptied = pairs[~emptied[pairs[:, 1]]]
            n_homes = np.bincount(not_emptied[:, 0], minlength=len(sizes))
            small = not_emptied[n_homes[not_emptied[:, 0]] < self.k, 1]
            if self.constraints is not None:
                rows = np.flatnonzero(~emptied[home])
                fails = self.constraints.groups_fail(ids[self.cell[rows]], rows)
                small = np.append(small, home[rows[fails]])
            n_alike = np.bincount(make_up, ~emptied)
            rare = np.flatnonzero(~emptied & (n_alike[make_up] < self.k))
            if not len(small) and not (self.household_keys and len(rare)):
                return np.asarray(emptied[home])
            emptied[small] = True
            if self.household_keys:
                emptied[rare] = True

    def _make_up(self, keys: tuple[int, ...], node: Node, home: np.ndarray) -> np.ndarray:
        """Number of the make-up of each household on the household keys, int64, shape (H,)."""
        known = [
            (j, level) for j, level in zip(keys, node, strict=True) if j in self.household_keys
        ]
        if not known:
            return np.zeros(int(home.max(initial=-1)) + 1, dtype=np.int64)
        ids, _ = self.groups(tuple(j for j, _ in known), tuple(level for _, level in known))
        return make_up_of(home, ids[self.cell])

    def squares(self, node: Node) -> float:
        """Sum of squared group sizes (discernibility)."""
        return float((self.groups(tuple(range(len(node))), node)[1] ** 2).sum())


def below_node(node: Node) -> list[Node]:
    """Nodes one level lower in one key."""
    return [(*node[:j], h - 1, *node[j + 1 :]) for j, h in enumerate(node) if h > 0]
