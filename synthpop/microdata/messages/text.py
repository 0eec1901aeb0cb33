"""Numbers as text: the only place where numbers become part of a sentence, a table or an axis.

Every page, summary, message and figure of both packages writes counts with thousands separators,
shares as "12.3 %", negative numbers with a true minus and missing numbers as a dash, with the
separators of the language (`synthpop.microdata.messages.language`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from synthpop.microdata.messages.language import gettext, localised, ngettext
from synthpop.microdata.messages.message import written

BLANK = "–"
MINUS = "−"
ROUNDING = 1e-9  # smaller absolute numbers are rounding errors of zero

Number = Any  # what float() takes (cells of data frames have no better type), or None


@written
def count(value: Number) -> str:
    """Return a whole number with thousands separators."""
    return _signed(f"{_finite(value):,.0f}") if _is_finite(value) else BLANK


@written
def plural(value: Number, noun: str, many: str | None = None) -> str:
    """Return a count with its noun, and whatever follows it.

    noun: behind a count of one
    many: behind any other count; default `noun` with an s
    """
    amount = int(_finite(value))
    return f"{count(amount)} {ngettext(noun, many or noun + 's', amount)}"


@written
def number(value: Number, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, whole above 1,000.

    Never a power of ten: numbers below 1e-9 are rounding errors and become zero.
    """
    if not _is_finite(value):
        return BLANK
    size = _finite(value)
    if abs(size) < ROUNDING:
        return "0"
    short = float(f"{size:.{digits}g}")
    if abs(size) >= 1000 or abs(short) >= 1000 or size.is_integer():
        return _signed(f"{size:,.0f}")
    return _signed(np.format_float_positional(short, trim="-"))


@written
def formatted(value: Number, specification: str) -> str:
    """Return a number as a format specification such as ".3g" writes it."""
    return localised(format(value, specification))


@written
def percent(value: Number, decimals: int = 2) -> str:
    """Return a share in percent, to a fixed number of decimals."""
    if not _is_finite(value):
        return BLANK
    share = _finite(value)
    if 0 < share < 0.5 * 10.0 ** -(decimals + 2):
        return localised(f"< {10.0**-decimals:.{decimals}f} %")
    return _signed(_without_sign_of_zero(f"{share * 100:,.{decimals}f}")) + " %"


@written
def short_percent(value: Number, digits: int = 3) -> str:
    """Return a share in percent, to a number of significant digits."""
    return f"{number(100 * _finite(value), digits)} %" if _is_finite(value) else BLANK


@written
def change(value: Number, decimals: int = 1) -> str:
    """Return a relative difference in percent, with its sign."""
    text = points(value, decimals)
    return text if text == BLANK else f"{text} %"


@written
def points(value: Number, decimals: int = 2) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return _with_sign(_finite(value) * 100, decimals)


@written
def difference(value: Number) -> str:
    """Return a difference of counts, with its sign."""
    return _with_sign(_finite(value), 0)


def _with_sign(value: float, decimals: int) -> str:
    if not np.isfinite(value):
        return BLANK
    return _signed(_without_sign_of_zero(f"{value:+,.{decimals}f}"))


def tick(value: float, position: float | None = None) -> str:
    """Return the label of a tick: six significant digits (for ``FuncFormatter``)."""
    return str(number(value, 6))


def percent_tick(value: float, position: float | None = None) -> str:
    """Return the label of a tick of an axis of shares."""
    return str(short_percent(value))


def join(items: Iterable[object], word: str = "and") -> str:
    """Return items as a list in a sentence, with a word before the last one."""
    return _join(word, *items)


@written
def _join(word: str, *items: object) -> str:
    texts = [f"{item}" for item in items]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {gettext(word)} {texts[-1]}"


@written
def yes_or_no(value: object) -> str:
    """Return "yes" or "no" in the current language."""
    return gettext("yes") if value else gettext("no")


def _finite(value: Number) -> float:
    return float("nan") if value is None else float(value)


def _is_finite(value: Number) -> bool:
    return bool(np.isfinite(_finite(value)))


def _without_sign_of_zero(text: str) -> str:
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


def _signed(text: str) -> str:
    return localised(text.replace("-", MINUS, 1) if text.startswith("-") else text)
