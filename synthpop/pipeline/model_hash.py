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
    """Return a hash of fitted models: arrays, numbers, records, estimators of any library.

    Objects are taken apart as copying does it (``__reduce_ex__``), down to arrays and numbers, so
    that neither a text that shortens itself nor an address in memory takes part.

    Returns
    -------
    str
        Empty where something cannot be taken apart.

    Examples
    --------
    >>> one, other = {"a": np.arange(3)}, {"a": np.arange(3)}
    >>> model_hash(one) == model_hash(other), model_hash(one) == model_hash({"a": np.ones(3)})
    (True, False)
    """
    walk = _Walk()
    try:
        walk.add(models)
    except (UnknownContent, RecursionError):
        return ""
    return walk.digest.hexdigest()


class _Walk:
    """Feeds a digest with the content of objects, each of them once."""

    def __init__(self) -> None:
        self.digest = blake2b(digest_size=20)
        self.places: dict[int, int] = {}
        self.alive: list[Any] = []  # an address is not used again while its object lives

    def add(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            self._mark(type(value).__name__, repr(value))
            return
        if isinstance(value, np.generic):
            self._array(np.asarray(value))
            return
        if id(value) in self.places:
            self._mark("again", str(self.places[id(value)]))
            return
        self.places[id(value)] = len(self.places)
        self.alive.append(value)
        self._content(value)

    def _content(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, Mapping):
            self._mark("mapping", str(len(value)))
            for key, item in value.items():
                self.add(key)
                self.add(item)
        elif isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            self._mark(type(value).__name__, str(len(value)))
            for item in value:
                self.add(item)
        elif isinstance(value, (set, frozenset)):
            self._mark("set", str(len(value)))
            for text in sorted(model_hash(item) for item in value):
                self._mark("item", text)
        elif isinstance(value, type):
            self._mark("class", f"{value.__module__}.{value.__qualname__}")
        elif isinstance(value, (FunctionType, BuiltinFunctionType)):
            self._function(value)
        elif isinstance(value, ModuleType):
            self._mark("module", value.__name__)
        elif is_dataclass(value):
            self.add(type(value))
            for item in fields(value):
                self._mark("field", item.name)
                self.add(getattr(value, item.name))
        else:
            self._object(value)

    def _array(self, values: np.ndarray) -> None:
        self._mark("array", f"{values.dtype.str} {values.dtype.names} {values.shape}")
        if values.dtype.names is not None:  # bytes between the fields mean nothing
            for name in values.dtype.names:
                self._array(values[name])
        elif values.dtype.hasobject:
            for item in values.ravel().tolist():
                self.add(item)
        else:
            self.digest.update(np.ascontiguousarray(values).tobytes())

    def _function(self, value: Any) -> None:
        self._mark("function", f"{value.__module__}.{value.__qualname__}")
        code = getattr(value, "__code__", None)
        if code is not None:
            self._code(code)
            self.add(value.__defaults__)
            self.add([cell.cell_contents for cell in value.__closure__ or ()])

    def _code(self, code: Any) -> None:
        self.digest.update(code.co_code)
        self.add(code.co_names)
        for item in code.co_consts:
            if hasattr(item, "co_code"):
                self._code(item)
            else:
                self.add(item)

    def _object(self, value: Any) -> None:
        """Take an object apart as copying does."""
        self.add(type(value))
        try:
            parts = value.__reduce_ex__(2)
        except Exception as problem:
            raise UnknownContent(type(value).__name__) from problem
        if isinstance(parts, str):
            self._mark("name", parts)
            return
        function, arguments, state, *rest = (*parts, None, None, None)[:5]
        self.add(function)
        self.add(arguments)
        self.add(state)
        for items in rest:
            self.add(None if items is None else list(items))

    def _mark(self, kind: str, text: str) -> None:
        data = f"{kind}:{text}".encode("utf-8", "surrogatepass")
        self.digest.update(len(data).to_bytes(8, "little") + data)
