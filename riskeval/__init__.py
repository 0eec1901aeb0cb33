"""Disclosure risk, protection and utility of released microdata, synthetic or perturbed.

Names are imported when they are first used, so that ``import riskeval`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from synthpop._version import __version__

# name -> module that defines it
_WHERE = {
    "intruder_scenarios": "intruders.scenarios",
}
_MODULES: dict[str, str] = {}

__all__ = ["__version__", *sorted(_WHERE), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"riskeval.{_WHERE[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"riskeval.{_MODULES[name]}")
    raise AttributeError(f"module 'riskeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
