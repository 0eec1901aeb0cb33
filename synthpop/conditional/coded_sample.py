"""Predictors of a step as codes, with what members of a household know of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthpop.conditional.encodings import Encodings, make_encodings
from synthpop.conditional.make_up import MakeUp, find_make_up, with_make_up
from synthpop.conditional.members_before import GIVEN_MEMBERS, SEQUENTIAL, with_members_before
from synthpop.conditional.predictors import terms_of
from synthpop.conditional.reference_member import (
    FIRST,
    FIRST_VALUE,
    first_members,
    given_first,
    level_digits,
    number_digits,
)
from synthpop.microdata.frame.block import Sample


def code_sample(
    options: Any,
    sample: Sample,
    values: np.ndarray,
    *,
    without: np.ndarray,
    conditions: Sequence[str] = (),
    n_levels: int | None = None,
) -> tuple[Encodings, Sample, MakeUp | None]:
    """Return how the predictors of a step become cells, the sample with them, and the make-up.

    options: `predictors`, `numeric`, `by` and `by_household` of the step; see `Categorical`
    sample: as `grouped` returns it
    values: array, shape (n,); of the variable: codes of its levels, or numbers (`n_levels` None)
    without: bool array, shape (n,); persons without a value; see `make_encodings`
    conditions: variables that rules name
    """
    # 1. The predictors that were asked for.
    encodings = make_encodings(
        sample,
        terms_of(options.predictors, sample),
        conditions,
        numeric=options.numeric,
        without=without,
        by=options.by,
    )
    if options.by_household not in GIVEN_MEMBERS:
        return encodings, sample, None
    # 2. Which members the household has.
    make_up = find_make_up(sample)
    if make_up is not None:
        encodings, sample = with_make_up(encodings, make_up), make_up.of_sample(sample)
    other_members = first_members(sample.offsets).others
    if not len(other_members):
        return encodings, sample, make_up
    # 3. What the members before have.
    relation = None if make_up is None else make_up.relation
    encodings, sample = with_members_before(
        options.by_household, encodings, sample, values, other_members, n_levels, relation
    )
    # 4. What the first member has.
    if n_levels is None:
        first = sample.offsets[:-1]
        top = options.by_household == SEQUENTIAL
        digits = number_digits(values[first], sample.weights[first], top=top)
    else:
        digits = level_digits(n_levels + 1)
    # the value of the first member is the last predictor
    encodings = encodings.with_variables([digits], ordered=n_levels is None)
    first_values = given_first(values, sample.offsets, FIRST if n_levels is None else n_levels)
    return encodings, sample.with_columns({}, {FIRST_VALUE: first_values}), make_up
