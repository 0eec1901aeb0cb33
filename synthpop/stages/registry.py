"""Stages by the name that they have in a run file: the classes of this room that have an entry."""

from __future__ import annotations

from typing import Any

from synthpop.microdata.messages.entries import Entries
from synthpop.stages.entry import StageEntry

STAGES: Entries[type[Any]] = Entries(__package__, StageEntry)
