"""The child process: cancel, death, and what it says."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("shiny")

from synthpop.app.project import Project, perform
from synthpop.app.worker import Cancelled, Worker
from synthpop.microdata.messages.errors import WorkerError
from tests.synthpop.app.helpers import people


def test_a_job_can_be_cancelled_and_the_next_one_runs(tmp_path: Path) -> None:
    people().to_parquet(tmp_path / "data-1.parquet")
    project = perform(Project(), "protect.open_file", {"name": "a", "file": "data-1.parquet"})
    plain = project.model_dump(mode="json")
    worker = Worker(tmp_path)
    try:
        answer = worker.call("protect.columns", plain, {})
        assert answer.value["records"] == 240
        assert answer.notes == ()
        fault = worker.call("protect.quick_risk", plain, {})
        assert "key" in fault.fault  # and the child lives on
        first = worker.pid
        os.kill(first or 0, signal.SIGSTOP)  # a job that takes for ever
        timer = threading.Timer(0.3, worker.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            worker.call("protect.columns", plain, {})
        assert worker.call("protect.columns", plain, {}).value["records"] == 240
        assert worker.pid != first
        os.kill(worker.pid or 0, signal.SIGSTOP)
        killer = threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(WorkerError, match="steps are kept"):
            worker.call("protect.columns", plain, {})
    finally:
        worker.stop()


@pytest.mark.slow  # the child compiles
def test_a_child_can_be_warmed_before_it_is_there(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    worker.warm("create")
    worker.start()
    wait_for(lambda: any(tmp_path.glob("tmp*/data-1.parquet")))  # a survey to compile with
    worker.stop()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_cells_of_every_type_are_coded_ahead() -> None:
    """Which kernel the first population needs depends on the types and classes of its survey."""
    from synthpop.app.warm import code_cells
    from synthpop.kernels import cells

    code_cells()
    for kernel, types in ((cells.add_codes, 4), (cells.add_table, 4), (cells.add_classes, 1)):
        assert len(kernel.signatures) >= 2 * types  # cells of 32 and of 64 bits


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    worker.start()
    process = worker._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    wait_for(lambda: process.poll() is not None)
    worker.stop()
