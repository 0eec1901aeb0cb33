"""The figure of a protection session: changed values by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import Picture, bars

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession


def draw_changes(session: ProtectionSession) -> Picture:
    """Draw how many values of each changed column differ from the original."""
    cells = session.cells_by_column()
    changed = {name: number for name, number in cells.items() if number} or cells
    return bars(list(changed), list(changed.values()), message("Changed cells"), "records")
