"""What a page is rendered from: the project, what was chosen on it, and results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synthpop.app.project import Project
from synthpop.app.texts import translate
from synthpop.app.worker import WorkerAnswer


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The answer to a job, what it depends on, and the language of its texts."""

    stamp: str
    language: str
    answer: WorkerAnswer


@dataclass(slots=True)
class Running:
    """The job that the child does now."""

    job: str
    title: str
    started: float  # time of the start, in seconds
    # done, total: units, as far as the job tells them
    done: int = 0
    total: int = 0
    detail: str = ""
    usual: float | None = None  # seconds that the same job took the last time
    background: bool = False  # whether the page goes on without it

    def seconds(self, now: float | None = None) -> float:
        """Return the seconds since the start."""
        return (time.monotonic() if now is None else now) - self.started

    def seconds_left(self, now: float | None = None) -> float | None:
        """Return an estimate of the seconds that are left; None while nothing is known.

        Examples
        --------
        >>> Running("", "", 0.0, done=1, total=4).seconds_left(10.0)
        30.0
        >>> Running("", "", 0.0, usual=12.0).seconds_left(10.0)
        2.0
        """
        past = self.seconds(now)
        if self.total and self.done:
            return past * (self.total - self.done) / self.done
        return None if self.usual is None else max(0.0, self.usual - past)


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user: "done" or "fault"."""

    kind: str
    text: str


@dataclass(frozen=True)
class View:
    """Everything that a page shows."""

    project: Project
    # what is chosen on pages and not part of the project, such as the method that is shown
    chosen: Mapping[str, Any] = field(default_factory=dict)
    outcomes: Mapping[str, JobOutcome] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()  # jobs that run or wait

    @property
    def t(self) -> Callable[..., str]:
        """Translate a text, and fill in values by name."""
        return lambda text, **values: translate(self.project.language, text, **values)

    def value(self, job: str, stamp: str | None = None) -> Any:
        """Return the result of a job, for a stamp if one is given; None if there is none."""
        outcome = self.outcomes.get(job)
        if outcome is None or (stamp is not None and outcome.stamp != stamp):
            return None
        return outcome.answer.value

    def column_names(self, kind: str = "") -> list[str]:
        """Return the columns of the journey's file, of one type if it is given; [] while unread."""
        described = self.value(f"{self.project.journey}.columns")
        columns = [] if described is None else described["columns"]
        return [column["name"] for column in columns if kind in ("", column["type"])]

    def fault(self, job: str) -> str:
        """Return the message of a job that failed; "" otherwise."""
        outcome = self.outcomes.get(job)
        return "" if outcome is None else outcome.answer.fault

    def choice(self, name: str, default: Any = "") -> Any:
        """Return what is chosen on a page."""
        return self.chosen.get(name, default)
