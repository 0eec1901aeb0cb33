"""Tables ``[[stage]]`` and tables of margins: read as stages, and written again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
from pydantic import create_model

from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.formats.tomlfile import Table, validate
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.pipeline.fingerprint import margin_to_dict, stage_to_dict
from synthpop.runfiles.tables import READING, MarginInput, MarginOfFile
from synthpop.stages.registry import STAGES


def read_margins(faults: Faults, where: str, items: Any, folder: Path) -> tuple[Margin, ...]:
    """Return tables of known totals; note what is wrong with them."""
    if not isinstance(items, list):
        faults.add(where, f"is {items!r}", hint="Give a list of tables.")
        return ()
    margins = []
    for number, item in enumerate(items, 1):
        place = f"{where} {number}"
        table = validate(faults, place, MarginInput, item)
        try:
            margins.append(table and table.margin(folder))
        except InputError as problem:
            for fault in problem.faults:
                at = f"{place} {fault.where}"
                faults.add(at, fault.what, rows=fault.rows, hint=fault.hint)
    return tuple(margin for margin in margins if margin is not None)


def read_stages(faults: Faults, tables: Any, folder: Path) -> tuple[Any, ...]:
    """Read the stages, None for one that cannot be read; a file that only calibrates has none."""
    if not isinstance(tables, list) or not tables:
        faults.add("[[stage]]", "there is none", hint='Begin with type = "structure".')
        return ()
    return tuple(_read_stage(faults, k, table, folder) for k, table in enumerate(tables, 1))


def _read_stage(faults: Faults, number: int, table: Any, folder: Path) -> Any:
    if not isinstance(table, Mapping):
        faults.add(f"[[stage]] {number}", f"is {table!r}, not a table")
        return None
    options = dict(table)
    kind = options.pop("type", None)
    where = f"[[stage]] {number} ({kind})"
    if not isinstance(kind, str) or kind not in STAGES:
        what = f"type {kind!r} is unknown" if kind else "has no type"
        faults.add(where, what, hint=did_you_mean(kind, STAGES))
        return None
    cls = STAGES[kind]
    options = _nested(faults, where, cls, options)
    if "margins" in cls.__dataclass_fields__:
        return _with_margins(faults, where, cls, options, folder)
    return validate(faults, where, cls, options)


def _with_margins(
    faults: Faults, where: str, cls: type[Any], options: dict[str, Any], folder: Path
) -> Any:
    """Return a stage whose margins are files or tables, or None and the faults."""
    items = options.pop("margins", [])
    checked = validate(faults, where, stage_model(cls), options)
    if not isinstance(items, list) or not items:
        hint = 'For instance margins = [{file = "totals.csv"}].'
        faults.add(f"{where} margins", "there are none", hint=hint)
        return None
    margins = read_margins(faults, f"{where} margins", items, folder)
    if checked is None or len(margins) < len(items):
        return None
    return cls(margins=margins, **checked.model_dump())


def stage_model(cls: type[Any]) -> type[Table]:
    """Return the table of a run file for the options of a stage other than its margins."""
    hints = get_type_hints(cls)
    options: dict[str, Any] = {
        item.name: (hints[item.name], ... if item.default is MISSING else item.default)
        for item in fields(cls)
        if item.name != "margins"
    }
    return create_model(cls.__name__, __base__=Table, **options)


def stage_table(stage: Any) -> dict[str, Any]:
    """Return a stage as a run file has it; margins with the file or the cells of their table."""
    table = stage_to_dict(stage)
    margins = getattr(stage, "margins", None)
    if margins is not None:
        table["margins"] = [margin_table(margin) for margin in margin_list(margins)]
    return table


def margin_table(margin: Margin) -> dict[str, Any]:
    """Return a margin as a run file has it: with the file or the cells of its table."""
    options = margin_to_dict(margin)
    known = MarginInput.model_fields.keys() - READING
    table = {key: value for key, value in options.items() if key in known}
    if isinstance(margin, MarginOfFile) and margin.file is not None:
        return {"file": margin.file, **table, **margin.reading}
    cells = [
        {str(name): _native(value) for name, value in cell.items() if not pd.isna(value)}
        for cell in margin.frame.astype(object).to_dict("records")
    ]
    return {"table": cells, **table}


def _native(value: Any) -> Any:
    """Return a value of a table as TOML has it: numbers and flags as they are, others as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (bool, int, float)) else str(value)


def as_toml(value: Any) -> Any:
    """Return a value as TOML has it: nan for a missing value of a rule."""
    if isinstance(value, Mapping):
        return {str(key): as_toml(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_toml(item) for item in value]
    return np.nan if value is None else value  # of a rule: a missing value


def _nested(faults: Faults, where: str, cls: type[Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those that are tables as objects: ``method = {type = "pmm", ...}``.

    A class names them in ``OPTION_TYPES``: a class of options, or classes by their ``type``.
    """
    options = dict(table)
    for name, kinds in getattr(cls, "OPTION_TYPES", {}).items():
        inside = _option_names(kinds) - _option_names(cls)
        for key in [key for key in options if key in inside]:
            hint = f"Give it there: {name} = {{..., {key} = {options.pop(key)!r}}}."
            faults.add(f"{where} {key}", f"is an option of {name}", hint=hint)
        if not isinstance(options.get(name), Mapping):
            continue
        inner, at = dict(options.pop(name)), f"{where} {name}"
        make = kinds
        if isinstance(kinds, Mapping):
            kind = inner.pop("type", None)
            make = kinds.get(kind) if isinstance(kind, str) else None
        if make is None:
            what = f"type {kind!r} is unknown" if kind else "has no type"
            faults.add(at, what, hint=did_you_mean(kind, kinds))
            continue
        value = _options(faults, at, make, inner)
        if value is not None:
            options[name] = value
    return options


def _options(faults: Faults, where: str, make: Callable[..., Any], table: dict[str, Any]) -> Any:
    """Return a table as options of a class, or of one with its first option set."""
    if isinstance(make, partial):
        first = fields(make.func)[0].name  # type: ignore[arg-type]
        if first in table:
            faults.add(f"{where} {first}", "is told by the type", hint="Leave it out.")
            return None
        return _options(faults, where, make.func, {first: make.args[0], **table})
    return validate(faults, where, make, _nested(faults, where, make, table))  # type: ignore[arg-type]


def _option_names(kinds: Any) -> set[str]:
    """Return the names of the options of a class, or of all classes of a registry."""
    if isinstance(kinds, Mapping):
        return {name for kind in kinds.values() for name in _option_names(kind)}
    cls: Any = kinds.func if isinstance(kinds, partial) else kinds
    return {item.name for item in fields(cls)}
