"""Small calls of `presenters` and what they return."""

from __future__ import annotations

from synthpop.microdata.messages.presenters import presenter


def test_example_of_presenter() -> None:
    assert presenter("Study.figure").__name__ == "draw_study"
