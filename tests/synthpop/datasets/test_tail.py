"""Small calls of `tail` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.datasets.tail import equivalence_scale, pareto_tail


def test_example_of_equivalence_scale() -> None:
    assert equivalence_scale(np.array([0, 0, 0, 1]), np.array([40, 38, 5, 70])).tolist() == [
        1.8,
        1.0,
    ]


def test_example_of_pareto_tail() -> None:
    income = np.exp(np.linspace(0, 2, 1000))
    new, start = pareto_tail(income, np.ones(1000), share=0.1, blend=0.3, shape=2.0)
    assert (round(float((new > start).mean()), 3), round(float((new > 2 * start).mean()), 3)) == (
        0.1,
        0.025,
    )
