"""What draws, writes or exports a result: functions of rooms that the result does not know.

A result stands below its pages and pictures, so it cannot import them. The front of each package,
its ``__init__``, sees every room: it registers here which function serves which public method,
and the method asks for it by name. Nothing is imported before it is used. ``"<class>.plot"`` names
the main figure of a result, which a notebook shows; results without an entry have none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

PRESENTERS: dict[str, str] = {}
"""Method, as ``Class.method`` -> the function that serves it, as ``module:function``."""


def register(presenters: Mapping[str, str]) -> None:
    """Add methods and the functions that serve them."""
    PRESENTERS.update(presenters)


def presenter(method: str) -> Callable[..., Any]:
    """Return the function that serves a method."""
    module, _, function = PRESENTERS[method].partition(":")
    served: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return served
