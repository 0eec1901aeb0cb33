"""Small calls of `calibrating` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.datasets.calibrating import rake_households


def test_example_of_rake_households() -> None:
    counts = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    new = rake_households(counts, np.array([30.0, 40.0]), np.array([10.0, 10.0, 10.0]))
    assert (new @ counts).round(9).tolist() == [30.0, 40.0]
