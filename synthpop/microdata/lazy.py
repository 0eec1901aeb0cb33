"""Names that are imported when they are first used, so that importing a package costs nothing.

A package that uses `attach` also imports its names under ``if TYPE_CHECKING``, so that type
checkers and editors see them; a test compares both.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

FACADES: dict[str, dict[str, str]] = {}
"""Package -> public name -> module that has it; a module of the name itself ends with a colon."""


def attach(
    package: str, names: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    package: its ``__name__``
    names: mapping; public name -> module that defines it, below the package or, beginning with
        "synthpop." or "riskeval.", in full
    modules: mapping; public name -> module that it stands for

    Examples
    --------
    >>> get, _, names = attach("synthpop.heaping", {"sprague": "multipliers"})
    >>> names, get("sprague").__name__
    (['sprague'], 'sprague')
    """
    where = {name: _full(package, module) for name, module in names.items()}
    whole = {name: _full(package, module) for name, module in (modules or {}).items()}
    public = [*sorted(where), *whole]
    FACADES[package] = where | {name: f"{module}:" for name, module in whole.items()}

    def get(name: str) -> Any:
        if name in where:
            return getattr(importlib.import_module(where[name]), name)
        if name in whole:
            return importlib.import_module(whole[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(public), public


def _full(package: str, module: str) -> str:
    return module if module.startswith(("synthpop.", "riskeval.")) else f"{package}.{module}"
