"""Private folders of projects, the names of uploads, and projects as archives."""

from __future__ import annotations

import re
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from synthpop.app.project import FILE, Project, load
from synthpop.app.state import STORED
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count

MEBI = 1024 * 1024
ARCHIVE = ".zip"


@contextmanager
def private_root() -> Iterator[Path]:
    """Give a folder that only the user may enter; it is removed at the end."""
    root = Path(mkdtemp(prefix="synthpop-app-"))  # mode 0700
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def new_folder(root: Path, key: str) -> Path:
    """Return a new private folder for a tab."""
    folder = root / key
    folder.mkdir(mode=0o700)
    return folder


def new_key() -> str:
    """Return a name that nobody guesses."""
    return secrets.token_hex(16)


def stored_name(name: str) -> str:
    """Return the name under which an upload is stored: random, with the ending of its format.

    Raises InputError: files of this format are not read.
    """
    from synthpop.microdata.formats.files import READERS

    suffix = Path(name).suffix.lower()
    if suffix not in (*READERS, ARCHIVE, ".toml"):
        what = message("files of type {suffix} are not read", suffix=suffix or "(none)")
        raise InputError.of(
            "upload", "file", what, message("Choose one of {names}.", names=", ".join(READERS))
        )
    return f"data-{secrets.token_hex(8)}{suffix}"


def too_large(size: int, limit: int) -> InputError:
    """Return the error of an upload that is too large."""
    what = message(
        "has {n} MB, more than {limit} MB", n=count(size / MEBI), limit=count(limit / MEBI)
    )
    hint = "Start the app with a larger --upload-limit, or leave out columns."
    return InputError.of("upload", "file", what, hint)


def pack(project: Project, folder: Path, target: Path) -> None:
    """Write the project and its data files into an archive."""
    names = [item.name for item in folder.iterdir() if re.fullmatch(STORED, item.name)]
    data_files = [name for name in names if name in project.model_dump_json(exclude={"record"})]
    target.touch(mode=0o600)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, project.model_dump_json(indent=1))
        for name in data_files:
            archive.write(folder / name, name)


def unpack(source: Path, folder: Path, limit: int) -> Project:
    """Put the files of an archive into the folder and return its project, or raise InputError."""
    faults = Faults("project")
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > limit:
                raise too_large(size, limit)
            if FILE not in archive.namelist():
                faults.add("file", "is not a project", hint="Choose one that the app has saved.")
            for member in members:
                if member.filename != FILE and not re.fullmatch(STORED, member.filename):
                    faults.add("file", "holds files that the app does not write")
                    break
            faults.raise_if_any()
            for member in members:
                with archive.open(member) as stream, (folder / member.filename).open("wb") as new:
                    shutil.copyfileobj(stream, new)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        what, hint = "is damaged or no archive", "Choose one that the app has saved."
        raise InputError.of("project", "file", what, hint) from None
    return load(folder)
