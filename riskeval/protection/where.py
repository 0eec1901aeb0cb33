"""Which records a verb works on: columns and the values that are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import is_number
from synthpop.microdata.messages.text import join
from synthpop.microdata.roles.microdata import Microdata

ENDS = ("least", "most")


def records_where(
    faults: Faults, frame: pd.DataFrame, where: Mapping[str, Any] | None
) -> np.ndarray:
    """Return the records that are meant, bool, shape (n,); note faults.

    All conditions must hold: a value, a list of values, or an interval ``{"least": 14}``,
    ``{"least": 5, "most": 19}``. A missing value meets no condition.
    """
    rows = np.ones(len(frame), dtype=np.bool_)
    if where is None:
        return rows
    if not isinstance(where, Mapping) or not where:
        hint = 'Name columns: {"size": {"least": 14}} or {"region": ["north", "south"]}.'
        faults.add("where", f"is {where!r}", hint=hint)
        return rows
    if not check_columns(faults, frame, where, "condition"):
        return rows
    for name, wanted in where.items():
        values = frame[name]
        if isinstance(wanted, Mapping):
            rows &= _in_interval(faults, frame, name, wanted)
        else:
            codes, levels = encode(values)
            texts = {level_text(one) for one in _listed(wanted)}
            known = np.array([level_text(level) in texts for level in levels] + [False])
            if not known.any():
                faults.add("where", f"{name}: no record has {wanted!r}", hint="Look at its values.")
            rows &= known[codes]
    return rows


def with_their_households(file: Microdata, rows: np.ndarray) -> np.ndarray:
    """Return some records and all members of their households, bool, shape (n,).

    Records without a household id, and those of a file without households, go by themselves.
    """
    if file.roles.household is None:
        return rows
    units = file.household_index
    return rows | np.isin(units, units[rows & (units >= 0)])


def _listed(wanted: Any) -> Sequence[Any]:
    return wanted if isinstance(wanted, list | tuple) else [wanted]


def _in_interval(
    faults: Faults, frame: pd.DataFrame, name: str, wanted: Mapping[str, Any]
) -> np.ndarray:
    rows = np.ones(len(frame), dtype=np.bool_)
    if not wanted or set(wanted) - set(ENDS) or not all(map(is_number, wanted.values())):
        faults.add("where", f"{name} is {wanted!r}", hint='Give numbers as "least" and "most".')
    elif check_numeric(faults, frame, [name], "condition"):
        values = as_numbers(frame[name])
        with np.errstate(invalid="ignore"):
            rows = values >= wanted.get("least", -np.inf)
            rows &= values <= wanted.get("most", np.inf)
    return np.asarray(rows)


def where_text(where: Mapping[str, Any]) -> str:
    """Say which records are meant."""
    parts = []
    for name, wanted in where.items():
        if not isinstance(wanted, Mapping):
            parts.append(f"{name} = {join([str(one) for one in _listed(wanted)], 'or')}")
        elif len(wanted) == 2:
            parts.append(message("{name} from {least} to {most}", name=name, **wanted))
        elif "least" in wanted:
            parts.append(message("{name} of {least} or more", name=name, least=wanted["least"]))
        else:
            parts.append(message("{name} of {most} or less", name=name, most=wanted["most"]))
    return join(parts)
