"""Small calls of `design_variance` and what they return."""

from __future__ import annotations

from synthpop.microdata.statistics.design_variance import t_quantile


def test_example_of_t_quantile() -> None:
    assert (round(t_quantile(0.975, 15), 3), round(t_quantile(0.975, float("inf")), 3)) == (
        2.131,
        1.96,
    )
