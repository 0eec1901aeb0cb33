"""Names that are imported when they are first used, so that importing a package costs nothing.

The names of a package stand once, as imports under ``if TYPE_CHECKING``: type checkers and editors
read them there, and so does `attach`.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any

FACADES: dict[str, dict[str, str]] = {}
"""Package -> public name -> module that it is imported from."""


def attach(
    package: str, *others: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, given its ``__name__``.

    `others` are the public names that it defines itself.
    """
    spec: Any = sys.modules[package].__spec__
    where = FACADES[package] = {
        str(name.asname): str(line.module)
        for block in ast.parse(spec.loader.get_data(spec.origin)).body
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
    public = sorted([*others, *where])

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if where[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(__import__(where[name], fromlist=[name]), name)

    return get, lambda: public, public
