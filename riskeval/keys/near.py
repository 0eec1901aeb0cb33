"""Levels of two files that differ although they surely mean the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.message import message

MOST_NAMED = 3
DIGITS = 9


def near_levels(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pairs of levels that are no match, yet agree but for spaces, letter case or rounding.

    Examples
    --------
    >>> near_levels(["2 ", "North", 0.1 + 0.2, "x"], ["2", "north", 0.3, "y"])
    [('2 ', '2'), ('North', 'north'), (0.30000000000000004, 0.3)]
    """
    others = list(second)
    known = set(others)
    by_text = {_canonical(level): level for level in others}
    pairs = []
    for level in first:
        if level not in known and _canonical(level) in by_text:
            pairs.append((level, by_text[_canonical(level)]))
    return pairs


def near_note(name: str, first: Iterable[Any], second: Iterable[Any]) -> str:
    """Say which levels of a key nearly agree; empty where none do.

    Examples
    --------
    >>> near_note("age", ["2 ", "3"], ["2", "3"])
    "age: '2 ' nearly equals '2' of the other file and does not match it"
    """
    pairs = near_levels(first, second)
    if not pairs:
        return ""
    named = ", ".join(
        message("{one} nearly equals {two}", one=repr(one), two=repr(two))
        for one, two in pairs[:MOST_NAMED]
    )
    unnamed = (
        (" " + message("({n} more such levels)", n=len(pairs) - MOST_NAMED))
        if len(pairs) > MOST_NAMED
        else ""
    )
    verb = message("does not match it") if len(pairs) == 1 else message("do not match")
    return message(
        "{name}: {named} of the other file and {verb}{unnamed}",
        name=name,
        named=named,
        verb=verb,
        unnamed=unnamed,
    )


def _canonical(level: Any) -> str:
    if isinstance(level, float) and not level.is_integer():
        return f"{level:.{DIGITS}g}"
    return " ".join(level_text(level).split()).casefold()
