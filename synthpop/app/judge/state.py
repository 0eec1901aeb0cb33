"""The state of the journey "judge a release" and its commands: pure functions."""

from __future__ import annotations

from synthpop.app.state import Command, Source
from synthpop.microdata.tomlfile import Table


class JudgeState(Table):
    """The original, the release, and what an intruder is thought to know."""

    original: Source | None = None
    release: Source | None = None


COMMANDS: dict[str, Command] = {}
