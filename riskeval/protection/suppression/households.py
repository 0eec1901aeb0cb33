"""Households that are rare by what is known of all their members: values hidden before persons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riskeval.protection.household.layer import Households
from riskeval.protection.household.tables import MOST_COLUMNS, Wide, widen
from riskeval.protection.suppression.cells import (
    SLACK,
    SuppressRequest,
    count_matches,
    suppress_codes,
)


def rare_households(
    codes: np.ndarray, homes: Households, shared: Sequence[int], k: int, by: np.ndarray
) -> int:
    """Count the households that fewer than k match, member by member in the order of `by`."""
    total = 0
    for table in widen(codes, homes, shared, by):
        matches = count_matches(*_asked(table, k, codes.shape[1]))
        total += int((matches < k - SLACK).sum())
    return total


def _asked(table: Wide, k: int, n_keys: int) -> tuple[np.ndarray, np.ndarray, SuppressRequest]:
    """Return codes, strata (one) and what is asked of them, as a method takes any file."""
    prices = table.prices(np.ones(n_keys))
    request = SuppressRequest(k, "wildcard", 1.0, np.zeros(len(prices)), prices)
    return table.codes, np.zeros(len(table.homes), dtype=np.int64), request


def hide_rare_households(
    codes: np.ndarray, homes: Households, shared: Sequence[int], k: int
) -> np.ndarray:
    """Cells to hide so that each household matches k of its size, where that many have it."""
    hidden = np.zeros(codes.shape, dtype=bool)
    for table in widen(codes, homes, shared, codes):
        if len(table.homes) < k or table.codes.shape[1] > MOST_COLUMNS + 6:
            continue
        result = suppress_codes(*_asked(table, k, codes.shape[1]))
        suppressed = (result < 0) & (table.codes >= 0)
        for column, (keys, rows) in enumerate(table.columns()):
            hidden[rows[suppressed[:, column]].reshape(-1, 1), keys] = True
    return hidden & (codes >= 0)
