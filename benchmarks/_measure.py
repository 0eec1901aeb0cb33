"""Run one job in a process of its own and print job, size, seconds and peak memory.

    from benchmarks._measure import measure
    measure("frequency counts", "1,000,000 x 6", job)   # job: a function without arguments

The peak is of the whole process (resident set), so each job of a script runs in a fork.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable


def measure(job: str, size: str, function: Callable[[], object]) -> None:
    """Print one row; `function` runs in a forked process so that peaks do not add up."""
    print(f"| {job} | {size} | ", end="", flush=True)
    pid = os.fork()
    if pid == 0:
        started = time.perf_counter()
        function()
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{seconds:.2f} s | {peak:,.0f} MB |", flush=True)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        print("failed |")
