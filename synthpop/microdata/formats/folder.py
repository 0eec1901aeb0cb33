"""A folder whose files count together, on a disk or in object storage.

Populations, studies, sessions and projects of the app are such folders. Their *members* are written
whole, under names that nobody looks for yet; the *label*, a small file of text, says which members
count. It is written last and by one rename: the folder holds what it held, or all that is new. One
process at a time writes. What a killed one left half-written is removed by the next that writes,
and by whoever opens the folder while nobody writes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from synthpop.microdata.formats.atomic import is_temporary, replacing, temporary_name
from synthpop.microdata.formats.disk import make_folder, sync, write_error
from synthpop.microdata.formats.lock import LOCK, only_writer
from synthpop.microdata.formats.places import Place, file_hash, files_below, name_below
from synthpop.microdata.messages.errors import OutputError


class StoredFile(NamedTuple):
    """A file of a folder that was written whole."""

    name: str
    hash: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of one kind, with what may lie in it."""

    root: Place
    label: str
    members: tuple[str, ...]  # patterns of the names of members, below whichever folder they lie
    private: bool = False  # whether only the user may read it
    kept: str = ""  # a sentence for the message of a fault: what is still there

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Hold the folder alone and swept, before and after; yields the token of its lock.

        Raises OutputError: another process writes there, or nobody can.
        """
        with only_writer(self.root, private=self.private) as token:
            try:
                self._sweep()
                yield token
            finally:  # of workers that were killed; those that go on make new ones
                with suppress(OSError):
                    self._sweep()

    def sweep(self) -> None:
        """Remove what a killed writer left, unless somebody writes there or nobody may."""
        with suppress(OSError, OutputError):
            if self._temporaries():
                with self.writing():
                    pass

    def put(
        self, name: str, content: Callable[[Path], object] | str,
        rename: Callable[[Path], str] | None = None,
    ) -> StoredFile:  # fmt: skip
        """Write a member whole or not at all.

        content: text, or what writes it into a file
        rename: makes another name of the written file, such as one with its hash
        """
        final = name

        def named(draft: Path) -> str:
            nonlocal final
            final = name if rename is None else rename(draft)
            return final

        path = self.root / name
        with replacing(path, private=self.private, remaining=self.kept, rename=named) as draft:
            if isinstance(content, str):
                draft.write_text(content, encoding="utf-8")
            else:
                content(draft)
            digest, size = file_hash(draft), draft.stat().st_size
        return StoredFile(final, digest, size)

    def commit(self, text: str) -> None:
        """Write the label: from now on what it names counts."""
        self.put(self.label, text)

    def read(self) -> str:
        """Return the text of the label; what a killed writer left beside it is removed."""
        self.sweep()
        return (self.root / self.label).read_text(encoding="utf-8")

    def keep_only(self, named: Collection[str], below: str = "") -> None:
        """Remove members that the label does not name (any more), in a folder of members."""
        for path in files_below(self.root / below):
            if name_below(path, self.root) not in named and self._is_member(path.name):
                path.unlink(missing_ok=True)

    def strangers(self) -> list[str]:
        """Return the names of what is there and not of this kind."""
        names = [path.name for path in self.root.iterdir()]
        return sorted(n for n in names if n not in (self.label, LOCK) and not self._is_member(n))

    def _is_member(self, name: str) -> bool:
        return any(re.fullmatch(pattern, name) for pattern in self.members)

    def _temporaries(self) -> Sequence[Path]:
        if not isinstance(self.root, Path):  # objects appear whole, and nothing before them
            return ()
        names = (re.escape(self.label), *self.members)
        return [path for path in self.root.rglob(".*.tmp") if is_temporary(path, *names)]

    def _sweep(self) -> None:
        for path in self._temporaries():
            with suppress(OSError):
                path.unlink()


def current(
    data: Mapping[str, Any], newest: int, older: Mapping[int, Callable[[Any], dict[str, Any]]]
) -> dict[str, Any]:
    """Return the values of a label as the newest format has them.

    older: for each format before, what makes the next one of it
    Raises ValueError: a format that is unknown.
    """
    values = dict(data)
    while (version := values.get("format")) != newest:
        if not isinstance(version, int) or isinstance(version, bool) or version not in older:
            raise ValueError(f"format {data.get('format')} is not {newest}")
        values = {**older[version](values), "format": version + 1}
    return values


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a folder to fill that becomes `target`, a new or an empty folder, by one rename.

    Raises OutputError: it cannot be written; nothing half-written is left.
    """
    draft = target.with_name(temporary_name(target.name))
    try:
        make_folder(target.parent)
        for path in target.parent.iterdir():
            if is_temporary(path, re.escape(target.name)):
                shutil.rmtree(path, ignore_errors=True)
        draft.mkdir()
        yield draft
        for path in (*draft.rglob("*"), draft):
            sync(path)
        if target.exists() and os.name != "posix":
            target.rmdir()
        os.replace(draft, target)
        sync(target.parent)
    except OSError as problem:
        raise write_error(target, problem) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
