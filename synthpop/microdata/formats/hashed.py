"""Stored values that know their own hash, so that damage is never read as other data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

KEY = "hash"


def content_hash(data: Any) -> str:
    """Return the blake2b hash of plain values, independent of the layout of their JSON."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def with_hash(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values as JSON gives them back, and the hash of all of them."""
    plain = json.loads(json.dumps(dict(data)))
    return {**plain, KEY: content_hash(plain)}


def without_hash(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that `with_hash` was given; a ValueError where one of them was changed."""
    content = {name: value for name, value in data.items() if name != KEY}
    if data.get(KEY) != content_hash(content):
        raise ValueError("its content does not agree with its hash")
    return content
