"""Populations on disk: bad folders, full disks, changed files."""

from __future__ import annotations

import errno
import json

import pytest

import synthpop.storage as storage
from synthpop import open_population
from synthpop.microdata.errors import InputError, OutputError
from synthpop.storage import verify
from tests.small import small_pipeline, small_survey


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(), seed=7)


def test_a_folder_with_another_run_is_refused_and_left_alone(fitted, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "p")
    before = sorted(path.name for path in (tmp_path / "p").rglob("*"))
    with pytest.raises(OutputError, match="holds another run: it differs in seed"):
        fitted.simulate(seed=8, out=tmp_path / "p")
    with pytest.raises(OutputError, match="differs in scale"):
        fitted.simulate(scale=2, out=tmp_path / "p")
    assert sorted(path.name for path in (tmp_path / "p").rglob("*")) == before


def test_a_folder_with_other_files_is_refused(fitted, tmp_path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="is not empty and holds no run"):
        fitted.simulate(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_out_that_is_a_file(fitted, tmp_path) -> None:
    (tmp_path / "p").write_text("a file")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        fitted.simulate(out=tmp_path / "p")


def test_a_full_disk_leaves_nothing_half_written(fitted, tmp_path, monkeypatch) -> None:
    import pyarrow.parquet as pq

    real, count = pq.write_table, {"n": 0}

    def full(table, path, **options):
        count["n"] += 1
        if count["n"] == 2:
            path.write_bytes(b"half a fi")
            raise OSError(errno.ENOSPC, "No space left on device")
        real(table, path, **options)

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OutputError, match="the disk is full") as caught:
        fitted.simulate(out=tmp_path / "p")
    assert "Make room and run again" in str(caught.value)
    assert not list((tmp_path / "p").rglob("*.tmp"))
    assert len(list((tmp_path / "p").rglob("*.parquet"))) == 1
    with pytest.raises(OutputError, match="unfinished"):
        verify(tmp_path / "p")


def test_a_file_without_its_record_is_written_again(fitted, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "p")
    part = next((tmp_path / "p").rglob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(b"torn")
    storage.record_path(part).unlink()
    fitted.simulate(out=tmp_path / "p")
    assert part.read_bytes() == whole


def test_verify_finds_changed_missing_and_foreign_files(fitted, tmp_path) -> None:
    folder = tmp_path / "p"
    fitted.simulate(out=folder)
    assert verify(folder) == []
    parts = sorted(folder.rglob("*.parquet"))
    data = bytearray(parts[0].read_bytes())
    data[100] ^= 1
    parts[0].write_bytes(bytes(data))
    parts[1].rename(parts[1].with_name("part-9999.parquet"))
    problems = verify(folder)
    assert any("was changed" in text for text in problems)
    assert any("is missing" in text for text in problems)
    assert any("does not belong" in text for text in problems)


def test_opening_what_is_no_population(tmp_path) -> None:
    with pytest.raises(OutputError, match="holds no population"):
        open_population(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(OutputError, match="cannot be read"):
        open_population(tmp_path)


def test_the_manifest_tells_how_to_repeat_the_run(fitted, tmp_path) -> None:
    population = fitted.simulate(out=tmp_path / "p", scale=2)
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text())
    identity = manifest["identity"]
    assert identity["seed"] == 7
    assert identity["scale"] == 2
    assert [stage["type"] for stage in identity["recipe"]][:2] == ["structure", "derive"]
    assert manifest["n_persons"] == population.n_persons == len(population.frame())
    assert open_population(tmp_path / "p").fallbacks == population.fallbacks


def test_files_are_ordinary_partitioned_parquet(fitted, tmp_path) -> None:
    import pyarrow.dataset as ds

    population = fitted.simulate(out=tmp_path / "p")
    table = ds.dataset(tmp_path / "p" / "population", partitioning="hive").to_table()
    assert table.num_rows == population.n_persons
    assert set(table["stratum"].to_pylist()) == {"north", "south", "west"}
    ages = table["age"].to_numpy()
    incomes = table["income"]
    assert incomes.null_count == (ages < 16).sum()


def test_unknown_columns_are_named(fitted) -> None:
    with pytest.raises(InputError, match="Did you mean 'age'"):
        fitted.simulate().frame(["agee"])


def test_a_write_error_of_another_kind(fitted, tmp_path, monkeypatch) -> None:
    def refuse(path: object, *args: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(storage.os, "replace", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        fitted.simulate(out=tmp_path / "p")
