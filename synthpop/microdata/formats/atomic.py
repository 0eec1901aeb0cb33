"""Files that appear whole or not at all, whoever else writes there and whenever the power fails."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synthpop.microdata.formats.disk import make_folder, sync, try_lock, write_error
from synthpop.microdata.formats.lock import private_folder
from synthpop.microdata.formats.places import BucketPath, Place

SWEPT = 20  # attempts to hold a file before somebody sweeps it
LONGEST_NAME = 100  # characters of the final name that the temporary one repeats
TEMPORARY = re.compile(r"\.(?P<name>.+)-\d+-[0-9a-f]{16}\.tmp", re.DOTALL)
PRIVATE, SHARED = 0o600, 0o666  # the second one is narrowed by the umask


@contextmanager
def replacing(
    path: Place | str, *, private: bool = False, remaining: str = "",
    rename: Callable[[Path], str] | None = None,
) -> Iterator[Path]:  # fmt: skip
    """Give a temporary file to write; what it holds at the end becomes `path`.

    private: only the user may read the file (mode 0600); for confidential data
    remaining: a sentence for the message of a fault: what is still there
    rename: makes another name than that of `path` of what was written
    Yields an empty file beside `path`, whose folder is made where it is missing. Its name is
        random and it is made with ``O_EXCL`` and ``O_NOFOLLOW``: no link that somebody laid is
        followed, and two writers of one name do not meet. File and folder are on the disk (fsync)
        when this returns. In object storage the file becomes the object in one piece.
    Raises OutputError: the file cannot be written; `path` is as it was, and nothing else is left.
    """
    if isinstance(path, BucketPath):
        with _uploading(path, remaining, rename) as draft:
            yield draft
        return
    target = Path(path)
    draft = target.with_name(temporary_name(target.name))
    descriptor, created = -1, False
    try:
        make_folder(target.parent)
        if rename is None:  # a folder sweeps by itself
            _sweep_one(target)
        descriptor = _created(draft, PRIVATE if private else SHARED)
        created = True
        if os.name != "posix":  # there an open file cannot be renamed
            os.close(descriptor)
        yield draft
        if rename is not None:
            target = target.with_name(rename(draft))
        sync(draft)
        os.replace(draft, target)
        created = False
        sync(target.parent)
    except (OSError, ValueError) as problem:
        if isinstance(problem, ValueError) and "null" not in str(problem):
            raise
        raise write_error(target, problem, remaining) from None
    finally:
        if descriptor >= 0 and os.name == "posix":
            os.close(descriptor)
        if created:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _created(draft: Path, mode: int) -> int:
    """Make a file and hold it; once more where another writer swept it before it was held."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    attempt = 0
    while True:
        descriptor, attempt = os.open(draft, flags, mode), attempt + 1
        held = try_lock(descriptor) and draft.exists()
        if held or os.name != "posix" or attempt == SWEPT:
            return descriptor
        os.close(descriptor)
        with suppress(OSError):
            draft.unlink()


def _sweep_one(target: Path) -> None:
    """Remove what killed writers of a file left: nobody holds it any more."""
    for path in target.parent.glob(".*.tmp"):
        known = is_temporary(path, re.escape(target.name[:LONGEST_NAME]))
        if os.name == "posix" and known:
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
                try:
                    if try_lock(descriptor):
                        path.unlink()
                finally:
                    os.close(descriptor)


@contextmanager
def _uploading(
    target: BucketPath, remaining: str, rename: Callable[[Path], str] | None
) -> Iterator[Path]:
    """Give a temporary file to write; what it holds at the end becomes the object."""
    with private_folder("synthpop-upload-") as folder:
        draft = folder / "draft"
        try:
            draft.touch()
            yield draft
            if rename is not None:
                target = target.parent / rename(draft)
            target.upload(draft)
        except OSError as problem:
            raise write_error(target, problem, remaining) from None


def write_text(path: Place | str, text: str, *, private: bool = False, remaining: str = "") -> None:
    """Write a text file (UTF-8) whole or not at all; see `replacing`."""
    with replacing(path, private=private, remaining=remaining) as draft:
        draft.write_text(text, encoding="utf-8")


def temporary_name(name: str) -> str:
    """Return a name that no other writer has; `is_temporary` knows it."""
    return f".{name[:LONGEST_NAME]}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def is_temporary(path: Place, *names: str) -> bool:
    """Return whether a killed writer of a file with one of these names (patterns) left this one."""
    match = TEMPORARY.fullmatch(path.name)
    return match is not None and any(re.fullmatch(name, match["name"]) for name in names)


def relative_path(file: Path, folder: Path) -> str:
    """Return the path from a folder to a file; the absolute path where they share no drive."""
    try:
        return os.path.relpath(file, folder)
    except ValueError:
        return str(file.resolve())
