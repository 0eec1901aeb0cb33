"""The journeys of the app: a new one is one folder and one line here."""

from __future__ import annotations

from synthpop.app.create.journey import JOURNEY as CREATE
from synthpop.app.jobs import BackgroundJob, Journey
from synthpop.app.judge.journey import JOURNEY as JUDGE
from synthpop.app.ledger.journey import JOURNEY as LEDGER
from synthpop.app.project import Project
from synthpop.app.protect.journey import JOURNEY as PROTECT

JOURNEYS: dict[str, Journey] = {
    "protect": PROTECT, "judge": JUDGE, "create": CREATE, "ledger": LEDGER,
}  # fmt: skip
START = Journey("", "", pages={})
"""Where the user is before a journey is chosen."""


def journey_of(project: Project) -> Journey:
    """Return the journey that a project is on."""
    return JOURNEYS.get(project.journey, START)


JOBS: dict[str, BackgroundJob] = {
    f"{name}.{job}": work
    for name, journey in JOURNEYS.items()
    for job, work in journey.jobs.items()
}
