"""Steps of a session as data: recorded, written to JSON, printed as Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.methods import Method
from synthpop.microdata.statistics.streams import is_secret

CONTENT = "content"
"""Argument of a step that holds a whole file: kept, and not shown."""


@dataclass(frozen=True)
class Step:
    """One verb with everything that is needed to repeat it."""

    verb: str  # name in ``riskeval.protect``
    # mapping: keyword arguments as plain values, the resolved seed among them
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def seed(self) -> int | None:
        """Seed of the step; None where nothing is drawn."""
        return self.parameters.get("seed")

    def __str__(self) -> str:
        shown = dict(self.parameters)
        if CONTENT in shown:
            shown[CONTENT] = blake2b(shown[CONTENT].encode(), digest_size=8).hexdigest()
        return f"{self.verb}({arguments(shown)})"


def _key(where: str, key: Any) -> Any:
    if isinstance(key, (tuple, frozenset)):
        what, hint = f"{key!r} is not a name or number", "Give one value as the key."
        raise InputError.of("ProtectionSession", where, what, hint)
    return plain(where, key)


def plain(where: str, value: Any) -> Any:
    """Return a value as None, bool, number, text, list, dict or DataFrame of these.

    Arrays and series become lists, a method with options becomes a table, a result with the array
    ``risk`` becomes that list.
    """
    if isinstance(value, np.generic):
        return plain(where, value.item())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Method):
        return plain(where, value.plain())
    if isinstance(value, Mapping):
        return {_key(where, key): plain(where, item) for key, item in value.items()}
    if isinstance(value, pd.DataFrame):
        cells = [plain(where, row) for row in value.to_numpy(dtype=object).tolist()]
        return pd.DataFrame(
            cells, index=plain(where, list(value.index)), columns=plain(where, list(value.columns))
        )
    if isinstance(value, (np.ndarray, pd.Series, pd.Index)):
        return [plain(where, item) for item in value.tolist()]
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(where, item) for item in value]
    if hasattr(value, "risk"):
        return plain(where, value.risk)
    what = f"a {type(value).__name__} cannot be recorded"
    raise InputError.of("ProtectionSession", where, what, "Give plain values.")


def to_json(value: Any) -> Any:
    """Return a plain value as JSON values that `from_json` reads back without loss."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"type": "float", "value": str(value)}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        items = [[to_json(key), to_json(item)] for key, item in value.items()]
        return {"type": "mapping", "items": items}
    if isinstance(value, pd.DataFrame):
        return {
            "type": "table",
            "index": to_json(value.index.tolist()),
            "columns": to_json(value.columns.tolist()),
            "values": to_json(value.to_numpy(dtype=object).tolist()),
        }
    return value


def from_json(value: Any) -> Any:
    """Read back what `to_json` wrote."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value["type"] == "float":
        return float(value["value"])
    if value["type"] == "mapping":
        return {from_json(key): from_json(item) for key, item in value["items"]}
    return pd.DataFrame(
        from_json(value["values"]),
        index=from_json(value["index"]),
        columns=from_json(value["columns"]),
    )


def source(value: Any) -> str:
    """Return a plain value as Python source."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(source(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{source(k)}: {source(v)}' for k, v in value.items())}}}"
    if isinstance(value, pd.DataFrame):
        cells = source(value.to_numpy(dtype=object).tolist())
        index, columns = source(value.index.tolist()), source(value.columns.tolist())
        return f"pd.DataFrame({cells}, index={index}, columns={columns})"
    return repr(value)


def arguments(parameters: Mapping[str, Any]) -> str:
    """Return keyword arguments as Python source."""
    return ", ".join(f"{name}={source(value)}" for name, value in parameters.items())


def history_of(steps: Sequence[Step], changes: Mapping[int, tuple[int, int]]) -> pd.DataFrame:
    """Return one row a step; `changes` are cells and records changed, by number of the step.

    A secret seed is not shown.
    """
    rows = []
    for number, step in enumerate(steps, start=1):
        cells, records = changes.get(number, (None, None))
        shown = {
            name: value for name, value in step.parameters.items() if name not in ("seed", CONTENT)
        }
        seed = step.seed if step.seed is not None and not is_secret(step.seed) else None
        rows.append((number, step.verb, arguments(shown), seed, cells, records))
    names = ["step", "verb", "arguments", "seed", "cells", "records"]
    frame = pd.DataFrame(rows, columns=names, dtype=object)  # no seed passes through a float
    return frame.astype({"step": "int64", "seed": "Int64", "cells": "Int64", "records": "Int64"})
