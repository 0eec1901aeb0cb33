"""Where keys stand in the text of a TOML file, so that a fault can name its line."""

from __future__ import annotations

import re
from collections.abc import Callable

Place = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_ARRAY = re.compile(
    r"^\[\[(?P<name>[^\]]+)\]\](?: (?P<number>\d+))?(?: \([^)]*\))?(?: (?P<rest>.*))?$"
)
_TABLE = re.compile(r"^\[(?P<name>[^\]]+)\](?: (?P<rest>.*))?$")


def lines_of_keys(text: str) -> dict[Place, int]:
    r"""Return the line, from 1 on, of each table and key of a TOML text."""
    lines: dict[Place, int] = {}
    table: Place = ()
    counts: dict[Place, int] = {}
    depth, quotes = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            quotes = "" if line.count(quotes) % 2 else quotes
            continue
        if not depth:
            header = _HEADER.match(line)
            if header is not None:
                table = _table(_parts(header[2]), len(header[1]) == 2, counts)
                lines.setdefault(table, number)
                continue
            key = _KEY.match(line)
            if key is not None:
                for end in range(1, len(_parts(key[1])) + 1):
                    lines.setdefault((*table, *_parts(key[1])[:end]), number)
        for mark in ('"""', "'''"):
            if line.count(mark) % 2:
                quotes = mark
        without_texts = _STRING.sub("", line).partition("#")[0]
        opened, closed = (sum(map(without_texts.count, signs)) for signs in ("[{", "]}"))
        depth = max(0, depth + opened - closed)
    return lines


def _parts(name: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(r'"[^"]*"|\'[^\']*\'|[\w-]+', name)]


def _table(parts: list[str], is_array: bool, counts: dict[Place, int]) -> Place:
    """Return the place of a header; tables below an array belong to its last entry."""
    place: Place = ()
    for part in parts[:-1]:
        place = (*place, part)
        if place in counts:
            place = (*place, counts[place] - 1)
    place = (*place, parts[-1])
    if is_array:
        counts[place] = counts.get(place, 0) + 1
        return (*place, counts[place] - 1)
    return place


def locator(text: str) -> Callable[[str], int]:
    r"""Return a function from the place that a fault names to its line; 0 where it has none."""
    lines = lines_of_keys(text)

    def line_of(where: str) -> int:
        place = _place(where)
        while place and place not in lines:
            place = place[:-1]
        return lines.get(place, 0)

    return line_of


def _place(where: str) -> Place:
    array = _ARRAY.match(where)
    if array is not None:
        number = int(array["number"] or 1) - 1
        return (*_parts(array["name"]), number, *_rest(array["rest"]))
    table = _TABLE.match(where)
    if table is not None:
        return (*_parts(table["name"]), *_rest(table["rest"]))
    return _rest(where)


def _rest(text: str | None) -> Place:
    """Return words as keys, and the number behind one as a place in a list."""
    words = re.findall(r"[\w-]+", text or "")
    return tuple(int(word) - 1 if word.isdigit() else word for word in words)
