"""Stages by the name that they have in a run file: the classes of this room that have an entry."""

from __future__ import annotations

from typing import Any

from synthpop.microdata.messages.entries import Entries
from synthpop.stages.base import Stage


def _kind_of(value: Any) -> str | None:
    if isinstance(value, type) and issubclass(value, Stage) and "entry" in vars(value):
        return value.kind
    return None


STAGES: Entries[type[Any]] = Entries(__package__, _kind_of, lambda stage: stage.entry.rank)
