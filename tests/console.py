"""Call a command line or a script inside the test process: no start of Python, no import twice."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Completed:
    """What a process would have left: exit status and the two streams."""

    returncode: int
    stdout: str
    stderr: str


@contextlib.contextmanager
def _as_process(arguments: list[str], folder: Path) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Stand in the folder, with these arguments and empty streams that are not terminal."""
    before, argv = Path.cwd(), sys.argv
    out, err = io.StringIO(), io.StringIO()
    sys.argv = arguments
    os.chdir(folder)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            warnings.simplefilter("error", UserWarning)
            yield out, err
    finally:
        os.chdir(before)
        sys.argv = argv


def _status(run: Callable[[], object], err: io.StringIO) -> int:
    try:
        run()
    except SystemExit as end:
        if isinstance(end.code, str):
            err.write(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def call(main: Callable[[], object], *arguments: object, cwd: Path) -> Completed:
    """Run ``main`` of a command line as if typed in the folder ``cwd``."""
    with _as_process(["command", *map(str, arguments)], cwd) as (out, err):
        code = _status(main, err)
    return Completed(code, out.getvalue(), err.getvalue())


def call_script(path: Path, cwd: Path) -> Completed:
    """Run a script as ``python path`` would, in the folder ``cwd``."""
    with _as_process([str(path)], cwd) as (out, err):
        sys.path.insert(0, str(path.parent))
        try:
            code = _status(lambda: runpy.run_path(str(path), run_name="__main__"), err)
        finally:
            sys.path.remove(str(path.parent))
    return Completed(code, out.getvalue(), err.getvalue())
