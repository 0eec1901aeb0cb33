"""A folder that version 0.1 wrote opens: `format_1` is one, of 16 persons in two strata."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from synthpop import Pipeline, Structure, open_population
from synthpop.microdata.messages.errors import MicrodataWarning, OutputError
from synthpop.population.storage import add_file
from synthpop.population.verify import verify
from tests.small import small_survey

WRITTEN = Path(__file__).parent / "format_1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(WRITTEN, tmp_path / "p")
    return tmp_path / "p"


def test_it_is_read_as_it_was_written(folder: Path) -> None:
    population = open_population(folder)
    assert population.manifest.identity.version == "0.1.0"
    frame = population.frame()
    assert frame["region"].tolist() == ["North"] * 4 + ["Öst /1"] * 12
    assert frame["age"].fillna(-1).tolist() == [40, 9] * 2 + [71] * 3 + [33, -1, 4] * 3
    assert verify(folder) == []


def test_what_was_changed_in_it_is_noticed(folder: Path) -> None:
    part = next(folder.rglob("*.parquet"))
    data = bytearray(part.read_bytes())
    data[100] ^= 1
    part.write_bytes(bytes(data))
    with pytest.raises(OutputError, match="its hash is not that of the manifest"):
        open_population(folder).frame()
    assert any("was changed" in text for text in verify(folder))
    (part.parent / "part-0009.parquet").write_bytes(bytes(data))
    assert any("does not belong to the run" in text for text in verify(folder))


@pytest.mark.parametrize("key", ["identity", "blocks", "columns", "roles", "n_persons"])
def test_a_manifest_that_lacks_something_is_refused(folder: Path, key: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest[key]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(OutputError, match="is not a manifest of a population"):
        open_population(folder)


def test_a_report_is_noted_in_it_and_no_run_goes_on_in_it(folder: Path) -> None:
    before = open_population(folder).frame()
    (folder / "report.html").write_text("page")
    with pytest.warns(MicrodataWarning, match="made without a secret key"):
        add_file(folder, folder / "report.html")
    assert open_population(folder).frame().equals(before)
    assert verify(folder) == []
    (folder / "report.html").write_text("other")
    assert verify(folder) == ["report.html was changed"]
    with pytest.raises(OutputError, match="holds another run: it differs in version"):
        Pipeline([Structure(["age"])]).fit(small_survey(20), seed=1).simulate(out=folder)
