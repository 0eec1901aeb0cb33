"""What files and folders need of the system: names that last, locks, faults in words."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import OutputError, reason_of


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it where they are missing; their names are on the disk then."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True, mode=mode)
    for folder in missing:
        sync(folder.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Return whether no other process holds the file; it is held until it is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # behind the text, which others may read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks: unique temporary names must do
        return True
    return True


def write_error(path: Place, problem: Exception, remaining: str = "") -> OutputError:
    """Return the error of a file that cannot be written, with a hint what to do."""
    reason, hint = reason_of(problem), "Check the folder and run again."
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT):
        reason, hint = "the disk is full", "Make room and run again."
    text = f"cannot write {path}: {reason}. Nothing half-written was left. {hint} {remaining}"
    return OutputError(text.rstrip())
