"""What workers do in the tests of engines: a module that is imported at once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from synthpop.microdata.messages.errors import InputError


def square(number: int) -> int:
    return number * number


def identify(number: int) -> int:
    return os.getpid()


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(number: int) -> int:
    if number == 5:
        raise InputError("test", [])
    return number


def look_for_a_model(number: int) -> int:
    raise FileNotFoundError(f"model-{number}.pickle")


class Deadly:
    """Ends its worker the first time that it meets one of the plans."""

    def __init__(self, marker: Path, numbers: set[int], times: int = 1) -> None:
        self.marker, self.numbers, self.times = marker, numbers, times

    def __call__(self, number: int) -> int:
        if number in self.numbers:
            earlier = len(list(self.marker.iterdir()))
            if earlier < self.times:
                (self.marker / str(earlier)).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return number * number


def slow_square(number: int) -> int:
    time.sleep(0.3)
    return number * number
