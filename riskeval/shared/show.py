"""How numbers of a comparison are written, for internal and external readers."""

from __future__ import annotations

from typing import Any

from synthpop.microdata.messages.language import current_language, gettext
from synthpop.microdata.messages.message import written
from synthpop.microdata.messages.suppression import rounded, rounded_share
from synthpop.microdata.messages.text import number, short_percent

SHARES = ("share", "overlap")

ORIGINAL = "original"
"""Name of the row of the original in tables of a comparison."""


def shown(row: Any, external: bool = False) -> str:
    """Return the number of a row of `Comparison.measures` with its unit; NaN becomes a dash.

    External counts are rounded to multiples of five, shares and mean risks of records accordingly.
    """
    value, unit = float(row.value), row.unit
    if external and row.group == "risk":
        if unit == "persons":
            return rounded(value)
        if unit in ("share", "probability"):
            text = short_percent if unit == "share" else number
            return rounded_share(value, row.records, text=text)
    return short_percent(value) if unit in SHARES else number(value)


@written
def lower(title: str) -> str:
    """A title inside a sentence: its first letter small, unless the word has other capitals.

    Other languages than English keep their capitals.
    """
    text = gettext(str(title))
    first = text.split()[0]
    if current_language() != "en" or first[1:] != first[1:].lower():
        return text
    return text[0].lower() + text[1:]
