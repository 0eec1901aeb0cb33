"""Tables as rows of text, as the template of the report wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "",
          text_columns: int = 1) -> dict[str, Any]:  # fmt: skip
    """Return what the template needs for a table; columns after the first ones are numbers."""
    return {
        "head": list(head),
        "rows": [list(row) for row in rows],
        "caption": caption,
        "text_columns": text_columns,
    }


class Svg(str):
    """Text that a page shows as it is: a chart made here, never something of the data."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)
