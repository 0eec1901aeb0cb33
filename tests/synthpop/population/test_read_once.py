"""Small populations on disk are read once."""

from __future__ import annotations

import pandas as pd
import pytest

from synthpop import Population, assess_fit, open_population
from synthpop.microdata.messages.errors import OutputError
from synthpop.population import columns, population, read_once
from tests.small import small_pipeline, small_survey


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("once") / "p"
    small_pipeline().fit(small_survey(), seed=7).simulate(out=path)
    return path


def test_it_has_the_same_persons_and_knows_its_folder(folder) -> None:
    on_disk = open_population(folder, workers=2)
    once = read_once.read_once(on_disk)
    assert isinstance(once, Population)
    assert once.in_memory
    assert not on_disk.in_memory
    assert (once.path, once.workers) == (on_disk.path, 2)
    pd.testing.assert_frame_equal(once.frame(), on_disk.frame())
    pd.testing.assert_frame_equal(once.read_block(1, ["age"]), on_disk.read_block(1, ["age"]))
    assert read_once.read_once(once) is once


def test_larger_ones_and_those_of_other_processes_stay_on_disk(folder, monkeypatch) -> None:
    shared = open_population(folder, workers="processes:2")
    assert read_once.read_once(shared) is shared
    monkeypatch.setattr(read_once, "MOST_PERSONS", 10)
    large = open_population(folder)
    assert read_once.read_once(large) is large
    frame = pd.DataFrame({"a": [1]})
    assert read_once.read_once(frame) is frame


def test_a_comparison_reads_every_part_once(folder, monkeypatch) -> None:
    files: list[str] = []
    read = columns.read_arrays

    def counted(folder, block, fields, **options):
        files.append(block.file)
        return read(folder, block, fields, **options)

    for module in (read_once, columns):
        monkeypatch.setattr(module, "read_arrays", counted)
    on_disk = open_population(folder)
    fit = assess_fit(small_survey(), on_disk)
    assert sorted(files) == sorted(block.file for block in on_disk.manifest.blocks)
    monkeypatch.setattr(read_once, "MOST_PERSONS", 10)
    again = assess_fit(small_survey(), open_population(folder))
    assert len(files) > 2 * len(on_disk.manifest.blocks)
    pd.testing.assert_frame_equal(fit.distances, again.distances)


def test_a_damaged_part_is_an_error(folder) -> None:
    on_disk = open_population(folder)
    file = folder / on_disk.manifest.blocks[0].file
    content = file.read_bytes()
    try:
        file.write_bytes(content[:100] + b"?" + content[101:])
        with pytest.raises(OutputError, match="damaged"):
            read_once.read_once(on_disk)
    finally:
        file.write_bytes(content)
    assert not population.Population(on_disk.manifest, path=folder).in_memory
