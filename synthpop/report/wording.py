"""Numbers as text, and tables as rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BLANK = "–"
PERCENT = "\u00a0%"  # no line break between the number and its sign
MINUS = "−"


def whole(value: float) -> str:
    """Return a whole number with thousands separators.

    Examples
    --------
    >>> whole(81838.2), whole(float("nan"))
    ('81,838', '–')
    """
    return _signed(f"{value:,.0f}") if _there(value) else BLANK


def number(value: float, digits: int = 3) -> str:
    """Return a number with thousands separators and `digits` significant digits below 1,000.

    Examples
    --------
    >>> number(15173.8), number(0.41328), number(-23.0), number(20.98)
    ('15,174', '0.413', '−23', '21.0')
    """
    if not _there(value):
        return BLANK
    if abs(value) >= 1000 or float(value).is_integer():
        return _signed(f"{value:,.0f}")
    return _signed(f"{value:#.{digits}g}".rstrip("."))


def percent(value: float, digits: int = 2) -> str:
    r"""Return a share as percent.

    Examples
    --------
    >>> percent(0.0123), percent(0.4, 1), percent(float("nan")), percent(1e-9)
    ('1.23\xa0%', '40.0\xa0%', '–', '<\xa00.01\xa0%')
    """
    if not _there(value):
        return BLANK
    if 0 < value < 0.5 * 10.0 ** -(digits + 2):
        return f"<\u00a0{10.0**-digits:.{digits}f}{PERCENT}"
    return _signed(f"{value * 100:.{digits}f}{PERCENT}")


def change(value: float, digits: int = 1) -> str:
    r"""Return a relative difference with its sign.

    Examples
    --------
    >>> change(0.0123), change(-0.2), change(0.0)
    ('+1.2\xa0%', '−20.0\xa0%', '0.0\xa0%')
    """
    if not _there(value):
        return BLANK
    text = f"{value * 100:+.{digits}f}"
    return _signed(text.lstrip("+-") if float(text) == 0 else text) + PERCENT


def points(value: float, digits: int = 2) -> str:
    """Return a difference of shares in percentage points, with its sign.

    Examples
    --------
    >>> points(0.00256), points(-0.00001)
    ('+0.26', '0.00')
    """
    return change(value, digits).removesuffix(PERCENT)


def _there(value: Any) -> bool:
    return value is not None and bool(np.isfinite(value))


def _signed(text: str) -> str:
    return text.replace("-", MINUS) if text.startswith("-") else text


def listed(items: Sequence[str]) -> str:
    """Return items as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "",
          text_columns: int = 1) -> dict[str, Any]:  # fmt: skip
    """Return what the template needs for a table; columns after the first ones are numbers."""
    return {
        "head": list(head),
        "rows": [list(row) for row in rows],
        "caption": caption,
        "text_columns": text_columns,
    }
