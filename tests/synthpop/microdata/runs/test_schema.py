"""Small calls of `schema` and what they return."""

from __future__ import annotations

from synthpop.microdata.runs.schema import values_text


def test_example_of_values_text() -> None:
    assert values_text({"type": "number", "exclusiveMinimum": 0}) == "a number, more than 0"
    assert values_text({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}) == '"a", "b"'
