"""What the settings of all tests leave behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILE = """
import atexit, gc

def test_some():
    assert gc.get_freeze_count() > 0
    atexit.register(lambda: print("kept:", gc.get_freeze_count()))
"""


@pytest.mark.slow  # runs pytest in a second process
def test_libraries_can_close_at_the_end_of_the_tests(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    (tmp_path / "test_some.py").write_text(FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, "-p", "tests.conftest", "-c", "/dev/null", tmp_path / "test_some.py"],
        cwd=pytestconfig.rootpath, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 passed" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "kept: 0"
