"""Small calls of `whole_shares` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.statistics.whole_shares import largest_remainder


def test_example_of_largest_remainder() -> None:
    assert largest_remainder(np.array([1.0, 1.0, 1.0]), 5).tolist() == [2, 2, 1]
