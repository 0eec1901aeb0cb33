"""Small calls of `names` and what they return."""

from __future__ import annotations

from synthpop.figures.names import FigureNames


def test_example_of_figurenames_title() -> None:
    assert FigureNames({"pl030": "Economic status"}).title("pl030") == "Economic status (pl030)"
