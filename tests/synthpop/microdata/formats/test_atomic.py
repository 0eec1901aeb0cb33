"""Files that appear whole or not at all: links, collisions, faults of the system, modes."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
from pathlib import Path

import pandas as pd
import pytest

from synthpop.microdata.formats import atomic
from synthpop.microdata.formats.atomic import is_temporary, replacing, write_text
from synthpop.microdata.formats.files import write_table
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.pages.page import write_page


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("draft", [".out.csv.tmp", ".out.csv-1-00.tmp"])
def test_a_link_with_the_name_of_a_temporary_file_is_not_followed(tmp_path, draft) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    (tmp_path / draft).symlink_to(victim)
    write_table(pd.DataFrame({"a": [1]}), tmp_path / "out.csv")
    assert victim.read_text() == "precious"
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"
    assert not (tmp_path / "out.csv").is_symlink()


def test_a_temporary_file_that_is_there_already_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda n: "0" * 2 * n)
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    draft = tmp_path / f".a.txt-{os.getpid()}-{'0' * 16}.tmp"
    draft.symlink_to(victim)
    with pytest.raises(OutputError, match="File exists"):
        write_text(tmp_path / "a.txt", "other")
    assert victim.read_text() == "precious"
    assert draft.is_symlink()  # it is not ours to remove


def test_pages_of_one_name_at_once_do_not_collide(tmp_path) -> None:
    faults = []

    def write(number: int) -> None:
        try:
            for _ in range(20):
                write_page(tmp_path / "c.html", str(number) * 1000)
        except OutputError as problem:
            faults.append(problem)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert names(tmp_path) == ["c.html"]
    assert len(set((tmp_path / "c.html").read_text())) == 1


@pytest.mark.parametrize("private", [True, False])
def test_confidential_files_are_for_the_user_only(tmp_path, private) -> None:
    before = os.umask(0o022)
    try:
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "a.parquet", private=private)
        write_page(tmp_path / "a.html", "text", private=private)
    finally:
        os.umask(before)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if private else 0o644)


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_a_failing_call_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "old")

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, call, full)
        with pytest.raises(OutputError, match=r"the disk is full\. Nothing half-written"):
            write_text(target, "new", remaining="The rest is kept.")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_file_and_folder_are_synced(tmp_path, monkeypatch) -> None:
    calls, real = [], {name: getattr(os, name) for name in ("fsync", "replace")}

    def note(name):
        def call(*arguments):
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
            calls.append("fsync folder" if folder else name)
            return real[name](*arguments)

        return call

    for name in real:
        monkeypatch.setattr(atomic.os, name, note(name))
    write_text(tmp_path / "a.txt", "text")
    assert calls == ["fsync", "replace", "fsync folder"]


def test_names_that_the_system_does_not_take(tmp_path) -> None:
    for name in ("a" * 300, "a\0b"):
        with pytest.raises(OutputError, match="cannot write"):
            write_text(tmp_path / name, "text")
    write_text(tmp_path / ("b" * 240), "text")
    assert names(tmp_path) == ["b" * 240]


def test_columns_that_a_file_cannot_hold(tmp_path) -> None:
    mixed = pd.DataFrame({"a": [1, "x", (2,)]}, dtype=object)
    with pytest.raises(OutputError, match=r"cannot write .*Turn the column into text"):
        write_table(mixed, tmp_path / "a.parquet")
    assert names(tmp_path) == []


def test_formulas_are_quoted_where_asked_for(tmp_path) -> None:
    frame = pd.DataFrame({"=name": ["=1+1", "@x", "-3", "plain", None], "n": [-1, 2, 3, 4, 5]})
    write_table(frame, tmp_path / "plain.csv")
    write_table(frame, tmp_path / "safe.csv", safe_csv=True)
    assert "\n=1+1,-1\n" in (tmp_path / "plain.csv").read_text()
    lines = (tmp_path / "safe.csv").read_text().splitlines()
    assert lines == ["'=name,n", "'=1+1,-1", "'@x,2", "'-3,3", "plain,4", ",5"]


def test_an_error_of_the_writer_itself_comes_through(tmp_path) -> None:
    with pytest.raises(ValueError, match="mine"), replacing(tmp_path / "a"):
        raise ValueError("mine")
    assert names(tmp_path) == []


def test_example_of_replacing() -> None:
    target = Path(tempfile.mkdtemp()) / "table.txt"
    with replacing(target) as draft:
        _ = draft.write_text("whole")
    assert (target.read_text(), [item.name for item in target.parent.iterdir()]) == (
        "whole",
        ["table.txt"],
    )


def test_example_of_is_temporary() -> None:
    assert is_temporary(
        Path(".part-0001.parquet-17-0123456789abcdef.tmp"), r"part-[0-9]+[.]parquet"
    )
