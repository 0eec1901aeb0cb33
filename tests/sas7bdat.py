"""Writes a small SAS data set, since no library does; tests read it.

The layout is that of the description by Shotwell (The sas7bdat file format, 2013): little endian,
32 bits, no compression, everything on one page.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEADER_SIZE, PAGE_SIZE = 1024, 8192
MAGIC = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
MISSING = bytes.fromhex("0000000000feffff")
ROW_SIZE, COLUMN_SIZE = b"\xf7" * 4, b"\xf6" * 4
TEXT, NAMES = b"\xfd\xff\xff\xff", b"\xff\xff\xff\xff"
ATTRIBUTES, FORMAT = b"\xfc\xff\xff\xff", b"\xfe\xfb\xff\xff"


@dataclass(frozen=True)
class Column:
    """A column of numbers, or of texts where `width` is given.

    None is missing, among numbers "A" is the special missing value .A.
    """

    name: str
    values: Sequence[float | str | None]
    label: str = ""
    format: str = ""
    width: int = 0

    def cell(self, row: int) -> bytes:
        value = self.values[row]
        if self.width:
            return str(value or "").encode().ljust(self.width)[: self.width]
        if isinstance(value, str):
            return MISSING[:5] + bytes([0xFD - ord(value) + ord("A")]) + MISSING[6:]
        return MISSING if value is None else struct.pack("<d", value)


def write_sas7bdat(path: Path, columns: Sequence[Column]) -> None:
    """Write a data set of a few rows and columns."""
    sizes = [column.width or 8 for column in columns]
    n = len(columns[0].values)
    text = bytearray(struct.pack("<H", 0).ljust(24, b"\0"))  # the beginning belongs to the file
    places: list[list[tuple[int, int, int]]] = []
    for column in columns:
        places.append([])
        for part in (column.name, column.format, column.label):
            places[-1].append((0, len(text), len(part.encode())))
            text += part.encode()
            text += bytes(-len(text) % 4)
    text[:2] = struct.pack("<H", len(text))
    row_size = bytearray(ROW_SIZE.ljust(480, b"\0"))
    for place, value in ((20, sum(sizes)), (24, n), (36, len(columns)), (60, n)):
        struct.pack_into("<i", row_size, place, value)
    names = struct.pack("<4sH6x", NAMES, 8 * len(columns) + 8)
    names += b"".join(struct.pack("<HHHxx", *place[0]) for place in places) + bytes(8)
    attributes = struct.pack("<4sH6x", ATTRIBUTES, 12 * len(columns) + 8)
    for j, column in enumerate(columns):
        kind = 2 if column.width else 1
        attributes += struct.pack("<iiHBx", sum(sizes[:j]), sizes[j], 4, kind)
    headers = [
        bytes(row_size), struct.pack("<4si4x", COLUMN_SIZE, len(columns)),
        TEXT + bytes(text) + bytes(8),
        names, attributes + bytes(8),
        *(FORMAT + bytes(30) + struct.pack("<6H", *place[1], *place[2]) + bytes(6)
          for place in places),
    ]  # fmt: skip
    page = bytearray(PAGE_SIZE)
    struct.pack_into("<HHH", page, 16, 0x200, n + len(headers), len(headers))
    end = PAGE_SIZE
    for j, header in enumerate(headers):
        end -= len(header)
        page[end : end + len(header)] = header
        struct.pack_into("<iiBB", page, 24 + 12 * j, end, len(header), 0, 0)
    rows = b"".join(column.cell(row) for row in range(n) for column in columns)
    begin = 24 + 12 * len(headers)
    begin += begin % 8
    assert begin + len(rows) <= end
    page[begin : begin + len(rows)] = rows
    head = bytearray(HEADER_SIZE)
    for place, value in ((0, MAGIC), (32, b'"\0\0"\0\x01\x001'), (84, b"SAS FILEDATA"),
                         (156, b"DATA    "), (216, b"9.0401M6")):  # fmt: skip
        head[place : place + len(value)] = value
    head[70] = 20  # UTF-8
    struct.pack_into("<iii", head, 196, HEADER_SIZE, PAGE_SIZE, 1)
    path.write_bytes(bytes(head + page))
