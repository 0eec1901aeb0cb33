"""One writer in a folder: a lock that the operating system gives back when its holder dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synthpop.microdata.errors import OutputError

LOCK = ".lock"


@contextmanager
def only_writer(root: Path) -> Iterator[None]:
    """Hold the lock of a folder; the folder is made where it is not there.

    The lock ends with the process, however it ends, so that a lock file which a dead process left
    is simply taken over.

    Raises
    ------
    OutputError
        Another process holds it, or the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with only_writer(folder):
    ...     [path.name for path in folder.iterdir()]
    ['.lock']
    >>> list(folder.iterdir())
    []
    """
    path = root / LOCK
    try:
        root.mkdir(parents=True, exist_ok=True)
        held = _open_locked(path)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise OutputError(f"cannot write {root}: {reason}. Choose another folder.") from None
    if held is None:
        raise OutputError(
            f"another process is writing here: {root}{_holder(path)}. "
            "Wait until it has ended, or choose another folder."
        )
    try:
        yield
    finally:
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(held)
            with suppress(OSError):
                path.unlink()
        else:  # removed while it is held: nobody can hold the removed file and believe in it
            with suppress(OSError):
                path.unlink()
            os.close(held)


def _open_locked(path: Path) -> int | None:
    """Return the open lock file, or None where another process holds it."""
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(held):
            os.close(held)
            return None
        try:
            same = os.path.samestat(os.fstat(held), path.stat())
        except FileNotFoundError:
            same = False
        if same:
            os.ftruncate(held, 0)
            os.write(held, str(os.getpid()).encode())
            return held
        os.close(held)  # its last holder removed the file between our two steps


def _lock(held: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(held, 1 << 20, os.SEEK_SET)  # behind the text, which others may read
            msvcrt.locking(held, msvcrt.LK_NBLCK, 1)
            os.lseek(held, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks: unique temporary names must do
        return True
    return True


def _holder(path: Path) -> str:
    try:
        number = path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    return f" (process {number})" if number.isdigit() else ""
