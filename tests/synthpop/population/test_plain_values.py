"""Small calls of `plain_values` and what they return."""

from __future__ import annotations

from synthpop.population.plain_values import json_values


def test_example_of_json_values() -> None:
    assert (json_values({"a": (1, float("inf"))}), json_values([float("nan")], lambda _: None)) == (
        {"a": [1, "Infinity"]},
        [None],
    )
