"""Whole numbers in proportion to shares."""

from __future__ import annotations

import numpy as np


def largest_remainder(shares: np.ndarray, total: int) -> np.ndarray:
    """Split a whole number in proportion to shares (Hamilton's method); ties go to the first."""
    exact = shares / shares.sum() * total
    floors = np.floor(exact + 1e-9)
    largest = np.argsort(-(exact - floors), kind="stable")[: total - int(floors.sum())]
    floors[largest] += 1
    return floors.astype(np.int64)
