"""One writer in a folder: a lock that the operating system gives back when its holder dies."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from synthpop.microdata.formats.disk import make_folder, try_lock, write_error
from synthpop.microdata.formats.places import BucketPath, Place
from synthpop.microdata.messages.errors import OutputError, reason_of

LOCK = ".lock"
ATTEMPTS = 10


@contextmanager
def only_writer(root: Place, *, private: bool = False) -> Iterator[str]:
    """Hold the lock of a folder, which is made where it is not there (for the user alone: private).

    The lock ends with the process, however it ends, so that the lock file of a dead process is
    simply taken over. Yields a token that the lock file holds: a worker elsewhere that reads it
    there (`shares_folder`) sees the same folder. Object storage has no locks: there the last
    process that began holds the folder, and all others find out by `shares_folder` at their next
    block. What they wrote is whole, and of the same run.

    Raises OutputError: another process holds it, or the folder cannot be written.
    """
    if isinstance(root, BucketPath):
        with _last_writer(root / LOCK) as token:
            yield token
        return
    path = root / LOCK
    try:
        make_folder(root, 0o700 if private else 0o777)
        token = secrets.token_hex(8)
        descriptor = _open_locked(path, token)
    except (OSError, ValueError) as problem:
        what = f"cannot write {root}: {reason_of(problem)}. Choose another folder."
        raise OutputError(what) from None
    if descriptor is None:
        raise OutputError(
            f"another process is writing here: {root}{_holder(path)}. "
            "Wait until it has ended, or choose another folder."
        )
    try:
        yield token
    finally:
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(descriptor)
            with suppress(OSError):
                path.unlink()
        else:  # removed while it is held: nobody can hold the removed file and believe in it
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)


@contextmanager
def _last_writer(path: BucketPath) -> Iterator[str]:
    """Hold a folder in object storage until another writer begins there."""
    token = secrets.token_hex(8)
    with private_folder("synthpop-upload-") as folder:
        draft = folder / "lock"
        draft.write_text(f"{os.getpid()} {token}", encoding="utf-8")
        try:
            path.upload(draft)
        except OSError as problem:
            raise write_error(path, problem) from None
    try:
        yield token
    finally:
        with suppress(OSError):
            if token in path.read_text().split():
                path.unlink()


def check_holder(root: Place, token: str) -> None:
    """Raise an OutputError where this process does not see the folder of its run as its own."""
    if shares_folder(root, token):
        return
    if isinstance(root, BucketPath):
        raise OutputError(
            f"another process has begun to write to {root}: this one stops. Finished blocks are "
            "kept, and used where it is the same run."
        )
    raise OutputError(
        f"a worker does not see {root} as the folder of this run. Workers write the "
        "blocks themselves: choose a folder on storage that all of them share."
    )


def shares_folder(root: Place, token: str) -> bool:
    """Return whether this process sees the folder whose writer holds the token."""
    try:
        return token in (root / LOCK).read_text(encoding="utf-8").split()
    except OSError:
        return False


def _open_locked(path: Path, token: str) -> int | None:
    """Return the open lock file, or None where another process holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not try_lock(descriptor):
            os.close(descriptor)
            return None
        try:
            is_same_file = os.path.samestat(os.fstat(descriptor), path.stat())
        except FileNotFoundError:
            is_same_file = False
        if is_same_file:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()} {token}".encode())
            return descriptor
        os.close(descriptor)  # its last holder removed the file between our two steps


def _holder(path: Path) -> str:
    try:
        number = path.read_text(encoding="utf-8").partition(" ")[0]
    except OSError:
        return ""
    return f" (process {number})" if number.isdigit() else ""


@contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """Give a folder for temporary files that only the user may enter; it is removed at the end.

    Those of processes that were killed are removed first: nobody holds their lock.
    """
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError, OutputError):
            if (path / LOCK).is_file():
                with only_writer(path):
                    shutil.rmtree(path, ignore_errors=True)
    with ExitStack() as held:
        for attempt in range(1, ATTEMPTS + 1):
            root = Path(tempfile.mkdtemp(prefix=prefix))  # mode 0700
            held.callback(shutil.rmtree, root, ignore_errors=True)
            try:
                held.enter_context(only_writer(root))
                break
            except OutputError:  # another thread took it for that of a killed process
                if attempt == ATTEMPTS:
                    raise
        yield root
