"""Small calls of `draws` and what they return."""

from __future__ import annotations

from synthpop.datasets.draws import Draws
from synthpop.microdata.statistics.streams import Streams


def test_example_of_draws() -> None:
    draws = Draws(Streams(1))
    assert bool((draws.normal("a", 4) == draws.normal("a", 4)).all())
