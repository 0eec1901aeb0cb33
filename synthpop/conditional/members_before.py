"""Members of a household one after another, each given the first and all before.

The first member is drawn first, the second given the first. From the third on there are two
predictors more: what the **members before of one's own kind** have (the last of them of a category,
their mean of a number), and what the **second member** has who is of another kind. Kinds are the
levels of the relation to the head where the structure has one; without it the second member is one
kind and all later ones another. So siblings are as alike as those of the survey, which their
likeness to the first member does not tell, and children follow both parents.

Members of one place in their household are drawn together, over all households of a block; from the
ninth on all at once, given those before the ninth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from synthpop.conditional.encodings import Encodings
from synthpop.conditional.fallback import FallbackSequence
from synthpop.conditional.reference_member import (
    FIRST_MEMBER,
    FIRST_VALUE,
    Members,
    block_of,
    first_members,
    number_digits,
)
from synthpop.microdata.frame.block import Block, Sample
from synthpop.microdata.frame.codes import MISSING
from synthpop.models.encoding import Encoding, coded_digits

SEQUENTIAL = "sequential"
GIVEN_MEMBERS = (FIRST_MEMBER, SEQUENTIAL)
OWN_KIND, SECOND = "(members before of the same kind)", "(value of the second member)"
MOST_ROUNDS = 8
FEWEST_WITH_MEMBERS_BEFORE = 50  # sample persons, for a predictor to be there

Draw = Callable[[Block], dict[str, np.ndarray]]


@dataclass(frozen=True, slots=True)
class BeforeRule:
    """How what the members before have becomes predictors."""

    relation: str | None  # column of the relation to the head
    kinds: int
    coded: bool  # whether the values are codes of levels

    def kinds_of(self, rows: np.ndarray, position: int, relation: np.ndarray | None) -> np.ndarray:
        """Return the kinds of members of one place (0: the second), shape (m,)."""
        if relation is None:
            return np.full(len(rows), min(position, 1))
        codes = relation[rows]
        return np.where(codes < 0, self.kinds - 1, codes)

    def as_column(self, values: np.ndarray) -> np.ndarray:
        """Return values with NaN for nobody as codes of levels, or as they are."""
        if not self.coded:
            return values
        return np.where(np.isnan(values), MISSING, values).astype(np.int64)


@dataclass(slots=True)
class Before:
    """What the members before have, of each household; changed as members are drawn.

    values: float array, shape (n_households, kinds); code of a level, or mean of a number; NaN:
        nobody before has a value
    persons: int array, shape (n_households, kinds); how many have a value
    second, kind_of_second: arrays, shape (n_households,)
    """

    rule: BeforeRule
    values: np.ndarray
    persons: np.ndarray
    second: np.ndarray
    kind_of_second: np.ndarray

    @classmethod
    def nobody(cls, rule: BeforeRule, households: int) -> Before:
        """Return it where nobody has been drawn."""
        shape = (households, rule.kinds)
        nothing, none = np.full(shape, np.nan), np.zeros(shape, dtype=np.int32)
        return cls(rule, nothing, none, np.full(households, np.nan), np.full(households, -1))

    def add(
        self, households: np.ndarray, kinds: np.ndarray, values: np.ndarray, position: int
    ) -> None:
        """Add one more member of some households, with arrays of shape (m,)."""
        new = values.astype(np.float64)
        known = ~np.isnan(new) & ((new != MISSING) | (not self.rule.coded))
        cells, new = (households[known], kinds[known]), new[known]
        self.persons[cells] += 1
        if self.rule.coded:
            self.values[cells] = new
        else:
            mean = np.nan_to_num(self.values[cells])
            self.values[cells] = mean + (new - mean) / self.persons[cells]
        if position == 0:
            self.second[cells[0]], self.kind_of_second[cells[0]] = new, cells[1]

    def columns(self, households: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both predictors of members of some households."""
        other_value = np.where(
            self.kind_of_second[households] == kinds, np.nan, self.second[households]
        )
        first = self.values[households, kinds]
        return self.rule.as_column(first), self.rule.as_column(other_value)


def rounds(rows: np.ndarray, offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows of persons, with their households, who are drawn together.

    Examples
    --------
    >>> [rows.tolist() for rows, _ in rounds(np.array([1, 2, 4]), np.array([0, 3, 5]))]
    [[1, 4], [2]]
    """
    household = np.searchsorted(offsets, rows, side="right") - 1
    begins = np.searchsorted(household, household, side="left")
    position = np.minimum(np.arange(len(rows)) - begins, MOST_ROUNDS - 1)
    for k in range(int(position.max(initial=-1)) + 1):
        at_place = position == k
        yield rows[at_place], household[at_place]


def before_in_sample(
    rule: BeforeRule,
    values: np.ndarray,
    rows: np.ndarray,
    offsets: np.ndarray,
    relation: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return both predictors of the sample's persons; shape (n,) each.

    Examples
    --------
    >>> codes, offsets = np.array([0, 2, 1, 1, 0]), np.array([0, 4, 5])
    >>> rule = BeforeRule(None, 2, coded=True)
    >>> own, second = before_in_sample(rule, codes, np.array([1, 2, 3]), offsets)
    >>> own.tolist(), second.tolist()
    ([-1, -1, -1, 1, -1], [-1, -1, 2, 2, -1])
    """
    first, second = (rule.as_column(np.full(len(values), np.nan)) for _ in range(2))
    before = Before.nobody(rule, len(offsets) - 1)
    for position, (members, households) in enumerate(rounds(rows, offsets)):
        kinds = rule.kinds_of(members, position, relation)
        first[members], second[members] = before.columns(households, kinds)
        before.add(households, kinds, values[members], position)
    return first, second


def with_members_before(
    by_household: str | None,
    encodings: Encodings,
    sample: Sample,
    values: np.ndarray,
    rows: np.ndarray,
    n_levels: int | None,
    relation: str | None,
) -> tuple[Encodings, Sample]:
    """Return encodings and sample with the predictors, where members are drawn one after another.

    values: array, shape (n,); codes of levels, or numbers (`n_levels` None)
    rows: of the members beside the first
    relation: column of the relation to the head
    """
    if by_household != SEQUENTIAL:
        return encodings, sample
    kinds = 2 if relation is None else len(sample.fields[relation].levels) + 1
    rule = BeforeRule(relation, kinds, n_levels is not None)
    relations = None if relation is None else sample.columns[relation]
    own_kind, second = before_in_sample(rule, values, rows, sample.offsets, relations)
    columns = {OWN_KIND: own_kind, SECOND: second}
    added: list[Encoding] = []
    for name, column in columns.items():
        known = column != MISSING if rule.coded else ~np.isnan(column)
        if known.sum() < FEWEST_WITH_MEMBERS_BEFORE:
            continue
        if n_levels is not None:
            added.append(coded_digits(name, n_levels))
        else:
            digits = number_digits(column[known], sample.weights[known], top=True)
            added.append(replace(digits, name=name))
    if not added:
        return encodings, sample
    wider = encodings.with_variables(added, ordered=not rule.coded)
    return replace(wider, before=rule), sample.with_columns({}, columns)


def without_members_before(sequence: FallbackSequence, encodings: Encodings) -> FallbackSequence:
    """Return the sequence that leaves the predictors out where no model knows a combination."""
    names = [
        encodings.variables[term[0]].name if len(term) == 1 else "" for term in encodings.terms
    ]
    optional = tuple(t for t, name in enumerate(names) if name in (OWN_KIND, SECOND))
    return replace(sequence, optional=optional)


def nobody_before(block: Block, encodings: Encodings) -> Block:
    """Return the block as first members see it: nobody comes before them."""
    if encodings.before is None:
        return block
    nobody = [encodings.before.as_column(np.full(block.n_persons, np.nan)) for _ in range(2)]
    return block.with_columns({OWN_KIND: nobody[0], SECOND: nobody[1]})


def draw_others(
    block: Block,
    name: str,
    encodings: Encodings,
    draw: Draw,
    members: Members,
    columns: dict[str, np.ndarray],
) -> Block:
    """Draw the members beside the first one into `columns`; return the block with predictors.

    name: the column whose values predict those of later members
    columns: dict of arrays, shape (n,); the first member's values of all members; changed in place
    """
    values = columns[name].copy()
    rule = encodings.before
    if rule is None:
        _draw_rows(block, members.others, encodings, draw, values, columns)
        return block.with_columns({FIRST_VALUE: values})
    block = nobody_before(block, encodings)
    relation = None if rule.relation is None else block.columns[rule.relation]
    before = Before.nobody(rule, len(members.reference))
    for position, (rows, households) in enumerate(rounds(members.others, block.offsets)):
        kinds = rule.kinds_of(rows, position, relation)
        first, second = before.columns(households, kinds)
        block.columns[OWN_KIND][rows], block.columns[SECOND][rows] = first, second
        _draw_rows(block, rows, encodings, draw, values, columns)
        before.add(households, kinds, columns[name][rows], position)
    return block.with_columns({FIRST_VALUE: values})


def _draw_rows(
    block: Block,
    rows: np.ndarray,
    encodings: Encodings,
    draw: Draw,
    first_values: np.ndarray,
    columns: dict[str, np.ndarray],
) -> None:
    if len(rows):
        for key, values in draw(block_of(block, rows, encodings, first_values)).items():
            columns[key][rows] = values


def drawn_given_members(
    block: Block, name: str, encodings: Encodings, draw: Draw, first: float
) -> dict[str, np.ndarray]:
    """Draw the first members, then the others given their values and those of members before.

    name: the column whose value is handed on; first members have `first` in its place
    """
    members = first_members(block.offsets)
    block = nobody_before(block, encodings)
    drawn = draw(block_of(block, members.reference, encodings, np.full(block.n_persons, first)))
    columns = {key: members.handed_on(values) for key, values in drawn.items()}
    draw_others(block, name, encodings, draw, members, columns)
    return columns
