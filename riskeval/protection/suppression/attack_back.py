"""Suppression that holds after an attack: members, rows, weights and columns tell no value back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from riskeval.protection.household.layer import Households
from riskeval.protection.result import suppress_cells
from riskeval.protection.suppression.plan import SuppressionPlan
from riskeval.recovery.columns import Evidence, HomesOfRecords, read_column
from riskeval.recovery.recover import CERTAINTY, fill_holes, recover
from riskeval.recovery.result import Recovery
from riskeval.recovery.rules import RULES, Ways
from synthpop.microdata.frame.codes import cell_ids, first_rows

MOST_ROUNDS = 60
FEW = 20
NEARLY_ALL = 0.95
ATTACK_RULES = tuple(name for name in RULES if name != "earlier")

Suppress = Callable[[np.ndarray, np.ndarray], np.ndarray]
Short = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class ReadBack:
    """Values of a key (its position) that an intruder reads back by one rule and source."""

    rows: np.ndarray
    key: int
    rule: str
    source: str


@dataclass(frozen=True, eq=False)
class Attack:
    """What an intruder has: the file, and what is known about its columns."""

    frame: pd.DataFrame  # the file before suppression
    homes: Households
    plan: SuppressionPlan  # its keys stand in the order of the columns of codes

    @property
    def names(self) -> list[str]:
        """Keys."""
        return self.plan.keys

    @property
    def place(self) -> dict[str, int]:
        """Number of the key that each key and linked column belongs to."""
        return {
            column: j
            for j, key in enumerate(self.names)
            for column in [key, *self.plan.linked.get(key, [])]
        }

    def released(self, hidden: np.ndarray) -> pd.DataFrame:
        """Return the file with the cells of `hidden`, bool, shape (n, m), and linked ones gone."""
        released = self.frame.copy(deep=False)
        for j, key in enumerate(self.names):
            for column in [key, *self.plan.linked.get(key, [])]:
                released[column] = suppress_cells(self.frame[column], hidden[:, j])
        return released

    @property
    def strata(self) -> list[str]:
        """Columns that weights may tell."""
        return [name for name in self.plan.strata if name not in self.names]

    def run(self, released: pd.DataFrame, hidden: np.ndarray) -> Recovery:
        """Let the intruder fill the holes of the released file."""
        return recover(
            released,
            household=self.homes.column,
            weights=self.plan.weights,
            strata=self.strata,
            components=self.plan.components,
            original=self.frame,
            suppressed=pd.DataFrame(hidden, columns=list(self.names)),
            household_variables=self.homes.variables,
            rules=ATTACK_RULES,
        )

    @cached_property
    def evidence(self) -> Evidence:
        """The file before suppression, coded once for all rounds."""
        homes, nothing = self.homes.clusters, np.zeros(len(self.frame), dtype=bool)
        columns = {
            str(name): read_column(self.frame[name], nothing)
            for name in self.frame
            if name != self.homes.column
        }
        return Evidence(columns, None if homes is None else HomesOfRecords(homes))

    def read_back(self, hidden: np.ndarray) -> list[ReadBack]:
        """Return what the intruder fills rightly, as `run` does, without a table of it."""
        plan, place = self.plan, self.place
        components = {total: tuple(parts) for total, parts in plan.components.items()}
        ways = Ways(
            CERTAINTY, self.homes.variables, None, tuple(plan.weights), tuple(self.strata),
            components,
        )  # fmt: skip
        cells = {name: hidden[:, j] for name, j in place.items()}
        evidence = self.evidence.without(cells)
        exposed = []
        for fill in fill_holes(evidence, ways, ATTACK_RULES):
            name, rows = fill.deduction.target, fill.rows
            rows = rows[evidence.columns[name].agrees(self.evidence.columns[name], rows)]
            if len(rows):
                exposed.append(
                    ReadBack(rows, place[name], fill.deduction.rule, fill.deduction.source)
                )
        return exposed

    def believed(self, codes: np.ndarray, result: np.ndarray, recovery: Recovery) -> np.ndarray:
        """Codes of the result with the values that the intruder fills in rightly."""
        believed = result.copy()
        right = recovery.cells[recovery.cells["right"]]
        for name, part in right.groupby("column", sort=False):
            j, rows = self.place[str(name)], part["row"].to_numpy()
            believed[rows, j] = codes[rows, j]
        return believed


@dataclass(frozen=True, eq=False)
class Outcome:
    """Codes after suppression, and what an intruder makes of them."""

    codes: np.ndarray  # integer array, shape (n, m): as released
    believed: np.ndarray  # integer array, shape (n, m): with what the intruder fills rightly
    released: pd.DataFrame
    recovery: Recovery  # of the released file
    # dict of str to set of str: keys that could not be hidden in some records -> columns or rules
    # that tell them
    tellers: dict[str, set[str]]


def suppress_under_attack(
    codes: np.ndarray, start: np.ndarray, attack: Attack, suppress: Suppress, short_of: Short
) -> Outcome:
    """Suppress, attack, and suppress elsewhere what the attack brings back, until nothing does.

    start: codes with what is hidden already, -1 missing
    suppress: function of codes and locked cells (bool, shape (n, m)) to codes
    short_of: function of codes to the records that match too few, bool, shape (n,)
    """
    locked, shared = _locks(codes, attack)
    start = start.copy()
    telling: dict[str, set[str]] = {}
    fixed, roles = np.zeros((2, *codes.shape), dtype=bool)
    pairs: dict[tuple[int, int], int] = {}
    result, fresh = start, True
    for _ in range(MOST_ROUNDS):
        # 1. suppress where it is not locked: from the start, or on top of the last result
        result = suppress(start if fresh else result, locked)
        # 2. records that still are rare: hide a household variable of all members
        short = short_of(result)
        if short.any() and _open(start, result, short, shared & ~fixed, attack.homes):
            fresh = True
            continue
        # 3. nothing to hide: a role that the visible members tell goes with that of one of them
        if _hide_pairs(start, result, short, roles, pairs, attack.homes):
            for row, j in pairs:
                locked[row, j] = fixed[row, j] = not roles[row, j]
            fresh = True
            continue
        # 4. attack; a value that is read back might as well be shown: lock it and go on
        hidden = (result < 0) & (codes >= 0)
        exposed = attack.read_back(hidden)
        if not exposed:
            if fresh:
                break
            fresh = True  # once more from the start, with all locks, which takes fewer cells
            continue
        tied = np.zeros(codes.shape, dtype=bool)
        for one in exposed:
            telling.setdefault(attack.names[one.key], set()).add(one.source)
            tied[one.rows, one.key] = True
            roles[one.rows, one.key] |= one.rule == "role"
        for cell in [cell for cell in pairs if tied[cell]]:
            # something else tells it: its partner may be shown again
            roles[cell] = False
            start[pairs[cell], cell[1]] = codes[pairs[cell], cell[1]]
        tied = _with_members(tied, shared, attack.homes)
        tied |= _exposed_keys(tied, hidden)
        fixed |= tied
        locked |= tied
        start[tied], result[tied] = codes[tied], codes[tied]
        fresh = False
    return outcome_of(codes, result, attack, telling)


def outcome_of(
    codes: np.ndarray, result: np.ndarray, attack: Attack, tellers: dict[str, set[str]]
) -> Outcome:
    """Release the result and let the intruder look at it."""
    hidden = (result < 0) & (codes >= 0)
    released = attack.released(hidden)
    recovery = attack.run(released, hidden)
    believed = attack.believed(codes, result, recovery)
    return Outcome(result, believed, released, recovery, tellers)


def _hide_pairs(
    start: np.ndarray, result: np.ndarray, short: np.ndarray, roles: np.ndarray,
    pairs: dict[tuple[int, int], int], homes: Households,
) -> bool:  # fmt: skip
    """Hide values that the visible members of a household tell, each with that of one member.

    This is done for records that are still rare, and where a member has lost the value anyway.
    `start` and `pairs` (record and key -> the other record) are changed; returns whether there
    was such a value.
    """
    n_before = len(pairs)
    lossy = short | (result < 0).any(axis=1)
    cells = [cell for cell in map(tuple, np.argwhere(roles & lossy[:, None]).tolist())
             if cell not in pairs]  # fmt: skip
    members = homes.members if cells else []
    for row, j in cells:
        others = members[homes.number[row]]
        others = others[(others != row) & (start[others, j] >= 0)]
        empty = others[result[others, j] < 0]
        if len(empty):
            pairs[row, j] = int(empty[0])
        elif len(others) and short[row]:
            pairs[row, j] = int(others[0])
            start[row, j] = -1
        if (row, j) in pairs:
            start[pairs[row, j], j] = -1
    return len(pairs) > n_before


def _exposed_keys(tied: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """All cells of a key that was read back nearly wherever it was hidden; bool, shape (n, m)."""
    n_hidden = hidden.sum(axis=0)
    everywhere = (n_hidden >= FEW) & ((tied & hidden).sum(axis=0) >= NEARLY_ALL * n_hidden)
    return np.broadcast_to(everywhere, tied.shape)


def _locks(codes: np.ndarray, attack: Attack) -> tuple[np.ndarray, np.ndarray]:
    """Cells that stay for now, and cells of household variables; bool, shape (n, m)."""
    homes = attack.homes
    shared = np.broadcast_to(homes.are_shared(attack.names), codes.shape)
    return shared & (homes.size > 1)[homes.number, None], shared  # another member would tell it


def _with_members(cells: np.ndarray, shared: np.ndarray, homes: Households) -> np.ndarray:
    """Cells, and those of all members for household variables; bool, shape (n, m)."""
    for j in np.flatnonzero((cells & shared).any(axis=0)):
        cells[:, j] = homes.with_members(cells[:, j])
    return cells


def _open(
    start: np.ndarray, result: np.ndarray, short: np.ndarray, free: np.ndarray,
    homes: Households,
) -> bool:  # fmt: skip
    """Hide one household variable of all members in households with a rare record.

    The variable without which most records match is taken. `start` is changed; returns whether
    there was anything to hide.
    """
    if not free.any():
        return False
    ids, n_cells = cell_ids(result)
    cells, counts = result[first_rows(ids, n_cells)], np.bincount(ids, minlength=n_cells)
    opened = False
    members_of = homes.members
    for home in np.unique(homes.number[short]):
        members = members_of[home]
        rare = members[short[members]]
        candidates = np.flatnonzero((free[members] & (start[members] >= 0)).any(axis=0))
        best, best_matches = -1, -1
        for j in candidates:
            matches = min(_matches(cells, counts, result[row], int(j)) for row in rare)
            if matches > best_matches:
                best, best_matches = int(j), matches
        if best >= 0:
            start[members, best] = -1
            opened = True
    return opened


def _matches(cells: np.ndarray, counts: np.ndarray, pattern: np.ndarray, without: int) -> int:
    wanted = pattern >= 0
    wanted[without] = False
    part = cells[:, wanted]
    agree = ((part < 0) | (part == pattern[wanted])).all(axis=1)
    return int(counts[agree].sum())
