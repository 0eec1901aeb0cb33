"""What both command lines do alike: errors, signals and exit statuses; bars for long jobs."""

from __future__ import annotations

import gc
import inspect
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from synthpop.microdata.formats.places import OTHER_NAME, is_text
from synthpop.microdata.messages.errors import (
    Faults,
    InputError,
    MicrodataError,
    OutputError,
    RunFileError,
)
from synthpop.microdata.runs.output import OUTPUT
from synthpop.microdata.version import __version__

SIGNALS = {
    getattr(signal, name): 128 + number
    for name, number in {"SIGINT": 2, "SIGTERM": 15, "SIGHUP": 1}.items()
    if hasattr(signal, name)
}
"""What ends a command, and its exit status: Ctrl-C, the system, a terminal that is closed."""

Anywhere = Annotated[
    bool, typer.Option("--anywhere", help="Let the run file write outside of its own folder.")
]
DtaVersion = Annotated[
    int | None, typer.Option(help="Version of Stata that is to read a .dta: 8 to 15; default 15.")
]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put an apostrophe before text that begins a formula.")
]
LedgerFolder = Annotated[
    Path | None, typer.Option("--ledger", help="Register of releases: asked before, told after.")
]
Facts = Annotated[
    list[str] | None,
    typer.Option(
        "--fact", help="What the release tells, as licence=TEXT; title, description, citation, "
        "publisher. What the ledger keeps: recipients, recodings, randomness, wave (time of the "
        "data), date. despite: reason to release although the verdict or the ledger objects."
    ),
]  # fmt: skip
OBJECTION = 3
"""Exit status with ``--fail-on-limit`` unless no objection was found by what was tried."""
FailOnLimit = Annotated[
    bool, typer.Option("--fail-on-limit", help="End with status 3 unless no objection was found.")
]
Written = Annotated[Path | None, typer.Argument(help="File to write; its ending says the format.")]
Workers = Annotated[str, typer.Option(help='Threads, "processes:4" or "dask://host:port".')]


def written(file: Path | None, to: Path | None) -> Path:
    """Return the file to write, which is an argument or an option.

    Raises OutputError: neither or both are given.
    """
    if (file is None) == (to is None):
        raise OutputError("Name one file to write, such as people.sav.")
    return file or Path(str(to))


NO_LIBRARY = "Is memory limited (ulimit -v), or the installation incomplete?"
ADDRESS_SPACE = 1 << 30
TIDYING_SECONDS = 5.0  # after this a signal counts again: the first one may have been swallowed

NEW_OBJECTS = 10_000  # between two collections of cyclic garbage, of which commands make little


class CommandLine(typer.Typer):
    """A command line whose commands all have ``--quiet``, ``--verbose`` and ``--json``."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Register a command; see ``typer.Typer.command``."""
        register = super().command(name, **options)

        def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_with_output_options(function))
            return function

        return decorator


_OUTPUT_OPTIONS = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")],
    "verbose": Annotated[bool, typer.Option("--verbose", "-v", help="Log each step with time.")],
    "json": Annotated[bool, typer.Option("--json", help="Print the result as JSON only.")],
}


def _with_output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the options of its output behind its own."""

    @wraps(function)
    def command(
        *args: Any, quiet: bool = False, verbose: bool = False, json: bool = False, **options: Any
    ) -> Any:
        OUTPUT.begin(function.__name__, quiet=quiet, verbose=verbose, as_json=json)
        _check_address_space()
        return function(*args, **options)

    signature = inspect.signature(function, eval_str=True)
    output_parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in _OUTPUT_OPTIONS.items()
    ]
    parameters = [*signature.parameters.values(), *output_parameters]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _check_address_space() -> None:
    """Refuse a limit below which linear algebra waits for memory for ever while it is imported."""
    try:
        import resource
    except ImportError:  # there are no such limits here
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESS_SPACE:
        what = f"allows {limit / 1e9:.1f} GB of addresses, of which most are never used"
        hint = "Allow 4 GB; memory that is used is limited by a control group (MemoryMax)."
        raise InputError.of("memory", "ulimit -v", what, hint)


def command_line(text: str) -> CommandLine:
    """Return an empty command line with plain help (-h, --help) and the version (-V, --version)."""
    app = CommandLine(
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        rich_markup_mode=None,  # "[survey]" in a help text is not markup
        context_settings={"help_option_names": ["-h", "--help"]},
        help=text,
    )

    @app.callback(invoke_without_command=True)
    def version(
        version: Annotated[
            bool, typer.Option("--version", "-V", help="Show the version and exit.")
        ] = False,
    ) -> None:
        if version:
            typer.echo(__version__)
            raise typer.Exit

    return app


def write_schema(schema: dict[str, object], to: Path | None) -> None:
    """Write a JSON schema to a file, or print it."""
    import json

    from synthpop.microdata.formats.atomic import write_text

    text = json.dumps(schema, ensure_ascii=False, indent=1, default=str)
    if to is None:
        OUTPUT.say(text)
        return
    write_text(to, text + "\n")
    OUTPUT.say(f"Wrote {to}.")
    OUTPUT.answer(file=to)


def keep_sources(subject: str, sources: Iterable[Path], targets: Iterable[Path]) -> None:
    """Raise a RunFileError where a file that is read would be written over."""
    inputs = {source.resolve() for source in sources}
    faults = Faults(subject, RunFileError)
    for target in targets:
        if target.resolve() in inputs:
            what = f"{target} is a file that is read, which would be lost"
            faults.add("out", what, hint="Name another file with out or --out.")
    faults.raise_if_any()


class Stopped(SystemExit):
    """The user (Ctrl-C), the system or a terminal that is closed wants the command to end.

    A kind of `SystemExit`, because event loops report any other exception and go on.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def end_by(levels: Iterable[str], fail_on_limit: bool) -> None:
    """End with a status of its own unless no objection was found to any file.

    levels: of verdicts
    """
    if fail_on_limit and any(level != "no objection found by what was tried" for level in levels):
        raise typer.Exit(OBJECTION)


def guarded(application: Callable[[], Any], name: str, stopped: str = "") -> None:
    """Run a command line: whatever ends it becomes one message and an exit status.

    name: of the command, in front of each message
    stopped: what to say besides when the command is stopped by Ctrl-C or SIGTERM
    """
    _open_streams()
    OUTPUT.begin("", quiet=False, verbose=False, as_json=False)
    gc.set_threshold(NEW_OBJECTS)
    statuses: list[int] = []
    try:
        try:
            with _signals(statuses):
                application()
        except Exception:
            if not statuses:
                raise
            raise Stopped(statuses[0]) from None  # compiled code made another error of it
    except Stopped as signal_:
        _end(name, f"stopped. {OUTPUT.left_behind or stopped}".rstrip(), signal_.status)
    except SystemExit as end:
        OUTPUT.finish(int(end.code) if isinstance(end.code, int) else int(end.code is not None))
        raise
    except MicrodataError as problem:
        _end(name, str(problem), 1, problem)
    except KeyboardInterrupt:  # from a thread in which signals cannot be taken over
        _end(name, f"stopped. {OUTPUT.left_behind or stopped}".rstrip(), 130)
    except BrokenPipeError:
        _quiet_output()
        sys.exit(1)
    except MemoryError:
        _end(name, "out of memory. Use fewer workers, fewer rows_per_block or fewer columns.", 1)
    except UnicodeEncodeError as problem:
        if is_text(problem.object):
            _end(name, _report(problem), 1)
        _end(name, f"a name of a file is not text: {problem.object!r}. {OTHER_NAME}", 1)
    except (ImportError, OSError) as problem:
        if isinstance(problem, ImportError) or "shared object" in str(problem):
            _end(name, f"{str(problem).rstrip('.')}. {NO_LIBRARY}", 1)
        where = f"{problem.filename}: " if problem.filename else ""
        _end(name, f"{where}{problem.strerror or problem}.", 1)
    except Exception as problem:  # noqa: BLE001  (the last resort: a fault of ours)
        _end(name, _report(problem), 1)


def _end(name: str, message: str, status: int, problem: Exception | None = None) -> NoReturn:
    OUTPUT.finish(status, message, problem)
    with suppress(OSError, ValueError):
        print(f"{name}: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(status)


def _report(problem: Exception) -> str:
    """Write the traceback to a file of its own; returns what to say of it."""
    text = "".join(traceback.format_exception(problem))
    try:
        descriptor, path = tempfile.mkstemp(prefix="fault-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        path = "(it could not be written)"
    kind = type(problem).__name__
    return f"this is a fault of the program ({kind}: {problem}). Please report it with {path}."


@contextmanager
def _signals(statuses: list[int]) -> Iterator[None]:
    """Turn signals to end into `Stopped`, for tidying up; their exit statuses are appended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    tidy = 0.0

    def stop(number: int, frame: object) -> None:
        nonlocal tidy
        if time.monotonic() < tidy:  # a second one does not interrupt the tidying up
            return
        tidy = time.monotonic() + TIDYING_SECONDS
        statuses.append(SIGNALS[signal.Signals(number)])
        raise Stopped(statuses[-1])

    hangup = getattr(signal, "SIGHUP", None)
    outlives = hangup is not None and signal.getsignal(hangup) == signal.SIG_IGN  # nohup
    wanted = [item for item in SIGNALS if item != hangup or not outlives]
    before = {item: signal.signal(item, stop) for item in wanted}
    try:
        yield
    finally:
        for item, handler in before.items():
            # a command that was stopped may still wait for its threads
            signal.signal(item, (lambda *_: os._exit(statuses[0])) if statuses else handler)


def _open_streams() -> None:
    """Give closed streams to the null device: the next file would take their place."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _quiet_output() -> None:
    """Nobody reads the output any more: Python shall not complain when it closes it."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def workers_option(text: str) -> int | str:
    """Return the option ``--workers`` as functions take it: a number, or text as it is."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
