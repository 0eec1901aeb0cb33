"""Settings of all tests: timings never decide one, and workers share the work of a fresh clone."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def _import_a_part(config: pytest.Config) -> None:
    """Import the tests of this worker's part, so that only one worker has to compile them."""
    worker = getattr(config, "workerinput", None)
    whole = [str(part) for part in config.args] == config.getini("testpaths")
    if worker is None or not whole:
        return
    files = sorted((config.rootpath / "tests").rglob("test_*.py"))
    number, workers = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in files[number * len(files) // workers : (number + 1) * len(files) // workers]:
        name = ".".join(file.relative_to(config.rootpath).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # the collection tells them
            importlib.import_module(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Read all tests before cycles are looked for: what is read stays for the whole run."""
    gc.disable()
    try:
        _import_a_part(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter clear everything at its end."""
    gc.unfreeze()
