"""Finished repetitions of a simulation study in a folder."""

from __future__ import annotations

import io
import json
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from pathlib import Path

import pandas as pd

from synthpop.microdata.formats.folder import Folder
from synthpop.microdata.messages.errors import OutputError

FORMAT = 2
LABEL = "study.json"
MEMBERS = (r"part-\d{7,}-[0-9a-f]{16}[.]parquet",)
TEXT = ("domain", "contamination", "missing")  # labels of any plain type, kept as JSON
OBJECTS = (*TEXT, "estimator", "reason")


class StudyStore:
    """Parts of some repetitions each; nothing where `out` is None.

    A transactional folder (`formats/folder.py`). A part is a Parquet file named by its first
    repetition and by a hash of the study and of its content, so that a part of another study, a
    copy under another name and a changed file are recognised. A folder of another `identity`, the
    hash of what makes a study, is refused.
    """

    def __init__(self, out: Path | str | None, identity: str, columns: tuple[str, ...]) -> None:
        self.path = None if out is None else Path(out)
        self.identity = identity
        self.columns = columns
        if self.path is None:
            return
        self.folder = Folder(self.path, LABEL, MEMBERS, kept="Finished repetitions are kept.")
        label = self.path / LABEL
        if not label.exists():
            self.folder.commit(json.dumps({"identity": identity, "format": FORMAT}))
            return
        try:
            record = json.loads(self.folder.read())
        except (OSError, ValueError):
            record = None
        if not isinstance(record, dict):
            raise OutputError(f"{label} is damaged. Choose another folder, or remove this one.")
        if record.get("identity") != identity or record.get("format") != FORMAT:
            raise OutputError(
                f"{self.path} holds another study: its population, design, seed, functions or "
                "options differ. Choose another folder, or remove this one."
            )

    def writing(self) -> AbstractContextManager[object]:
        """Hold the folder alone while repetitions are made; see `Folder.writing`."""
        return nullcontext() if self.path is None else self.folder.writing()

    def read(self, repetitions: int) -> pd.DataFrame:
        """Return the stored rows of the wanted repetitions.

        Raises OutputError: a part was changed, or belongs to another study.
        """
        empty = pd.DataFrame(columns=list(self.columns))
        if self.path is None:
            return empty
        parts = [self._part(file) for file in sorted(self.path.glob("part-*.parquet"))]
        if not parts:
            return empty
        table = pd.concat(parts, ignore_index=True)
        return table[table["repetition"] < repetitions]

    def _part(self, file: Path) -> pd.DataFrame:
        content = file.read_bytes()
        first, _, code = file.stem.removeprefix("part-").partition("-")
        if not first.isdigit() or code != self._code(int(first), content):
            raise OutputError(f"{file} was changed, or belongs to another study. Remove it.")
        table = pd.read_parquet(io.BytesIO(content))
        for name in TEXT:
            if name in table:
                labels = [json.loads(text) for text in table[name]]
                table[name] = pd.Series(labels, dtype=object, index=table.index)
        return as_objects(table)

    def append(self, rows: pd.DataFrame) -> None:
        """Write some repetitions as a part, whole or not at all."""
        if self.path is None:
            return
        first = int(rows["repetition"].iloc[0])
        with_json = rows.assign(
            **{name: [json.dumps(label) for label in rows[name]] for name in TEXT if name in rows}
        )
        buffer = io.BytesIO()
        with_json.to_parquet(buffer)
        content = buffer.getvalue()
        name = f"part-{first:07d}-{self._code(first, content)}.parquet"
        self.folder.put(name, lambda draft: draft.write_bytes(content))

    def _code(self, first: int, data: bytes) -> str:
        return blake2b(f"{self.identity} {first} ".encode() + data, digest_size=8).hexdigest()


def as_objects(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose labels have the type object, whatever they come from."""
    return table.astype({name: object for name in OBJECTS if name in table})
