"""Bytes of a stored file, damaged."""

from __future__ import annotations

from tests.fuzz.inputs import Maker


def altered(make: Maker, text: bytes) -> bytes:
    """Return bytes with a few of them changed, lost, doubled or put elsewhere."""
    data = bytearray(text)
    for _ in range(make.whole(1, 4)):
        if not data:
            break
        place = make.whole(0, len(data) - 1)
        kind = make.whole(0, 4)
        if kind == 0:
            data[place] = make.whole(0, 255)
        elif kind == 1:
            del data[place : place + make.whole(1, 30)]
        elif kind == 2:
            data[place:place] = data[place : place + make.whole(1, 30)]
        elif kind == 3:
            data[place:place] = make.one_of(
                [b"0", b"-", b'"', b"[", b"{", b"\n", b"\x00", b"99999999999999999999", b"nan",
                 b"\xff", b";", b",", b"1e400", b"true"]
            )  # fmt: skip
        else:
            del data[place:]
    return bytes(data)
