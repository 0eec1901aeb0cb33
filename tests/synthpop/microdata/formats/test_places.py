"""Small calls of `places` and what they return."""

from __future__ import annotations

from pathlib import Path

from synthpop.microdata.formats.places import is_text, name_below, place


def test_example_of_bucketpath() -> None:
    folder = place("s3://office/runs?region=eu-central-1")
    part = folder / "population/Vienna/part-0000.parquet"
    assert (str(part), part.name, part.relative_to(folder).as_posix()) == (
        "s3://office/runs/population/Vienna/part-0000.parquet",
        "part-0000.parquet",
        "population/Vienna/part-0000.parquet",
    )


def test_example_of_is_text() -> None:
    assert (
        is_text("Köln"),
        is_text("Köln".encode("latin-1").decode("utf-8", "surrogateescape")),
    ) == (True, False)


def test_example_of_place() -> None:
    assert (
        repr((place("s3://office/runs/2024"), place("runs") == Path("runs")))
        == "(BucketPath(scheme='s3', bucket='office', parts=('runs', '2024')), True)"
    )


def test_example_of_name_below() -> None:
    assert name_below(Path("out/records/a"), Path("out")) == "records/a"
    assert name_below(place("s3://office/out/a"), place("s3://office/out")) == "a"
