"""Calls of the system that write, one of which fails."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

CALLS = ("open", "fsync", "replace")
WRITERS = ("write_text", "write_bytes")


class Failing:
    """Counts the calls of the system that write, and lets one of them fail."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int = -1) -> None:
        self.at, self.n, self.names = at, 0, []
        for name in CALLS:
            patch.setattr(os, name, self.wrapped(name, getattr(os, name), 0))
        for name in WRITERS:
            patch.setattr(Path, name, self.wrapped("write", getattr(Path, name), 0))
        patch.setattr(pq, "write_table", self.wrapped("write", pq.write_table, 1))

    def wrapped(self, name: str, real: Callable[..., Any], place: int) -> Callable[..., Any]:
        def call(*arguments, **options):
            file = arguments[place] if name == "write" else None
            if isinstance(file, io.BytesIO):  # in memory
                return real(*arguments, **options)
            self.n += 1
            self.names.append(name)
            if self.n - 1 == self.at:
                if isinstance(file, Path):
                    with file.open("wb") as stream:
                        stream.write(b"half")
                raise OSError(errno.ENOSPC if self.at % 2 else errno.EIO, "injected")
            return real(*arguments, **options)

        return call


def calls_of(action: Callable[[], Any]) -> list[str]:
    """Return the calls of an action that writes."""
    with pytest.MonkeyPatch.context() as patch:
        count = Failing(patch)
        action()
    return count.names


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*")
            if p.is_file()}  # fmt: skip


def every(stride: int) -> pytest.MarkDecorator:
    """Let each call fail in the slow suite, and some of them in the quick one."""
    return pytest.mark.parametrize("stride", [stride, pytest.param(1, marks=pytest.mark.slow)])
