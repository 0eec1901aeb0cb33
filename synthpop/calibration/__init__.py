"""Calibration of survey weights to known totals."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "Calibration": "result",
    "IntegerWeights": "integer_weights",
    "Margin": "margins",
    "TrimmedWeights": "weights",
    "calibrate": "calibrate_survey",
    "design_effect": "weights",
    "effective_sample_size": "weights",
    "integerise": "integer_weights",
    "trim_weights": "weights",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module = importlib.import_module(f"synthpop.calibration.{_WHERE[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'synthpop.calibration' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_WHERE)
