"""Traces that join releases without any value of a person: lasting numbers, the same order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from riskeval.ledger.columns import Readable
from riskeval.ledger.linking import FEW_PAIRS, MOSTLY, beyond_chance
from riskeval.verdict.verdict import Finding
from synthpop.microdata.messages.message import message

Columns = Mapping[str, Readable]


def lasting(earlier: Columns, new: Columns, numbers: Collection[str]) -> list[str]:
    """Return the columns of numbers by which both releases number the same records.

    Records, or the first ones of households, of the same number are compared in the other columns.
    """
    return [
        name for name in numbers if name in earlier and name in new
        and _agree(earlier, new, *_first_rows(earlier[name], new[name]), numbers) >= MOSTLY
    ]  # fmt: skip


def same_order(earlier: Columns, new: Columns, numbers: Collection[str]) -> bool:
    """Return whether records of the same place agree, as where nobody has shuffled them."""
    sizes = {len(next(iter(side.values())).hash) for side in (earlier, new) if side}
    if len(sizes) != 1:
        return False
    rows = np.arange(sizes.pop())
    return _agree(earlier, new, rows, rows, numbers, "median") >= MOSTLY


def trace_findings(name: str, columns: list[str], in_order: bool) -> list[Finding]:
    """Return what joins a release to an earlier one without a value of a person."""
    found = []
    for column in columns:
        text = message(
            "{column} numbers the same records in {release}", column=column, release=name
        )
        found.append(Finding("lasting numbers", text, columns=(column,)))
    if in_order:
        text = message("the records stand in the same order as those of {release}", release=name)
        found.append(Finding("the same order", text))
    return found


def _first_rows(a: Readable, b: Readable) -> tuple[np.ndarray, np.ndarray]:
    """Return the first record of each number that both have."""
    first_a, first_b = (pd.Series(np.arange(len(one.hash)), one.hash) for one in (a, b))
    first_a, first_b = (
        one[~one.index.duplicated() & (one.index != 0)] for one in (first_a, first_b)
    )
    both = first_a.index.intersection(first_b.index)
    return first_a[both].to_numpy(), first_b[both].to_numpy()


def _agree(
    a: Columns, b: Columns, rows_a: np.ndarray, rows_b: np.ndarray, without: Collection[str],
    by: str = "max",
) -> float:  # fmt: skip
    """Return the agreement beyond chance of the column that agrees best, or in the middle."""
    beyond = []
    for name in b:
        if name in a and name not in without:
            x, y = a[name].hash[rows_a], b[name].hash[rows_b]
            known = (x != 0) & (y != 0)
            if known.sum() >= FEW_PAIRS:
                beyond.append(beyond_chance(x[known], y[known]))
    beyond = [one for one in beyond if one == one]
    if not beyond:
        return 0.0
    return float(max(beyond) if by == "max" else np.median(beyond))
