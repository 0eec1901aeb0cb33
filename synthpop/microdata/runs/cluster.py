"""Blocks on an existing Dask cluster, with every way in which it can fail turned into an error."""

from __future__ import annotations

import logging
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

from synthpop.microdata.messages.errors import InputError, MicrodataError, WorkerError
from synthpop.microdata.runs.environment import environment, environment_difference

KEPT = "Finished blocks of a folder are kept: run again to resume."
FETCH_SECONDS = 60.0
LOOK_SECONDS = 2.0
MORE_SECONDS = 2.0  # than it takes to connect, before a scheduler that says nothing is given up
LOGGERS = ("distributed.client", "distributed.core", "distributed.protocol.pickle")


class DaskCluster:
    """A connection to a scheduler that is closed again at the end.

    address: ``tcp://host:port``
    connect, patience, poll: seconds to connect within; to be without scheduler or workers before
        giving up; between two looks at what has become of the tasks
    """

    def __init__(self, address: str, connect: float, patience: float, poll: float) -> None:
        self.address, self.connect, self.patience, self.poll = address, connect, patience, poll
        self.client: Any = None
        self._levels: dict[str, int] = {}
        self._asked, self._threads = -LOOK_SECONDS, 0
        self._answers = True

    def __enter__(self) -> DaskCluster:
        try:
            from distributed import Client
        except ImportError:
            hint = "Install it: pip install 'synthpop-riskeval[cluster]'."
            what = "needs the package distributed"
            raise InputError.of("workers", "dask", what, hint) from None
        for name in LOGGERS:  # what they log is what the error of this module says
            self._levels[name] = logging.getLogger(name).level
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self.client = _with_deadline(Client)(self.address, self.connect)
        except Exception as problem:  # noqa: BLE001  (another service may answer anything)
            self.__exit__()
            known = isinstance(problem, (OSError, ValueError, RuntimeError)) and str(problem)
            reason = known or "what answers there is something else"
            raise WorkerError(
                f"there is no Dask scheduler at {self.address}: {reason.rstrip('.')}. Start one "
                "(dask scheduler) or correct the address."
            ) from None
        return self

    def __exit__(self, *problem: object) -> None:
        if self.client is not None:
            with suppress(Exception):  # a client without scheduler cannot say goodbye
                self.client.close(timeout=1)
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)

    def map(
        self, function: Callable[[Any], Any], plans: Sequence[Any], queued: int, in_order: bool
    ) -> Iterator[Any]:
        """Yield the result of each plan, in any order or in that of the plans.

        The function travels once, as the result of a task that the scheduler can repeat when the
        worker that holds it dies.
        """
        from distributed.protocol.pickle import dumps

        same, apply = _portable()
        name = f"synthpop-{secrets.token_hex(8)}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            shared = self.client.submit(same, dumps(function), key=f"{name}-recipe")
        queue = [(plan, number) for number, plan in enumerate(plans)][::-1]
        running: dict[Any, tuple[Any, int]] = {}
        results: dict[int, Any] = {}  # those that wait for others before them
        following = 0
        changed = threading.Event()
        last_sign = time.monotonic()
        while queue or running:
            slots = max(1, self._n_threads()) * (1 + queued)
            while queue and self.client.status == "running":
                waited_for = queue[-1][1] == following  # it was lost: others wait for it
                if len(running) + len(results) >= slots and not waited_for:
                    break
                plan, number = queue.pop()
                key = f"{name}-{number}-{secrets.token_hex(4)}"
                future = self.client.submit(apply, shared, dumps(plan), environment(), key=key)
                future.add_done_callback(lambda _: changed.set())
                running[future] = (plan, number)
            changed.wait(self.poll)
            changed.clear()
            for future in [item for item in running if item.status != "pending"]:
                task = running.pop(future)
                if future.status in ("cancelled", "lost"):
                    queue = sorted([*queue, task], key=itemgetter(1), reverse=True)
                    continue
                results[task[1]] = self._result(future)
                while (number := following if in_order else task[1]) in results:
                    yield results.pop(number)
                    following += 1
                last_sign = time.monotonic()
            if self.client.status == "running" and self._n_threads():
                last_sign = time.monotonic()
            elif time.monotonic() - last_sign > self.patience or self.client.status == "closed":
                raise WorkerError(self._absent())

    def _n_threads(self) -> int:
        """Threads of all workers; asked for now and then only, 0 without an answer."""
        now = time.monotonic()
        if now - self._asked > LOOK_SECONDS:
            self._asked, self._threads, self._answers = now, 0, False
            if self.client.status == "running":
                with suppress(Exception):
                    ask = self.client.scheduler.ncores
                    cores = self.client.sync(ask, callback_timeout=self.patience / 3)
                    self._threads, self._answers = sum(map(int, cores.values())), True
        return self._threads

    def _absent(self) -> str:
        if self.client.status != "running":
            return f"the Dask scheduler at {self.address} is gone. {KEPT}"
        if not self._answers:
            return f"the Dask scheduler at {self.address} does not answer. {KEPT}"
        return f"the Dask cluster at {self.address} has no worker. Start some. {KEPT}"

    def _result(self, future: Any) -> Any:
        from distributed import KilledWorker

        try:
            return future.result(timeout=FETCH_SECONDS)
        except MicrodataError:
            raise
        except KilledWorker:
            raise WorkerError(
                "a block ended several workers of the cluster, perhaps for lack of memory: give "
                f"them more, or fewer rows_per_block. {KEPT}"
            ) from None
        except ImportError as problem:
            raise WorkerError(
                f"a worker of the cluster cannot import what it needs: {problem}. Install the "
                f"same versions of synthpop-riskeval and its libraries on every node. {KEPT}"
            ) from None
        except (OSError, TimeoutError) as problem:
            raise WorkerError(
                f"a result cannot be fetched from the cluster: {problem}. {KEPT}"
            ) from None


def _with_deadline(client: type[Any]) -> type[Any]:
    """Return a class of clients that give up on a service that accepts connections in silence.

    A client of distributed waits for ever for a stopped scheduler, or for another service.
    """

    class ClientWithDeadline(client):
        def __init__(self, address: str, seconds: float) -> None:
            self.seconds = seconds
            super().__init__(address, timeout=seconds, set_as_default=False)

        def start(self, **options: Any) -> None:
            try:
                super().start(callback_timeout=self.seconds + MORE_SECONDS, **options)
            except BaseException:
                self.status = "closed"  # it waits for nobody when it is removed
                raise

    return ClientWithDeadline


def _portable() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return functions that are sent as code, also to a worker that has no synthpop.

    A function of a module is sent as the name of that module, and distributed ends a worker that
    cannot import it. These are local: what they import fails inside the task, whose exception
    comes back.
    """

    def same(value: Any) -> Any:
        return value

    def apply(function: bytes, plan: bytes, expected: dict[str, str]) -> Any:
        from distributed.protocol.pickle import loads

        from synthpop.microdata.runs.cluster import apply_checked

        return apply_checked(loads(function), loads(plan), expected)

    return same, apply


def apply_checked(function: Callable[[Any], Any], plan: Any, expected: dict[str, str]) -> Any:
    """Apply a function in a worker that computes the same numbers as the process that asks."""
    difference = environment_difference(environment(), expected)
    if difference:
        raise WorkerError(
            f"a worker of the cluster differs from this process: {difference}. Its numbers could "
            f"differ in the last digits. Use the same installation on the same kind of machine. "
            f"{KEPT}"
        )
    return function(plan)
