"""However a command ends: one message, the right status, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

import pytest

import riskeval.cli
import synthpop.cli
from synthpop.microdata.formats.places import place
from synthpop.microdata.messages.errors import OutputError, RunFileError
from synthpop.microdata.runs import command as command_module
from synthpop.microdata.runs.command import (
    SIGNALS,
    Stopped,
    _signals,
    guarded,
    keep_sources,
    workers_option,
)
from synthpop.microdata.version import __version__
from tests.console import call


def started(code: str) -> subprocess.Popen[str]:
    """Start Python in a process of its own, which prints "ready"."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def failing(problem: BaseException):
    def application() -> None:
        raise problem

    return application


@pytest.mark.parametrize(
    ("problem", "status", "message"),
    [
        (OutputError("the disk is full"), 1, "tool: the disk is full\n"),
        (KeyboardInterrupt(), 130, "tool: stopped. Blocks are kept.\n"),
        (MemoryError(), 1, "tool: out of memory. Use fewer workers"),
        (PermissionError(13, "Permission denied", "a.csv"), 1, "tool: a.csv: Permission denied."),
        (ImportError("libx.so: failed to map"), 1, "failed to map. Is memory limited (ulimit -v)"),
        (OSError("Could not load shared object file."), 1, "file. Is memory limited (ulimit -v)"),
        (
            UnicodeEncodeError("utf-8", "s\udcf6", 1, 2, "no"),
            1,
            "a name of a file is not text: 's\\udc",
        ),
        (
            UnicodeEncodeError("ascii", "sö", 1, 2, "no"),
            1,
            "this is a fault of the program (Unicode",
        ),
        (RecursionError("too deep"), 1, "tool: this is a fault of the program (RecursionError"),
        (ZeroDivisionError("oh"), 1, "(ZeroDivisionError: oh). Please report it with "),
    ],
)
def test_every_end_is_a_message_and_a_status(capsys, problem, status, message) -> None:
    with pytest.raises(SystemExit) as end:
        guarded(failing(problem), "tool", "Blocks are kept.")
    assert end.value.code == status
    text = capsys.readouterr().err
    assert message in text
    assert "Traceback" not in text
    assert text.count("\n") == 1


def test_the_traceback_of_a_fault_is_in_a_file(capsys) -> None:
    with pytest.raises(SystemExit):
        guarded(failing(ZeroDivisionError("oh")), "tool")
    path = Path(capsys.readouterr().err.rpartition("report it with ")[2].strip().rstrip("."))
    assert "ZeroDivisionError: oh" in path.read_text()
    path.unlink()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_with_a_message_after_tidying_up(number, status) -> None:
    code = (
        "import sys, time\n"
        "from synthpop.microdata.runs.command import guarded\n"
        "def work():\n"
        "    try:\n"
        "        print('ready', flush=True); time.sleep(60)\n"
        "    finally:\n"
        "        print('tidy', flush=True)\n"
        "guarded(work, 'tool', 'Blocks are kept.')\n"
    )
    process = started(code)
    os.kill(process.pid, number)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output) == (status, "tidy\n")
    assert errors == "tool: stopped. Blocks are kept.\n"


def test_streams_that_are_closed_are_opened(monkeypatch) -> None:
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, None)
    guarded(lambda: print("hello", file=sys.stderr), "tool")
    assert {sys.stdout.mode, sys.stderr.mode} == {"w"}
    sys.stdout.close()
    sys.stderr.close()


def test_too_few_addresses_are_refused(monkeypatch, tmp_path) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (700_000_000, resource.RLIM_INFINITY))
    done = call(synthpop.cli.main, "verify", "p", cwd=tmp_path)
    assert "ulimit -v: allows 0.7 GB of addresses" in done.stderr


def test_a_folder_in_another_coding_is_refused() -> None:
    with pytest.raises(OutputError, match=r"'K.udcf6ln' cannot be written as UTF-8"):
        place(b"K\xf6ln".decode("utf-8", "surrogateescape"))


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    guarded(lambda: None, "tool")
    assert signal.getsignal(signal.SIGTERM) is before


def test_workers_are_numbers_or_text() -> None:
    texts = ["4", "processes:2", "9" * 5000, "\u0664"]
    assert [workers_option(text) for text in texts] == [4, *texts[1:]]


# what both command lines look like


@pytest.mark.parametrize("main", [synthpop.cli.main, riskeval.cli.main])
@pytest.mark.parametrize("option", ["-h", "--help", "-V", "--version"])
def test_help_and_version(main, option, tmp_path) -> None:
    done = call(main, option, cwd=tmp_path)
    assert done.returncode == 0
    expected = "Commands:" if option in ("-h", "--help") else __version__
    assert expected in done.stdout


def test_help_shows_brackets_and_no_option_without_effect(tmp_path) -> None:
    text = call(synthpop.cli.main, "calibrate", "-h", cwd=tmp_path).stdout
    assert "with [survey] and [calibrate]" in " ".join(text.split())
    for main, command in [(synthpop.cli.main, "calibrate"), (riskeval.cli.main, "assess")]:
        text = call(main, command, "-h", cwd=tmp_path).stdout
        assert "no effect" not in text
        assert "--seed" not in text
        done = call(main, command, "run.toml", "--seed", 1, cwd=tmp_path)
        assert done.returncode == 2
        assert "No such option: --seed" in done.stderr


@pytest.mark.parametrize("package", ["synthpop", "riskeval"])
def test_packages_can_be_run(package, tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", package, "-V"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == __version__


def test_files_that_are_read_are_never_written(tmp_path) -> None:
    source = tmp_path / "a.csv"
    keep_sources("tool", [source], [tmp_path / "b.csv"])
    with pytest.raises(RunFileError, match="would be lost"):
        keep_sources("tool", [source], [tmp_path / "x" / ".." / "a.csv"])


@pytest.mark.parametrize("cli", [synthpop.cli, riskeval.cli], ids=["synthpop", "riskeval"])
def test_every_command_has_an_example_and_the_common_options(cli, tmp_path) -> None:
    commands = [item.name or item.callback.__name__ for item in cli.app.registered_commands]
    assert {"export", "schema", "init", "app"} <= set(commands)
    for command in commands:
        text = call(cli.main, command, "-h", cwd=tmp_path).stdout
        assert f"{cli.__name__.partition('.')[0]} {command} " in text, command
        assert all(option in text for option in ("--quiet", "--verbose", "--json")), command
        assert "Example" in text, command


@pytest.mark.parametrize("cli", [synthpop.cli, riskeval.cli], ids=["synthpop", "riskeval"])
def test_completion_can_be_installed(cli, tmp_path) -> None:
    assert "--install-completion" in call(cli.main, "--help", cwd=tmp_path).stdout


def test_bars_start_and_stop_with_their_jobs() -> None:
    import io

    from rich.console import Console

    from synthpop.microdata.messages.events import Event
    from synthpop.microdata.runs.output import Bars

    stream = io.StringIO()
    bars = Bars(Console(file=stream, force_terminal=True, width=100))
    for done in (0, 1, 2):
        bars(Event("progress", "fit", done, 2, "age"))
    assert bars.tasks == {}  # every job is done: the bars have stopped
    bars(Event("progress", "simulate", 0, 2, "north"))
    assert list(bars.tasks) == ["simulate"]
    bars.close()
    assert "fit" in stream.getvalue()
    assert "2/2" in stream.getvalue()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no such signal here")
def test_a_signal_inside_a_callback_of_an_event_loop_ends_the_loop() -> None:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        pytest.skip("nohup has switched the signal off")

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGHUP)
        await asyncio.sleep(5)

    statuses: list[int] = []
    with pytest.raises(Stopped) as stopped, handlers_put_back(), _signals(statuses):
        asyncio.run(wait())
    assert [stopped.value.status] == statuses == [129]


@contextmanager
def handlers_put_back():
    before = {item: signal.getsignal(item) for item in SIGNALS}
    yield
    for item, handler in before.items():
        signal.signal(item, handler)


def raise_what_compiled_code_makes_of_a_signal() -> None:
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    except SystemExit as problem:
        raise SystemError("returned a result with an exception set") from problem


def test_a_signal_inside_of_compiled_code_ends_as_any_other(capsys) -> None:
    with pytest.raises(SystemExit) as end, handlers_put_back():
        guarded(raise_what_compiled_code_makes_of_a_signal, "tool", "Blocks are kept.")
    assert end.value.code == 143
    assert capsys.readouterr().err == "tool: stopped. Blocks are kept.\n"


def swallow_a_signal_and_wait() -> None:
    with suppress(SystemExit):  # as a callback of a library does
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


def test_a_second_signal_counts_where_the_first_was_swallowed(capsys, monkeypatch) -> None:
    monkeypatch.setattr(command_module, "TIDYING_SECONDS", 0.0)
    with pytest.raises(SystemExit) as end, handlers_put_back():
        guarded(swallow_a_signal_and_wait, "tool")
    assert end.value.code == 130


def test_a_second_signal_ends_a_command_that_waits_for_its_threads() -> None:
    code = (
        "import sys, threading, time\n"
        "from synthpop.microdata.runs.command import guarded\n"
        "def work():\n"
        "    threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "    print('ready', flush=True); time.sleep(60)\n"
        "guarded(work, 'tool')\n"
    )
    process = started(code)
    assert process.stderr is not None
    os.kill(process.pid, signal.SIGINT)
    assert process.stderr.readline() == "tool: stopped.\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert process.communicate() == ("", "")


@pytest.mark.parametrize("package", ["synthpop", "riskeval"])
def test_a_command_can_be_stopped_while_it_is_imported(package, monkeypatch, capsys) -> None:
    def stopped(name: str) -> None:
        assert name == f"{package}.cli"
        raise KeyboardInterrupt

    monkeypatch.setattr("synthpop.microdata.runs.start.import_module", stopped)
    with pytest.raises(SystemExit) as end:
        import_module(f"{package}.__main__").main()
    assert end.value.code == 130
    assert capsys.readouterr().err == f"{package}: stopped.\n"
