"""Class probabilities shifted by effects of predictors that a penalty shrinks towards zero.

    p(r | x) proportional to q(r | x) exp(a[r] + sum_t b_t[x_t, r]),

where q is given, t runs over terms (a predictor, or a pair of them) and the constants a are free.
The effects maximise the weighted log likelihood minus (k / 2) sum b^2: each b is a draw from a
normal distribution of variance 1 / k before the data are seen. Penalised scaling (Chen and
Rosenfeld 2000, doi:10.1109/89.817452) finds the maximum, for several samples in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from synthpop.conditional.design import Margins, TermLayout
from synthpop.models.margins import MarginsOfCells, scale_to_margins
from synthpop.models.numeric_predictors import in_classes

TOLERANCE = 1e-5  # of class probabilities, in the mean over persons
MAX_SWEEPS = 300


@dataclass(frozen=True, slots=True)
class RidgeEffects:
    """Effects on the logarithms of class probabilities."""

    # columns of digits of each term: none (the constant), one or two
    terms: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]  # number of levels of each column
    # int array, shape (L,): codes of the levels that the sample has, sorted within a term
    codes: np.ndarray
    starts: np.ndarray  # int array, shape (terms + 1,): where the levels of each term start
    # float array, shape (L, R): rows of the levels of all terms, one term after another
    effects: np.ndarray
    sweeps: int = 0
    gap: float = 0.0  # largest violation of the likelihood equations, as a share of all weight
    # for each predictor None, or the class of each of its digits; empty: None for all
    tables: tuple[np.ndarray | None, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Effects, shape (L, R), and the probabilities they make, (c, R); `shrink` changes both."""

    effects: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def without_effects(cls, layout: TermLayout, base: np.ndarray) -> State:
        """Start from given probabilities, shape (c, R), which become those of the state."""
        return cls(np.zeros((layout.n_levels, base.shape[1])), base)


def shrink(
    layout: TermLayout,
    margins: Margins,
    amount: float,
    state: State,
    *,
    tolerance: float = TOLERANCE,
    max_sweeps: int = MAX_SWEEPS,
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the effects of all blocks with the penalty `amount`, in persons, in place.

    The state's effects count as a start; with an infinite amount they have to be zero but for the
    constant. Returns sweeps and largest gaps of the blocks, each shape (B,).
    """
    penalised = np.array([bool(term) for term in layout.terms])
    persons = np.maximum(margins.n_persons, 1)[:, None]
    ridge = np.where(penalised, amount, 0.0) / persons
    sample = MarginsOfCells(
        layout.levels, layout.blocks, layout.starts, margins.totals, margins.target, ridge
    )
    return scale_to_margins(sample, state.effects, state.probabilities, tolerance, max_sweeps)


def effects_of(
    layout: TermLayout, effects: np.ndarray, sweeps: np.ndarray, gaps: np.ndarray
) -> tuple[RidgeEffects, ...]:
    """Return the effects of each block as a `RidgeEffects`."""
    fitted = []
    for starts, n_sweeps, gap in zip(layout.starts, sweeps, gaps, strict=True):
        rows = slice(starts[0], starts[-1])
        arrays = layout.codes[rows].copy(), starts - starts[0], effects[rows].copy()
        outcome = int(n_sweeps), float(gap)
        fitted.append(RidgeEffects(layout.terms, layout.sizes, *arrays, *outcome, layout.tables))
    return tuple(fitted)


def shifted(
    effects: RidgeEffects, base: np.ndarray, digits: np.ndarray, pairs: RidgeEffects | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return shifted probabilities and where the sample had every level but of numbers.

    base: float array, shape (c, R); rows that are zero stay zero
    pairs: effects that come first, of which no level has to be known
    A level without an effect leaves the probabilities as they are.
    """
    sums = np.zeros_like(base)
    if pairs is not None:
        _add_effects(pairs, base, digits, sums)
    known = _add_effects(effects, base, digits, sums)
    np.exp(sums, out=sums)
    sums *= base
    total = sums.sum(axis=1, keepdims=True)
    sums /= np.where(total > 0, total, 1.0)
    return sums, known


def _add_effects(
    effects: RidgeEffects, base: np.ndarray, digits: np.ndarray, sums: np.ndarray
) -> np.ndarray:
    """Add the effects to the sums of each cell; return where the sample had every level."""
    from synthpop.kernels.predictions import sum_effects

    columns, ends, sizes, needed = _layout(
        effects.terms, effects.sizes, tuple(table is not None for table in effects.tables)
    )
    known = np.ones(len(base), dtype=np.bool_)
    sum_effects(
        np.ascontiguousarray(in_classes(digits, effects.tables)), columns, ends, sizes,
        effects.codes, effects.starts, needed, effects.effects, base, sums, known,
    )  # fmt: skip
    return known


@lru_cache(maxsize=64)
def _layout(
    terms: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], in_classes: tuple[bool, ...]
) -> tuple[np.ndarray, ...]:
    """Return the columns of all terms, where those of each start, sizes, and the needed terms."""
    columns = np.array([j for term in terms for j in term], dtype=np.int64)
    ends = np.cumsum([0, *map(len, terms)])
    needed = [len(term) == 1 and not (in_classes and in_classes[term[0]]) for term in terms]
    return columns, ends, np.array(sizes, dtype=np.int64), np.array(needed, dtype=np.bool_)
