"""A notice, once a process, that a call waits for its kernels to be compiled.

After a second of it the logger ``synthpop.compile`` warns. Where no logging is set up Python
prints this to the error stream, in scripts and in notebooks; a library that does not want it sets
``logging.getLogger("synthpop.compile").setLevel("ERROR")``. Commands say it themselves
(`synthpop.microdata.runs.output`).
"""

from __future__ import annotations

import time
from typing import Any

from synthpop.microdata.messages.events import COMPILE_WATCHERS

TEXT = (
    "Compiling what this call needs. This happens once after an installation; later calls start at "
    "once."
)
PATIENCE = 1.0
"""Seconds of compiling, in all, before it is said."""


class CompileNotice:
    """Says, once, that kernels are compiled; a watcher of compiling."""

    def __init__(self) -> None:
        self.patience, self.started = PATIENCE, 0.0
        self.timer: Any = None

    def __call__(self, begins: bool) -> None:
        """Wait while something is compiled."""
        import threading

        if begins:
            self.started = time.monotonic()
            self.timer = threading.Timer(max(self.patience, 0.0), self.log)
            self.timer.daemon = True
            self.timer.start()
        elif self.timer is not None:
            self.timer.cancel()
            self.patience -= time.monotonic() - self.started

    def log(self) -> None:
        """Say it, and watch no longer."""
        import logging

        self.stop()
        logging.getLogger("synthpop.compile").warning(TEXT)

    def watch(self) -> None:
        """Watch from now on."""
        if self not in COMPILE_WATCHERS:
            COMPILE_WATCHERS.append(self)

    def stop(self) -> None:
        """Watch no longer."""
        if self in COMPILE_WATCHERS:
            COMPILE_WATCHERS.remove(self)


COMPILE_NOTICE = CompileNotice()
