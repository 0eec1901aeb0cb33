"""Small calls of `output` and what they return."""

from __future__ import annotations

from pathlib import Path

from synthpop.microdata.runs.output import plain, steps


def test_example_of_plain() -> None:
    assert plain({"file": Path("a.csv"), "gap": float("nan"), "n": (1, 2)}) == {
        "file": "a.csv",
        "gap": None,
        "n": [1, 2],
    }


def test_example_of_steps() -> None:
    with steps("sample", 2) as step:
        assert step("draw", lambda: 3) + step("write", lambda: 4) == 7
