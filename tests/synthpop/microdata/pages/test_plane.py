"""Small calls of `plane` and what they return."""

from __future__ import annotations

from synthpop.microdata.pages.plane import Axis, Plane


def test_example_of_plane() -> None:
    plane = Plane(Axis("risk", 0, 1), Axis("utility", 0, 1))
    plane.point(0.2, 0.9, "c1", "circle", "noise")
    assert plane.render("One release.").count("<svg") == 2
