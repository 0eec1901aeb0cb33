"""What local suppression is asked: arguments checked and put into one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import TREATMENTS
from riskeval.protection.household.layer import read_household_keys
from riskeval.protection.targets import PrivacyTarget
from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.codes import cell_ids, encode_keys
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import Between, Whole, check, check_choice
from synthpop.microdata.messages.text import plural

MOST_KEYS = 40

Wanted = dict[int | tuple[str, ...], int]


def read_subsets(subsets: Mapping[Any, int]) -> Wanted:
    """Return sizes as numbers and named combinations as tuples; text as in a run file is read.

    ``{"2": 5, "age, region": 3}`` becomes ``{2: 5, ("age", "region"): 3}``.
    """
    wanted: Wanted = {}
    for subset, k in subsets.items():
        if isinstance(subset, str):
            names = tuple(name.strip() for name in subset.split(","))
            wanted[int(subset) if subset.strip().isdigit() else names] = k
        elif isinstance(subset, (tuple, list, frozenset)):
            wanted[tuple(subset)] = k
        else:
            wanted[subset] = k
    return wanted


def asked(names: Sequence[str], wanted: Wanted) -> list[tuple[list[int], int]]:
    """Every combination of keys that something is asked of, small ones first, with its k."""
    place = {name: j for j, name in enumerate(names)}
    subsets: dict[tuple[int, ...], int] = {}
    for subset, k in wanted.items():
        if isinstance(subset, tuple):
            combined = [tuple(sorted(place[name] for name in subset))]
        else:
            combined = list(combinations(range(len(names)), subset))
        for keys in combined:
            subsets[keys] = max(k, subsets.get(keys, 0))
    return [(list(keys), k) for keys, k in sorted(subsets.items(), key=lambda item: len(item[0]))]


@dataclass(frozen=True, eq=False)
class SuppressionPlan:
    """What local suppression is asked; `local_suppression` says what each means."""

    keys: list[str]
    k: int
    strata: list[str] = field(default_factory=list)
    subsets: Wanted | None = None
    importance: Sequence[int] | Mapping[str, int] | None = None
    missing: str = "wildcard"
    alpha: float = 1.0
    linked: dict[str, list[str]] = field(default_factory=dict)
    components: dict[str, list[str]] = field(default_factory=dict)
    household: str | None = None
    household_variables: list[str] = field(default_factory=list)
    household_keys: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    targets: tuple[PrivacyTarget, ...] = ()

    @property
    def wanted(self) -> Wanted:
        """Number of records that each combination of keys must reach."""
        return {len(self.keys): self.k} if self.subsets is None else self.subsets

    @property
    def withstands(self) -> bool:
        """Whether the result must hold after an attack."""
        return self.household is not None or bool(self.weights) or bool(self.components)

    def parameters(self) -> dict[str, object]:
        """Return the arguments as plain values."""
        ranks = read_ranks(Faults("local_suppression"), self.keys, self.importance)
        ranked = dict(zip(self.keys, map(int, ranks), strict=True))
        return {
            "keys": self.keys, "k": self.k,
            "importance": None if self.importance is None else ranked,
            "subsets": self.subsets, "strata": self.strata or None, "linked": self.linked or None,
            "missing": self.missing, "alpha": float(self.alpha), "household": self.household,
            "household_variables": self.household_variables,
            "household_keys": self.household_keys, "weights": self.weights or None,
            "components": self.components or None,
            "targets": {one.name: one.value for one in self.targets} or None,
        }  # fmt: skip

    def check(self, faults: Faults, frame: pd.DataFrame) -> None:
        """Note everything that is wrong."""
        names = self.keys
        if len(names) > MOST_KEYS:
            faults.add("keys", f"{plural(len(names), 'key')}", hint=f"Give at most {MOST_KEYS}.")
        check_columns(faults, frame, self.strata, "strata")
        for column in set(self.strata) & set(names):
            faults.add(column, "is a key and a stratum", hint="Choose one of the two.")
        check_choice(faults, "missing", self.missing, TREATMENTS)
        check(faults, {"alpha": Between(0, 1)}, self)
        if self.alpha != 1 and self.missing != "wildcard":
            what = f"has no meaning with missing={self.missing!r}"
            faults.add("alpha", what, hint="Leave it out.")
        if names:
            _check_subsets(faults, names, self.wanted)
        self._check_linked(faults, frame)
        self._check_households(faults, frame)

    def _check_linked(self, faults: Faults, frame: pd.DataFrame) -> None:
        linked_columns: set[str] = set()
        for key, columns in self.linked.items():
            if key not in self.keys:
                faults.add("linked", f"{key!r} is not a key")
            check_columns(faults, frame, columns, "linked column")
            for column in columns:
                if column in self.keys or column in self.strata or column in linked_columns:
                    faults.add("linked", f"{column!r} is a key, a stratum or linked twice")
                linked_columns.add(column)

    def _check_households(self, faults: Faults, frame: pd.DataFrame) -> None:
        linked = [column for columns in self.linked.values() for column in columns]
        if self.household in [*self.keys, *linked]:
            what = f"{self.household!r} is a key too, or linked to one, and must not lose values"
            faults.add("household", what, hint="Leave it out of the keys.")
        check_numeric(faults, frame, self.weights, "weights")
        for total, parts in self.components.items():
            check_numeric(faults, frame, [total, *parts], "component")
        read_household_keys(faults, self.household_keys, self.keys, self.household)
        if self.missing == "own-category" and (self.household is not None or self.weights):
            faults.add(
                "missing",
                "'own-category' is not checked against households or weights",
                hint="Take 'wildcard' or 'conservative'.",
            )


def _check_subsets(faults: Faults, names: list[str], wanted: Wanted) -> None:
    if not wanted:
        faults.add("subsets", "are empty", hint="Give {size: k} or {(key, key): k}.")
    for subset, k in wanted.items():
        if isinstance(subset, tuple):
            for name in subset:
                check_choice(faults, "subsets", name, names)
            if len(set(subset)) < len(subset) or not subset:
                faults.add("subsets", f"{subset!r} names a key twice or none")
        elif not Whole(1, len(names)).allows(subset):
            what = f"{subset!r} of {plural(len(names), 'key')}"
            faults.add("subsets", what, hint="Give 1 to all keys.")
        check(faults, {"k": Whole(1)}, {"k": k})


def read_ranks(
    faults: Faults, names: list[str], importance: Sequence[int] | Mapping[str, int] | None
) -> np.ndarray:
    """Return the rank of each key, float64, shape (m,): 0 everywhere where none is given."""
    if importance is None:
        return np.zeros(len(names))
    if isinstance(importance, Mapping):
        for key in set(importance) ^ set(names):
            faults.add("importance", f"{key!r} is not a key or has no rank")
        values = [importance.get(key, 1) for key in names]
    else:
        values = list(importance)
    if len(values) != len(names) or not all(map(Whole(1).allows, values)):
        faults.add("importance", f"is {values}", hint="Give one rank from 1 for each key.")
        return np.zeros(len(names))
    return np.array(values, dtype=np.float64)


def stratum_codes(frame: pd.DataFrame, by: Sequence[str]) -> np.ndarray:
    """Number the strata, int64, shape (n,); a missing value is one of its own."""
    if not by:
        return np.zeros(len(frame), dtype=np.int64)
    return cell_ids(encode_keys(frame, by).codes)[0]


def check_sizes(faults: Faults, strata: np.ndarray, k: int) -> None:
    """Note strata with fewer than k records."""
    sizes = np.bincount(strata)
    small = np.flatnonzero((sizes > 0) & (sizes < k))
    if len(small):
        which = plural(len(small), "stratum (or the file) has", "strata have")
        faults.add(
            "k",
            f"{which} fewer than {k} records",
            rows=np.flatnonzero(np.isin(strata, small)),
            hint="Join strata or lower k: no suppression can help there.",
        )
