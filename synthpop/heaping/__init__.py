"""Age heaping: how strong it is, smooth single years from five-year groups, and its correction."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "HeapCorrection": "correction",
    "correct_heaps": "correction",
    "sprague": "multipliers",
    "whipple_index": "index",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"synthpop.heaping.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'synthpop.heaping' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_WHERE)
