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
from riskeval.comparison.release_evidence import release_evidence
from riskeval.comparison.releases import ReleaseFile
from riskeval.comparison.request import CompareRequest
from riskeval.shared.measurement import Measurement
from riskeval.shared.show import ORIGINAL
from riskeval.verdict.verdict import Finding
from synthpop.microdata.messages.events import Event, Listener


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRelease:
    """What was measured on a release, or on one file of it."""

    release: ReleaseFile
    measurements: list[Measurement]  # risks before utility
    overlaps: pd.DataFrame
    regressions: pd.DataFrame
    shared: list[dict[str, Any]]  # one row per variable: see `Aligned`
    changes: list[str]  # variables that changed in few records
    evidence: tuple[Finding, ...] = ()  # what speaks against the release beside its numbers


def measure_releases(
    releases: Sequence[ReleaseFile], request: CompareRequest, workers: int, on_event: Listener
) -> list[MeasuredRelease]:
    """Measure everything on each release; with further files of it, the mean of each number.

    The two tasks of a file take about as long, so that no worker waits long for the last file.
    """
    from joblib import Parallel, delayed

    files = [(release, FileOfRelease(file, request)) for release in releases
             for file in (release, *release.replicates)]  # fmt: skip
    tasks = [(release, file, task) for release, file in files for task in TASKS]
    unmeasured = Counter(release.name for release, _, _ in tasks)
    begun: set[str] = set()
    lock = Lock()

    def tell(kind: str, name: str) -> None:
        n_measured = sum(n_tasks == 0 for n_tasks in unmeasured.values())
        on_event(Event(kind, "compare", n_measured, len(releases), name))

    def run(release: ReleaseFile, file: FileOfRelease, task: Task) -> Any:
        with lock:
            if release.name not in begun:
                begun.add(release.name)
                tell("start", release.name)
        result = file.run(task)
        with lock:
            unmeasured[release.name] -= 1
            if unmeasured[release.name] == 0:
                tell("progress", release.name)
        return result

    results = iter(Parallel(n_jobs=workers, backend="threading")(delayed(run)(*t) for t in tasks))
    measured = {release.name: list[MeasuredRelease]() for release in releases}
    for release, _ in files:
        attacks, others = next(results), next(results)
        every = [*others.measurements, *attacks]
        every.sort(key=lambda one: one.info.group == "utility")
        measured[release.name].append(replace(others, measurements=every))
    return [_mean(measured[release.name]) for release in releases]


@dataclass(slots=True, eq=False)
class FileOfRelease:
    """A file beside the original; aligned for its first task, let go after the last."""

    release: ReleaseFile
    request: CompareRequest
    aligned: Aligned | None = None
    n_tasks: int = field(default_factory=lambda: len(TASKS))  # that are still to come
    lock: Any = field(default_factory=Lock)

    def run(self, task: Task) -> Any:
        """Return what one of the `TASKS` measures."""
        with self.lock:
            if self.aligned is None:
                self.aligned = align(self.request.original, self.release, self.request.roles())
            aligned = self.aligned
            self.n_tasks -= 1
            if self.n_tasks == 0:
                self.aligned = None
        return task(self.request, aligned)


Task = Callable[[CompareRequest, Aligned], Any]


def other_measures(request: CompareRequest, aligned: Aligned) -> MeasuredRelease:
    """Measure all but the attacks of the registry; of the original, its risk alone."""
    release = aligned.release
    risks = [
        *file_risk(request, release.frame, release.weights, release.kind),
        *link_risk(request, aligned),
    ]
    if release.kind == ORIGINAL:
        return MeasuredRelease(release, risks, empty(OVERLAPS), empty(REGRESSIONS), [], [])
    estimates, overlaps = compare_estimates(request, aligned)
    coefficients, regressions = compare_regressions(request, aligned)
    every = [*risks, *loss(request, aligned), *estimates, *coefficients]
    return MeasuredRelease(
        release, every, overlaps, regressions, aligned.shared, few_changes(aligned),
        tuple(release_evidence(request, aligned)),
    )  # fmt: skip


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


TASKS: tuple[Task, ...] = (attribution_risk, other_measures)
"""The tasks of a file."""
