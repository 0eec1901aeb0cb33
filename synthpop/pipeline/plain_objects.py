"""Fitted objects as JSON and arrays, and back: nothing that is read can run code.

Records of this package, estimators of scikit-learn, mappings, lists and plain values become a tree;
arrays and tables stand beside it and are named in it. An object of another library is refused.
"""

from __future__ import annotations

import copyreg
import importlib
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from synthpop.models.nested import NestedLevels

KINDS = {"tuple": tuple, "set": set, "frozenset": frozenset}
TYPES = {"int": int, "float": float, "str": str, "bool": bool}
ROOTS = ("synthpop", "sklearn")


class Unwritable(TypeError):
    """An object that is neither plain nor a record; the text is its class."""


class Writer:
    """Takes objects apart: `tree` returns plain values, `arrays` and `tables` hold the rest.

    Arrays of a type lie one behind the other: trees have thousands of small ones.
    """

    def __init__(self) -> None:
        self._parts: dict[str, tuple[np.dtype, list[np.ndarray]]] = {}
        self._lengths: dict[str, int] = {}
        self.tables: dict[str, pd.DataFrame] = {}
        self._known: dict[int, Any] = {}
        self._alive: list[Any] = []  # an address is not used again while its object lives

    def tree(self, value: Any) -> Any:
        """Return a value as what JSON can hold, with the names of its arrays and tables."""
        if value is None or isinstance(value, (bool, str)):
            return value if value is None or isinstance(value, bool) else str.__str__(value)
        if isinstance(value, np.generic):
            return {"scalar": value.dtype.str, "value": self.tree(value.item())}
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"number": repr(value)}
        if id(value) not in self._known:
            self._alive.append(value)
            self._known[id(value)] = self._object(value)
        return self._known[id(value)]

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if kind is list:
            return [self.tree(item) for item in value]
        if kind.__name__ in KINDS and kind is KINDS[kind.__name__]:
            items = sorted(value, key=repr) if kind is not tuple else value
            return {kind.__name__: [self.tree(item) for item in items]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, pd.DataFrame):
            name = f"table-{len(self.tables)}"
            self.tables[name] = value
            return {"table": name}
        if isinstance(value, type):
            if kind_name(value) in ("builtins." + name for name in TYPES):
                return {"type": value.__name__}
            return {"class": kind_name(value)}
        if isinstance(value, np.random.Generator):
            return {"generator": self.tree(value.bit_generator.state)}
        if is_dataclass(value) and _root(kind) == "synthpop":
            parts = {item.name: self.tree(getattr(value, item.name)) for item in fields(value)}
            return {"record": kind_name(kind), "fields": parts}
        if isinstance(value, Mapping):  # read-only views too: nobody writes into a fit
            return {"mapping": [[self.tree(key), self.tree(item)] for key, item in value.items()]}
        if _root(kind) == "sklearn" or kind is NestedLevels:
            return self._estimator(value)
        raise Unwritable(kind_name(kind))

    def _array(self, values: np.ndarray) -> Any:
        if values.dtype.hasobject:
            return {"objects": [self.tree(item) for item in values.ravel().tolist()],
                    "shape": list(values.shape)}  # fmt: skip
        names = {kind: name for name, (kind, _) in self._parts.items()}
        name = names.get(values.dtype, f"a{len(names)}")
        start = self._lengths.setdefault(name, 0)
        self._parts.setdefault(name, (values.dtype, []))[1].append(values.ravel())
        self._lengths[name] += values.size
        return {"array": name, "start": start, "shape": list(values.shape),
                "order": "F" if values.flags.fnc else "C"}  # fmt: skip

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays, those of a type one behind the other."""
        return {name: np.concatenate(parts) for name, (_, parts) in self._parts.items()}

    def _estimator(self, value: Any) -> Any:
        """Take an estimator apart as copying does."""
        made, arguments, state, *rest = (*value.__reduce_ex__(2), None, None, None)[:5]
        name = f"{made.__module__}.{made.__name__}"
        if made is copyreg.__newobj__:  # type: ignore[attr-defined]
            name, arguments = kind_name(type(value)), arguments[1:]
        elif made is not type(value) and not _rebuilds(name):
            raise Unwritable(kind_name(type(value)))
        if any(item is not None for item in rest):
            raise Unwritable(kind_name(type(value)))
        return {
            "estimator": name,
            "arguments": [self.tree(item) for item in arguments],
            "state": self.tree(state),
        }


class Reader:
    """Puts objects together from what a `Writer` has made.

    Raises ValueError: names something that is not there, or that is no record of this version.
    """

    def __init__(
        self, arrays: Mapping[str, np.ndarray], tables: Mapping[str, pd.DataFrame]
    ) -> None:
        self.arrays, self.tables = arrays, tables

    def value(self, tree: Any) -> Any:
        """Return the value that a tree stands for."""
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        name = next(iter(tree), "")
        content = tree.get(name)
        if name in KINDS:
            return KINDS[name](self.value(item) for item in tree[name])
        read = getattr(self, f"_{name}", None) if name.isalpha() else None
        if read is None:
            raise ValueError(f"holds {name!r}, which is unknown")
        return read(content, tree)

    def _number(self, content: str, tree: Any) -> float:
        return float(content)

    def _scalar(self, content: str, tree: Any) -> Any:
        return np.dtype(content).type(self.value(tree["value"]))

    def _array(self, content: str, tree: Any) -> np.ndarray:
        start, shape = tree["start"], tree["shape"]
        values = self.arrays[content][start : start + math.prod(shape)].reshape(shape)
        return values.copy(order=tree["order"])

    def _table(self, content: str, tree: Any) -> pd.DataFrame:
        return self.tables[content]

    def _objects(self, content: list[Any], tree: Any) -> np.ndarray:
        values = np.empty(len(content), dtype=object)
        values[:] = [self.value(item) for item in content]
        return values.reshape(tree["shape"])

    def _dtype(self, content: str, tree: Any) -> np.dtype:
        return np.dtype(content)

    def _type(self, content: str, tree: Any) -> type:
        return TYPES[content]

    def _class(self, content: str, tree: Any) -> type:
        return _class(content)

    def _mapping(self, content: list[Any], tree: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in content}

    def _generator(self, content: Any, tree: Any) -> np.random.Generator:
        state = self.value(content)
        generator = np.random.Generator(getattr(np.random, str(state["bit_generator"]))())
        generator.bit_generator.state = state
        return generator

    def _record(self, content: str, tree: Any) -> Any:
        kind = _class(content)
        if not is_dataclass(kind) or {item.name for item in fields(kind)} != set(tree["fields"]):
            raise ValueError(f"{content} is another record in this version")
        record: Any = object.__new__(cast(type, kind))
        for name, item in tree["fields"].items():
            object.__setattr__(record, name, self.value(item))
        return record

    def _estimator(self, content: str, tree: Any) -> Any:
        state, arguments = self.value(tree["state"]), self.value(tree["arguments"])
        if _rebuilds(content):
            value = _named(content)(*arguments)
        else:
            kind = _class(content)
            value = kind.__new__(kind, *arguments)
        if state is None:
            return value
        if hasattr(value, "__setstate__"):
            value.__setstate__(state)
        else:
            value.__dict__.update(state)
        return value


def _rebuilds(name: str) -> bool:
    """Whether a function is one by which Cython puts objects of scikit-learn together."""
    module, _, function = name.rpartition(".")
    return module.partition(".")[0] == "sklearn" and function.startswith("__pyx_unpickle_")


def kind_name(kind: type) -> str:
    """Return module and name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _class(name: str) -> Any:
    """Return a class of this package or of scikit-learn by its name."""
    if name.partition(".")[0] not in ROOTS:
        raise ValueError(f"names {name}, which is none of {' and '.join(ROOTS)}")
    kind = _named(name)
    if not isinstance(kind, type):
        raise ValueError(f"{name} is no class")
    return kind


def _named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        raise ValueError(f"{name} is not in this version") from None
