"""Amounts of persons that stand unchanged in their own record of a release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.verdict.verdict import Finding
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join, percent

FEW, SHARE = 5, 0.05
"""Records, and share of those with an amount of their own, that may keep it."""
EXACT = 1e-9
FEW_VALUES = 30
"""Distinct numbers from which on a column is an amount."""


def amounts_of(
    frame: pd.DataFrame, keys: Sequence[str], numeric: Sequence[str], others: Sequence[str | None]
) -> list[str]:
    """Return the columns that `amount_evidence` looks at.

    In a file without keys every amount finds units, also those that nobody named.

    others: columns in a role, which are no amounts
    """
    if keys:
        return list(numeric)
    return [
        str(name) for name in frame
        if name in numeric
        or (name not in others and is_number(frame[name]) and frame[name].nunique() > FEW_VALUES)
    ]  # fmt: skip


def amount_evidence(
    original: pd.DataFrame, release: pd.DataFrame, names: Sequence[str]
) -> list[Finding]:
    """Return how many records keep an amount that nobody else has; the files are row by row.

    Examples
    --------
    >>> pay = pd.DataFrame({"pay": np.arange(100.0, 200.0)})
    >>> amount_evidence(pay, pay, ["pay"])[0].records, amount_evidence(pay, pay + 1, ["pay"])
    (100, [])
    """
    marked, kept, columns = np.zeros(len(original), bool), np.zeros(len(original), bool), []
    for name in names:
        x, y = as_numbers(original[name]), as_numbers(release[name])
        mark = np.isfinite(x) & (x != 0) & ~pd.Series(x).duplicated(keep=False).to_numpy()
        with np.errstate(invalid="ignore"):
            same = mark & (np.abs(y - x) <= EXACT * np.abs(x))
        marked |= mark
        kept |= same
        if same.sum() >= max(FEW, SHARE * max(mark.sum(), 1)):
            columns.append(str(name))
    n, most = int(kept.sum()), SHARE * max(int(marked.sum()), 1)
    if n < max(FEW, most):
        return []
    text = message(
        "{n} of {m} records with an amount that nobody else has ({names}) keep it unchanged "
        "({share})", n=count(n), m=count(int(marked.sum())), names=join(columns or list(names)),
        share=percent(n / marked.sum(), 0),
    )  # fmt: skip
    return [
        Finding("unchanged amounts", text, value=n / float(marked.sum()), limit=SHARE,
                 limit_source="chance and harmless exceptions", records=n, columns=tuple(columns),
                 assumed="whoever knows the amount finds the record")
    ]  # fmt: skip
