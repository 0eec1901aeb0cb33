"""What a result can do: every property and method whose arguments can be drawn."""

from __future__ import annotations

import inspect
from typing import Any

from tests.fuzz.inputs import Maker

DRAWN = ("plot", "figure", "_repr_html_", "to_script")
"""Slow ones, that a few inputs try."""
WRITES = (
    "with_weights",
    "with_column",  # take arrays of their own length
    "save",
    "load",
    "report",
    "write",
    "to_csv",
    "to_parquet",
    "to_excel",
    "iter_blocks",
)


def everything(make: Maker, result: Any) -> None:
    """Read every property of a result and call its methods; what they need is drawn."""
    from tests.fuzz.arguments import arguments_of, is_known

    kind = type(result)
    if not kind.__module__.startswith(("synthpop", "riskeval")) or hasattr(result, "savefig"):
        return
    repr(result), str(result)
    for name in ("_repr_html_", *dir(kind)):
        member = inspect.getattr_static(kind, name, None)
        if (name.startswith("_") and name != "_repr_html_") or name in WRITES or member is None:
            continue
        if name in DRAWN and not make.chance(0.05):
            continue
        value = getattr(result, name)
        if inspect.ismethod(value) and is_known(value):
            parameters = inspect.signature(value).parameters
            arguments = {
                name: argument
                for name, argument in arguments_of(value, make).items()
                if isinstance(argument, str) or str(parameters[name].annotation)[:3] != "str"
            }
            value(**arguments)
