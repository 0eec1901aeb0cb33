"""Where blocks are computed: this thread, threads, processes, or an existing Dask cluster.

Every engine applies one function to all plans and yields what it returns, in any order. None of
them may hang: a worker that dies, a scheduler that goes away and a worker without the package
end in a `WorkerError` within seconds, or in the right result.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pickle import PicklingError
from typing import Any

from synthpop.microdata.messages.errors import InputError, WorkerError

Workers = int | str
Task = Callable[[Any], Any]

THREADS_PER_CORE = 4
QUEUED = 2  # tasks that wait for each worker, so that none of them is idle
CONNECT_SECONDS = 10.0  # a scheduler that does not answer within this is not there
PATIENCE_SECONDS = 15.0  # without scheduler, or without any worker, before a run gives up
POLL_SECONDS = 0.5


def check_workers(workers: Workers) -> None:
    """Raise an InputError where `workers` is not understood."""
    kind, _, number = str(workers).partition(":")
    is_understood = str(workers).isascii() and (
        (kind.isdigit() and not number and int(kind) > 0)
        or (kind == "processes" and number.isdigit() and int(number) > 0)
        or (kind == "dask" and number.startswith("//") and len(number) > 2)
    )
    if not is_understood:
        hint = 'Give a number of threads, "processes:4" or "dask://host:port".'
        raise InputError.of("workers", "workers", f"{workers!r} is not understood", hint)


def threads(workers: Workers) -> int:
    """Return how many threads stand for these workers where the work stays in this process."""
    kind, _, rest = str(workers).partition(":")
    number = rest if kind == "processes" else kind
    return int(number) if number.isdigit() else 1


def map_blocks(
    function: Task, plans: Sequence[Any], workers: Workers, *, in_order: bool = False
) -> Iterator[Any]:
    """Apply `function` to each plan, in any order or in that of the plans.

    function: of one plan; a pure function that other processes can import
    workers: a number of threads; ``"processes:4"``; or ``"dask://scheduler:8786"``, an existing
        cluster. Results do not depend on it. At most one worker for each plan, and four for each
        core, are started.
    in_order: yield the results in the order of the plans; a few for each worker wait
    Raises WorkerError: a worker or the scheduler is gone, or a worker cannot compute the same as
        this process.
    """
    kind, _, target = str(workers).partition(":")
    if kind == "dask":
        with _pickling_faults_in_words():
            from synthpop.microdata.runs.cluster import DaskCluster

            address = "tcp:" + target.rstrip("/")
            with DaskCluster(address, CONNECT_SECONDS, PATIENCE_SECONDS, POLL_SECONDS) as cluster:
                yield from cluster.map(function, plans, QUEUED, in_order)
        return
    n_asked = int(target if kind == "processes" else kind)
    number = min(n_asked, max(len(plans), 1), THREADS_PER_CORE * (os.cpu_count() or 1))
    if kind == "processes":
        with _pickling_faults_in_words():
            yield from _in_processes(function, plans, number, in_order)
    elif number == 1:
        yield from map(function, plans)
    else:
        yield from _in_threads(function, plans, number, in_order)


@contextmanager
def _pickling_faults_in_words() -> Iterator[None]:
    try:
        yield
    except (PicklingError, TypeError, AttributeError) as problem:
        if "pickle" not in str(problem):
            raise
        raise WorkerError(
            f"a function or model cannot be sent to other processes ({problem}). Give one without "
            "locks and open files, or a number of threads as workers."
        ) from None


def _in_threads(function: Task, plans: Sequence[Any], number: int, in_order: bool) -> Iterator[Any]:
    with ThreadPoolExecutor(number, thread_name_prefix="synthpop") as pool:
        try:
            yield from _windowed(lambda plan: pool.submit(function, plan), plans, number, in_order)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_processes(
    function: Task, plans: Sequence[Any], number: int, in_order: bool
) -> Iterator[Any]:
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    pool: Executor = ProcessPoolExecutor(
        number, initializer=_start_worker, initargs=(function, os.getpid())
    )
    try:
        yield from _windowed(lambda plan: pool.submit(_apply, plan), plans, number, in_order)
    except BrokenProcessPool:
        raise WorkerError(
            "a worker process died, perhaps for lack of memory. Finished blocks of a folder are "
            "kept: run again with fewer workers or fewer rows_per_block."
        ) from None
    finally:
        with suppress(Exception):
            pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


_FUNCTION: list[Task] = []  # of a worker process: what its tasks apply


def _start_worker(function: Task, parent: int) -> None:
    """Take the function once, and end with the parent however it ends."""
    _FUNCTION[:] = [function]
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def _apply(plan: Any) -> Any:
    return _FUNCTION[0](plan)


def _windowed(
    submit: Callable[[Any], Future[Any]], plans: Sequence[Any], number: int, in_order: bool
) -> Iterator[Any]:
    """Yield results as they come or in order, with a few tasks for each worker waiting."""
    if in_order:
        queue: deque[Future[Any]] = deque()
        for plan in plans:
            queue.append(submit(plan))
            if len(queue) >= (1 + QUEUED) * number:
                yield queue.popleft().result()
        while queue:
            yield queue.popleft().result()
        return
    waiting: set[Future[Any]] = set()
    remaining_plans = iter(plans)
    while True:
        for plan in remaining_plans:
            waiting.add(submit(plan))
            if len(waiting) >= (1 + QUEUED) * number:
                break
        if not waiting:
            return
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()
