"""Intervals of counting measures: over the units of the original, or over synthetic replicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.indexer import number_rows
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import MOST_TIMES, SHARE, Whole, check
from synthpop.microdata.messages.text import percent
from synthpop.microdata.statistics.intervals import interval_of_mean, wilson
from synthpop.microdata.statistics.streams import Streams

OVER_UNITS = (
    "which {unit} happened to be in the original; the synthetic file, and whose keys are shared "
    "or unique, are taken as given"
)
OVER_FILES = "the draw of the synthetic file; the original and the fitted models are taken as given"


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Means of several measures with their intervals."""

    # indexed by measure: ``mean`` (over the files; of one file: its value), ``lower``,
    # ``upper``; NaN where there is no interval
    table: pd.DataFrame
    covers: str  # the randomness that the intervals are about, and what they take as given
    n_files: int
    draws: int
    confidence: float
    seed: int

    @property
    def means(self) -> dict[str, float]:
        """Mean of each measure over the files; of one file, its value."""
        return {str(name): float(value) for name, value in self.table["mean"].items()}

    def of(self, measure: str) -> tuple[float, float]:
        """Interval of one measure."""
        low, high = self.table.loc[[measure], ["lower", "upper"]].to_numpy(np.float64)[0]
        return float(low), float(high)

    def sentence(self, measure: str) -> str:
        """Mean and interval as a sentence; empty when there is no interval."""
        low, high = self.of(measure)
        if np.isnan(low):
            return ""
        mean = (
            (message("mean of {n_files} files", n_files=self.n_files) + ", ")
            if self.n_files > 1
            else ""
        )
        return " " + message(
            "({mean}{confidence} interval {low} to {high}: {covers})",
            mean=mean,
            confidence=percent(self.confidence, 0),
            low=percent(low),
            high=percent(high),
            covers=self.covers,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """A measure as a ratio of sums over the units of the original."""

    # top, bottom: float64, shape (n_units,)
    top: np.ndarray
    bottom: np.ndarray

    @property
    def value(self) -> float:
        """The ratio; NaN when nothing is summed over."""
        below = float(self.bottom.sum())
        return float(self.top.sum()) / below if below > 0 else float("nan")


def share(flags: np.ndarray, among: np.ndarray, factor: float = 1.0) -> Ratio:
    """Return the mean of `flags` over the units `among`, times a factor."""
    return Ratio(np.where(among, flags, 0.0) * factor, among.astype(np.float64))


def over_units(
    ratios: Mapping[str, Ratio],
    others: Mapping[str, float],
    *,
    unit: str,
    draws: int,
    confidence: float,
    seed: int,
) -> Intervals:
    """Percentile bootstrap over units; measures in `others` have no interval.

    A share of units that is 0 or 1 does not vary between draws: its interval is Wilson's.
    """
    rows = {name: (ratio.value, *_NONE) for name, ratio in ratios.items()}
    rows |= {name: (value, *_NONE) for name, value in others.items()}
    if draws:
        sums = np.column_stack([s for one in ratios.values() for s in (one.top, one.bottom)])
        drawn = _bootstrap(sums, draws, Streams(seed).at("intervals", "units"))
        ends = [(1 - confidence) / 2, (1 + confidence) / 2]
        for k, (name, ratio) in enumerate(ratios.items()):
            top, bottom = drawn[:, 2 * k], drawn[:, 2 * k + 1]
            drawn_ratios = top[bottom > 0] / bottom[bottom > 0]
            if len(drawn_ratios) == 0:
                continue
            low, high = (float(end) for end in np.quantile(drawn_ratios, ends))
            if low == high:
                low, high = _wilson(ratio, confidence)
            rows[name] = (rows[name][0], low, high)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "lower", "upper"])
    covers = OVER_UNITS.format(unit=unit) if draws else message("no interval was requested")
    return Intervals(table, covers, 1, draws, confidence, seed)


_NONE = (float("nan"), float("nan"))
_AT_ONCE = 10_000_000


def _bootstrap(sums: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Column sums of `draws` resamples of rows, shape (draws, columns); equal rows are one kind."""
    kind, last_rows = number_rows(sums)
    count, kinds = np.bincount(kind), sums[last_rows]
    step = max(1, _AT_ONCE // len(count))
    blocks = [
        rng.multinomial(len(sums), count / count.sum(), size=min(step, draws - start)) @ kinds
        for start in range(0, draws, step)
    ]
    return np.concatenate(blocks)


def _wilson(ratio: Ratio, confidence: float) -> tuple[float, float]:
    n = round(float(ratio.bottom.sum()))
    largest = float(ratio.top.max(initial=0.0)) or 1.0  # a factor for coverage
    low, high = wilson(round(float(ratio.top.sum()) / largest), n, confidence)
    return low * min(1.0, largest), high * min(1.0, largest)


def over_files(values: Sequence[Mapping[str, float]], *, confidence: float, seed: int) -> Intervals:
    """T interval of the mean over files of the same fit."""
    frame = pd.DataFrame(list(values))
    mean, low, high = interval_of_mean(frame, confidence)
    table = pd.DataFrame({"mean": mean, "lower": low.clip(0), "upper": high.clip(upper=1)})
    return Intervals(table, OVER_FILES, len(frame), 0, confidence, seed)


def check_intervals(
    faults: Faults, draws: object, confidence: object, replicates: object
) -> tuple[Any, ...]:
    """Note values out of range; return the replicates as a tuple."""
    table = {"draws": Whole(0, MOST_TIMES), "confidence": SHARE}
    check(faults, table, {"draws": draws, "confidence": confidence})
    single = isinstance(replicates, (pd.DataFrame, str)) or hasattr(replicates, "iter_blocks")
    if single or not isinstance(replicates, (Sequence, Iterator)):
        what = "is not a list of synthetic files"
        faults.add("replicates", what, hint="Give further files of the same fit in a list.")
        return ()
    return tuple(replicates)
