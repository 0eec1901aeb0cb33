"""Small calls of `identity` and what they return."""

from __future__ import annotations

from synthpop.microdata.runs.identity import digest


def test_example_of_digest() -> None:
    assert digest(lambda x: x + 1) == digest(lambda x: x + 1)
    assert digest(lambda x: x + 1) != digest(lambda x: x + 2)
