"""How large a file will be once it is read, looked up before it is: against files that explode."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from synthpop.microdata.messages.budget import check_budget, current_budget
from synthpop.microdata.messages.text import count

MEBI = 1 << 20
SMALL = 50 * MEBI  # below this size nothing is a bomb
CHUNK = 4 * MEBI
CELL = re.compile(rb"""<(?:row|c)\b[^<>]*?\br=["']([A-Z]*)(\d+)["']""")
SHEET_FACTOR, SHEET_CELL = 7, 16  # bytes of memory for a byte of a sheet's XML, and for a cell
CELL_BYTES = 8
OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open,
}  # fmt: skip


def check_size(path: Path) -> None:
    """Raise an InputError where a file would be above a limit once it is read.

    A file that is damaged passes: its reader tells what is wrong with it.
    """
    look = LOOKS.get(path.suffix.lower(), _of_text)
    try:
        look(path)
    except (OSError, BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError):
        return


def check_table(path: Path, rows: int, columns: int, memory: float) -> None:
    """Raise an InputError where a table is above a limit."""
    check_budget("columns", columns, str(path), f"has {count(columns)} columns")
    cells = rows * columns
    check_budget("cells", cells, str(path), f"has {count(cells)} cells")
    need = max(memory, cells * CELL_BYTES)
    text = f"needs about {count(need / MEBI)} MB of memory, {count(need)} bytes"
    check_budget("memory", need, str(path), text)


def _unpacked(path: Path, size: float) -> None:
    text = f"unpacks to {count(size / MEBI)} MB, {count(size)} bytes"
    check_budget("unpacked", size, str(path), text)
    if size > SMALL:
        times = size / max(path.stat().st_size, 1)
        check_budget("expansion", times, str(path), f"unpacks to {count(times)} times its size")


def _of_text(path: Path) -> None:
    with path.open("rb") as stream:
        first = stream.readline(CHUNK)
    columns = max(map(first.count, (b",", b";", b"\t", b"|"))) + 1
    check_table(path, 1, columns, 3 * path.stat().st_size)


def _of_sheet(path: Path) -> None:
    with ZipFile(path) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        _unpacked(path, size)
        rows, names = 0, {b""}
        for member in members:
            if "worksheets/" not in member.filename:
                continue
            with archive.open(member) as stream:
                rest = b""
                while chunk := stream.read(CHUNK):
                    found = CELL.findall(rest + chunk)
                    rows = max([rows, *(int(row[:9]) for _, row in found)])
                    names.update(name for name, _ in found)
                    rest = chunk[-100:]
    columns = max(map(_position, names))
    check_table(path, rows, columns, SHEET_FACTOR * size + SHEET_CELL * rows * columns)


def _position(name: bytes) -> int:
    """Return the number of a column that a sheet names by letters."""
    position = 0
    for letter in name[:4]:
        position = position * 26 + letter - 64
    return position


def _of_r(path: Path) -> None:
    with path.open("rb") as stream:
        opener = OPENERS.get(stream.read(2))
    if opener is None:
        return
    size, most = 0, current_budget()
    with opener(path) as stream:
        while size <= most.unpacked and (chunk := stream.read(CHUNK)):
            size += len(chunk)
            if size > SMALL and size > most.expansion * path.stat().st_size:
                break
    _unpacked(path, size)
    check_table(path, 0, 0, 3 * size)


def _of_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        facts = pq.read_metadata(path)
    except pa.ArrowException:
        return
    groups = range(facts.num_row_groups)
    size = sum(facts.row_group(group).total_byte_size for group in groups)
    check_table(path, facts.num_rows, facts.num_columns, size)


def _of_arrow(path: Path) -> None:
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            columns, rows, size = len(file.schema), 0, 0
            for place in range(file.num_record_batches):
                batch = file.get_batch(place)
                rows, size = rows + batch.num_rows, size + batch.nbytes
                check_table(path, rows, columns, size)
    except pa.ArrowException:
        return


LOOKS: dict[str, Callable[[Path], None]] = {
    ".xlsx": _of_sheet, ".rds": _of_r, ".rdata": _of_r, ".rda": _of_r, ".parquet": _of_parquet,
    ".arrow": _of_arrow, ".feather": _of_arrow,
    **dict.fromkeys((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"), lambda path: None),
}  # fmt: skip
"""Labelled files tell their size to `labelled.read_labelled`."""
