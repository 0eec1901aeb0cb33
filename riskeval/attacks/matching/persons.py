"""Whom the intruder looks for: the persons or households of a file, as the intruder knows them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from riskeval.attacks.matching.household import HouseholdFinder
from riskeval.attacks.matching.key_tree import KeyCoder, KeyTree, key_tree
from riskeval.attacks.scenario import Scenario
from synthpop.microdata.codes import MISSING, CodedKeys, cell_ids, encode, encode_keys


def sample_unique(keys: CodedKeys, missing: str) -> np.ndarray:
    """Positions of the records whose key combination no other record of the sample has."""
    frequency = _frequency(keys)
    if missing == "unmatched":
        frequency = np.where((keys.codes != MISSING).all(axis=1), frequency, 0)
    return np.flatnonzero(frequency == 1)


def known_keys(
    frame: pd.DataFrame, scenario: Scenario, rng_of: dict[str, np.random.Generator]
) -> pd.DataFrame:
    """Return the keys of a file as the intruder knows them, with wrong values drawn.

    Parameters
    ----------
    frame : DataFrame, shape (n, ...)
    scenario : Scenario
        Each key with an error p gets, with probability p and independently, another of its levels
        in the file, drawn in proportion to how often they occur there. Missing values stay, and so
        do keys with a single level. In attacks on households a key that all members of every
        household share is wrong for the household as a whole.
    rng_of : dict of key to Generator

    Returns
    -------
    DataFrame, shape (n, number of keys)
    """
    known = frame[list(scenario.keys)]
    for key, p in scenario.key_errors:
        codes, levels = encode(frame[key])
        owner = np.arange(len(frame))
        if scenario.household is not None:
            owner = pd.factorize(frame[scenario.household])[0]
            if not _is_shared(codes, owner):
                owner = np.arange(len(frame))
        wrong = _wrong_codes(codes, len(levels), owner, p, rng_of[key])
        column = pd.Series(pd.Categorical.from_codes(wrong, pd.Index(levels, dtype=object)))
        known = known.assign(**{key: column})
    return known


def _is_shared(codes: np.ndarray, owner: np.ndarray) -> bool:
    first = np.zeros(int(owner.max(initial=-1)) + 1, dtype=codes.dtype)
    first[owner[::-1]] = codes[::-1]
    return bool((first[owner] == codes).all())


def _wrong_codes(
    codes: np.ndarray, n_levels: int, owner: np.ndarray, p: float, rng: np.random.Generator
) -> np.ndarray:
    """Codes with errors, drawn once for each owner."""
    n_owners = int(owner.max(initial=-1)) + 1
    is_wrong = (rng.random(n_owners) < p)[owner]
    draw = rng.random(n_owners)[owner]
    count = np.bincount(codes[codes >= 0], minlength=n_levels).astype(np.float64)
    wrong = codes.copy()
    for level in range(n_levels):
        rest = count.copy()
        rest[level] = 0.0
        here = is_wrong & (codes == level)
        if here.any() and rest.sum() > 0:
            shares = np.cumsum(rest) / rest.sum()
            last = int(np.flatnonzero(rest)[-1])
            wrong[here] = np.minimum(np.searchsorted(shares, draw[here], side="right"), last)
    return wrong


def _frequency(keys: CodedKeys) -> np.ndarray:
    ids, n_cells = cell_ids(keys.codes, [len(levels) for levels in keys.levels])
    return np.bincount(ids, minlength=n_cells)[ids]


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Persons or households of a file.

    Attributes
    ----------
    of_row : int64, shape (n,)
        Unit of each row: the row itself, or its household.
    cell : int64, shape (units,)
        Number of the key combination, or composition, of each unit.
    frequency : int64, shape (units,)
        Units of the file with the same keys; 0 where a missing key matches nothing.
    eligible : bool, shape (units,)
        Units among which the intruder looks (all without a condition).
    looked_for : bool, shape (units,)
    """

    of_row: np.ndarray
    cell: np.ndarray
    frequency: np.ndarray
    eligible: np.ndarray
    looked_for: np.ndarray

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.frequency)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Mean of values of rows, by unit."""
        count = np.bincount(self.of_row, minlength=self.n)
        total = np.bincount(self.of_row, weights=values, minlength=self.n)
        result: np.ndarray = total / np.maximum(count, 1)
        return result


class Party:
    """Persons whom the intruder looks for, and where the population meets their keys.

    Attributes
    ----------
    units : Units
    codes : int32, shape (n, m)
        Keys of every row as the intruder knows them.
    rows : int64, shape (r,)
        Rows of the units that are looked for.
    cell : int64, shape (r,)
        Key combination of each of them; in attacks on households also the composition of the
        household.
    n_cells : int
    """

    def __init__(
        self, scenario: Scenario, frame: pd.DataFrame, known: pd.DataFrame,
        coders: list[KeyCoder], missing: str,
    ) -> None:  # fmt: skip
        keys = encode_keys(known, scenario.keys)
        columns = [coder.code(known[key]) for coder, key in zip(coders, scenario.keys, strict=True)]
        self.codes = np.stack(columns, axis=1).astype(np.int32)
        self.radix = [coder.radix for coder in coders]
        self.matchable = np.ones(len(frame), dtype=np.bool_)
        if missing == "unmatched":
            self.matchable = (keys.codes != MISSING).all(axis=1)
        self.finder: HouseholdFinder | None = None
        states = self._states(keys)
        if scenario.household is None:
            self.units = self._persons(scenario, frame, states)
        else:
            self.units = self._households(scenario, frame, states)
        self.rows = np.flatnonzero(self.units.looked_for[self.units.of_row])
        self._look_up(scenario, states)

    @property
    def n_matches(self) -> np.ndarray:
        """Persons, or households, of the population that match each of `rows`: int64, (r,)."""
        if self.finder is None:
            return self.count[self.cell]
        found = np.zeros(len(self.rows), dtype=np.int64)
        found[self._can_match] = self.finder.count[self.finder.composition]
        return found

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

    def _states(self, keys: CodedKeys) -> np.ndarray:
        return cell_ids(keys.codes, [len(levels) for levels in keys.levels])[0]

    def _persons(self, scenario: Scenario, frame: pd.DataFrame, states: np.ndarray) -> Units:
        frequency = np.where(self.matchable, np.bincount(states)[states], 0)
        eligible = np.ones(len(frame), dtype=np.bool_)
        if scenario.rows is not None:
            eligible = frame[scenario.rows].to_numpy(dtype=np.bool_)
        looked_for = eligible & ((frequency == 1) | (scenario.who == "everyone"))
        return Units(np.arange(len(frame)), states, frequency, eligible, looked_for)

    def _households(self, scenario: Scenario, frame: pd.DataFrame, states: np.ndarray) -> Units:
        owner = pd.factorize(frame[scenario.household])[0].astype(np.int64)
        n = int(owner.max()) + 1
        order = np.lexsort((states, owner))
        bounds = np.searchsorted(owner[order], np.arange(n + 1))
        members = states[order]
        numbers: dict[bytes, int] = {}
        composition = np.array(
            [
                numbers.setdefault(members[lo:hi].tobytes(), len(numbers))
                for lo, hi in pairwise(bounds)
            ]
        )
        whole = np.bincount(owner, weights=~self.matchable, minlength=n) == 0
        frequency = np.where(whole, np.bincount(composition)[composition], 0)
        eligible = np.ones(n, dtype=np.bool_)
        if scenario.rows is not None:
            rows = frame[scenario.rows].to_numpy(dtype=np.bool_)
            eligible = np.bincount(owner, weights=rows, minlength=n) > 0
        looked_for = eligible & ((frequency == 1) | (scenario.who == "everyone"))
        return Units(owner, composition, frequency, eligible, looked_for)

    def _look_up(self, scenario: Scenario, states: np.ndarray) -> None:
        """Build the tree; cells that nobody of the population can match come last."""
        fine = self.units.frequency[self.units.of_row[self.rows]] > 0
        self._can_match = fine
        rows = self.rows[fine]
        _, first, cell = np.unique(states[rows], return_index=True, return_inverse=True)
        cell = cell.reshape(-1)
        self.tree: KeyTree = key_tree(self.codes[rows][first], self.radix)
        n_cells = len(first)
        if scenario.household is not None:
            self.finder = HouseholdFinder(self.tree, cell, self.units.of_row[rows])
            cell, n_cells = self.finder.slot, self.finder.n_slots
        self.count = np.zeros(n_cells + 1, dtype=np.int64)  # the last one is never found
        self.n_cells = n_cells + 1
        self.cell = np.full(len(self.rows), n_cells, dtype=np.int64)
        self.cell[fine] = cell
