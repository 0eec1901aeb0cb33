"""Small calls of `folders` and what they return."""

from __future__ import annotations

from pathlib import Path

from synthpop.population.folders import record_path, stratum_folders


def test_example_of_record_path() -> None:
    assert (
        record_path(Path("out/population/Vienna/part-0000.parquet")).as_posix()
        == "out/records/Vienna/part-0000.json"
    )


def test_example_of_stratum_folders() -> None:
    assert stratum_folders(["Vienna", "Wien", "WIEN", "Brong Ahafo", "a/b", ""]) == (
        "Vienna",
        "Wien-1",
        "WIEN-2",
        "Brong Ahafo",
        "a%2Fb",
        "-5",
    )
