"""Plugin of pytest: which tests run which lines of the rooms that `tests.mutation` mutates.

`pytest -p tests.executed_lines` writes a JSON file, its path in EXECUTED_LINES: for every test its
seconds, the file that it stands in, and the lines that its call runs; for every file the lines
that its fixtures run.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutation import ROOMS

ROOT = Path(__file__).resolve().parents[1]
PREFIXES = tuple(f"{ROOT / room}{os.sep}" for room in ROOMS)


class Recorder:
    """Lines that ran since `start`, of files in the rooms."""

    def __init__(self) -> None:
        self.lines: set[tuple[str, int]] = set()
        self.rooms: dict[CodeType, bool] = {}

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Follow the lines of functions of the rooms and of no others."""
        code = frame.f_code
        if code not in self.rooms:
            self.rooms[code] = code.co_filename.startswith(PREFIXES)
        return self.line if self.rooms[code] else None

    def line(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Note one line."""
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def start(self) -> None:
        self.lines = set()
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def stop(self) -> list[str]:
        """Stop; returns the lines as "file:line"."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        return [f"{os.path.relpath(file, ROOT)}:{line}" for file, line in sorted(self.lines)]


RECORDER = Recorder()
SETUP: dict[str, set[str]] = defaultdict(set)
TESTS: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Lines of fixtures belong to all tests of the file: each may read the fixture."""
    RECORDER.start()
    try:
        return (yield)
    finally:
        SETUP[item.location[0]].update(RECORDER.stop())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Lines of a test."""
    RECORDER.start()
    try:
        return (yield)
    finally:
        TESTS[item.nodeid] = {"file": item.location[0], "lines": RECORDER.stop(), "seconds": 0.0}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.nodeid in TESTS:
        TESTS[report.nodeid]["seconds"] += report.duration


def pytest_sessionfinish() -> None:
    """Write what was recorded."""
    record = {"tests": TESTS, "files": {file: sorted(lines) for file, lines in SETUP.items()}}
    Path(os.environ["EXECUTED_LINES"]).write_text(json.dumps(record), encoding="utf-8")
