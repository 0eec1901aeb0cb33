"""Counts of real and released persons by key combination and level of a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.cells import Cells, as_cells, count_cells, matched_cells
from riskeval.attacks.counting.compatible import Pairs, compatible_households, compatible_rows
from riskeval.attacks.indexer import Indexer, Multiset, RowIndexer, pair_up, unpair
from riskeval.attacks.levels import LevelCoder, check_common_levels
from riskeval.attacks.request import AttackRequest, check_file, check_request
from riskeval.attacks.targets import (
    TREATMENTS,
    AttackTargets,
    HouseholdNumbers,
    attack_targets,
    level_coders,
)
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.runs.chunks import CHUNK, open_chunks


@dataclass(frozen=True, slots=True, eq=False)
class FileClasses:
    """One file of real persons by class of keys."""

    targets: AttackTargets
    # int64, shape (n,): unit of each record: of persons, or of members of a household; with
    # households and without a target a record is a household
    unit: np.ndarray
    level: np.ndarray  # int64, shape (n,): level of the target
    # bool, shape (n,): False where there is no true value: members of households without one
    judged: np.ndarray
    # true_class, believed_class: int64, shape (n,): class of each record, and the one where the
    # intruder looks it up; -1 where keys are missing and missing keys match nothing
    true_class: np.ndarray
    believed_class: np.ndarray

    @property
    def looked_for(self) -> np.ndarray:
        """Units that the intruder looks for."""
        return self.targets.looked_for


@dataclass(frozen=True, slots=True, eq=False)
class CrossTable:
    """Real persons and a release by class of keys and level of a target.

    Records are persons. Where the household is the unit, a class of persons is the multiset of
    keys in their household together with their own keys; without a target, records are households
    and a class is the multiset alone.
    """

    # dict of role to FileClasses: "original" and, where it is given, "hold-out"
    files: dict[str, FileClasses]
    # original, released: records of both files as they are
    original: Cells
    released: Cells
    # Released records that the intruder takes for those of a class: the same keys or, where none
    # of them has a value of the target, those whose other keys are suppressed. Records without a
    # value of the target are left out of classes in which others have one.
    matched: Cells
    n_released: int  # all released records, also those that match nothing
    levels: list[Any]  # levels of the target by code; None is missing
    notes: tuple[str, ...]

    @property
    def people(self) -> FileClasses:
        """Return the original."""
        return self.files["original"]


def count_keys(
    name: str,
    files: Mapping[str, pd.DataFrame],
    release: Any,
    request: AttackRequest,
    missing: str,
    seed: int = 0,
) -> CrossTable:
    """Count files of real persons and a release by keys and target; the release is streamed.

    Time is linear in the records; memory is that of the distinct keys of all files, for
    households also a few numbers a person. Suppressed keys cost one more pass for each pattern of
    them, for households one over pairs of those that no released household matches exactly.

    Raises InputError: missing columns, no keys, a key without any common level, persons without a
        household.
    """
    # 1. Check what was given
    faults = Faults(name)
    check_choice(faults, "missing", missing, TREATMENTS)
    check_request(faults, request, files["original"])
    for role, frame in list(files.items())[1:]:
        check_file(faults, frame, request, role)
    if faults and request.household is not None and not isinstance(request.household, str):
        faults.raise_if_any()
    frames = open_chunks(release, "synthetic", request.needed, rows=CHUNK)
    faults.raise_if_any()
    # 2. Whom the intruder looks for, and by which keys
    coders = level_coders(files.values(), request.keys)
    real = attack_targets(files, request, coders, seed, match_missing=missing != "unmatched")
    target = LevelCoder(())
    if request.targets:
        target = LevelCoder(encode(files["original"][request.targets[0]])[1])
    reader = _Reader(request, coders, target, missing)
    believed = {role: reader.number(targets.codes) for role, targets in real.items()}
    true = {role: reader.number(targets.true_codes) for role, targets in real.items()}
    # 3. Count the release block by block
    for coder in coders.values():
        coder.start()
    for block in frames:
        block_faults = Faults(name)
        check_file(block_faults, block, request, "synthetic file")
        block_faults.raise_if_any()
        reader.read(block)
    if reader.n_persons == 0:
        raise InputError.of(name, "synthetic", "has no records")
    check_common_levels(name, coders, "original", "release")
    # 4. Classes of the real persons, and of the released ones
    classes = reader.classes(real, true, believed, files)
    released = reader.released()
    people = classes["original"]
    original = count_cells(people.true_class, people.level)
    n_classes = 1 + max(
        max(int(one.believed_class.max(initial=-1)), int(one.true_class.max(initial=-1)))
        for one in classes.values()
    )
    n_classes = max(n_classes, len(original.total), len(released.total)) + 1
    original, released = original.padded(n_classes), released.padded(n_classes)
    # 5. Released records that the intruder takes for somebody's
    pairs: Pairs = (np.empty(0, np.int64), np.empty(0, np.int64))
    if missing == "wildcard":
        looked_up = np.unique(np.concatenate([one.believed_class for one in classes.values()]))
        speaking = released.without_level(target.n_known) if request.targets else released
        looked_up = looked_up[(looked_up >= 0) & (speaking.in_class(looked_up) == 0)]
        pairs = reader.compatible(looked_up, speaking)
    matched = matched_cells(released, pairs, target.n_known if missing == "wildcard" else -1)
    n_released = reader.n_persons
    if request.household is not None and not request.targets:
        n_released = reader.homes.size
    notes = [coder.note(key, "original") for key, coder in coders.items()]
    return CrossTable(
        classes, original, released, matched, n_released, target.levels, tuple(filter(None, notes))
    )


class _Reader:
    """Classes and levels of the release so far."""

    def __init__(
        self, request: AttackRequest, coders: Mapping[str, LevelCoder], target: LevelCoder,
        missing: str,
    ) -> None:  # fmt: skip
        self.request, self.coders, self.target = request, coders, target
        self.missing = np.array([coder.n_known for coder in coders.values()], dtype=np.int32)
        self.is_matched = missing != "unmatched"
        # numbers of key combinations of persons, of multisets of them in households, of pairs of
        # a multiset and the keys of one of its members
        self.rows = RowIndexer([coder.radix for coder in coders.values()])
        self.bags, self.members, self.cells = Multiset(), Indexer(), Indexer()
        self.pair_of_member: list[np.ndarray] = []
        self.cell_keys: list[np.ndarray] = []
        self.counts = np.zeros(0, dtype=np.int64)
        # rows, levels and households of the persons read, of whom households may be incomplete
        self.persons: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.real_bags: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.homes = HouseholdNumbers()
        self.n_persons = 0

    def number(self, codes: np.ndarray) -> np.ndarray:
        """Number of the key combination of each row of codes, shape (n, m); -1 if unmatched."""
        numbers = self.rows.number(codes.T)
        if not self.is_matched:
            numbers[(codes == self.missing).any(axis=1)] = -1
        return numbers

    def read(self, chunk: pd.DataFrame) -> None:
        """Count the persons of a chunk, or keep their numbers until their household is complete."""
        codes = [coder.code(chunk[key]) for key, coder in self.coders.items()]
        rows = self.number(np.stack(codes, axis=1))
        level = np.zeros(len(chunk), dtype=np.int64)
        if self.request.targets:
            level = self.target.code(chunk[self.request.targets[0]]).astype(np.int64)
        self.n_persons += len(chunk)
        if self.request.household is None:
            self._count(rows, level)
        else:
            home = self.homes.number(chunk[self.request.household])
            self.persons.append((rows.astype(np.int32), level.astype(np.int32), home))

    def classes(
        self,
        real: Mapping[str, AttackTargets],
        true: Mapping[str, np.ndarray],
        believed: Mapping[str, np.ndarray],
        files: Mapping[str, pd.DataFrame],
    ) -> dict[str, FileClasses]:
        """Classes of the real persons of every file."""
        result = {}
        for role, targets in real.items():
            n = len(targets.unit)
            level, judged = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
            if self.request.targets:
                values = files[role][self.request.targets[0]]
                level = self.target.code(values).astype(np.int64)
            codes, looked_up, unit = true[role], believed[role], targets.unit
            if self.request.household is not None:
                bag, looked_up_bag = (self._bag(rows, unit) for rows in (codes, looked_up))
                self.real_bags.append((looked_up_bag, looked_up, unit))
                if self.request.targets:
                    codes = self._member(bag[unit], codes)
                    looked_up = self._member(looked_up_bag[unit], looked_up)
                    judged = level != self.target.n_known
                else:
                    codes, looked_up, unit = bag, looked_up_bag, np.arange(targets.n)
                    level, judged = level[: targets.n], judged[: targets.n]
            result[role] = FileClasses(targets, unit, level, judged, codes, looked_up)
        return result

    def released(self) -> Cells:
        """Cells of the release, after the last chunk."""
        self.home_rows, self.home = np.empty(0, np.int64), np.empty(0, np.int64)
        if self.persons:
            rows, level, home = (
                np.concatenate(column).astype(np.int64)
                for column in zip(*self.persons, strict=True)
            )
            self.home_rows, self.home = rows, home
            self.bag = self._bag(rows, home)
            if self.request.targets:
                self._count(self._member(self.bag[home], rows), level)
            else:
                self._count(self.bag, np.zeros(len(self.bag), dtype=np.int64))
        keys = np.concatenate([*self.cell_keys, np.zeros(0, dtype=np.int64)])
        order = np.argsort(keys)
        return as_cells(*unpair(keys[order]), self.counts[: len(keys)][order])

    def compatible(self, looked_up: np.ndarray, released: Cells) -> Pairs:
        """Pairs of a class that is looked up and a released one with suppressed keys."""
        codes = self.rows.rows()
        has_hole = (codes == self.missing).any(axis=1)
        present = np.flatnonzero(released.total > 0)
        if self.request.household is None:
            holed = present[has_hole[present]]
            first, second = compatible_rows(codes[looked_up], codes[holed], self.missing)
            return looked_up[first], holed[second]
        pair = np.concatenate([np.empty(0, np.int64), *self.pair_of_member])
        with_target = bool(self.request.targets)
        looked_up_bag = unpair(pair[looked_up])[0] if with_target else looked_up
        # 1. distinct households of both files, by their multiset
        incomplete = np.bincount(self.home, weights=has_hole[self.home_rows]) > 0
        bags, released_homes = _distinct(
            np.where(incomplete, self.bag, -1), self.home_rows, self.home
        )
        bags_looked_up = np.empty(0, np.int64)
        first_homes: list[np.ndarray] = []
        for bag, rows, unit in self.real_bags:
            new = np.isin(bag, looked_up_bag) & ~np.isin(bag, bags_looked_up)
            new_bags, members = _distinct(np.where(new, bag, -1), rows, unit)
            bags_looked_up, first_homes = np.append(bags_looked_up, new_bags), first_homes + members
        first, second = compatible_households(
            [codes[rows] for rows in first_homes],
            [codes[rows] for rows in released_homes],
            self.missing,
        )
        bag_pairs = pd.DataFrame({"looked_up": bags_looked_up[first], "released": bags[second]})
        if not with_target:
            return bag_pairs["looked_up"].to_numpy(), bag_pairs["released"].to_numpy()
        # 2. members of those households whose keys agree
        real = pd.DataFrame(
            {"class": looked_up, "looked_up": looked_up_bag, "row": unpair(pair[looked_up])[1]}
        )
        other = pd.DataFrame({"other": present, "released": unpair(pair[present])[0],
                              "other_row": unpair(pair[present])[1]})  # fmt: skip
        both = real.merge(bag_pairs, on="looked_up").merge(other, on="released")
        first_codes, their = codes[both["row"].to_numpy()], codes[both["other_row"].to_numpy()]
        fits = ((first_codes == their) | (their == self.missing)).all(axis=1)
        # 3. of several members of one released household those with the fewest holes
        n_holes = ((their == self.missing) & (first_codes != self.missing)).sum(axis=1)
        both = both.assign(holes=n_holes)[fits]
        fewest = both["holes"] == both.groupby(["class", "released"])["holes"].transform("min")
        return both.loc[fewest, "class"].to_numpy(), both.loc[fewest, "other"].to_numpy()

    def _bag(self, rows: np.ndarray, home: np.ndarray) -> np.ndarray:
        """Multiset of keys of each household, -1 where a member's keys match nothing."""
        n = int(home.max(initial=-1)) + 1
        bags = self.bags.number(np.maximum(rows, 0), home, n)
        bags[np.bincount(home, weights=rows < 0, minlength=n) > 0] = -1
        return bags

    def _member(self, bag: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Class of each person in a household: its multiset and their own keys; -1 as above."""
        known = bag >= 0
        pairs = pair_up(bag[known], row[known])
        before = self.members.size
        classes = np.full(len(bag), -1, dtype=np.int64)
        classes[known] = self.members.number(pairs)
        self.pair_of_member.append(_first_of(classes[known] - before, pairs))
        return classes

    def _count(self, classes: np.ndarray, level: np.ndarray) -> None:
        known = classes >= 0
        pairs = pair_up(classes[known], level[known])
        before = self.cells.size
        cell = self.cells.number(pairs)
        self.cell_keys.append(_first_of(cell - before, pairs))
        if self.cells.size > len(self.counts):
            grown = np.zeros(max(self.cells.size, 2 * len(self.counts)), dtype=np.int64)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        np.add.at(self.counts, cell, 1)


def _distinct(
    bag: np.ndarray, rows: np.ndarray, home: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distinct multisets of households (-1: left out) and the rows of the members of each."""
    order = np.argsort(home, kind="stable")
    begin = np.searchsorted(home[order], np.arange(len(bag) + 1))
    bags, first = np.unique(bag, return_index=True)
    bags, first = bags[bags >= 0], first[bags >= 0]
    return bags, [rows[order[begin[h] : begin[h + 1]]] for h in first]


def _first_of(numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of the numbers from 0 on, in their order; smaller numbers were met before."""
    new = numbers >= 0
    first = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    first[numbers[new]] = values[new]
    return first
