"""What the journey consists of: pages, jobs and actions."""

from __future__ import annotations

from synthpop.app.jobs import Journey

JOURNEY = Journey(title="Create a population", text="", pages={})
