"""Small calls of `dictionary` and what they return."""

from __future__ import annotations

from synthpop.microdata.frame.dictionary import toml_value


def test_example_of_toml_value() -> None:
    assert toml_value([1, "a", True]) == '[1, "a", true]'
