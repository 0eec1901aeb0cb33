"""Levels of one column in several files, brought to the same codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural

DIGITS = 12
"""Numbers that agree in so many digits are one level."""
MANY = 3
"""Levels that are named in a message."""


def comparable_text(level: Any) -> str:
    """Return the text by which levels of different types are compared.

    Examples
    --------
    >>> [comparable_text(level) for level in (8, 8.0, "8.0", " 8", 0.1 + 0.2, "b ")]
    ['8', '8', '8', '8', '0.3', 'b']
    """
    if isinstance(level, float):
        return f"{level:.{DIGITS}g}"
    return level_text(str(level).strip())


def occurring_levels(values: pd.Series) -> list[Any]:
    """Return the levels of a column that a row has: no unused categories.

    Examples
    --------
    >>> occurring_levels(pd.Series(["b", None], dtype=pd.CategoricalDtype(["a", "b"])))
    ['b']
    """
    codes, levels = encode(values)
    return [levels[code] for code in np.unique(codes[codes >= 0])]


class LevelCoder:
    """Codes one column of any number of files or blocks.

    Levels that are known beforehand (those of the sample) come first. Code ``n_known`` is missing,
    a value of its own; levels of other files and levels that are met later get the codes after it.
    Levels are compared by value, then by their text: 8, 8.0, "8" and "8.0" are one level.

    levels: those of the sample
    others: those of other files that are known beforehand (a hold-out)

    Examples
    --------
    >>> coder = LevelCoder(("f", "m"))
    >>> coder.code(pd.Series(["m", None, "x", "f"])).tolist(), coder.size
    ([1, 2, 3, 0], 4)
    >>> LevelCoder((1, 2)).code(pd.Series(["2.0", "1.0"])).tolist()
    [1, 0]
    """

    def __init__(self, levels: Sequence[Any], others: Sequence[Any] = ()) -> None:
        self.n_known = len(levels)
        self.size = len(levels) + 1
        self.levels: list[Any] = [*levels, None]
        """The level of each code; None for missing."""
        self._code = {level: code for code, level in enumerate(levels)}
        self._code_of_text: dict[str, int] = {}
        for code, level in enumerate(levels):
            self._code_of_text.setdefault(comparable_text(level), code)
        self.met: set[int] = set()
        self._last: tuple[Any, ...] = ()
        self._table = np.array([self.n_known], dtype=np.int32)
        for level in others:
            self._number(level)
        self.radix = self.size
        self.start()

    def code(self, values: pd.Series) -> np.ndarray:
        """Return the codes of one block, int32, shape (n,)."""
        codes, levels = encode(values)
        return self.recode(codes, levels)

    def recode(self, codes: np.ndarray, levels: Sequence[Any]) -> np.ndarray:
        """Return the codes of a column that is coded by its own levels, -1 where missing."""
        if tuple(levels) != self._last:
            used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(levels)))
            table = np.full(len(levels) + 1, self.n_known, dtype=np.int32)
            table[used] = [self._number(levels[code]) for code in used.tolist()]
            if len(used) < len(levels):  # unused categories may be met in the next block
                return table[codes]
            self._table, self._last = table, tuple(levels)
        return np.take(self._table, codes, mode="wrap")  # -1 is the last entry

    def start(self) -> None:
        """Forget which levels were met: from here on, those of the release."""
        self.met, self._last = set(), ()
        self._table = np.array([self.n_known], dtype=np.int32)

    def check_common(self, faults: Faults, name: str, first: str, second: str) -> None:
        """Note a fault when no level of the first file occurs in the second."""
        if self.n_known == 0 or self.absent() < self.n_known:
            return
        known = ", ".join(map(repr, self.levels[: min(MANY, self.n_known)]))
        new = ", ".join(map(repr, self.levels[self.radix : self.radix + MANY]))
        faults.add(
            name,
            f"{first} and {second} have no level in common "
            f"({known} in the {first}, {new or 'only missing values'} in the {second})",
            hint="Code it in the same way in both files.",
        )

    def absent(self) -> int:
        """How many levels of the sample the release does not have."""
        return self.n_known - sum(code < self.n_known for code in self.met)

    def note(self, name: str, first: str) -> str:
        """Name levels that the release lacks, when they are more than a few; else empty."""
        codes = [code for code in range(self.n_known) if code not in self.met]
        if len(codes) <= max(MANY, 0.05 * self.n_known):
            return ""
        shown = ", ".join(repr(self.levels[code]) for code in codes[:MANY])
        what = plural(len(codes), "level")
        return message(
            "{what} of {name} in the {first} (as {shown}) do not occur in the release",
            what=what,
            name=name,
            first=message(first),
            shown=shown,
        )

    def _number(self, level: Any) -> int:
        code = self._code.get(level)
        if code is None:
            text = comparable_text(level)
            code = self._code_of_text.get(text)
            if code is None:
                code = self._code_of_text[text] = self.size
                self.levels.append(level)
                self.size += 1
            self._code[level] = code
        self.met.add(code)
        return code


def check_common_levels(
    subject: str, coders: Mapping[str, LevelCoder], first: str, second: str
) -> None:
    """Refuse columns without any common level: codes against labels, never a risk of zero."""
    faults = Faults(subject)
    for name, coder in coders.items():
        coder.check_common(faults, name, first, second)
    faults.raise_if_any()
