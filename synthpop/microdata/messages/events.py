"""Progress: long jobs report events to one observer; bars and logs are listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a long job."""

    # "start", "progress", "skip" or "end"; "note" has a sentence for the user as its detail
    kind: str
    job: str  # what is running: "fit", "simulate", "write" ...
    # done, total: units done so far and in all
    done: int = 0
    total: int = 0
    detail: str = ""  # the unit: a stage, a stratum and block, a file


Listener = Callable[[Event], None]
# called with True when a kernel begins to be compiled, with False when it is
COMPILE_WATCHERS: list[Callable[[bool], None]] = []


def silent(event: Event) -> None:
    """Do nothing: the listener of jobs that nobody watches."""
