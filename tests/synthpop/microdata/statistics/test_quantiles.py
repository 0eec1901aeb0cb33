"""Small calls of `quantiles` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.statistics.weighted.quantiles import sorted_quantiles


def test_example_of_sorted_quantiles() -> None:
    assert (
        repr(sorted_quantiles(np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.array([0.5])))
        == "array([1.])"
    )
