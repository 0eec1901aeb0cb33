"""Numbers of copied households, as ages, drawn again within a few years of those of the sample.

A household of the structure is a copy of one of the sample. With a width d, the members' numbers
are drawn again, together, each within a stretch of 2 d + 1 whole numbers that has the copied one.
Where stretches begin is drawn for each household. Members stand in the order of their numbers,
the highest first, and are drawn from a chain,

    p(v_1, ..., v_n) proportional to  product of f[kind_i, v_i]  x  product of g[kinds, v_i - v_i+1]

with one factor for each number of each kind of persons (same levels of the other variables of the
structure) and one for each gap between neighbours of two kinds; gaps are never negative. The
factors are scaled, after each other, such that the expected numbers of each kind and the expected
gaps of each two kinds are those of the weighted sample. So couples, parents and children, and
siblings stay as far apart as those of the survey.

No stretch goes across a limit: a value beyond which nobody of the sample has some other variable,
as below 16 nobody has an economic status. Households that would break a rule of the pipeline keep
the numbers of the sample household.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.encodings import make_encodings, sample_digits
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.text import count
from synthpop.models.encoding import Encoding, cell_codes, distinct_cells, response_limits

ROUNDS = 12
FEWEST_PAIRS = 100  # neighbours of two kinds, for gaps of their own
MOST_VALUES = 1_000
LARGEST_STEP = 4.0  # of a factor in one round


@dataclass(frozen=True, slots=True)
class JitterLaw:
    """What a number of the structure is drawn from."""

    name: str
    width: int
    kinds: tuple[Encoding, ...]  # the other variables of the structure that are categories
    cells: np.ndarray  # int array, shape (k,): code of each kind of persons, sorted
    lowest: int  # smallest value of the sample
    # float array, shape (k, m): factor of lowest, lowest + 1, ... for each kind; 0 where the
    # sample has none.
    values: np.ndarray
    gap_table: np.ndarray  # int array, shape (k, k): table of gaps for the kinds of two neighbours
    gaps: np.ndarray  # float array, shape (t, m): factor of the gaps 0, 1, ... in each table.
    limits: np.ndarray  # float array: between values, that are not crossed

    def drawn(
        self, columns: Mapping[str, np.ndarray], offsets: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return new numbers of the persons of a block, shape (n,), as the old ones are typed."""
        from synthpop.kernels.chains import draw_chains

        old = columns[self.name]
        shifts = rng.integers(0, self.span, len(offsets) - 1)
        uniforms = rng.random(len(old))
        cells = cell_codes(self.kinds, [columns[d.name] for d in self.kinds], len(old))
        kind = np.searchsorted(self.cells, cells)
        chain = _chain(old.astype(np.float64), kind, offsets)
        numbers = np.empty(len(chain.rows), dtype=np.int64)
        stretches = self.stretches(chain, shifts[chain.household])
        draw_chains(*(*stretches, uniforms[chain.rows], self.span, numbers))
        out = old.copy()
        out[chain.rows] = numbers + self.lowest
        return out

    @property
    def span(self) -> int:
        """Whole numbers in a stretch."""
        return 2 * self.width + 1

    def stretches(self, chain: _Chain, shifts: np.ndarray) -> Any:
        """Return the first arguments of the kernels; numbers count from the lowest value."""
        low = (chain.numbers + shifts) // self.span * self.span - shifts
        span = np.arange(self.lowest, self.lowest + self.values.shape[1])
        segments = np.searchsorted(self.limits, span, side="left")
        return (
            chain.ends, low - self.lowest, chain.numbers - self.lowest, chain.kind, segments,
            self.values, self.gap_table, self.gaps,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Chain:
    """Persons with a number, household by household, the highest number first; arrays (p,)."""

    rows: np.ndarray
    household: np.ndarray
    numbers: np.ndarray
    kind: np.ndarray
    has_next: np.ndarray
    ends: np.ndarray


def _chain(numbers: np.ndarray, kind: np.ndarray, offsets: np.ndarray) -> _Chain:
    household = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = np.flatnonzero(~np.isnan(numbers))
    rows = rows[np.lexsort((-numbers[rows], household[rows]))]
    owner = household[rows]
    has_next = np.append(owner[1:] == owner[:-1], False)[: len(rows)]
    ends = np.append(0, np.flatnonzero(~has_next) + 1)
    return _Chain(rows, owner, numbers[rows].astype(np.int64), kind[rows], has_next, ends)


def jitter_laws(
    widths: Mapping[str, int], variables: Sequence[str], sample: Sample
) -> tuple[JitterLaw, ...]:
    """Learn what the numbers are drawn from.

    Raises InputError: a number is not whole, or has values that are 1,000 or more apart.
    """
    coded = [(name,) for name in variables if sample.fields[name].kind == "categorical"]
    encodings = make_encodings(sample, coded)
    digits = sample_digits(sample, encodings)
    cell = encodings.cells(sample.columns, sample.n_persons)
    cells = np.unique(cell[distinct_cells(digits, encodings.sizes)[0]])
    kind = np.searchsorted(cells, cell)
    laws = []
    for name, width in widths.items():
        numbers = sample.columns[name].astype(np.float64)
        known = numbers[~np.isnan(numbers)]
        if len(known):
            _check_numbers(name, known)
            chain = _chain(numbers, kind, sample.offsets)
            limits = _limits(name, variables, sample)
            law = _observed_law(name, int(width), encodings.variables, cells, chain, limits)
            laws.append(_fitted(law, chain, sample.weights[chain.rows]))
    return tuple(laws)


def _check_numbers(name: str, known: np.ndarray) -> None:
    is_whole = bool((known == np.rint(known)).all())
    if is_whole and known.max() - known.min() < MOST_VALUES:
        return
    what = f"takes whole numbers less than {count(MOST_VALUES)} apart, as ages; {name!r} has others"
    raise InputError.of("recipe", "structure: jitter", what, f"Take {name!r} out of jitter.")


def _observed_law(
    name: str,
    width: int,
    kinds: tuple[Encoding, ...],
    cells: np.ndarray,
    chain: _Chain,
    limits: np.ndarray,
) -> JitterLaw:
    """Return a law with all the numbers and gaps that the sample has, in tables of zeros."""
    lowest, k = int(chain.numbers.min()), len(cells)
    n_values = int(chain.numbers.max()) - lowest + 1
    gap_table = _gap_table(chain, k)
    gaps = np.zeros((int(gap_table.max(initial=0)) + 1, n_values))
    values = np.zeros((k, n_values))
    return JitterLaw(name, width, kinds, cells, lowest, values, gap_table, gaps, limits)


def _fitted(law: JitterLaw, chain: _Chain, weights: np.ndarray) -> JitterLaw:
    """Scale the factors such that numbers and gaps are expected to be those of the sample."""
    from synthpop.kernels.chains import add_expected

    # 1. what the sample has
    older = np.flatnonzero(chain.has_next)
    values, gaps = law.values, law.gaps
    np.add.at(values, (chain.kind, chain.numbers - law.lowest), weights)
    table = law.gap_table[chain.kind[older], chain.kind[older + 1]]
    np.add.at(gaps, (table, chain.numbers[older] - chain.numbers[older + 1]), weights[older])
    law = replace(law, values=values.copy(), gaps=(gaps > 0).astype(np.float64))
    for _ in range(ROUNDS):
        # 2. what is expected, over all places where stretches can begin
        expected_values, expected_gaps = np.zeros(values.shape), np.zeros(gaps.shape)
        for shift in range(law.span):
            stretches = law.stretches(chain, np.full(len(chain.rows), shift))
            add_expected(*(*stretches, weights, law.span, expected_values, expected_gaps))
        # 3. factors times the ratio of both
        law = replace(
            law,
            values=law.values * _ratio(values, expected_values / law.span),
            gaps=law.gaps * _ratio(gaps, expected_gaps / law.span),
        )
    return law


def _gap_table(chain: _Chain, k: int) -> np.ndarray:
    """Return the table of gaps for two neighbours of k kinds, (k, k); few pairs share table 0."""
    older = np.flatnonzero(chain.has_next)
    pair = chain.kind[older] * k + chain.kind[older + 1]
    frequent = np.bincount(pair, minlength=k * k) >= FEWEST_PAIRS
    numbered = np.where(frequent, np.cumsum(frequent), 0)
    return numbered.reshape(k, k).astype(np.int64)


def _ratio(wanted: np.ndarray, expected: np.ndarray) -> np.ndarray:
    ratio = np.divide(wanted, expected, out=np.ones_like(wanted), where=expected > 0)
    return np.clip(ratio, 1 / LARGEST_STEP, LARGEST_STEP)


def _limits(name: str, variables: Sequence[str], sample: Sample) -> np.ndarray:
    """Return the values beyond which nobody has a variable that is not of the structure."""
    numbers = sample.columns[name].astype(np.float64)
    known = ~np.isnan(numbers)
    limits: list[float] = []
    for other, values in sample.columns.items():
        if other in variables or other not in sample.fields:
            continue
        coded = sample.fields[other].kind == "categorical"
        without = values == MISSING if coded else np.isnan(values.astype(np.float64))
        if without.any() and known.any():
            limits += response_limits(numbers[known], without[known]).tolist()
    return np.unique(limits)
