"""Private folders of projects, the names of uploads, and projects as archives."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from synthpop.app.project import FILE, Project, data_files, folder_of, load
from synthpop.app.state import STORED
from synthpop.microdata.formats.atomic import is_temporary, replacing
from synthpop.microdata.formats.disk import sync
from synthpop.microdata.formats.places import file_hash
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count

MEBI = 1024 * 1024
ARCHIVE = ".zip"
ANOTHER = "Choose one that the app has saved."


ADDRESS = "address.json"
"""File of a project's folder with the address at which its pages find the app again."""
PRIVATE = "synthpop-app-"
"""How the names of private folders begin."""


@contextmanager
def held_project(folder: Path) -> Iterator[None]:
    """Hold the folder of a project alone, without what it does not use (any more).

    These are half-written files and folders of temporary files that a killed app left, and data
    files of which the project says nothing. Raises OutputError: another app has it open.
    """
    with folder_of(folder).writing():
        for path in folder.rglob(".*.tmp"):
            if is_temporary(path, ".+"):
                path.unlink(missing_ok=True)
        for path in folder.glob("tmp*"):
            if re.fullmatch(r"tmp\w{8}", path.name):
                shutil.rmtree(path, ignore_errors=True)
        with suppress(InputError):  # of a project that cannot be read nothing goes
            folder_of(folder).keep_only({FILE, *data_files(load(folder))})
        yield


def address_of(folder: Path) -> tuple[int, str] | None:
    """Return port and token of the app that had a project before; None without one."""
    try:
        found = json.loads((folder / ADDRESS).read_text(encoding="utf-8"))
        port, token = int(found["port"]), str(found["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (port, token) if re.fullmatch(r"[\w-]{32}", token) else None


def keep_address(folder: Path, port: int, token: str) -> None:
    """Write the address into the folder of a project, for its user only."""
    with replacing(folder / ADDRESS, private=True) as draft:
        draft.write_text(json.dumps({"port": port, "token": token}), encoding="utf-8")


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
    target.touch(mode=0o600)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, project.model_dump_json(indent=1))
        for name in sorted(data_files(project)):
            if (folder / name).exists():
                archive.write(folder / name, name)


def unpack(source: Path, folder: Path, limit: int) -> Project:
    """Put the data files of an archive into the folder and return its project.

    Everything is checked in a folder beside them first: the files of the open project stay as they
    are whatever the archive holds. Raises InputError: it is no archive of a project that can be
    opened.
    """
    with TemporaryDirectory(dir=folder) as workshop:
        staging = Path(workshop)
        _extract(source, staging, limit)
        project = load(staging)
        faults = Faults("project")
        names = sorted(data_files(project))
        for name in names:
            if not (staging / name).is_file():
                faults.add("file", message("lacks the data file {name}", name=name), hint=ANOTHER)
            elif (folder / name).exists() and file_hash(folder / name) != file_hash(staging / name):
                what = message("holds another {name} than the open project", name=name)
                faults.add("file", what, hint="Open it in a new tab of the browser.")
        faults.raise_if_any()
        for name in names:
            sync(staging / name)
            (staging / name).replace(folder / name)
        sync(folder)
    return project


def _extract(source: Path, folder: Path, limit: int) -> None:
    """Write the members of an archive into a folder that holds nothing else."""
    faults = Faults("project")
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > limit:
                raise too_large(size, limit)
            if FILE not in archive.namelist():
                faults.add("file", "is not a project", hint=ANOTHER)
            for member in members:
                if member.filename != FILE and not re.fullmatch(STORED, member.filename):
                    faults.add("file", "holds files that the app does not write")
                    break
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    faults.add("file", "is packed in a way that the app does not use", hint=ANOTHER)
                    break
            faults.raise_if_any()
            for member in members:
                with archive.open(member) as stream, (folder / member.filename).open("wb") as new:
                    shutil.copyfileobj(stream, new)
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
        raise InputError.of("project", "file", "is damaged or no archive", ANOTHER) from None
