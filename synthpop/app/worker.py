"""The parent's side of the child process of a tab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthpop.microdata.messages.errors import WorkerError

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """What a job gave: a value, or the message of a fault; and warnings."""

    value: Any = None
    fault: str = ""
    notes: tuple[str, ...] = ()


class Cancelled(WorkerError):
    """The job was stopped by the user."""


class Worker:
    """A child process, killed at will, that works in the private folder of a project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journey = ""
        self._process: subprocess.Popen[str] | None = None
        self._number = 0
        self._cancelled = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the child; None before it is started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the child, so that it can get ready before the first job."""
        if self._process is not None and self._process.poll() is None:
            return
        package = str(Path(__file__).parents[2])
        paths = [package, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(path for path in paths if path)),
            "TMPDIR": str(self.folder),
            "MPLBACKEND": "Agg",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "synthpop.app.child", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could hold values of the data
            text=True,
            encoding="utf-8",
            env=environment,
        )
        self.warm(self._journey)

    def warm(self, journey: str) -> None:
        """Let the child, and those that follow it, compile what a journey needs first."""
        self._journey = journey
        if journey and self._process is not None:
            with suppress(OSError, ValueError):  # it was killed: the next one is told
                self._send(self._process, {"warm": journey})

    def _send(self, process: subprocess.Popen[str], request: Mapping[str, Any]) -> None:
        assert process.stdin is not None
        with self._writing:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()

    def call(
        self,
        job: str,
        project: Mapping[str, Any],
        arguments: Mapping[str, Any],
        progress: Progress = lambda event: None,
    ) -> WorkerAnswer:
        """Let the child do a job; blocks until it is done, was cancelled or the child died."""
        with self._lock:
            self.start()
            process = self._process
            assert process is not None
            assert process.stdout is not None
            self._number += 1
            self._cancelled = False
            request = {"number": self._number, "job": job, "project": project}
            try:
                self._send(process, {**request, "arguments": arguments})
                for line in process.stdout:
                    message = json.loads(line)
                    if message["number"] != self._number:
                        continue
                    if message["event"] == "progress":
                        progress(message)
                    elif message["event"] == "fault":
                        return WorkerAnswer(fault=message["message"])
                    else:
                        return WorkerAnswer(message["value"], notes=tuple(message["notes"]))
            except (OSError, ValueError):
                pass
            self.stop()
            if self._cancelled:
                raise Cancelled("the job was cancelled; the state is that of the last step")
            raise WorkerError(
                "the computation stopped unexpectedly, perhaps for lack of memory; your steps are "
                "kept. Try again with fewer columns or a smaller file."
            )

    def cancel(self) -> None:
        """Kill the child; the job that it does raises `Cancelled`."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Kill the child and wait for its end."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in filter(None, (process.stdin, process.stdout)):
            with suppress(OSError):
                pipe.close()
        process.wait(timeout=10)
