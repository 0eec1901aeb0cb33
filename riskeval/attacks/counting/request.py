"""Arguments of the counting measures, checked once, and the counts of every release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Required, TypedDict, Unpack

import numpy as np
import pandas as pd

from riskeval.attacks.counting.key_tables import CrossTable, count_keys
from riskeval.attacks.intervals import Intervals, Ratio, check_intervals, over_files, over_units
from riskeval.attacks.request import AttackRequest, keys_and_targets, read_request
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.strangers import overlap_of
from riskeval.attacks.values import number_groups, quantile_breaks
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count
from synthpop.microdata.runs.chunks import open_chunks
from synthpop.microdata.statistics.streams import resolve_seed

HONOURED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
"""Fields of a Scenario that the counting measures follow."""
MANY_LEVELS = 50
"""Distinct numbers of a target from which each hardly occurs twice."""


@dataclass(frozen=True, slots=True, eq=False)
class CountingRequest:
    """A checked request of a counting measure."""

    name: str
    request: AttackRequest
    # dict of role to DataFrame: "original" and, where it is given, "hold-out"
    files: dict[str, pd.DataFrame]
    releases: tuple[Any, ...]  # the release, then further files of the same fit
    missing: str
    draws: int
    confidence: float
    seed: int
    breaks: np.ndarray | None  # float64 array or None: limits of the groups of a numeric target
    notes: tuple[str, ...]

    @property
    def overlap(self) -> str:
        """Say that records of the original are in the hold-out."""
        names, categorical = self.request.variables, self.request.categorical
        return overlap_of(self.files["original"], self.files.get("hold-out"), names, categorical)

    def counts(self) -> Iterator[CrossTable]:
        """Count every release against the files of real persons."""
        files = {role: self._grouped(frame) for role, frame in self.files.items()}
        for release in self.releases:
            frames: Any = release
            if self.breaks is not None:
                blocks = open_chunks(release, "synthetic", self.request.needed)
                frames = (self._grouped(block) for block in blocks)
            yield count_keys(self.name, files, frames, self.request, self.missing, self.seed)

    def intervals(
        self, values: Sequence[dict[str, Ratio]], others: Sequence[dict[str, float]]
    ) -> Intervals:
        """Intervals over the units of the original, or of the mean over several releases."""
        if len(values) > 1:
            rows = [
                {name: ratio.value for name, ratio in ratios.items()} | more
                for ratios, more in zip(values, others, strict=True)
            ]
            return over_files(rows, confidence=self.confidence, seed=self.seed)
        return over_units(
            values[0], others[0], unit=self.request.unit, draws=self.draws,
            confidence=self.confidence, seed=self.seed,
        )  # fmt: skip

    def about(self, table: CrossTable) -> dict[str, Any]:
        """Return what every result says of the request and of the first release."""
        return {
            "looked_for": table.people.looked_for, "n_synthetic": table.n_released,
            "unit": self.request.unit, "keys": self.request.keys, "seed": self.seed,
            "notes": (*self.notes, *table.notes), "footnote": self.request.footnote,
        }  # fmt: skip

    def _grouped(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self.breaks is None or self.request.targets[0] not in frame:
            return frame
        target = self.request.targets[0]
        return frame.assign(**{target: number_groups(frame[target], self.breaks)})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CountingResult(Result):
    """What the results of all counting measures say; each describes its fields."""

    intervals: Intervals
    looked_for: np.ndarray
    n_synthetic: int
    unit: str
    keys: tuple[str, ...]
    seed: int
    notes: tuple[str, ...] = ()
    footnote: str = ""


class CountingOptions(TypedDict, total=False):
    """Options of a counting measure as the user gave them."""

    holdout: Required[Any]
    missing: Required[str]
    household: Required[str | None]
    members: str
    n_groups: int | None
    replicates: Required[Iterable[Any]]
    draws: Required[int]
    confidence: Required[float]
    seed: Required[int | None]


def read_counting(
    name: str,
    original: Any,
    release: Any,
    keys: Scenario | Sequence[str] | str | None,
    target: str | None = None,
    *,
    n_targets: int,
    **options: Unpack[CountingOptions],
) -> CountingRequest:
    """Check the arguments of a counting measure."""
    keys, targets = keys_and_targets(original, keys, target)
    n_groups, holdout = options.get("n_groups"), options["holdout"]
    draws, confidence = options["draws"], options["confidence"]
    of_targets = () if n_targets else ("members", "categorical")
    honoured = [field for field in HONOURED if field not in of_targets]
    request = read_request(
        name, keys, targets, household=options["household"], honoured=honoured,
        members=options.get("members", "any"),
        n_targets=n_targets if n_targets or isinstance(keys, Scenario) else None,
    )  # fmt: skip
    faults = Faults(name)
    if len(request.targets) != n_targets:
        what = f"{len(request.targets)} targets are given, {n_targets} wanted"
        faults.add("target", what, hint="Name what the intruder looks for.")
    further = check_intervals(faults, draws, confidence, options["replicates"])
    check(faults, {"n_groups": Whole(2) | NONE}, options)
    faults.raise_if_any()
    files = {"original": as_frame(original, "original")}
    if holdout is not None:
        files["hold-out"] = as_frame(holdout, "holdout")
    breaks: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    if n_targets and check_columns(Faults(name), files["original"], request.targets, "target"):
        breaks, notes = _groups(files["original"][request.targets[0]], request, n_groups)
    return CountingRequest(
        name, request, files, (release, *further), options["missing"], draws, confidence,
        resolve_seed(options["seed"]), breaks, notes,
    )  # fmt: skip


def _groups(
    values: pd.Series, request: AttackRequest, n_groups: int | None
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Limits of the groups of a numeric target, and what to say about them."""
    name = request.targets[0]
    if not is_number(values) or name in request.categorical:
        return None, ()
    n_distinct = values.nunique()
    if n_distinct <= (MANY_LEVELS if n_groups is None else n_groups):
        return None, ()
    if n_groups is None:
        what = message(
            "each of the {n_distinct} different values of {name} counts as a separate "
            "level, so that near values count as wrong: use n_groups to compare groups of "
            "values",
            n_distinct=count(n_distinct),
            name=name,
        )
        return None, (what,)
    breaks = quantile_breaks(values, n_groups)
    what = message(
        "{name} is compared in {n} groups, cut at quantiles of the original",
        name=name,
        n=len(breaks) + 1,
    )
    return breaks, (what,)
