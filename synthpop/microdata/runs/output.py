"""What a command says: sentences for people, one JSON object for programs, a log when asked."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import COMPILE_WATCHERS, Event, Listener, silent
from synthpop.microdata.runs.compiling import COMPILE_NOTICE

LOGGER = logging.getLogger("synthpop")
LOG_FORMAT = "%(asctime)s %(name)s %(message)s"


@dataclass
class Output:
    """The output of the command that runs."""

    command: str = ""
    quiet: bool = False  # nothing but errors is said
    verbose: bool = False  # steps are logged with their time instead of shown as bars
    as_json: bool = False  # all that is said comes as one JSON object at the end
    left_behind: str = ""  # what is there if the command is stopped now
    messages: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def begin(self, command: str, *, quiet: bool, verbose: bool, as_json: bool) -> None:
        """Start the output of a command."""
        self.command, self.quiet, self.verbose, self.as_json = command, quiet, verbose, as_json
        self.left_behind = ""
        self.messages, self.values = [], {}
        COMPILE_NOTICE.stop()  # a command says it itself
        for handler in [h for h in LOGGER.handlers if getattr(h, "of_command", False)]:
            LOGGER.removeHandler(handler)
        if verbose:
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter(LOG_FORMAT))
            handler.of_command = True  # type: ignore[attr-defined]
            LOGGER.addHandler(handler)
            LOGGER.setLevel(logging.INFO)

    def say(self, text: str) -> None:
        """Say a sentence to the user of a command, unless ``--quiet`` or ``--json`` is given."""
        self.messages.append(text)
        if not (self.quiet or self.as_json):
            print(text, flush=True)  # noqa: T201 - at once, also into a pipe

    def answer(self, **values: Any) -> None:
        """Add values to what ``--json`` prints."""
        self.values.update(values)

    def finish(self, status: int, error: str = "", problem: Exception | None = None) -> None:
        """Print the JSON object where it was asked for."""
        if not (self.as_json and self.command):
            return
        result: dict[str, Any] = {"command": self.command, "status": status, **self.values}
        if self.messages:
            result["messages"] = self.messages
        if error:
            result["error"] = error
        if isinstance(problem, InputError):
            entries = map(asdict, problem.faults)
            result["faults"] = [{k: x for k, x in entry.items() if x} for entry in entries]
        self.as_json = False
        with suppress(OSError):
            print(json.dumps(plain(result), ensure_ascii=False, indent=1))  # noqa: T201


OUTPUT = Output()
say, answer = OUTPUT.say, OUTPUT.answer


def plain(value: Any) -> Any:
    """Return a value as JSON has it: paths as text, frames as records, NaN as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return plain(value.to_dict("records"))
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return plain(value.item())
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return None if value != value else str(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def say_reading(frame: Any) -> None:
    """Tell what the reader of a text file found out by itself, such as the decimal sign."""
    for note in reading_notes(frame):
        say(note)


def reading_notes(frame: Any, file: str = "") -> list[str]:
    """Return a sentence for each thing that the reader of a text file found out by itself."""
    head = f"{file}: read" if file else "Read"
    return [f"{head} with {note}." for note in frame.attrs.get("reading", ())]


@contextmanager
def progress() -> Iterator[Listener]:
    """Show a bar with elapsed and remaining time for each job; log it with ``--verbose``.

    Without bars where there is no terminal, and with ``--quiet`` or ``--json``. Notes are said.
    """
    with _listener() as listen, _compiling_is_said():
        yield lambda event: say(event.detail) if event.kind == "note" else listen(event)


@contextmanager
def _compiling_is_said() -> Iterator[None]:
    """Say on a terminal, once, that a first run compiles what it needs."""
    if not (OUTPUT.verbose or sys.stderr.isatty()):
        yield
        return

    def watcher(_: bool) -> None:
        COMPILE_WATCHERS.remove(watcher)
        say("The first run on this machine compiles what it needs; later ones start at once.")

    COMPILE_WATCHERS.append(watcher)
    try:
        yield
    finally:
        if watcher in COMPILE_WATCHERS:
            COMPILE_WATCHERS.remove(watcher)


@contextmanager
def _listener() -> Iterator[Listener]:
    if OUTPUT.verbose:
        yield lambda e: LOGGER.info("%s %d/%d %s", e.job, e.done, e.total, e.detail)
        return
    if OUTPUT.quiet or OUTPUT.as_json or not sys.stderr.isatty():
        yield silent
        return
    with bars() as listen:
        yield listen


@contextmanager
def steps(job: str, total: int) -> Iterator[Callable[[str, Callable[[], Any]], Any]]:
    """Return what carries out one step of a job after the other, each seen in the bar."""
    with progress() as listen:
        n_done = 0

        def step(detail: str, run: Callable[[], Any]) -> Any:
            nonlocal n_done
            listen(Event("progress", job, n_done, total, detail))
            result = run()
            n_done += 1
            listen(Event("end" if n_done == total else "progress", job, n_done, total))
            return result

        yield step


class Bars:
    """A listener that shows a bar with elapsed and remaining time for each job."""

    def __init__(self, console: Any) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.progress = Progress(
            TextColumn("{task.description:>10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}"),
            console=console,
        )
        self.tasks: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Show the event; the bars stop once every job is done, and start again with the next."""
        if event.job not in self.tasks:
            self.progress.start()
            self.tasks[event.job] = self.progress.add_task(event.job, total=event.total, detail="")
        self.progress.update(
            self.tasks[event.job], completed=event.done, total=event.total, detail=event.detail
        )
        if self.progress.finished:
            self.close()

    def close(self) -> None:
        """Stop the bars and forget the jobs."""
        self.progress.stop()
        for task in self.tasks.values():
            self.progress.remove_task(task)
        self.tasks.clear()


@contextmanager
def bars(console: Any = None) -> Iterator[Listener]:
    """Show a bar with elapsed and remaining time for each job."""
    from rich.console import Console

    shown = Bars(console or Console(stderr=True))
    try:
        yield shown
    finally:
        shown.progress.stop()


def listener_of(on_event: Listener | None) -> Listener:
    """Return the listener of a long job: the one given, bars in a notebook, silence elsewhere.

    The bars of a notebook need ipywidgets.
    """
    if on_event is not None and on_event is not silent:
        return on_event
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    in_notebook = type(shell).__name__ == "ZMQInteractiveShell"
    if not in_notebook or find_spec("ipywidgets") is None:
        return silent
    from rich.console import Console

    return Bars(Console())
