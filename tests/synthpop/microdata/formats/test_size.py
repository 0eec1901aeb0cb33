"""Files that are small and would explode once they are read: refused before, in a second."""

from __future__ import annotations

import gzip
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.formats.tomlfile import read_toml
from synthpop.microdata.messages.budget import budget
from synthpop.microdata.messages.errors import InputError, RunFileError

pytest.importorskip("openpyxl")
pytest.importorskip("rdata")

PEOPLE = pd.DataFrame({"age": np.arange(200) % 90, "name": ["Ada", "Bo"] * 100})
MEBI = 1 << 20


def sheet(path: Path, cells: str, text: int = 0) -> None:
    """Write a sheet with these cells, and an inline text of so many letters."""
    write_table(PEOPLE, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if "worksheets/" in name)
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    inline = b'<c r="A1" t="inlineStr"><is><t>' + b"x" * text + b"</t></is></c>"
    rows = b'<sheetData><row r="1">' + inline + b"</row>" + cells.encode() + b"</sheetData>"
    members[name] = head + rows + b"</worksheet>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)


def r_file(path: Path) -> None:
    with gzip.open(path, "wb") as stream:
        stream.write(b"X\n" + bytes(120 * MEBI))


def wide_text(path: Path) -> None:
    path.write_text(",".join(f"c{k}" for k in range(60_000)) + "\n" + ",".join("1" * 60_000) + "\n")


BOMBS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "sheet with one long text": (".xlsx", lambda p: sheet(p, "", 120 * MEBI), "times its size"),
    "sheet with a cell at its far corner": (
        ".xlsx", lambda p: sheet(p, '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        "17,179,869,184 cells",
    ),
    "R file": (".rds", r_file, "times its size"),
    "R workspace": (".RData", r_file, "times its size"),
    "text with many columns": (".csv", wide_text, "60,000 columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_explodes_is_refused_before_it_is_read(name: str, tmp_path: Path) -> None:
    suffix, make, text = BOMBS[name]
    file = tmp_path / f"bomb{suffix}"
    make(file)
    assert file.stat().st_size < MEBI
    begin = time.process_time()
    with pytest.raises(InputError, match=text) as caught:
        read_table(file)
    assert time.process_time() - begin < 5
    assert "SYNTHPOP_BUDGET=" in str(caught.value)


@pytest.mark.parametrize("limit", ["cells", "memory", "columns"])
@pytest.mark.parametrize(
    "suffix", [".csv", ".parquet", ".arrow", ".xlsx", ".sav", ".zsav", ".dta", ".xpt", ".rds"]
)
def test_every_reader_keeps_to_the_budget(suffix: str, limit: str, tmp_path: Path) -> None:
    file = tmp_path / f"people{suffix}"
    write_table(PEOPLE, file)
    if (suffix, limit) not in {(".csv", "cells"), (".rds", "cells"), (".rds", "columns")}:
        with budget(**{limit: 1}), pytest.raises(InputError, match="SYNTHPOP_BUDGET"):
            read_table(file)
    with budget(**{limit: 1e12}):
        assert len(read_table(file)) == 200


def test_a_packed_file_keeps_to_what_it_may_unpack_to(tmp_path: Path) -> None:
    for name in ("a.xlsx", "a.rds"):
        write_table(PEOPLE, tmp_path / name)
        with budget(unpacked=100), pytest.raises(InputError, match="unpacks to"):
            read_table(tmp_path / name)


def test_a_limit_that_was_raised_lets_the_file_in(tmp_path: Path) -> None:
    write_table(pd.DataFrame({f"c{k}": [1] for k in range(30)}), tmp_path / "a.csv")
    with budget(columns=20):
        with pytest.raises(InputError, match="30 columns"):
            read_table(tmp_path / "a.csv")
        with budget(columns=30):
            assert read_table(tmp_path / "a.csv").shape == (1, 30)


def test_a_run_file_of_many_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = '" + "x" * 17_000_000 + "'")
    with pytest.raises(RunFileError, match="17,000,006 bytes"):
        read_toml(tmp_path / "a.toml")
    with budget(text=1e9):
        assert len(read_toml(tmp_path / "a.toml")["a"]) == 17_000_000
