"""What a measure of utility is given, and its entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskeval.shared.measurement import Direction, MeasureInfo, Measurement, Unit
from synthpop.microdata.messages.entries import NamedEntry
from synthpop.microdata.messages.message import joined_by


@dataclass(frozen=True, slots=True, eq=False)
class UtilityInput:
    """Two files that are compared."""

    # original, released: the variables that both files share, on the levels that both have
    original: pd.DataFrame
    released: pd.DataFrame
    # keys, numeric, sensitive: variables by role, also those that are not shared
    keys: tuple[str, ...]
    numeric: tuple[str, ...]
    sensitive: tuple[str, ...]
    # int64 array, or None: row of `original` of each released record; None where records cannot
    # be linked
    rows: np.ndarray | None
    # weights, released_weights: float64 array, or None
    weights: np.ndarray | None = None
    released_weights: np.ndarray | None = None
    # why a variable is not shared
    not_compared: Mapping[str, str] = field(default_factory=dict)
    # categories: levels of the original, and how many of them the release distinguishes
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # share of the cells of a variable that are missing more often; 1 where it is not released
    suppressed: Mapping[str, float] = field(default_factory=dict)
    most_records: int = 50_000  # records of each file that a model takes at most
    seed: int = 0

    @property
    def variables(self) -> tuple[str, ...]:
        """Keys, sensitive and numeric variables, each once."""
        return tuple(dict.fromkeys([*self.keys, *self.sensitive, *self.numeric]))

    def shared(self, names: Sequence[str]) -> list[str]:
        """Those of some variables that both files share."""
        return [name for name in names if name not in self.not_compared]

    def why(self, names: Sequence[str]) -> str:
        """Why some variables cannot all be compared; empty when they can."""
        absent = [name for name in names if name in self.not_compared]
        return joined_by("; ", [f"{name} " + self.not_compared[name] for name in absent])


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityMeasure(NamedEntry):
    """One measure of utility: of comparisons, of sessions and of their pages."""

    name: str
    # function of a UtilityInput to a list of Measurement
    run: Callable[[UtilityInput], Sequence[Measurement]]
    infos: tuple[MeasureInfo, ...]  # numbers that it gives
    compared: bool = True  # whether comparisons of releases show it
    session: bool = False  # whether a session shows it after each step
    about: str = "file"  # what its numbers are about, in the table of a session


def utility_number(
    name: str, title: str, unit: Unit, meaning: str, source: str, *, better: Direction = "low",
    perfect: float = 0.0,
) -> MeasureInfo:  # fmt: skip
    """Return what a number on the use that is left is."""
    return MeasureInfo(name, "utility", better, unit, meaning, source, title, perfect=perfect)
