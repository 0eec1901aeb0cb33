"""Members of a household given its head: the head is drawn first, the others given its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from synthpop.microdata.block import Block, Sample
from synthpop.microdata.dataset import Field
from synthpop.models.cells import (
    DECILES,
    FEW_VALUES,
    Digits,
    coded_digits,
    numeric_digits,
    strides,
)
from synthpop.models.ladder import Design
from synthpop.stages.predictors import Coding, make_design
from synthpop.weighted import quantile

HEAD = "head"
HEAD_VALUE = "(value of the head)"
HEADS, OTHERS = "heads: ", "other members: "
FEWEST_IN_CLASS = 20
OTHERS_SEED = 10_000  # apart from those of the strata of the heads' models


@dataclass(frozen=True, slots=True)
class Members:
    """Who is drawn first in the households of a sample or block, and who is drawn given them.

    Attributes
    ----------
    heads : int array, shape (n_households,)
        Row of the head of each household.
    others : int array, shape (m,)
        Rows of the members that are drawn given the head.
    sizes : int array, shape (n_households,)
        Persons of each household.
    """

    heads: np.ndarray
    others: np.ndarray
    sizes: np.ndarray

    def handed_on(self, values: np.ndarray) -> np.ndarray:
        """Give the values of the heads, shape (n_households,), to all members; shape (n,)."""
        return np.repeat(values, self.sizes)


def members_beside(
    heads: np.ndarray, offsets: np.ndarray, apart: np.ndarray | None = None
) -> Members:
    """Return the members beside heads that are known, without those that are set `apart`.

    Parameters
    ----------
    heads : int array, shape (n_households,)
    offsets : int array, shape (n_households + 1,)
    apart : bool array, shape (n,), optional
    """
    given = np.ones(int(offsets[-1]), dtype=bool)
    given[heads] = False
    if apart is not None:
        given &= ~apart
    return Members(heads, np.flatnonzero(given), np.diff(offsets))


def first_members(offsets: np.ndarray) -> Members:
    """Return the first members as heads and all others.

    Examples
    --------
    >>> found = first_members(np.array([0, 3, 4]))
    >>> found.heads.tolist(), found.others.tolist()
    ([0, 3], [1, 2])
    """
    return members_beside(offsets[:-1], offsets)


def number_digits(values: np.ndarray, weights: np.ndarray) -> Digits:
    """Choose the classes of the head's value of a number.

    With up to 20 distinct values one class for each. Otherwise weighted deciles of the values that
    are not zero; zero, and the values below it, are apart where 20 heads have such a value.

    Parameters
    ----------
    values : float array, shape (n_households,)
        NaN is missing, the digit 0.
    weights : float array, shape (n_households,)

    Examples
    --------
    >>> x = np.concatenate([np.zeros(30), np.arange(1.0, 101.0)])
    >>> number_digits(x, np.ones(130)).breaks.tolist()[:3]
    [0.0, 10.0, 20.0]
    """
    there = ~np.isnan(values)
    apart = there & (values != 0)
    if len(np.unique(values[there])) <= FEW_VALUES or not weights[apart].sum() > 0:
        return numeric_digits(HEAD_VALUE, values, weights)
    limits = np.unique(quantile(values[apart], weights[apart], DECILES))
    if (values[there] == 0).sum() >= FEWEST_IN_CLASS:
        limits = np.union1d(limits, [0.0])
    if (values[there] < 0).sum() >= FEWEST_IN_CLASS:
        limits = np.union1d(limits, [np.nextafter(0.0, -1.0)])
    limits = limits[limits < values[there].max()]
    return Digits(HEAD_VALUE, len(limits) + 2, limits)


def level_digits(field: Field) -> Digits:
    """Return the classes of the head's value of a variable with levels: all of them, and none."""
    return coded_digits(HEAD_VALUE, len(field.levels))


def with_head(coding: Coding, digits: Digits, *, ordered: bool) -> Coding:
    """Return the coding with the value of the head as last predictor."""
    variables = (*coding.variables, digits)
    strides(variables)  # refuses more combinations than can be told apart
    last = (len(variables) - 1,)
    return replace(
        coding,
        variables=variables,
        terms=(*coding.terms, last),
        ordered=(*coding.ordered, ordered),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """Sample persons with a model of their own.

    Attributes
    ----------
    rows : int array, shape (n,)
    coding : Coding
    design : Design
        Of these rows.
    who : str
        Begins what is recorded of the fit.
    """

    rows: np.ndarray
    coding: Coding
    design: Design
    who: str = ""


def whole(sample: Sample, coding: Coding, classes: np.ndarray, n_classes: int) -> tuple[Part, ...]:
    """Return all persons as one part."""
    rows = np.arange(sample.n_persons)
    return (Part(rows, coding, make_design(sample, coding, classes, n_classes)),)


def heads_and_others(
    sample: Sample,
    members: Members,
    coding: Coding,
    digits: Digits,
    values: np.ndarray,
    classes: np.ndarray,
    n_classes: int,
    *,
    ordered: bool,
) -> tuple[Part, ...]:
    """Return the heads, and the others with the head's value as a further predictor.

    Parameters
    ----------
    sample : Sample
    members : Members
    coding : Coding
        Of the predictors.
    digits : Digits
        Of the head's value.
    values : array, shape (n_persons,)
        Codes or numbers of the variable.
    classes : int array, shape (n_persons,)
        The response.
    n_classes : int
    ordered : bool
        Whether `digits` have a meaningful order.

    Returns
    -------
    tuple of Part
        The heads, and the others where there are any.
    """
    held = members.handed_on(values[members.heads])
    wide = with_head(coding, digits, ordered=ordered)
    given = sample.with_columns({}, {HEAD_VALUE: held})
    found = (
        Part(members.heads, coding,
             make_design(sample, coding, classes, n_classes, members.heads), HEADS),
        Part(members.others, wide,
             make_design(given, wide, classes, n_classes, members.others), OTHERS),
    )  # fmt: skip
    return found if len(members.others) else found[:1]


def block_of(
    block: Block, rows: np.ndarray, coding: Coding, held: np.ndarray | None = None
) -> Block:
    """Return some persons of a block, with the predictors of a coding.

    `held` are the values that the heads hand on, shape (n_persons,) of the whole block.
    """
    columns = block.columns if held is None else {**block.columns, HEAD_VALUE: held}
    names = dict.fromkeys(item.name for item in coding.variables)
    part = {name: columns[name][rows] for name in names}
    ids = np.arange(len(rows) + 1)
    return Block(block.stratum, block.number, ids, part, block.fallbacks)


Draw = Callable[[Block], dict[str, np.ndarray]]


def drawn_given_heads(
    block: Block, name: str, heads: tuple[Coding, Draw], others: tuple[Coding, Draw]
) -> dict[str, np.ndarray]:
    """Draw the first members, then the others given their values.

    Parameters
    ----------
    block : Block
    name : str
        The column whose value is handed on.
    heads, others : (Coding, function)
        Predictors, and how the columns of a block of such persons are drawn.
    """
    members = first_members(block.offsets)
    coding, draw = heads
    first = draw(block_of(block, members.heads, coding))
    columns = {key: members.handed_on(values) for key, values in first.items()}
    if len(members.others):
        coding, draw = others
        found = draw(block_of(block, members.others, coding, columns[name]))
        for key, values in found.items():
            columns[key][members.others] = values
    return columns
