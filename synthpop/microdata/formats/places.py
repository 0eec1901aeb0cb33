"""Folders on a disk or in object storage: what a population needs of either, under one name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from urllib.parse import unquote

from synthpop.microdata.messages.errors import OutputError

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss")
OTHER_NAME = "Choose a name in UTF-8, and a locale with it (LC_ALL=C.UTF-8)."
ADDRESS = re.compile(
    rf"(?P<scheme>{'|'.join(SCHEMES)}):/{{1,2}}"  # a path of the system has lost one slash
    r"(?:(?P<login>[^@/]*)@)?(?P<bucket>[^/?]*)(?P<key>[^?]*)(?:[?](?P<options>.*))?"
)
NO_BUCKET = ("NO_SUCH_BUCKET", "NoSuchBucket", "bucket does not exist")
NO_ENTRY = (
    "ACCESS_DENIED", "AccessDenied", "INVALID_ACCESS_KEY_ID", "InvalidAccessKeyId",
    "SIGNATURE_DOES_NOT_MATCH", "SignatureDoesNotMatch", "HTTP status 403", "HTTP status 401",
    "Forbidden", "InvalidToken", "ExpiredToken",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BucketPath:
    """A file or folder in object storage, with the methods of `pathlib.Path` that are needed here.

    `login` (``key:secret``) and `options` (``region=...&endpoint_override=...``) are never shown.
    """

    scheme: str
    bucket: str
    parts: tuple[str, ...] = ()
    login: str = field(default="", repr=False)
    options: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.scheme}://" + "/".join((self.bucket, *self.parts))

    def __truediv__(self, other: object) -> BucketPath:
        parts = list(self.parts)
        for part in str(other).split("/"):
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part)
        return replace(self, parts=tuple(parts))

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1] if self.parts else self.bucket

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix of the last part."""
        return Path(self.name).suffix

    @property
    def parent(self) -> BucketPath:
        """The folder."""
        return replace(self, parts=self.parts[:-1])

    @property
    def parents(self) -> tuple[BucketPath, ...]:
        """The folder, the folder of it, and so on."""
        return tuple(replace(self, parts=self.parts[:n]) for n in range(len(self.parts))[::-1])

    def as_posix(self) -> str:
        """Return the address as text."""
        return str(self)

    def absolute(self) -> BucketPath:
        """Return the path itself."""
        return self

    def resolve(self) -> BucketPath:
        """Return the path itself: object storage has no links."""
        return self

    def is_relative_to(self, folder: Any) -> bool:
        """Whether the path lies in a folder."""
        return (
            isinstance(folder, BucketPath)
            and (self.scheme, self.bucket) == (folder.scheme, folder.bucket)
            and self.parts[: len(folder.parts)] == folder.parts
        )

    def relative_to(self, folder: BucketPath) -> Path:
        """Return the path from a folder."""
        if not self.is_relative_to(folder):
            raise ValueError(f"{self} is not in {folder}")
        return Path(*self.parts[len(folder.parts) :])

    def exists(self) -> bool:
        """Whether there is such an object, or one below it."""
        return bool(self._info().type.value)

    def is_dir(self) -> bool:
        """Whether objects lie below it."""
        return self._info().type.name == "Directory"

    def stat(self) -> Any:
        """Return the size of the object."""
        info = self._info()
        if info.type.name != "File":
            raise FileNotFoundError(f"{self} is not there")
        return SimpleNamespace(st_size=int(info.size))

    def mkdir(self, **_: Any) -> None:
        """Do nothing: folders are parts of names."""

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object."""
        with _faults_in_words(self):
            try:
                self.files.delete_file(self.key)
            except FileNotFoundError:
                if not missing_ok:
                    raise

    def iterdir(self) -> Iterator[BucketPath]:
        """Yield what lies directly in the folder."""
        return self._list(recursive=False)

    def rglob(self, pattern: str) -> Iterator[BucketPath]:
        """Yield the objects below whose names fit, sorted."""
        return (path for path in self._list(recursive=True) if fnmatchcase(path.name, pattern))

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open the object to read its bytes, any part of them."""
        if mode != "rb":
            raise OSError("objects are opened to read bytes only")
        with _faults_in_words(self):
            return self.files.open_input_file(self.key)

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the content of the object."""
        with _faults_in_words(self), self.files.open_input_file(self.key) as stream:
            return bytes(stream.read()).decode(encoding)

    def upload(self, draft: Path) -> None:
        """Make the content of a file the content of the object, all at once."""
        import pyarrow as pa

        size = draft.stat().st_size
        source = pa.memory_map(str(draft)) if size else pa.BufferReader(b"")
        with _faults_in_words(self), source:
            content = source.read_buffer()
            # Closing a stream publishes what it has: there is one write, so all or nothing.
            with self.files.open_output_stream(self.key) as stream:
                stream.write(content)

    @property
    def files(self) -> Any:
        """The Arrow file system."""
        with _faults_in_words(self):
            return _file_system(self.scheme, self.login, self.bucket, self.options)

    @property
    def key(self) -> str:
        """Bucket and name of the object, as the file system takes it."""
        return "/".join((self.bucket, *self.parts))

    def _info(self) -> Any:
        with _faults_in_words(self):
            return self.files.get_file_info(self.key)

    def _list(self, *, recursive: bool) -> Iterator[BucketPath]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(self.key, allow_not_found=True, recursive=recursive)
        with _faults_in_words(self):
            files = self.files.get_file_info(selector)
        for path in sorted(item.path for item in files if item.is_file or not recursive):
            yield replace(self, parts=tuple(path.split("/")[1:]))


Place = Path | BucketPath


def is_text(name: str) -> bool:
    """Return whether a name has UTF-8; names of files in other codings have none."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def place(path: Place | PathLike[str] | str, folder: Path | None = None) -> Place:
    """Return a path on a disk, or in object storage where it is an address such as ``s3://...``.

    path: ``s3://bucket/folder``, also ``gs://`` and ``abfs://``, with the options of the Arrow file
        system after a question mark: ``?region=eu-central-1``, ``?endpoint_override=host:9000``.
        Credentials come from where the tools of the storage look for them.
    folder: where relative paths on a disk start
    """
    if isinstance(path, BucketPath):
        return path
    text = fspath(path)
    if not is_text(text):
        raise OutputError(f"{text!r} cannot be written as UTF-8. {OTHER_NAME}")
    match = ADDRESS.fullmatch(text)
    if match is None:
        return Path(path) if folder is None else folder / path
    parts = tuple(part for part in unquote(match["key"]).split("/") if part not in ("", "."))
    login, options = match["login"] or "", match["options"] or ""
    return BucketPath(match["scheme"], match["bucket"], parts, login, options)


def name_below(path: Place, folder: Place) -> str:
    """Return the path from a folder to what lies in it, parts joined by slashes."""
    if isinstance(path, BucketPath) and isinstance(folder, BucketPath):
        return path.relative_to(folder).as_posix()
    if isinstance(path, Path) and isinstance(folder, Path):
        return path.relative_to(folder).as_posix()
    raise ValueError(f"{path} is not in {folder}")


def lies_below(path: Place, folder: Place) -> bool:
    """Whether a path, links and ``..`` followed, lies in a folder."""
    try:
        name_below(path.resolve(), folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, a name with a zero
        return False
    return True


def files_below(folder: Place, pattern: str = "*") -> Sequence[Place]:
    """Return the files below a folder whose names fit, sorted; none where there is no folder."""
    if isinstance(folder, BucketPath):
        return list(folder.rglob(pattern))
    return sorted(path for path in folder.rglob(pattern) if not path.is_dir())


def file_hash(path: Place) -> str:
    """Return the blake2b hash of a file's content."""
    digest = blake2b(digest_size=20)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()


def arrow_input(path: Place) -> Any:
    """Return what Arrow reads a file from: its path, or an open object."""
    return path if isinstance(path, Path) else path.open()


def arrow_dataset(paths: Sequence[Place]) -> Any:
    """Return Parquet files as one Arrow dataset."""
    import pyarrow.dataset as ds

    local = [str(path) for path in paths if isinstance(path, Path)]
    remote = [path for path in paths if isinstance(path, BucketPath)]
    if not remote:
        return ds.dataset(local, format="parquet")
    keys = [path.key for path in remote]
    return ds.dataset(keys, format="parquet", filesystem=remote[0].files)


@lru_cache(maxsize=16)
def _file_system(scheme: str, login: str, bucket: str, options: str) -> Any:
    from pyarrow.fs import FileSystem

    address = f"{scheme}://{login + '@' if login else ''}{bucket}{'?' + options if options else ''}"
    return FileSystem.from_uri(address)[0]


@contextmanager
def _faults_in_words(path: BucketPath) -> Iterator[None]:
    """Say in plain words why object storage refuses; always an OSError."""
    try:
        yield
    except FileNotFoundError:
        files = _file_system(path.scheme, path.login, path.bucket, path.options)
        if files.get_file_info(path.bucket).type.value == 0:
            raise OSError(_no_bucket(path)) from None
        raise FileNotFoundError(f"{path} is not there") from None
    except (OSError, ValueError, NotImplementedError) as problem:
        text = str(problem)
        if any(sign in text for sign in NO_BUCKET):
            raise OSError(_no_bucket(path)) from None
        if any(sign in text for sign in NO_ENTRY):
            raise PermissionError(
                f"the storage refuses the credentials for {path.scheme}://{path.bucket}, or they "
                "do not allow this"
            ) from None
        raise OSError(f"{path} cannot be reached: {text.splitlines()[0]}") from None


def _no_bucket(path: BucketPath) -> str:
    return f"there is no bucket {path.bucket}: make it first, or check its name"
