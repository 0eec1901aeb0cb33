"""Terms of a model, predictors and pairs of them, and the margins that a sample has by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthpop.models.numeric_predictors import Numbers, in_classes

MOST_EFFECTS = 1_000_000  # of pairs of predictors: cells of all pairs times classes
MOST_WORK = 20_000_000  # of a sweep over them: pairs times persons times classes

Terms = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TermLayout:
    """Levels of terms that blocks of cells have; each block is a sample with its own effects."""

    terms: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    blocks: np.ndarray  # int array, shape (B + 1,): where the cells of each block start
    # int array, shape (terms, c): row of each term's level of each cell among the effects
    levels: np.ndarray
    # int array, shape (B, terms + 1): where the rows of each term of a block start, and end
    starts: np.ndarray
    codes: np.ndarray  # int array, shape (L,): code of the level of each row
    # for each predictor None, or the class of each of its digits; empty: None for all
    tables: tuple[np.ndarray | None, ...] = ()

    @property
    def n_levels(self) -> int:
        """Rows of effects of all blocks, L."""
        return len(self.codes)


def lay_out(
    digits: np.ndarray, blocks: np.ndarray, sizes: Sequence[int], terms: Terms, tables: Numbers = ()
) -> TermLayout:
    """Number the levels that cells have; arguments as in `TermLayout`, digits of shape (c, m).

    Examples
    --------
    >>> lay_out(np.array([[1], [2], [2]]), np.array([0, 2, 3]), [3], [(), (0,)]).levels.tolist()
    [[0, 0, 3], [1, 2, 4]]
    """
    n_blocks, n_cells = len(blocks) - 1, len(digits)
    digits = in_classes(digits, tables)
    block = np.repeat(np.arange(n_blocks), np.diff(blocks))
    numbers = np.zeros((len(terms), n_cells), dtype=np.int64)
    counts = np.zeros((n_blocks, len(terms)), dtype=np.int64)
    columns = []
    for t, term in enumerate(terms):
        code = term_codes(term, sizes, digits)
        span = int(code.max(initial=0)) + 1
        distinct, inverse = np.unique(block * span + code, return_inverse=True)
        counts[:, t] = np.bincount(distinct // span, minlength=n_blocks)
        numbers[t] = inverse.reshape(-1)
        columns.append(distinct % span)
    ends = np.cumsum(counts).reshape(counts.shape)
    starts = np.column_stack([ends[:, :1] - counts[:, :1], ends])
    before = np.cumsum(counts, axis=0) - counts  # rows of the term in earlier blocks
    levels = numbers + (starts[:, :-1] - before)[block].T
    codes = np.zeros(int(counts.sum()), dtype=np.int64)
    for t, distinct in enumerate(columns):
        rows = np.repeat(starts[:, t] - before[:, t], counts[:, t]) + np.arange(len(distinct))
        codes[rows] = distinct
    levels = np.ascontiguousarray(levels)
    return TermLayout(tuple(terms), tuple(sizes), blocks, levels, starts, codes, tuple(tables))


@dataclass(frozen=True, slots=True)
class Margins:
    """The margins of the sample of each block.

    totals: float array, shape (c,); weight of each cell, sum 1 in a block; 0 without a sample
    target: float array, shape (L, R); weight of each level and class
    n_persons: int array, shape (B,)
    """

    totals: np.ndarray
    target: np.ndarray
    n_persons: np.ndarray


def margins_of(
    layout: TermLayout, cells: np.ndarray, classes: np.ndarray, weights: np.ndarray, n_classes: int
) -> Margins:
    """Add up weights by level and class; arrays of shape (n,)."""
    n_blocks, n_cells = len(layout.starts), layout.levels.shape[1]
    block = np.repeat(np.arange(n_blocks), np.diff(layout.blocks))[cells]
    shares = weights / np.bincount(block, weights=weights, minlength=n_blocks)[block]
    target = np.zeros(layout.n_levels * n_classes)
    for levels in layout.levels:
        position = levels[cells] * n_classes + classes
        target += np.bincount(position, weights=shares, minlength=len(target))
    return Margins(
        np.bincount(cells, weights=shares, minlength=n_cells),
        target.reshape(-1, n_classes),
        np.bincount(block, minlength=n_blocks),
    )


def term_codes(term: tuple[int, ...], sizes: Sequence[int], digits: np.ndarray) -> np.ndarray:
    """Return a number for the level of a term, shape (n,); digits shape (n, m)."""
    code = np.zeros(len(digits), dtype=np.int64)
    for j in term:
        code = code * int(sizes[j]) + digits[:, j]
    return code


def single_terms(m: int) -> list[tuple[int, ...]]:
    """Return the constant and each of m predictors."""
    return [(), *((j,) for j in range(m))]


def pair_terms(m: int) -> tuple[tuple[int, ...], ...]:
    """Return the pairs of m predictors."""
    return tuple(combinations(range(m), 2))


def pairs_within_bounds(
    digits: np.ndarray, sizes: Sequence[int], n_classes: int, pairs: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Return the pairs that can be fitted with bounded memory and time, in the order given.

    Those with the fewest cells in the sample come first, as long as all their effects are at most
    `MOST_EFFECTS`, and a sweep over them takes at most `MOST_WORK` steps.

    Examples
    --------
    >>> digits = np.array([[0, 0, 0], [1, 1, 0]])
    >>> pairs_within_bounds(digits, [2, 2, 1], 2, [(0, 1), (0, 2)])
    ((0, 1), (0, 2))
    """
    counts = [len(np.unique(term_codes(pair, sizes, digits))) for pair in pairs]
    cells = np.array(counts, dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    effects = np.cumsum(cells[order]) * n_classes
    work = np.arange(1, len(pairs) + 1) * len(digits) * n_classes
    positions = np.sort(order[(effects <= MOST_EFFECTS) & (work <= MOST_WORK)])
    return tuple(pairs[position] for position in positions.tolist())
