"""What must hold for every record of a release: every method asks only which records fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, code_table
from riskeval.measures.beta_likeness import group_gains
from riskeval.measures.individual import risk_of_cells
from riskeval.measures.l_diversity import diversity_of
from riskeval.measures.sensitive_groups import once_a_household, per_cell
from riskeval.measures.t_closeness import GroupDistance, distance_of, kind_of
from riskeval.protection.result import Protected
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Between, Constraint, check
from synthpop.microdata.messages.text import count, join, number
from synthpop.microdata.roles.microdata import Microdata

VISIBLE = "visible "
SLACK = 1e-9
KINDS: Mapping[str, Constraint] = {
    "k": Between(1, None),
    "individual_risk": Between(0, 1, open="low"),
    "distinct_l": Between(1, None),
    "entropy_l": Between(1, None),
    "t": Between(0, 1),
    "beta": Between(0, None),
}
OF_COLUMN = ("distinct_l", "entropy_l", "t", "beta")
AT_MOST = ("t", "beta", "individual_risk")
COUNTED = ("k", "distinct_l")
"""Targets that hold for a group as soon as they hold for a part of it."""


@dataclass(frozen=True, slots=True)
class PrivacyTarget:
    """One thing that must hold."""

    name: str  # as the user writes it: "visible distinct_l: income"
    kind: str
    column: str | None  # sensitive variable
    visible: bool  # a record counts those that show its values, not those that may have them
    value: float  # least number of records or values; largest risk or distance

    @property
    def is_visible_k(self) -> bool:
        """Whether records must show what so many others show."""
        return self.visible and self.kind == "k"

    @property
    def text(self) -> str:
        """The target with its limit."""
        if self.kind in AT_MOST:
            return message("{name} at most {value}", name=self.name, value=number(self.value))
        return message("{name} at least {value}", name=self.name, value=number(self.value))


def read_targets(
    faults: Faults, file: Microdata, keys: Sequence[str], targets: Mapping[str, float] | None
) -> tuple[PrivacyTarget, ...]:
    """Return targets from a mapping of "[visible ]kind[: column]" to limits; note faults."""
    read = []
    for name, value in (targets or {}).items():
        rest = name.removeprefix(VISIBLE)
        kind, _, column = (part.strip() for part in rest.partition(":"))
        if kind not in KINDS:
            faults.add("targets", f"{name!r} is none", hint=did_you_mean(kind, list(KINDS)))
            continue
        if (kind in OF_COLUMN) != bool(column):
            form = f"{kind}: column" if kind in OF_COLUMN else kind
            faults.add("targets", f"{name!r} is none", hint=f"Write it as {form!r}.")
            continue
        if column in keys:
            faults.add("targets", f"{column!r} is a key too", hint="Take it out of the keys.")
        elif column:
            check_columns(faults, file.frame, [column], "target")
        check(faults, {name: KINDS[kind]}, {name: value})
        read.append(PrivacyTarget(name, kind, column or None, rest != name, value))
    return tuple(read)


def read_constraints(
    faults: Faults, file: Microdata, keys: Sequence[str], targets: Mapping[str, float] | None
) -> Constraints:
    """Return targets of groups of equal keys, missing being a value; note those out of reach."""
    read = Constraints(
        file, read_targets(faults, file, keys, targets), "own-category", weights=file.roles.weight
    )
    if not faults:
        read.check_reachable(faults)
    return read


@dataclass(frozen=True, eq=False)
class Constraints:
    """Targets of a file whose keys change; all else stays."""

    file: Microdata
    targets: tuple[PrivacyTarget, ...]
    missing: str = "wildcard"  # what a missing key matches, for targets that are not "visible"
    alpha: float = 1.0
    weights: str | None = None
    strata: np.ndarray | None = None  # number of each record's stratum

    def __bool__(self) -> bool:
        return bool(self.targets)

    @cached_property
    def counted(self) -> bool:
        """Whether joining a group with one that holds every target always helps."""
        return all(one.kind in COUNTED for one in self.targets)

    @cached_property
    def distances(self) -> dict[str, GroupDistance]:
        """Distance of groups from the file, for each variable of a target of closeness."""
        return {
            name: distance_of(codes.astype(np.int64), levels, kind_of(self.file.frame[name]))
            for name in (one.column for one in self.targets if one.kind == "t" and one.column)
            for codes, levels in [self.file.codes(name)]
        }

    @cached_property
    def parts(self) -> list[np.ndarray]:
        """Rows of each stratum: records of different strata never match."""
        if self.strata is None or not self.strata.any():
            return [np.arange(len(self.file))]
        return [np.flatnonzero(self.strata == one) for one in np.unique(self.strata)]

    def failing(self, target: PrivacyTarget, codes: np.ndarray) -> np.ndarray:
        """Records that fail a target, bool, shape (n,).

        codes: the keys as released, integers (n, m), -1 missing
        """
        fails = np.zeros(len(codes), dtype=bool)
        for rows in self.parts:
            fails[rows] = self._failing(target, code_table(codes[rows]), rows)
        return fails

    def _failing(self, target: PrivacyTarget, table: KeyTable, rows: np.ndarray) -> np.ndarray:
        missing = "visible" if target.visible else self.missing
        if target.column is None:
            return self._counts_fail(target, table, missing, rows)[table.cell]
        codes, levels = self.file.codes(target.column)
        homes = None
        if self.file.roles.household is not None:
            homes = self.file.household_index[rows]
        if target.kind == "beta":
            gains = group_gains(table, (codes[rows], levels), missing, None, whole=codes)
            return np.asarray(gains.gain > target.value + SLACK)
        if target.kind == "t":
            distance = self.distances[target.column]
            values = once_a_household(table, distance.codes[rows], homes)
            cells = per_cell(table, values, distance.n_values, missing, distance, 1)
            return np.asarray(cells[table.cell, 0] > target.value + SLACK)
        measured = diversity_of(table, (codes[rows], levels), missing, "ignore", 1.0, homes)
        least = measured[:, int(target.kind == "entropy_l")]
        return np.asarray(least < target.value - SLACK)

    def _counts_fail(
        self, target: PrivacyTarget, table: KeyTable, missing: str, rows: np.ndarray
    ) -> np.ndarray:
        weighted = target.kind == "individual_risk" and self.weights is not None
        if weighted:
            weights = self.file.frame[self.weights].to_numpy(dtype=np.float64)[rows]
            sums = np.bincount(table.cell, weights=weights, minlength=len(table.codes))
            table = replace(table, weights=sums)
        f, population = match_counts(table, missing, self.alpha)
        if target.kind == "k":
            return np.asarray(f < target.value - SLACK)
        risk = risk_of_cells(f, population) if weighted else 1.0 / np.maximum(f, SLACK)
        return np.asarray(risk > target.value + SLACK)

    def any_failing(self, codes: np.ndarray) -> np.ndarray:
        """Records that fail some target, bool, shape (n,)."""
        fails = np.zeros(len(codes), dtype=bool)
        for target in self.targets:
            fails |= self.failing(target, codes)
        return fails

    def groups_fail(self, group: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Records of a group that fails some target, bool, shape (m,).

        group: number of the group of each record, integers (m,)
        rows: the records, default all
        """
        rows = np.arange(len(self.file)) if rows is None else rows
        table, fails = code_table(group[:, None]), np.zeros(len(rows), dtype=bool)
        for target in self.targets if len(rows) else ():
            fails |= self._failing(target, table, rows)
        return fails

    def hold_apart(self, rows: np.ndarray, part: np.ndarray) -> bool:
        """Whether some records hold every target in two parts (bool, shape of rows)."""
        return not self or not self.groups_fail(part.astype(np.int64), rows).any()

    def counts(self, codes: np.ndarray) -> dict[str, int]:
        """Return the number of records that fail each target."""
        return {one.name: int(self.failing(one, codes).sum()) for one in self.targets}

    def check_reachable(self, faults: Faults) -> None:
        """Note targets that fail even where no key is known."""
        for target in self.targets:
            fails = self.failing(target, np.full((len(self.file), 1), -1))
            if fails.any():
                faults.add(
                    "targets",
                    f"{target.text}: fails even when no key is released",
                    rows=np.flatnonzero(fails),
                    hint="Ask for less: the file itself (or a stratum) does not hold it.",
                )

    def verified(self, result: Protected, before: np.ndarray, after: np.ndarray) -> Protected:
        """Return a result with what holds in its notes and what is missed in front.

        before, after: codes of the keys, integers (n, m), as they were and as an intruder has them
        """
        if not self.targets:
            return result
        failed = self.counts(after)
        return replace(
            result,
            parameters={**result.parameters, "targets": self.parameters()},
            notes=(*result.notes, *self.notes(self.counts(before), failed)),
            details={**result.details, "targets": failed},
            unmet=(*result.unmet, *self.unmet(failed)),
        )

    def parameters(self) -> dict[str, float] | None:
        """Return the targets as they were asked."""
        return {one.name: one.value for one in self.targets} or None

    def notes(self, before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
        """Say which targets hold for every record."""
        held = [one for one in self.targets if not after[one.name]]
        if not held:
            return []
        failed = [count(before[one.name]) for one in held]
        return [
            message(
                "Recounted, every record holds {targets} (before: {failed} did not).",
                targets=join([one.text for one in held]),
                failed=join(failed),
            )
        ]

    def unmet(self, after: Mapping[str, int]) -> list[str]:
        """Say which targets are missed, and by how many records."""
        return [
            message(
                "Target missed: {n} of {records} records fail {target}.",
                n=count(after[one.name]),
                records=count(len(self.file)),
                target=one.text,
            )
            for one in self.targets
            if after[one.name]
        ]
