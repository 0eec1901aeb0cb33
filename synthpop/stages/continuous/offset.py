"""A known part of a number: the stage draws what remains, and adds it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from synthpop.conditional.rules.evaluate import People, names_of, number_of
from synthpop.conditional.rules.parse import parse_expression
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults


def names_in(offset: str) -> tuple[str, ...]:
    """Return the columns that an offset is computed from."""
    names = [name.text for name in names_of(parse_expression(offset)) if name.kind != "level"]
    return tuple(dict.fromkeys(names))


def check_offset(faults: Faults, label: str, offset: str, schema: Schema) -> None:
    """Note an offset that is no expression of numbers which the population has."""
    known = len(faults.found)
    with faults.gathering():
        names = names_in(offset)
    if len(faults.found) > known:
        return
    check_available(faults, label, list(names), schema, "offset")
    for name in names:
        field = schema.survey.get(name)
        if field is not None and field.kind != "numeric":
            faults.add(label, f"offset: {name!r} is not numeric", hint="Name numbers or dates.")
    if len(faults.found) == known:
        with faults.gathering():
            columns = {name: np.zeros(0) for name in names}
            offset_of(offset, columns, np.zeros(1, dtype=np.int64))


def offset_of(offset: str, columns: Mapping[str, np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """Return the offset of each person, float64; NaN where a number that it needs is missing."""
    names = names_in(offset)
    fields = {name: Field.number(name) for name in names}
    numbers = {name: columns[name].astype(np.float64) for name in names}
    people = People(fields, numbers, offsets)
    return np.asarray(number_of(people, parse_expression(offset)), dtype=np.float64)


def without_offset(sample: Sample, name: str, offset: str, decimals: int | None) -> Sample:
    """Return the sample with the rest of a number, rounded as the number is."""
    rest = sample.columns[name] - offset_of(offset, sample.columns, sample.offsets)
    rest = rest if decimals is None else np.round(rest, decimals)
    return replace(sample, columns={**sample.columns, name: rest})
