"""Small calls of `lock` and what they return."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from synthpop.microdata.formats.lock import only_writer, private_folder, shares_folder


def test_example_of_only_writer() -> None:
    folder = Path(tempfile.mkdtemp())
    with only_writer(folder) as token:
        assert ([path.name for path in folder.iterdir()], shares_folder(folder, token)) == (
            [".lock"],
            True,
        )
    assert list(folder.iterdir()) == []


def test_threads_do_not_sweep_each_others_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def write(number: int) -> None:
        for _ in range(60):
            with private_folder("here-") as folder:
                (folder / "file").write_text(str(number))
                assert (folder / "file").read_text() == str(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert list(tmp_path.iterdir()) == []
