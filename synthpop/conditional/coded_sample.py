"""Predictors of a step as codes, with what members of a household know of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from synthpop.conditional.coding import Coding, make_coding
from synthpop.conditional.make_up import MakeUp, make_up_for, with_make_up
from synthpop.conditional.members_before import GIVEN_MEMBERS, SEQUENTIAL, with_members_before
from synthpop.conditional.predictors import Predictors, resolve_terms, usable
from synthpop.conditional.reference_member import (
    FIRST,
    FIRST_VALUE,
    first_members,
    given_first,
    has_others,
    level_digits,
    number_digits,
)
from synthpop.microdata.block import Sample


class PredictorOptions(Protocol):
    """Options of a step that say what predicts; see `synthpop.stages.categorical.Categorical`."""

    @property
    def predictors(self) -> Predictors:
        """Which variables predict."""

    @property
    def numeric(self) -> str:
        """How numbers predict."""

    @property
    def by(self) -> str | None:
        """Variable whose levels have models of their own."""

    @property
    def by_household(self) -> str | None:
        """How members of a household hang together."""


class CodedSample(NamedTuple):
    """A sample with all predictors of a step, and how they become cells."""

    coding: Coding
    sample: Sample
    make_up: MakeUp | None


def code_sample(
    options: PredictorOptions,
    sample: Sample,
    values: np.ndarray,
    *,
    without: np.ndarray,
    conditions: Sequence[str] = (),
    n_levels: int | None = None,
) -> CodedSample:
    """Return a sample with the predictors of a step, and how they become cells.

    sample: as `grouped` returns it
    values: array, shape (n,); of the variable: codes of its levels, or numbers
    without: bool array, shape (n,); persons without a value; see `make_coding`
    conditions: variables that rules name
    n_levels: of the variable; None for numbers
    """
    # 1. The predictors that were asked for.
    names, basic = usable(sample.available, sample), usable(sample.basic, sample)
    coding = make_coding(
        sample,
        resolve_terms(options.predictors, names, basic),
        conditions,
        numeric=options.numeric,
        without=without,
        by=options.by,
    )
    # 2. Which members the household has.
    make_up = make_up_for(options.by_household, sample)
    if make_up is not None:
        coding, sample = with_make_up(coding, make_up), make_up.of_sample(sample)
    if options.by_household not in GIVEN_MEMBERS or not has_others(sample.offsets):
        return CodedSample(coding, sample, make_up)
    # 3. What the members before have.
    other_members = first_members(sample.offsets).others
    relation = None if make_up is None else make_up.relation
    coding, sample = with_members_before(
        options.by_household, coding, sample, values, other_members, n_levels, relation
    )
    # 4. What the first member has.
    if n_levels is None:
        first = sample.offsets[:-1]
        top = options.by_household == SEQUENTIAL
        digits = number_digits(values[first], sample.weights[first], top=top)
    else:
        digits = level_digits(n_levels + 1)
    # the value of the first member is the last predictor
    coding = coding.with_variables([digits], ordered=n_levels is None)
    first_values = given_first(values, sample.offsets, FIRST if n_levels is None else n_levels)
    return CodedSample(coding, sample.with_columns({}, {FIRST_VALUE: first_values}), make_up)
