"""Small calls of `lock` and what they return."""

from __future__ import annotations

import tempfile
from pathlib import Path

from synthpop.microdata.formats.lock import only_writer, shares_folder


def test_example_of_only_writer() -> None:
    folder = Path(tempfile.mkdtemp())
    with only_writer(folder) as token:
        assert ([path.name for path in folder.iterdir()], shares_folder(folder, token)) == (
            [".lock"],
            True,
        )
    assert list(folder.iterdir()) == []
