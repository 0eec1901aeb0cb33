"""What tells one run from another: its recipe, its survey, its arguments."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.formats.places import BucketPath
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.parameters import POSITIVE, Whole, check
from synthpop.microdata.runs.engines import check_workers
from synthpop.microdata.statistics.streams import Streams

MOST_ROWS = 2**31


def stage_to_dict(stage: Any) -> dict[str, Any]:
    """Return a stage as plain values, as a run file has them: ``type`` and its options.

    Margins come as their options, the number of their cells and a hash of their table.
    """
    margins = getattr(stage, "margins", None)
    options = {
        option.name: _option(getattr(stage, option.name))
        for option in fields(stage)
        if option.name != "margins"
    }
    if margins is not None:
        options["margins"] = [margin_to_dict(margin) for margin in margin_list(margins)]
    return {"type": stage.kind, **{k: v for k, v in options.items() if v is not None}}


def _option(value: Any) -> Any:
    """Return an option of a stage; records of options with their type, a type alone by its name.

    Options that have their default value are left out of records.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return value
    kind = getattr(value, "type", None)
    options = {
        option.name: _option(getattr(value, option.name))
        for option in fields(value)
        if not _is_default(value, option, kind)
    }
    if kind is None:
        return options
    return {"type": kind, **options} if options else kind


def _is_default(record: Any, option: Field[Any], kind: str | None) -> bool:
    """Whether an option has its default value, or is what the type says."""
    value = getattr(record, option.name)
    if isinstance(value, str) and value == kind:
        return True
    return type(value) is type(option.default) and value == option.default


def described(value: Any) -> Any:
    """Return a value of a recipe as plain values that name what it computes.

    Estimators come as their class, the version of its library and all parameters, each described
    in turn: their text hides some and shortens others. Functions come by name, any other object by
    its class (`model_hash` sees what it learned).

    Examples
    --------
    >>> described({"breaks": (0, 15), "by": np.int64(3)})
    {'breaks': [0, 15], 'by': 3}
    """
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return described(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((described(item) for item in value), key=str)
    kind = value if isinstance(value, type) else type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    parameters = getattr(value, "get_params", None)
    if callable(parameters) and not isinstance(value, type):
        library = kind.__module__.partition(".")[0]
        version = str(getattr(sys.modules.get(library), "__version__", "unknown"))
        return {"class": name, "version": version, "parameters": described(parameters(deep=False))}
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return name if type(value).__repr__ is object.__repr__ else str(value)


def margin_to_dict(margin: Margin) -> dict[str, Any]:
    """Return what tells a margin from others: its options, its columns, a hash of its table."""
    text = margin.frame.to_csv(index=False)
    options = {
        name: getattr(margin, name)
        for name in ("level", "total", "importance", "variable", "size", "name")
        if getattr(margin, name) is not None
    }
    return {
        **options,
        "columns": list(margin.columns),
        "n_cells": len(margin.frame),
        "hash": blake2b(text.encode(), digest_size=20).hexdigest(),
    }


ARGUMENTS = {"scale": POSITIVE, "rows_per_block": Whole(1, MOST_ROWS)}


def check_arguments(scale: float, rows_per_block: int) -> None:
    """Refuse a scale that is not a positive number and rows that are not a whole number."""
    faults = Faults("simulate")
    check(faults, ARGUMENTS, {"scale": scale, "rows_per_block": rows_per_block})
    faults.raise_if_any()


def check_run(workers: Any, out: Any, on_event: Any) -> None:
    """Refuse unknown workers, a folder that is not a path, a listener that cannot be called."""
    faults = Faults("simulate")
    with faults.gathering():
        check_workers(workers)
    if not (out is None or isinstance(out, (str, os.PathLike, BucketPath))):
        hint = "Give the path of a folder, or none to hold the population in memory."
        faults.add("out", f"is {out!r}", hint=hint)
    if not (on_event is None or callable(on_event)):
        hint = "Give a function of one event, or leave it out."
        faults.add("on_event", f"is {on_event!r}", hint=hint)
    faults.raise_if_any()


def fingerprint(sample: Sample) -> str:
    """Hash of all that the fit saw: columns, levels, weights, households, sampling units."""
    digest = blake2b(digest_size=20)
    for name in sorted(sample.columns):
        item = json.dumps(sample.fields[name].to_dict(), default=str)
        digest.update(item.encode() + np.ascontiguousarray(sample.columns[name]).tobytes())
    for values in (sample.weights, sample.household_weights, sample.offsets, sample.strata):
        digest.update(np.ascontiguousarray(values).tobytes())
    if sample.units is not None:
        digest.update(np.ascontiguousarray(sample.units).tobytes())
    return digest.hexdigest()


def check_replicates(n: object) -> None:
    """Refuse a number of replicates that is not a whole number of 1 or more."""
    if not Whole(1).allows(n):
        raise InputError.of("replicates", "n", f"is {n!r}", "Give a whole number, 1 or more.")


def replicate_seed(seed: int, number: int) -> int:
    """Return the seed of replicate `number` (1, 2, ...) of a run with this seed.

    Examples
    --------
    >>> replicate_seed(1, 1) == replicate_seed(1, 1), replicate_seed(1, 1) == replicate_seed(1, 2)
    (True, False)
    """
    return Streams(seed).number("replicate", number)


def chosen_strata(
    strata: Sequence[Any] | Any, levels: Sequence[Any], name: str | None
) -> list[int]:
    """Return the positions of the strata that are wanted, ascending.

    Levels are compared as they are, else by their text; unknown ones are faults.

    Examples
    --------
    >>> chosen_strata(["Tyrol", "Vienna"], ("Vienna", "Salzburg", "Tyrol"), "region")
    [0, 2]
    """
    faults = Faults("simulate")
    several = isinstance(strata, Iterable) and not isinstance(strata, (str, bytes))
    wanted = list(strata) if several else [strata]
    if name is None:
        hint = "Give the survey its column of strata, or leave strata out."
        faults.add("strata", "the survey has no strata", hint=hint)
    elif not wanted:
        faults.add("strata", "is an empty list", hint="Name a stratum, or leave it out.")
    texts = [level_text(level) for level in levels]
    places = set()
    for level in wanted if name is not None else ():
        if level in levels:
            places.add(levels.index(level))
        elif level_text(level) in texts:
            places.add(texts.index(level_text(level)))
        else:
            what = f"{level!r} is not a level of {name!r}"
            faults.add("strata", what, hint=did_you_mean(level, levels))
    faults.raise_if_any()
    return sorted(places)
