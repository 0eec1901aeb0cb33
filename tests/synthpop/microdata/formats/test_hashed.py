"""Small calls of `hashed` and what they return."""

from __future__ import annotations

from synthpop.microdata.formats.hashed import with_hash, without_hash


def test_example_of_with_hash() -> None:
    assert without_hash(with_hash({"seed": 1})) == {"seed": 1}
