"""Keys of two files as columns of numbers that a model of scikit-learn can read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.attacks.levels import LevelCoder
from synthpop.microdata.frame.frames import as_numbers, is_number, n_columns
from synthpop.microdata.messages.errors import Faults

LARGEST = float(np.finfo(np.float32).max)


def check_size(faults: Faults, frame: pd.DataFrame, names: Sequence[str], role: str) -> None:
    """Note infinite numbers, and numbers too large for single precision, by column."""
    for name in names:
        if n_columns(frame.columns, name) == 1 and is_number(frame[name]):
            rows = np.flatnonzero(np.abs(as_numbers(frame[name])) > LARGEST)
            if len(rows):
                what = f"number of the {role} is infinite or above 3e38"
                faults.add(name, what, rows=rows, hint="Make it missing, or change the unit.")


class Features:
    """Learns from the training file how to write keys as numbers.

    names: columns; categories by value, a missing value being one, where they are not numeric
    numeric: those that are numbers in every file
    dummies: categories as columns of 0 and 1, else as codes
    filled: missing numbers as the mean of the known ones, else as NaN
    """

    def __init__(
        self,
        train: pd.DataFrame,
        names: Sequence[str],
        numeric: Sequence[str],
        *,
        dummies: bool,
        filled: bool,
    ) -> None:
        self.names, self.numeric, self.dummies = tuple(names), frozenset(numeric), dummies
        self.levels = {name: LevelCoder(()) for name in names if name not in self.numeric}
        for name, levels in self.levels.items():
            levels.code(train[name])
        self.n_levels = {name: levels.size for name, levels in self.levels.items()}
        self.fill = dict.fromkeys(numeric, np.nan)
        for name in numeric if filled else ():
            known = as_numbers(train[name])
            known = known[~np.isnan(known)]
            self.fill[name] = float(known.mean()) if len(known) else 0.0
        self.train = self.of(train)

    def of(self, frame: pd.DataFrame) -> np.ndarray:
        """Return a file as numbers, float64; levels that the training file lacks are all 0."""
        columns: list[np.ndarray] = []
        for name in self.names:
            if name in self.numeric:
                column = as_numbers(frame[name])
                columns.append(np.where(np.isnan(column), self.fill[name], column))
                continue
            codes = self.levels[name].code(frame[name]).astype(np.float64)
            if self.dummies:
                columns += [(codes == level).astype(float) for level in range(self.n_levels[name])]
            else:
                columns.append(codes)
        return np.column_stack(columns)
