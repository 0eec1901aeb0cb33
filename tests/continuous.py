"""`Continuous` from options in one row, as parametrised tests have them."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any

from synthpop import Continuous, Regressed
from synthpop.stages.continuous.binned_method import TAILS
from synthpop.stages.continuous.methods import METHODS

OWN = {option.name for option in fields(Continuous)}
OF_TAIL = ("threshold", "estimator")


def continuous(name: str, method: Any = "binned", **options: Any) -> Continuous:
    """`Continuous`; options that it does not have itself are those of its method or tail."""
    inner = {key: options.pop(key) for key in list(options) if key not in OWN}
    tail = {key: inner.pop(key) for key in OF_TAIL if key in inner}
    if tail:
        inner["tail"] = TAILS[inner["tail"]](**tail)
    if inner:
        method = METHODS[method] if isinstance(method, str) else partial(Regressed, method)
        method = method(**inner)
    return Continuous(name, method, **options)
