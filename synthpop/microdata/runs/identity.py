"""A hash of values and functions, so that a stored run is recognised by what made it."""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import InputError

DIGEST_SIZE = 20
OURS = ("synthpop", "riskeval")


def digest(*values: Any) -> str:
    """Return a hash of values that is the same in every process.

    *values: numbers, text, dates, containers, arrays, frames, dataclasses, objects with attributes,
        scikit-learn models, and functions. A function is its code, its constants, its defaults,
        what its closure holds and the global functions and values that it names; functions and
        classes of installed packages are their name and the version of the package.
    Returns str: hexadecimal.
    Raises InputError: an object has nothing that tells it from others of its class.
    """
    state = _State()
    for value in values:
        state.add(value)
    return state.hash.hexdigest()


class _State:
    """A hash that grows value by value; what is being hashed already is named by its number."""

    def __init__(self) -> None:
        self.hash = blake2b(digest_size=DIGEST_SIZE)
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # ids stay unique as long as the objects live

    def text(self, *texts: str) -> None:
        for text in texts:
            content = text.encode("utf-8", "surrogatepass")
            self.hash.update(len(content).to_bytes(8, "little") + content)

    def add(self, value: Any) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.text(type(value).__name__, repr(value))
            return
        if id(value) in self.seen:
            self.text("seen", str(self.seen[id(value)]))
            return
        self.seen[id(value)] = len(self.seen)
        self.alive.append(value)
        for kinds, method in _KINDS:
            if isinstance(value, kinds):
                method(self, value)
                return
        self._object(value)

    def _array(self, value: np.ndarray) -> None:
        self.text("array", str(value.dtype), str(value.shape))
        if value.dtype.hasobject:
            for item in value.ravel():
                self.add(item)
        else:
            self.hash.update(np.ascontiguousarray(value).tobytes())

    def _column(self, value: pd.Series | pd.Index) -> None:
        self.text("column", str(value.dtype))
        self.add(value.name)
        hashes = pd.util.hash_pandas_object(pd.Series(value).reset_index(drop=True))
        self.hash.update(np.ascontiguousarray(hashes.to_numpy()).tobytes())

    def _frame(self, value: pd.DataFrame) -> None:
        self.text("frame", str(value.shape))
        for position, name in enumerate(value.columns):
            self.add(name)
            self._column(value.iloc[:, position])

    def _mapping(self, value: Mapping[Any, Any]) -> None:
        self.text(type(value).__name__, str(len(value)))
        for key, item in value.items():
            self.add(key)
            self.add(item)

    def _sequence(self, value: Sequence[Any]) -> None:
        self.text(type(value).__name__, str(len(value)))
        for item in value:
            self.add(item)

    def _set(self, value: AbstractSet[Any]) -> None:
        self.text("set", *sorted(digest(item) for item in value))

    def _partial(self, value: functools.partial[Any]) -> None:
        self.text("partial")
        for item in (value.func, value.args, value.keywords):
            self.add(item)

    def _bound(self, value: types.MethodType) -> None:
        self.text("method")
        self.add(value.__func__)
        self.add(value.__self__)

    def _function(self, value: types.FunctionType) -> None:
        if _installed(value):
            self.text("installed function", *_installed_name(value))
            return
        self.text("function", value.__qualname__)
        self._code(value.__code__)
        self.add(value.__defaults__)
        self.add(value.__kwdefaults__)
        for cell in value.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # a name that is not bound yet
                self.text("empty cell")
        for name in _global_names(value.__code__):
            if name in value.__globals__:
                self.text(name)
                self.add(value.__globals__[name])

    def _code(self, code: types.CodeType) -> None:
        self.text("code", *code.co_names, *code.co_varnames)
        self.hash.update(code.co_code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            elif isinstance(constant, frozenset):
                self._set(constant)
            else:
                self.text(repr(constant))

    def _class(self, value: type) -> None:
        if _installed(value):
            self.text("installed class", *_installed_name(value))
            return
        self.text("class", value.__qualname__)
        for base in value.__bases__:
            self.add(base)
        for name, item in vars(value).items():
            if isinstance(item, (staticmethod, classmethod)):
                item = item.__func__
            if isinstance(item, (types.FunctionType, int, float, str, tuple, property)):
                self.text(name)
                self.add(item.fget if isinstance(item, property) else item)

    def _builtin(self, value: Any) -> None:
        self.text("builtin", str(getattr(value, "__module__", "")), value.__qualname__)

    def _module(self, value: types.ModuleType) -> None:
        self.text("module", value.__name__, str(getattr(value, "__version__", "")))

    def _written(self, value: Any) -> None:
        self.text(type(value).__name__, str(value))

    def _object(self, value: Any) -> None:
        self.add(type(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for item in dataclasses.fields(value):
                self.text(item.name)
                self.add(getattr(value, item.name))
        elif callable(getattr(value, "get_params", None)):
            self._mapping(value.get_params(deep=False))
        elif isinstance(value, np.random.Generator):
            self.add(value.bit_generator.state)
        elif hasattr(value, "__dict__"):
            self._mapping(vars(value))
        elif type(value).__repr__ is not object.__repr__ and " at 0x" not in repr(value):
            self.text(repr(value))
        else:
            what = "nothing tells this object from others of its class"
            hint = "Give it attributes, or run without a folder."
            raise InputError.of("identity", type(value).__qualname__, what, hint)


_KINDS: tuple[tuple[Any, Any], ...] = (
    (pd.DataFrame, _State._frame),
    ((pd.Series, pd.Index), _State._column),
    ((np.dtype, pd.Timestamp, pd.Timedelta, PurePath, slice, range), _State._written),
    (np.ndarray, _State._array),
    (Mapping, _State._mapping),
    (AbstractSet, _State._set),
    ((list, tuple), _State._sequence),
    (functools.partial, _State._partial),
    (types.MethodType, _State._bound),
    (types.FunctionType, _State._function),
    ((types.BuiltinFunctionType, np.ufunc), _State._builtin),
    (type, _State._class),
    (types.ModuleType, _State._module),
)


def _global_names(code: types.CodeType) -> list[str]:
    """Names that a function and the functions inside it may look up among globals."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_global_names(constant))
    return list(names)


def _installed(value: Any) -> bool:
    """Whether a name and a version identify a function or class."""
    module = sys.modules.get(str(getattr(value, "__module__", "")))
    target: Any = module
    for name in value.__qualname__.split("."):
        target = getattr(target, name, None)
    return target is value and bool(_installed_name(value)[2])


def _installed_name(value: Any) -> tuple[str, str, str]:
    """Module, name, and the version of the package; no version for code of the user."""
    module = str(getattr(value, "__module__", ""))
    root = module.partition(".")[0]
    package = sys.modules.get(root)
    file = str(getattr(package, "__file__", None) or "")
    version = ""
    if root in sys.stdlib_module_names and root != "__main__":
        version = sys.version.split()[0]
    elif root in OURS or "site-packages" in file or "dist-packages" in file:
        version = str(getattr(package, "__version__", "installed"))
    return module, value.__qualname__, version
