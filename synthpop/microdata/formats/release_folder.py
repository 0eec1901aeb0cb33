"""The folder that may leave the house: a list of what it holds, and nothing that is not on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synthpop.microdata.formats.folder import new_folder
from synthpop.microdata.formats.hashed import with_hash
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.version import __version__

CONTENTS, VERDICT, DICTIONARY, PAGE = "contents.json", "verdict.json", "dictionary.csv", "page.html"
PASSPORTS: list[Callable[[Path, Mapping[str, Any]], None]] = []
"""What describes a release to machines and catalogues: each is given the folder, whose files are
complete, and the facts of the release, and writes its own files there."""


def write_release(target: Path, write: Callable[[Path], Mapping[str, Any]]) -> Path:
    """Write a release into a new folder: staged beside it and put there by one rename.

    write: fills a folder and returns what the list of contents says of it
    Raises OutputError: the folder is there and not empty, or cannot be written; then nothing is.
    """
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise OutputError(f"{target} exists already. Choose another folder with --to.")
    with new_folder(target) as draft:
        facts = write(draft)
        for passport in PASSPORTS:
            passport(draft, facts)
        files = {
            path.relative_to(draft).as_posix(): {
                "sha256": _sha256(path),
                "bytes": path.stat().st_size,
            }
            for path in sorted(draft.rglob("*"))
            if path.is_file()
        }
        text = json.dumps(
            with_hash({**facts, "software": __version__, "files": files}),
            indent=1,
            ensure_ascii=False,
        )
        (draft / CONTENTS).write_text(text + "\n", encoding="utf-8")
    return target


def write_verdict(
    folder: Path, verdict: Mapping[str, object], rows: Sequence[Mapping[str, str]],
    notes: Sequence[str],
) -> None:  # fmt: skip
    """Write the verdict on the file, what the page judges (what, word, reason), and notes."""
    names = ("what", "word", "reason")
    judged = [{name: row[name] for name in names if name in row} for row in rows]
    content = {**verdict, "judged": judged, "notes": list(notes)}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / VERDICT).write_text(text + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
