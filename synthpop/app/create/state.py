"""The state of the journey "create a population" and its commands: pure functions."""

from __future__ import annotations

from synthpop.app.state import Command, Source
from synthpop.microdata.tomlfile import Table


class CreateState(Table):
    """The survey, its roles, the recipe and what is known of the population."""

    survey: Source | None = None


COMMANDS: dict[str, Command] = {}
