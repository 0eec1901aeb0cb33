"""Counts of original and synthetic records by key combination and level of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.indexer import BagNumberer, Numberer, RowNumberer, pair_up
from riskeval.attacks.matching.attack import CHUNK
from riskeval.attacks.matching.blocks import iter_frames
from riskeval.attacks.matching.key_tree import KeyCoder
from riskeval.attacks.unit_of_attack import (
    Ask,
    Households,
    check_ask,
    check_households,
    joined,
    wrong_codes,
)
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.codes import encode_keys
from synthpop.microdata.errors import Faults
from synthpop.microdata.streams import Streams


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """Both files by class of keys (q) and level of the target (t), cells with records only.

    Records are persons. Where the household is the unit, a class of persons is the multiset of
    keys in their household together with their own keys; without a target, records are households
    and a class is the multiset alone.

    Attributes
    ----------
    cell_class, cell_level : int64, shape (c,)
    original, synthetic : int64, shape (c,)
        Records of both files in each cell.
    class_original, class_synthetic : int64, shape (q,)
        Records of both files in each class, of all levels.
    level : int64, shape (n,)
        Level of each original record.
    own_class, asked_class : int64, shape (n,)
        Class of each original record, and the one where the intruder looks it up: another one where
        their keys are wrong. -1 where keys are missing and missing keys match nothing.
    own_cell, asked_cell : int64, shape (n,)
        Cells of these classes with the record's own level; -1 likewise.
    judged : bool, shape (n,)
        False for members of households whose target is missing.
    unit : int64, shape (n,)
        Unit of each original record.
    looked_for : bool, shape (n_units,)
    alone : bool, shape (n_units,)
        Units whose keys no other original unit has.
    n_synthetic : int
        All synthetic records, also those that match nothing.
    """

    cell_class: np.ndarray
    cell_level: np.ndarray
    original: np.ndarray
    synthetic: np.ndarray
    class_original: np.ndarray
    class_synthetic: np.ndarray
    level: np.ndarray
    own_class: np.ndarray
    asked_class: np.ndarray
    own_cell: np.ndarray
    asked_cell: np.ndarray
    judged: np.ndarray
    unit: np.ndarray
    looked_for: np.ndarray
    alone: np.ndarray
    n_synthetic: int

    def asked(self, by_class: np.ndarray) -> np.ndarray:
        """Spread values of classes over records by the class they are looked up in; 0 for none."""
        return np.append(by_class, np.zeros(1, dtype=by_class.dtype))[self.asked_class]

    def own(self, by_class: np.ndarray) -> np.ndarray:
        """Spread values of classes over records by their true class; 0 for none."""
        return np.append(by_class, np.zeros(1, dtype=by_class.dtype))[self.own_class]

    def of_cells(self, by_cell: np.ndarray) -> np.ndarray:
        """Spread values of cells over records by the cell asked for; 0 for none."""
        return np.append(by_cell, np.zeros(1, dtype=by_cell.dtype))[self.asked_cell]

    def most(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Largest count of a level in each class and that level, the first of equals; (q,) each."""
        order = np.lexsort((self.cell_level, -counts, self.cell_class))
        classes, first = np.unique(self.cell_class[order], return_index=True)
        largest = np.zeros(len(self.class_original), dtype=np.int64)
        level = np.full(len(self.class_original), -1, dtype=np.int64)
        largest[classes], level[classes] = counts[order[first]], self.cell_level[order[first]]
        return largest, level


def count_keys(
    name: str, original: Any, synthetic: Any, ask: Ask, missing: str, seed: int = 0
) -> KeyTable:
    """Count both files by keys and target; `synthetic` is streamed.

    Time is linear in the records; memory is that of the distinct keys of both files, for
    households also a few numbers a person.

    Raises
    ------
    InputError
        Missing columns, no keys, a key without any common level, persons without a household.
    """
    faults = Faults(name)
    frame = as_frame(original, "original")
    check_choice(faults, "missing", missing, ["category", "unmatched"])
    check_ask(faults, ask, frame)
    if faults and ask.household is not None and not isinstance(ask.household, str):
        faults.raise_if_any()
    frames = iter_frames(synthetic, "synthetic", ask.needed)
    faults.raise_if_any()
    coding = _Coding(frame, ask, missing)
    n_synthetic = 0
    for block in frames:
        _check_block(name, block, ask)
        for begin in range(0, len(block), CHUNK):
            coding.read(block.iloc[begin : begin + CHUNK])
        n_synthetic += len(block)
    _check_common(name, ask.keys, coding.coders, n_synthetic)
    return coding.table(seed)


class _Coding:
    """Codes and numbers of both files so far."""

    def __init__(self, frame: pd.DataFrame, ask: Ask, missing: str) -> None:
        self.frame, self.ask, self.missing = frame, ask, missing
        coded = encode_keys(frame, ask.keys)
        self.coders = [KeyCoder(levels) for levels in coded.levels]
        known = np.array([coder.n_known for coder in self.coders], dtype=np.int32)
        self.codes = np.where(coded.codes < 0, known, coded.codes).T
        self.rows = RowNumberer([coder.radix for coder in self.coders])
        self.own = self._classes(self.codes)
        self.target = KeyCoder(())
        self.level = np.zeros(len(frame), dtype=np.int64)
        if ask.targets:
            levels = encode_keys(frame, ask.targets[:1]).levels[0]
            self.target = KeyCoder(levels)
            self.level = self.target.code(frame[ask.targets[0]]).astype(np.int64)
        self.cells = Numberer()
        self.cell_keys: list[np.ndarray] = []
        self.counts = np.zeros(0, dtype=np.int64)
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.homes = Households()
        self.n_synthetic = 0

    def read(self, chunk: pd.DataFrame) -> None:
        """Count the persons of a chunk, or keep their numbers until their household is complete."""
        codes = np.stack(
            [coder.code(chunk[key]) for coder, key in zip(self.coders, self.ask.keys, strict=True)]
        )
        classes = self._classes(codes)
        level = np.zeros(len(chunk), dtype=np.int64)
        if self.ask.targets:
            level = self.target.code(chunk[self.ask.targets[0]]).astype(np.int64)
        self.n_synthetic += len(chunk)
        if self.ask.household is None:
            self._count(classes, level)
        else:
            home = self.homes.number(chunk[self.ask.household])
            self.parts.append((classes.astype(np.int32), level.astype(np.int32), home))

    def table(self, seed: int) -> KeyTable:
        """Put everything together after the last chunk."""
        n = len(self.frame)
        asked = self._classes(self._known_codes(seed))
        own, unit, level = self.own, np.arange(n), self.level
        n_synthetic, judged = self.n_synthetic, np.ones(n, dtype=np.bool_)
        bag = own
        if self.ask.household is not None:
            unit = Households().number(self.frame[self.ask.household])
            bags, members = BagNumberer(), Numberer()
            bag = _bags(bags, own, unit)
            asked_bag = _bags(bags, asked, unit)
            theirs = _bags(bags, *self._stream(0, 2)) if self.parts else np.zeros(0, np.int64)
            if self.ask.targets:
                own, asked = _members(members, bag[unit], own), _members(
                    members, asked_bag[unit], asked
                )  # fmt: skip
                judged = self.frame[self.ask.targets[0]].notna().to_numpy()
                row, home = self._stream(0, 2)
                self._count(_members(members, theirs[home], row), self._stream(1)[0])
            else:
                own, asked, level, unit = bag, asked_bag, level[: len(bag)], np.arange(len(bag))
                judged, n_synthetic = np.ones(len(bag), dtype=np.bool_), self.homes.size
                self._count(theirs, np.zeros(len(theirs), dtype=np.int64))
        alone = np.append(np.bincount(bag[bag >= 0]), 0)[bag] == 1
        own_cell, asked_cell = self._cell(own, level), self._cell(asked, level)
        return self._finish(
            own, asked, own_cell, asked_cell, level, judged, unit, alone, n_synthetic
        )

    def _finish(
        self,
        own: np.ndarray,
        asked: np.ndarray,
        own_cell: np.ndarray,
        asked_cell: np.ndarray,
        level: np.ndarray,
        judged: np.ndarray,
        unit: np.ndarray,
        alone: np.ndarray,
        n_synthetic: int,
    ) -> KeyTable:
        keys = np.concatenate([*self.cell_keys, np.zeros(0, dtype=np.int64)])
        cell_class, cell_level = keys >> 31, keys & ((1 << 31) - 1)
        synthetic = np.zeros(len(keys), dtype=np.int64)
        counted = min(len(keys), len(self.counts))
        synthetic[:counted] = self.counts[:counted]
        original = np.bincount(own_cell[own_cell >= 0], minlength=len(keys))
        n_classes = int(max(cell_class.max(initial=-1), asked.max(initial=-1))) + 1
        totals = [
            np.bincount(cell_class, weights=counts, minlength=n_classes).astype(np.int64)
            for counts in (original, synthetic)
        ]
        return KeyTable(
            cell_class, cell_level, original.astype(np.int64), synthetic, totals[0], totals[1],
            level, own, asked, own_cell, asked_cell, judged, unit, self._looked_for(alone), alone,
            n_synthetic,
        )  # fmt: skip

    def _classes(self, codes: np.ndarray) -> np.ndarray:
        """Class of each row of codes, -1 where a missing key matches nothing."""
        found = self.rows.number(codes)
        if self.missing == "unmatched":
            known = np.array([coder.n_known for coder in self.coders])[:, None]
            found[(codes == known).any(axis=0)] = -1
        return found

    def _known_codes(self, seed: int) -> np.ndarray:
        """Keys of the original as the intruder knows them."""
        codes = self.codes.copy()
        for k, p in enumerate(self.ask.errors):
            if p > 0:
                rng = Streams(seed).at("intruder", "key errors", self.ask.keys[k])
                codes[k] = wrong_codes(codes[k], p, self.coders[k].n_known, rng)
        return codes

    def _cell(self, classes: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Number of each cell, -1 where the class is; new cells are noted."""
        found = np.full(len(classes), -1, dtype=np.int64)
        kept = classes >= 0
        before = self.cells.size
        given = pair_up(classes[kept], level[kept])
        found[kept] = self.cells.number(given)
        fresh = np.empty(self.cells.size - before, dtype=np.int64)
        new = found[kept] >= before
        fresh[found[kept][new] - before] = given[new]
        self.cell_keys.append(fresh)
        return found

    def _count(self, classes: np.ndarray, level: np.ndarray) -> None:
        cell = self._cell(classes, level)
        if self.cells.size > len(self.counts):
            grown = np.zeros(max(self.cells.size, 2 * len(self.counts)), dtype=np.int64)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        cell = cell[cell >= 0]
        if 8 * len(cell) < len(self.counts):
            np.add.at(self.counts, cell, 1)
        else:
            self.counts += np.bincount(cell, minlength=len(self.counts))

    def _stream(self, *which: int) -> list[np.ndarray]:
        """Columns of what was kept of the synthetic persons: classes, levels, households."""
        return [np.concatenate([part[k] for part in self.parts]).astype(np.int64) for k in which]

    def _looked_for(self, alone: np.ndarray) -> np.ndarray:
        found = np.ones(len(alone), dtype=np.bool_)
        if self.ask.who == "sample uniques":
            found &= alone
        if self.ask.rows is not None:
            flags = self.frame[self.ask.rows].to_numpy(dtype=np.bool_)
            unit = np.arange(len(self.frame))
            if self.ask.household is not None:
                unit = Households().number(self.frame[self.ask.household])
            found &= joined(flags, unit, len(alone), "any")
        return found


def _bags(bags: BagNumberer, rows: np.ndarray, home: np.ndarray) -> np.ndarray:
    """Multiset of keys of each household, -1 where a member's keys match nothing."""
    n = int(home.max()) + 1
    found = bags.number(np.maximum(rows, 0), home, n)
    found[joined(rows < 0, home, n, "any")] = -1
    return found


def _members(members: Numberer, bag: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Class of each person in a household: its multiset and their own keys; -1 as above."""
    found = np.full(len(bag), -1, dtype=np.int64)
    kept = bag >= 0
    found[kept] = members.number(pair_up(bag[kept], row[kept]))
    return found


def _check_block(name: str, block: pd.DataFrame, ask: Ask) -> None:
    faults = Faults(name)
    check_columns(faults, block, (*ask.keys, *ask.targets), "key or target of the synthetic file")
    if ask.household is not None:
        check_households(faults, block, ask.household, "synthetic file")
    faults.raise_if_any()


def _check_common(
    name: str, names: tuple[str, ...], coders: list[KeyCoder], n_synthetic: int
) -> None:
    faults = Faults(name)
    if n_synthetic == 0:
        faults.add("synthetic", "has no records")
    for key, coder in zip(names, coders, strict=True):
        if n_synthetic and coder.n_known and not coder.met_known:
            faults.add(
                key,
                "original and synthetic file have no level in common "
                f"({coder.shown_known()} in the original, {coder.shown_new()} in the other)",
                remedy="Code the key in the same way in both files.",
            )
    faults.raise_if_any()
