"""A dictionary of variables as a table that people edit: pairs of codes and labels as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_CODE = r'"(?:[^"\\]|\\.)*"|[^;=\s"]+'
_LABEL = r'"(?:[^"\\]|\\.)*"|[^;"]*'
_PAIR = re.compile(rf"\s*(?P<code>{_CODE})\s*(?:=\s*(?P<label>{_LABEL}))?\s*(?:;|$)")
_RANGE = re.compile(r"\s*(?P<low>\S+) to (?P<high>[^;\s]+)\s*(?:;|$)")


def pairs_text(pairs: Iterable[tuple[Any, str]], ranges: Sequence[tuple[Any, Any]] = ()) -> str:
    """Return codes and labels as text: "1 = male; 2 = female", ranges as "-9 to -7".

    Texts that would be read otherwise stand in double quotes, as in JSON.
    """
    texts = [_code(code) if not label else f"{_code(code)} = {_label(label)}"
             for code, label in pairs]  # fmt: skip
    return "; ".join([*texts, *(f"{low} to {high}" for low, high in ranges)])


def read_pairs(text: str) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the pairs and the ranges that `pairs_text` wrote; a ValueError for any other text."""
    pairs: list[list[Any]] = []
    ranges: list[list[Any]] = []
    place = 0
    while text[place:].strip():
        match = _RANGE.match(text, place)
        if match is not None:
            ends = [_number(match[name]) for name in ("low", "high")]
            if not any(isinstance(end, str) for end in ends):
                ranges.append(ends)
                place = match.end()
                continue
        match = _PAIR.match(text, place)
        if match is None:
            raise ValueError(f"{text[place:].strip()!r} is not a code and label; write 1 = male")
        code, label = match["code"], (match["label"] or "").strip()
        pairs.append([_unquoted(code) if code[0] == '"' else _number(code), _unquoted(label)])
        place = match.end()
    return pairs, ranges


def _code(code: Any) -> str:
    if not isinstance(code, str):
        return repr(code)
    is_bare = re.fullmatch(r'[^;=\s"]+', code) and isinstance(_number(code), str)
    return code if is_bare else json.dumps(code, ensure_ascii=False)


def _label(label: str) -> str:
    is_bare = label == label.strip() and not re.search(r'[;"\x00-\x1f\x7f-\x9f\u2028\u2029]', label)
    return label if is_bare else json.dumps(label)


def _unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
