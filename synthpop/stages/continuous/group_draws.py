"""Draws of a number that are spread evenly over each group of persons whose mean is calibrated.

A group of a thousand persons, in a block for each stratum and drawn member by member, has a few
persons in the top class; left to chance their number moves the mean by a tenth. Here the uniform
numbers of a group run on from one draw of a block to the next, as in `synthpop.conditional.draw`,
and who is in the top class is a systematic sample with unequal probabilities (Madow 1949,
doi:10.1214/aoms/1177730032): their number is the expected one, give or take less than one. The
sequences of the blocks begin at the points of a van der Corput sequence, scrambled for each group
(Burley 2020, Journal of Computer Graphics Techniques 9(4)), so that what one block has too much of
others have less of. Each person's distribution is the same as with independent draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.conditional.draw import FEWEST
from synthpop.microdata.frame.block import Block

SCRAMBLING = (0x6C50B47C, 0xB82F1E52, 0xC7AFE638, 0x8D22F6E6)
SWAPS = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF))
BELOW_ONE = np.nextafter(1.0, 0.0)


def scrambled_points(number: int, seeds: np.ndarray) -> np.ndarray:
    """Return term `number` of a van der Corput sequence for each scrambling, in [0, 1).

    Examples
    --------
    >>> points = [scrambled_points(k, np.array([7], np.uint32))[0] for k in range(8)]
    >>> sorted((np.array(points) * 8).astype(int).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    bits = seeds + np.uint32(number % 2**32)
    for factor in SCRAMBLING:
        bits = bits ^ (bits * np.uint32(factor))
    for step, mask in SWAPS:
        bits = ((bits >> np.uint32(step)) & np.uint32(mask)) | (
            (bits & np.uint32(mask)) << np.uint32(step)
        )
    return bits / 2.0**32


@dataclass(frozen=True, slots=True)
class GroupDraws:
    """Where the sequences of the groups in a block have come to; they go on with every draw.

    classes, top: float arrays, shape (L,); of the class of a person, and of whether it is the last
    """

    classes: np.ndarray
    top: np.ndarray
    values: np.ndarray  # float array, shape (L * R,): of the value in a class

    @classmethod
    def of_block(
        cls,
        block: Block,
        n_strata: int,
        label: str,
        shape: tuple[int, int],
        rng: np.random.Generator,
    ) -> GroupDraws:
        """Begin the sequences of a block, for `shape` of groups and classes, (L, R).

        rng: where the block does not know the streams of its population
        """
        size, n_classes = shape
        n = size * (n_classes + 2)
        stream = rng if block.shared is None else block.shared("sequences", label)
        seeds = stream.integers(0, 2**32, size=n, dtype=np.uint32)
        starts = scrambled_points(block.number * n_strata + block.stratum, seeds)
        return cls(*np.split(starts, [size, 2 * size]))

    def class_uniforms(
        self,
        groups: np.ndarray,
        places: np.ndarray,
        top_shares: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Return uniform numbers by which persons draw their class, shape (n,).

        Persons of a group with neighbouring `places` are alike; `top_shares` are the probabilities
        of the last class.
        """
        # 1. An order: group by group, in a group by place, in random order among 20 persons.
        counts = np.bincount(places)
        runs = (np.cumsum(counts) - counts) // FEWEST
        order = np.argsort(groups * float(len(runs)) + runs[places] + rng.random(len(groups)))
        uniforms = np.empty(len(groups))
        uniforms[order] = continued(groups[order], self.classes)
        # 2. Who is in the last class: where the sum of the probabilities passes a whole number.
        shares, ends = top_shares[order], sums_in_groups(top_shares[order], groups[order])
        ends += self.top[groups[order]]
        chosen = np.floor(ends) > np.floor(ends - shares)
        self.top[:] += np.bincount(groups, top_shares, minlength=len(self.top))
        # 3. The numbers of these lie in the last class, those of the others below it.
        drawn = uniforms[order]
        uniforms[order] = np.where(chosen, 1.0 - shares * (1.0 - drawn), (1.0 - shares) * drawn)
        return np.minimum(uniforms, BELOW_ONE)

    def value_uniforms(self, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return uniform numbers by which persons of cells draw their value, shape (n,)."""
        order = np.argsort(cells + rng.random(len(cells)))
        uniforms = np.empty(len(cells))
        uniforms[order] = continued(cells[order], self.values)
        return uniforms


def continued(groups: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the next terms of the sequences of sorted groups, and move `starts` on."""
    from synthpop.kernels.spreading import GOLDEN

    counts = np.bincount(groups, minlength=len(starts))
    position = np.arange(len(groups)) - (np.cumsum(counts) - counts)[groups]
    terms = starts[groups] + position * GOLDEN
    starts[:] = (starts + counts * GOLDEN) % 1.0
    return terms - np.floor(terms)


def sums_in_groups(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the cumulative sums of values of sorted groups, shape (n,).

    Examples
    --------
    >>> sums_in_groups(np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1])).tolist()
    [1.0, 3.0, 5.0]
    """
    sums = np.cumsum(values)
    first = np.searchsorted(groups, groups)
    before = np.where(first > 0, sums[first - 1], 0.0)
    return sums - before
