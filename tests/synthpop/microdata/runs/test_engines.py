"""Small calls of `engines` and what they return."""

from __future__ import annotations

from synthpop.microdata.runs.engines import threads


def test_example_of_threads() -> None:
    assert [threads(workers) for workers in (3, "4", "processes:2", "dask://host:1")] == [
        3,
        4,
        2,
        1,
    ]
