"""Small calls of `streams` and what they return."""

from __future__ import annotations

from synthpop.microdata.statistics.streams import Streams, resolve_seed


def test_example_of_resolve_seed() -> None:
    assert resolve_seed(7) == 7


def test_example_of_streams() -> None:
    streams = Streams(1)
    a = streams.at("categorical", "pl030", "Vienna", 0).random()
    b = streams.at("categorical", "pl030", "Vienna", 0).random()
    assert a == b
    assert streams.at("categorical", "pl030", "Tyrol", 0).random() != a
