"""Small calls of `dataset` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.frame.dataset import storable_levels


def test_example_of_storable_levels() -> None:
    assert (storable_levels(["a", "b"]), storable_levels([1, 2.5]), storable_levels([1, "1"])) == (
        ("a", "b"),
        (1, 2.5),
        ("1", "1"),
    )
    assert storable_levels([pd.Interval(0, 15)]) == ("(0, 15]",)
