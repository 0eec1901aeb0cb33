"""A hash of everything that was learned: two fits with the same hash simulate the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

PLAIN = (str, int, float, complex, bool, type(None), bytes)


class UnknownContent(TypeError):
    """An object that says nothing of what it holds."""


def model_hash(models: Any) -> str:
    """Return a hash of fitted models; empty where something cannot be taken apart.

    Objects are taken apart as copying does it (``__reduce_ex__``), down to arrays and numbers, so
    that neither a text that shortens itself nor an address in memory takes part.

    Examples
    --------
    >>> one, other = {"a": np.arange(3)}, {"a": np.arange(3)}
    >>> model_hash(one) == model_hash(other), model_hash(one) == model_hash({"a": np.ones(3)})
    (True, False)
    """
    try:
        return _Hasher().digest(models).hex()
    except (UnknownContent, RecursionError):
        return ""


class _Hasher:
    """Hashes objects from the digests of their parts; equal content has an equal hash.

    Whether two places share one object or hold equal ones makes no difference.
    """

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}
        self.alive: list[Any] = []  # an address is not used again while its object lives

    def digest(self, value: Any) -> bytes:
        if isinstance(value, PLAIN):
            return _joined(type(value).__name__, repr(value))
        if isinstance(value, np.generic):
            return self._array(np.asarray(value))
        if id(value) not in self.known:
            self.alive.append(value)
            self.known[id(value)] = _joined("part of itself")
            self.known[id(value)] = self._content(value)
        return self.known[id(value)]

    def _content(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.dtype):
            return _joined("dtype", value.str, repr(value.descr))
        if isinstance(value, Mapping):
            pairs = [self.digest(part) for item in value.items() for part in item]
            return _joined("mapping", *pairs)
        if type(value) in (list, tuple):
            return _joined(type(value).__name__, *map(self.digest, value))
        if isinstance(value, (set, frozenset)):
            return _joined("set", *sorted(map(self.digest, value)))
        if isinstance(value, type):
            return _joined("class", f"{value.__module__}.{value.__qualname__}")
        if isinstance(value, (FunctionType, BuiltinFunctionType)):
            return self._function(value)
        if isinstance(value, ModuleType):
            return _joined("module", value.__name__)
        if is_dataclass(value):
            names = [item.name for item in fields(value)]
            parts = [self.digest(getattr(value, name)) for name in names]
            return _joined("record", self.digest(type(value)), *names, *parts)
        return self._object(value)

    def _array(self, values: np.ndarray) -> bytes:
        head = f"{values.dtype.str} {values.dtype.names} {values.shape}"
        if values.dtype.names is not None:  # bytes between the fields mean nothing
            return _joined("array", head, *(self._array(values[n]) for n in values.dtype.names))
        if values.dtype.hasobject:
            return _joined("array", head, *map(self.digest, values.ravel().tolist()))
        return _joined("array", head, np.ascontiguousarray(values).tobytes())

    def _function(self, value: Any) -> bytes:
        name = f"{value.__module__}.{value.__qualname__}"
        code = getattr(value, "__code__", None)
        if code is None:
            return _joined("function", name)
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return _joined(
            "function", name, self._code(code), self.digest(value.__defaults__), self.digest(cells)
        )

    def _code(self, code: Any) -> bytes:
        parts = [
            self._code(item) if hasattr(item, "co_code") else self.digest(item)
            for item in code.co_consts
        ]
        return _joined(code.co_code, self.digest(code.co_names), *parts)

    def _object(self, value: Any) -> bytes:
        """Take an object apart as copying does."""
        try:
            parts = value.__reduce_ex__(2)
        except Exception as problem:
            raise UnknownContent(type(value).__name__) from problem
        if isinstance(parts, str):
            return _joined("name", self.digest(type(value)), parts)
        function, arguments, state, *rest = (*parts, None, None, None)[:5]
        items = [None if item is None else list(item) for item in rest]
        content = [type(value), function, arguments, state, items]
        return _joined("object", *map(self.digest, content))


def _joined(*parts: str | bytes) -> bytes:
    """Return the hash of several texts or digests, told apart by their lengths."""
    digest = blake2b(digest_size=20)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()
