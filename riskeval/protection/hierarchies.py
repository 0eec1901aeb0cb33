"""Hierarchies of a key: the column at all its levels, from fine to coarse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import encode
from synthpop.microdata.messages.errors import Faults

EVERYTHING = "*"


@dataclass(frozen=True)
class Hierarchy:
    """One column at all its levels."""

    name: str
    # list of int64 arrays, each of shape (n,): the column at level 0 (as it is), 1, ...; missing
    # has a code of its own
    codes: list[np.ndarray]
    labels: list[list[Any]]  # what the codes stand for; a missing value is None

    @property
    def top(self) -> int:
        """Number of the most general level."""
        return len(self.codes) - 1


def plain_levels(levels: Any) -> Any:
    """Return the levels of a key as mappings and "*"; those of a table from column to column."""
    if isinstance(levels, pd.DataFrame):
        below = list(levels.columns)
        return [
            dict(zip(levels[low].tolist(), levels[high].tolist(), strict=True))
            for low, high in pairwise(below)
        ]
    return [dict(level) if isinstance(level, Mapping) else level for level in levels]


def read_hierarchy(faults: Faults, values: pd.Series, name: str, levels: Any) -> Hierarchy:
    """Code a column at all its levels; note levels that lack a value."""
    codes, present = encode(values)
    labels: list[list[Any]] = [[*present, None]]  # the last code is the missing value
    steps = [np.where(codes < 0, len(present), codes).astype(np.int64)]
    if isinstance(levels, pd.DataFrame):
        _check_table(faults, name, levels)
    for number, level in enumerate(plain_levels(levels), start=1):
        below = labels[-1]
        if not isinstance(level, Mapping):
            if level != EVERYTHING:
                faults.add(
                    f"hierarchies[{name!r}]",
                    f"level {number} is {level!r}",
                    hint='Give a mapping or "*".',
                )
            steps.append(np.zeros(len(codes), dtype=np.int64))
            labels.append([EVERYTHING, None])
            continue
        level = _with_values(level, below)
        used = np.unique(steps[-1])
        lacking = [below[c] for c in used if below[c] is not None and below[c] not in level]
        if lacking:
            faults.add(f"hierarchies[{name!r}]", f"level {number} says nothing about {lacking[:5]}")
            break
        targets = [level.get(item) if item is not None else None for item in below]
        names = [item for item in dict.fromkeys(targets) if item is not None]
        position = {item: j for j, item in enumerate(names)}
        table = np.array([position.get(item, len(names)) for item in targets], dtype=np.int64)
        steps.append(table[steps[-1]])
        labels.append([*names, None])
    return Hierarchy(name, steps, labels)


def _with_values(level: Mapping[Any, Any], below: list[Any]) -> dict[Any, Any]:
    """Answer numbers by their text too: the keys of a run file are text."""
    text = {str(value): value for value in below if value is not None and value not in level}
    return {text.get(key, key) if isinstance(key, str) else key: to for key, to in level.items()}


def _check_table(faults: Faults, name: str, table: pd.DataFrame) -> None:
    columns = list(table.columns)
    if table[columns[0]].duplicated().any():
        faults.add(f"hierarchies[{name!r}]", "a value of the first column occurs twice")
    for low, high in pairwise(columns):
        split = table.groupby(low, observed=True)[high].nunique()
        if (split > 1).any():
            faults.add(
                f"hierarchies[{name!r}]",
                f"{high!r} splits {split.index[split > 1].tolist()[:5]} of {low!r}",
                hint="Each level must join whole groups of the level below.",
            )
