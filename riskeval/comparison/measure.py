"""Measure every release: its attacks are one task, its other measures another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import pandas as pd

from riskeval.comparison.alignment import Aligned, align
from riskeval.comparison.attribution_risk import attribution_risk
from riskeval.comparison.changes import few_changes
from riskeval.comparison.draws import mean_of_draws
from riskeval.comparison.estimates import (
    OVERLAPS,
    REGRESSIONS,
    compare_estimates,
    compare_regressions,
)
from riskeval.comparison.file_risk import file_risk
from riskeval.comparison.link_risk import link_risk
from riskeval.comparison.loss import loss
from riskeval.comparison.releases import Side
from riskeval.comparison.request import CompareRequest
from riskeval.shared.measurement import Measurement
from riskeval.shared.show import ORIGINAL
from synthpop.microdata.events import Event, Listener


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRelease:
    """What was measured on a release, or on one file of it."""

    side: Side
    measurements: list[Measurement]  # risks before utility
    overlaps: pd.DataFrame
    regressions: pd.DataFrame
    shared: list[dict[str, Any]]  # one row a variable: see `Aligned`
    changes: list[str]  # variables that changed in few records


def measure_releases(
    sides: Sequence[Side], request: CompareRequest, workers: int, on_event: Listener
) -> list[MeasuredRelease]:
    """Measure everything on each release; with further files of it, the mean of each number.

    The two tasks of a file take about as long, so that no worker waits long for the last file.
    """
    from joblib import Parallel, delayed

    files = [(side, FileOfRelease(file, request)) for side in sides
             for file in (side, *side.replicates)]  # fmt: skip
    tasks = [(side, file, part) for side, file in files for part in PARTS]
    unmeasured = Counter(side.name for side, _, _ in tasks)
    begun: set[str] = set()
    lock = Lock()

    def tell(kind: str, name: str) -> None:
        n_measured = sum(n_tasks == 0 for n_tasks in unmeasured.values())
        on_event(Event(kind, "compare", n_measured, len(sides), name))

    def run(side: Side, file: FileOfRelease, part: Part) -> Any:
        with lock:
            if side.name not in begun:
                begun.add(side.name)
                tell("start", side.name)
        result = file.run(part)
        with lock:
            unmeasured[side.name] -= 1
            if unmeasured[side.name] == 0:
                tell("progress", side.name)
        return result

    results = iter(Parallel(n_jobs=workers, backend="threading")(delayed(run)(*t) for t in tasks))
    measured = {side.name: list[MeasuredRelease]() for side in sides}
    for side, _ in files:
        attacks, others = next(results), next(results)
        every = [*others.measurements, *attacks]
        every.sort(key=lambda one: one.info.group == "utility")
        measured[side.name].append(replace(others, measurements=every))
    return [_mean(measured[side.name]) for side in sides]


@dataclass(slots=True, eq=False)
class FileOfRelease:
    """A file beside the original; aligned for its first task, let go after the last."""

    side: Side
    request: CompareRequest
    aligned: Aligned | None = None
    n_tasks: int = field(default_factory=lambda: len(PARTS))  # that are still to come
    lock: Any = field(default_factory=Lock)

    def run(self, part: Part) -> Any:
        """Return what one of the `PARTS` measures."""
        with self.lock:
            if self.aligned is None:
                self.aligned = align(self.request.original, self.side, self.request.roles())
            aligned = self.aligned
            self.n_tasks -= 1
            if self.n_tasks == 0:
                self.aligned = None
        return part(self.request, aligned)


Part = Callable[[CompareRequest, Aligned], Any]


def other_measures(request: CompareRequest, aligned: Aligned) -> MeasuredRelease:
    """Measure all but the attacks of the registry; of the original, its risk alone."""
    side = aligned.side
    risks = file_risk(request, side.frame, side.weights, side.kind) + link_risk(request, aligned)
    if side.kind == ORIGINAL:
        return MeasuredRelease(side, risks, empty(OVERLAPS), empty(REGRESSIONS), [], [])
    estimates, overlaps = compare_estimates(request, aligned)
    coefficients, regressions = compare_regressions(request, aligned)
    every = [*risks, *loss(request, aligned), *estimates, *coefficients]
    return MeasuredRelease(side, every, overlaps, regressions, aligned.shared, few_changes(aligned))


def empty(columns: Sequence[str]) -> pd.DataFrame:
    """A table without rows."""
    return pd.DataFrame(columns=list(columns))


def _mean(draws: Sequence[MeasuredRelease]) -> MeasuredRelease:
    """Return the release with the mean of each number over its files."""
    return replace(
        draws[0],
        measurements=mean_of_draws([draw.measurements for draw in draws]),
        changes=list(dict.fromkeys(name for draw in draws for name in draw.changes)),
    )


PARTS: tuple[Part, ...] = (attribution_risk, other_measures)
"""The tasks of a file."""
