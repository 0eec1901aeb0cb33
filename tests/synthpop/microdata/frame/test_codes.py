"""Small calls of `codes` and what they return."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import (
    cell_ids,
    encode,
    extremes,
    level_text,
    run_starts,
    unhashable,
)


def test_example_of_unhashable() -> None:
    assert unhashable(pd.Series(["a", ["b", "c"], None])).tolist() == [1]


def test_example_of_encode() -> None:
    codes, levels = encode(pd.Series(["b", None, "a"]))
    assert (codes.tolist(), levels) == ([1, -1, 0], ("a", "b"))


def test_example_of_level_text() -> None:
    assert [level_text(level) for level in (8, 8.0, "8", "8.0", "08", 7.5)] == [
        "8",
        "8",
        "8",
        "8",
        "08",
        "7.5",
    ]


def test_example_of_run_starts() -> None:
    assert run_starts(np.array([4, 4, 7])).tolist() == [True, False, True]


def test_example_of_cell_ids() -> None:
    ids, n_cells = cell_ids(np.array([[0, 1], [0, 0], [0, 1]]))
    assert (ids.tolist(), n_cells) == ([1, 0, 1], 2)


def test_example_of_extremes() -> None:
    low, high = extremes(np.array([3, 1, 2]), np.array([0, 1, 0]), 2)
    assert (low.tolist(), high.tolist()) == ([2, 1], [3, 1])
