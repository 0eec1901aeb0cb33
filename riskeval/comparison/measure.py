"""Measure every release: its attacks are one task, its other measures another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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

MeasuredRelease = tuple[
    Side, list[Measurement], pd.DataFrame, pd.DataFrame, list[dict[str, Any]], list[str]
]


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
    for side, file in files:
        measured[side.name].append(_joined(file.side, next(results), next(results)))
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


@dataclass(frozen=True, slots=True, eq=False)
class OtherMeasures:
    """What is measured on a file beside the attacks of the registry."""

    risks: list[Measurement]
    utilities: list[Measurement]
    overlaps: pd.DataFrame
    regressions: pd.DataFrame
    shared: list[dict[str, Any]]
    changes: list[str]


def other_measures(request: CompareRequest, aligned: Aligned) -> OtherMeasures:
    """Measure all but the attacks of the registry; of the original, its risk alone."""
    side = aligned.side
    risks = file_risk(request, side.frame, side.weights, side.kind) + link_risk(request, aligned)
    if side.kind == ORIGINAL:
        return OtherMeasures(risks, [], empty(OVERLAPS), empty(REGRESSIONS), [], [])
    estimates, overlaps = compare_estimates(request, aligned)
    coefficients, regressions = compare_regressions(request, aligned)
    utilities = [*loss(request, aligned), *estimates, *coefficients]
    changes = few_changes(aligned)
    return OtherMeasures(risks, utilities, overlaps, regressions, aligned.shared, changes)


def empty(columns: Sequence[str]) -> pd.DataFrame:
    """A table without rows."""
    return pd.DataFrame(columns=list(columns))


def _joined(side: Side, attacks: list[Measurement], others: OtherMeasures) -> MeasuredRelease:
    measured = [*others.risks, *attacks, *others.utilities]
    return side, measured, others.overlaps, others.regressions, others.shared, others.changes


def _mean(draws: Sequence[MeasuredRelease]) -> MeasuredRelease:
    """Return the release with the mean of each number over its files."""
    side, measured, overlaps, regressions, shared, _ = draws[0]
    changes = list(dict.fromkeys(name for draw in draws for name in draw[5]))
    if len(draws) > 1:
        measured = mean_of_draws([draw[1] for draw in draws])
    return side, measured, overlaps, regressions, shared, changes


PARTS: tuple[Part, ...] = (attribution_risk, other_measures)
"""The tasks of a file."""
