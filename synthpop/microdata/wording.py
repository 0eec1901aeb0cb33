"""Counts in sentences: a noun in the singular where there is one."""

from __future__ import annotations

import numpy as np


def plural(count: float | np.number, noun: str, many: str | None = None) -> str:
    """Return a count with its noun, and whatever follows it.

    Parameters
    ----------
    count : int
        Shown with thousands separators.
    noun : str
        Behind a count of one.
    many : str, optional
        Behind any other count; default `noun` with an s.

    Examples
    --------
    >>> plural(1, "fallback"), plural(2000, "fallback")
    ('1 fallback', '2,000 fallbacks')
    >>> plural(0, "record is", "records are")
    '0 records are'
    """
    return f"{int(count):,} {noun if count == 1 else many or noun + 's'}"
