"""Progress: long jobs report events to one observer; bars and logs are listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a long job.

    Attributes
    ----------
    kind : str
        "start", "progress", "skip" or "end"; "note" has a sentence for the user as its detail.
    job : str
        What is running: "fit", "simulate", "write" ...
    done, total : int
        Units done so far and in all.
    detail : str
        The unit: a stage, a stratum and block, a file.
    """

    kind: str
    job: str
    done: int = 0
    total: int = 0
    detail: str = ""


Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Do nothing: the listener of jobs that nobody watches."""
