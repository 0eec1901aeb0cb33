"""Plain values for JSON: strict, hashed independently of layout, checked when they come back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from synthpop.microdata.formats.hashed import content_hash

Data = dict[str, Any]


class ManifestError(ValueError):
    """A manifest or a record lacks something; the text says what."""


def json_values(data: Any, constant: Any = str) -> Any:
    """Return what strict JSON gives back; `constant` makes values of numbers that are none."""
    return json.loads(json.dumps(data, default=_native), parse_constant=constant)


def _native(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def parsed_json(text: str) -> Any:
    """Return the values of a JSON text; a `ManifestError` where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ManifestError(f"it is not JSON ({problem})") from None


def check_hash(data: Mapping[str, Any], key: str) -> None:
    """Raise a `ManifestError` where the values are not those that the hash at `key` was made of."""
    content = {name: value for name, value in data.items() if name != key}
    if content_hash(content) != data[key]:
        raise ManifestError("its content does not agree with its hash")


def checked_values(where: str, data: Any, kinds: Mapping[str, Any]) -> Data:
    """Return the values of these keys, all there and of these types."""
    if not isinstance(data, Mapping):
        raise ManifestError(f"{where} holds no table of keys")
    faulty = [
        key
        for key, kind in kinds.items()
        if not isinstance(data.get(key), kind)
        or (isinstance(data.get(key), bool) and kind is not bool)
    ]
    if faulty:
        raise ManifestError(f"{', '.join(faulty)} of {where} missing or of a wrong type")
    return {key: data[key] for key in kinds}
