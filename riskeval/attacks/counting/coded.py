"""Files with their keys and a target as codes, made once for the attacks by many sets of keys.

The same as `disco` and `tcap` count, but that nobody whose value is missing is found, and that a
missing key is a level of its own, on all sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskeval.attacks.clusters import clusters_of
from riskeval.attacks.entry import AttackInput
from riskeval.attacks.indexer import number_rows
from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.shares import Excess, excess
from riskeval.attacks.values import number_groups, quantile_breaks
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.runs.chunks import open_chunks

CONFIDENCE = 0.95
MOST_CELLS = 20_000_000
REAL = ("original", "holdout")


@dataclass(frozen=True, slots=True)
class Found:
    """What an attack by some keys finds."""

    rate: float
    excess: Excess | None
    n_original: int
    unit: str = "records"


@dataclass(frozen=True, slots=True, eq=False)
class CodedFiles:
    """Persons of original, hold-out and release."""

    keys: tuple[str, ...]
    # int32, shape (persons of all files, keys), and (persons,): 0 is missing
    codes: np.ndarray
    levels: np.ndarray
    files: dict[str, slice]  # place of each file
    clusters: tuple[np.ndarray | None, np.ndarray | None]
    tables: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, inputs: AttackInput, target: str, n_groups: int | None) -> CodedFiles | None:
        """Code the files; None where more must be known than codes: households, errors."""
        if not inputs.is_plain or inputs.holdout is None:
            return None
        names = [*inputs.keys, target]
        release = pd.concat(
            [one[names] for one in open_chunks(inputs.synthetic, "synthetic", names)],
            ignore_index=True,
        )
        frames = {"original": inputs.original, "holdout": inputs.holdout, "synthetic": release}
        values = inputs.original[target]
        if is_number(values) and n_groups is not None and values.nunique() > n_groups:
            breaks = quantile_breaks(values, n_groups)
            frames = {role: frame.assign(**{target: number_groups(frame[target], breaks)})
                      for role, frame in frames.items()}  # fmt: skip
        columns = []
        for name in names:
            coder = LevelCoder(())  # of which 0 is missing
            columns.append(np.concatenate([coder.code(one[name]) for one in frames.values()]))
        ends = np.cumsum([len(one) for one in frames.values()]).tolist()
        files = {role: slice(end - len(one), end)
                 for (role, one), end in zip(frames.items(), ends, strict=True)}  # fmt: skip
        clusters = clusters_of(inputs.original), clusters_of(inputs.holdout)
        return cls(inputs.keys, np.column_stack(columns[:-1]), columns[-1], files, clusters)

    def shares(self, keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """Released persons with the keys of each person, and those of them with the own level.

        Those without a value of the target do not count. None where there are too many cells.
        """
        if tuple(keys) not in self.tables:
            places = [self.keys.index(key) for key in keys]
            cell = _cells(np.ascontiguousarray(self.codes[:, places]))
            n_levels = int(self.levels.max(initial=0)) + 1
            n_cells = int(cell.max(initial=-1)) + 1
            if n_cells * n_levels > MOST_CELLS:
                return None
            rows = np.arange(len(cell))[self.files["synthetic"]]
            rows = rows[self.levels[rows] > 0]
            counts = np.bincount(
                cell[rows] * n_levels + self.levels[rows], minlength=n_cells * n_levels
            )
            own = np.where(self.levels > 0, counts[cell * n_levels + self.levels], 0)
            totals = counts.reshape(n_cells, n_levels).sum(axis=1)[cell]
            self.tables.clear()  # one set of keys is asked for by one attack after the other
            self.tables[tuple(keys)] = totals, own
        return self.tables[tuple(keys)]

    def found(self, attack: str, keys: Sequence[str]) -> Found | None:
        """Attack "DiSCO" or "DCAP" by some keys; None where it must be counted in another way."""
        shares = self.shares(keys)
        if shares is None:
            return None
        totals, own = shares
        if attack == "DiSCO":
            success = ((own > 0) & (own == totals)).astype(np.float64)
        else:
            success = own / np.maximum(totals, 1)
        members, strangers = (success[self.files[role]] for role in REAL)
        beyond = excess(members, strangers, CONFIDENCE, clusters=self.clusters)
        return Found(float(members.mean()), beyond, len(members))


def _cells(codes: np.ndarray) -> np.ndarray:
    """Number of the combination of each row, with gaps where there are few of them."""
    radices = codes.max(axis=0, initial=0).astype(np.int64) + 1
    if np.prod(radices.astype(np.float64)) > len(codes):
        return number_rows(codes)[0].astype(np.int64)
    return codes.astype(np.int64) @ np.append(radices[:0:-1].cumprod()[::-1], 1)
