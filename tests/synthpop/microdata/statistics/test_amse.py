"""Small calls of `amse` and what they return."""

from __future__ import annotations

from synthpop.microdata.statistics.amse import least_error_k


def test_example_of_least_error_k() -> None:
    assert round(least_error_k(1000, -1.0, 0.5)) == 200
