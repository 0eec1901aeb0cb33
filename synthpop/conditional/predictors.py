"""Which variables predict, and how a block's predictors become model cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.block import Fallback, Sample
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.statistics.formula import Allowed, read_formula
from synthpop.models.encoding import (
    FEW_VALUES,
    cell_codes,
    coded_digits,
    distinct_numbers,
    numeric_digits,
)

Predictors = str | Sequence[str]
Term = tuple[str, ...]
NUMERIC = ("classes", "values")


def resolve_terms(
    predictors: Predictors, available: Sequence[str], basic: Sequence[str]
) -> list[Term]:
    """Return the terms that `predictors` stands for: "basic", "all", a list or a formula."""
    if isinstance(predictors, str):
        if predictors == "basic":
            return [(name,) for name in basic]
        if predictors == "all":
            return [(name,) for name in available]
        faults = Faults("formula")
        formula = read_formula(faults, predictors, Allowed(dot=available), argument="predictors")
        faults.raise_if_any()
        return list(formula.names) if formula is not None else []
    return [(name,) for name in predictors]


def terms_of(predictors: Predictors, sample: Sample) -> list[Term]:
    """Return the terms of a sample; not the stratum, which every model has already."""
    available, basic = (
        [name for name in names if name != sample.strata_name]
        for names in (sample.available, sample.basic)
    )
    return resolve_terms(predictors, available, basic)


def grouped(sample: Sample, by: str | None, label: str) -> Sample:
    """Return the sample with the levels of a variable in place of its strata.

    Models by stratum are models by level then, and the stratum is a variable like any other. A
    missing value is a level, the first. A number with more than 20 distinct values is a fault.
    """
    if by is None:
        return sample
    field, values = sample.fields[by], sample.columns[by]
    if field.kind == "categorical":
        digits, levels = coded_digits(by, len(field.levels)), list(field.levels)
    else:
        digits = numeric_digits(by, values, sample.weights)
        levels = distinct_numbers(values).tolist()
        if len(levels) > FEW_VALUES:
            what = f"by names {by!r}, a number with {len(levels)} distinct values"
            raise InputError.of("recipe", label, what, "Derive classes of it first.")
    return replace(
        sample,
        strata=cell_codes((digits,), [values], sample.n_persons).astype(np.int64),
        strata_levels=(f"{by} missing", *(f"{by} = {level}" for level in levels)),
        strata_name=by,
    )


def check_by(faults: Faults, label: str, by: Any, names: Sequence[str], schema: Schema) -> None:
    """Note a `by` that the population will not have, or that the step itself makes."""
    if by is None:
        return
    if not isinstance(by, str):
        faults.add(label, f"by is {by!r}", hint="Give the name of a variable.")
    elif by in names:
        faults.add(label, f"by names {by!r}, which this step makes", hint="Name another.")
    else:
        check_available(faults, label, [by], schema, "by")


def notes_by_level(
    notes: Sequence[Fallback], sample: Sample, by: str | None
) -> tuple[Fallback, ...]:
    """Return what is recorded of a fit in terms of levels; `sample` is as `grouped` returns it.

    Levels that nobody has have nothing to tell.
    """
    if by is None:
        return tuple(notes)
    present = set(np.unique(sample.strata).tolist())
    nobody = {level for code, level in enumerate(sample.strata_levels) if code not in present}
    notes_of_levels = (note for note in notes if note.stratum not in nobody)
    return tuple(replace(note, what=of_levels(note.what, by)) for note in notes_of_levels)


def of_levels(text: str, by: str | None) -> str:
    """Return a text about strata as one about the levels of a variable.

    Examples
    --------
    >>> of_levels("the model pooled over strata", "job")
    'the model pooled over levels of job'
    """
    return text if by is None else text.replace("strata", message("levels of {by}", by=by))


def check_predictors(faults: Faults, label: str, predictors: Predictors, schema: Schema) -> None:
    """Note predictors that the population will not have, and text that is not a formula."""
    if isinstance(predictors, str):
        valid = predictors in ("basic", "all") or "~" in predictors
    else:
        valid = isinstance(predictors, Sequence) and all(isinstance(x, str) for x in predictors)
    if not valid:
        faults.add(
            label,
            f"predictors = {predictors!r} is not understood",
            hint='Give "basic", "all", a list of names, or a formula like "~ age + sex:status".',
        )
        return
    try:
        terms = resolve_terms(predictors, schema.available, schema.basic)
    except InputError as problem:
        faults.add(label, problem.faults[0].what)
        return
    names = list(dict.fromkeys(name for term in terms for name in term))
    check_available(faults, label, names, schema, "predictor")
