"""The entry of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthpop.microdata.messages.entries import NamedEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEntry(NamedEntry):
    """What a stage says of itself: it is the class attribute ``entry`` of the stage.

    Attributes
    ----------
    name : str
        Its type in run files.
    example : mapping
        Its table in a run file on the demo survey, without the type; a callable makes the table of
        known totals from the survey.
    after : tuple of str
        Stages whose examples come before it in a recipe.
    """

    name: str
    example: Mapping[str, Any]
    after: tuple[str, ...] = ()

    def table(self, frame: Any) -> dict[str, object]:
        """Return the example for a frame with the columns of the demo survey."""
        return {
            name: [{"table": value(frame), "level": "household" if name == "areas" else "person"}]
            if callable(value)
            else value
            for name, value in self.example.items()
        }
