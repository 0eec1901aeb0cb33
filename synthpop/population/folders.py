"""Names in the folder of a population: readable, and different on every file system.

::

    out/manifest.json                            what was computed, and the hash of each part
    out/records/Vienna/part-0000.json            hash, rows and fallbacks of that part
    out/population/Vienna/part-0000.parquet      nothing but Parquet lies below ``population``
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from synthpop.microdata.formats.places import Place

FOLDER = "population"
RECORDS = "records"
MANIFEST = "manifest.json"
PART = r"part-\d{4,}"
LONGEST = 60  # bytes of the name of a stratum in a path
UNSAFE = set('<>:"/\\|?*%=[]{}')  # in paths, in patterns, and in keys of partitions
RESERVED = {"con", "prn", "aux", "nul"} | {f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10)}


def part_file(folder: str, number: int) -> str:
    """Return the file of a block within the folder of its stratum, relative to the output."""
    return f"{FOLDER}/{folder}/part-{number:04d}.parquet"


def record_path(path: Place) -> Place:
    """Return where the record of a part is."""
    root = path.parents[2]
    return root / RECORDS / path.parent.name / f"{path.stem}.json"


def stratum_folders(levels: Sequence[Any]) -> tuple[str, ...]:
    """Return the folder of each stratum, different also where small letters equal capitals.

    Signs that a path, a pattern or a partition key takes in its own way are quoted; the position
    of the stratum is appended to names that are long, empty, reserved or taken.
    """
    return _folders(tuple(map(str, levels)))


@lru_cache(maxsize=16)
def _folders(levels: tuple[str, ...]) -> tuple[str, ...]:
    names = [_readable(level) for level in levels]
    readable = [_readable(level, len(level) * 12) for level in levels]
    marked = [
        name != full or name == "" or name.casefold().partition(".")[0] in RESERVED
        for name, full in zip(names, readable, strict=True)
    ]
    while True:
        numbered = [
            f"{n}-{i}" if m else n for i, (n, m) in enumerate(zip(names, marked, strict=True))
        ]
        folded = [unicodedata.normalize("NFC", name).casefold() for name in numbered]
        counts = Counter(folded)
        clash = [counts[name] > 1 and not m for name, m in zip(folded, marked, strict=True)]
        if not any(clash):
            return tuple(numbered)
        marked = [m or c for m, c in zip(marked, clash, strict=True)]


def _readable(level: str, longest: int = LONGEST) -> str:
    """Return as many first characters of a level as have at most so many bytes when quoted."""
    text = ""
    for place, letter in enumerate(level):
        hidden = letter in "._" and place == 0  # readers of Parquet pass over such names
        cut_off = letter in ". " and place == len(level) - 1
        unsafe = letter in UNSAFE or not letter.isprintable() or hidden or cut_off
        sign = quote(letter, safe="") if unsafe else letter
        if sign == letter and unsafe:
            sign = f"%{ord(letter):02X}"
        if len((text + sign).encode()) > longest:
            break
        text += sign
    return text
