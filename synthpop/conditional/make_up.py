"""The make-up of a household as a predictor: which other members live in it.

Whether a head is married depends on whether a partner lives there. Where `Structure` copies a
relation to the head (a category of which one level occurs exactly once in nearly every household),
the kinds of other members are known before anything else is drawn. Their combination is a
predictor: one level for each of the most frequent combinations of the survey, one for all others.
The relation itself is one too, where it is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.conditional.encodings import Encodings
from synthpop.microdata.frame.block import Block, Sample
from synthpop.models.encoding import coded_digits

MAKE_UP = "(make-up of the household)"
MOST_COMBINATIONS = 12
FEWEST_HOUSEHOLDS = 30
MOST_LEVELS = 30
NEARLY_ALL = 0.95  # of the households have exactly one head


@dataclass(frozen=True, slots=True)
class MakeUp:
    """How the combination of other members becomes a level."""

    relation: str  # column of the relation to the head
    head: int  # code of the head in it
    n_levels: int  # levels of that column
    # int array, shape (k,): bits of the levels that other members have, of the most frequent
    # combinations, sorted
    combinations: np.ndarray

    def codes(self, relation: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the level of each person, 0 ... k (k: any other combination); shape (n,)."""
        bits = _bits(relation, offsets, self.head)
        position = np.minimum(np.searchsorted(self.combinations, bits), len(self.combinations) - 1)
        known = self.combinations[position] == bits
        return np.repeat(np.where(known, position, len(self.combinations)), np.diff(offsets))

    def of_block(self, block: Block) -> Block:
        """Return the block with the predictor among its columns."""
        codes = self.codes(block.columns[self.relation], block.offsets)
        return block.with_columns({MAKE_UP: codes})

    def of_sample(self, sample: Sample) -> Sample:
        """Return the sample with the predictor among its columns."""
        codes = self.codes(sample.columns[self.relation], sample.offsets)
        return sample.with_columns({}, {MAKE_UP: codes})


def _bits(relation: np.ndarray, offsets: np.ndarray, head: int) -> np.ndarray:
    """Return which levels other members have, as bits; shape (n_households,)."""
    bit = np.where((relation >= 0) & (relation != head), 1 << np.maximum(relation, 0), 0)
    if not len(bit):
        return np.zeros(0, dtype=np.int64)
    return np.bitwise_or.reduceat(bit.astype(np.int64), offsets[:-1])


def find_make_up(sample: Sample) -> MakeUp | None:
    """Return the make-up of households; None without a relation to a head in the structure."""
    sizes = np.diff(sample.offsets)
    if (sizes == 1).all():
        return None
    for name in sample.basic:
        field = sample.fields[name]
        if field.kind != "categorical" or not 2 <= len(field.levels) <= MOST_LEVELS:
            continue
        codes = sample.columns[name]
        for head in range(len(field.levels)):
            heads = np.add.reduceat((codes == head).astype(np.int64), sample.offsets[:-1])
            if (heads == 1).mean() < NEARLY_ALL:
                continue
            bits, count = np.unique(_bits(codes, sample.offsets, head), return_counts=True)
            order = np.argsort(-count, kind="stable")[:MOST_COMBINATIONS]
            frequent = bits[order[count[order] >= FEWEST_HOUSEHOLDS]]
            if len(frequent) < 2:
                return None
            return MakeUp(name, head, len(field.levels), np.sort(frequent))
    return None


def with_make_up(encodings: Encodings, make_up: MakeUp) -> Encodings:
    """Return the encodings with the make-up of the household, and the person's own part in it."""
    added = [coded_digits(MAKE_UP, len(make_up.combinations) + 1)]
    if all(item.name != make_up.relation for item in encodings.variables):
        added.insert(0, coded_digits(make_up.relation, make_up.n_levels))
    return encodings.with_variables(added, ordered=False)
