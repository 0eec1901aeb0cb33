"""Numbers of copied households, as ages, drawn again within a few years of those of the sample.

A household of the structure is a copy of one of the sample. With a width d, each member's number v
is drawn again from the weighted sample distribution of persons alike (same levels of the other
variables of the structure) within a stretch of 2 d + 1 whole numbers that has v. Where stretches
begin is drawn for each household. Given it, the new numbers have the distribution of the sample in
each stretch, so that the distribution of all stays what it is.

No stretch goes across a limit: a value beyond which nobody of the sample has some other variable,
as below 16 nobody has an economic status. Members move independently, so the differences between
members of a household become somewhat wider: a couple's by up to 4 d either way. Households that
would break a rule of the pipeline keep the numbers of the sample household.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.conditional.predictors import make_coding, sample_digits
from synthpop.microdata.block import Sample
from synthpop.microdata.codes import MISSING
from synthpop.models.encoding import Digits, cell_codes, distinct_cells, response_limits


@dataclass(frozen=True, slots=True)
class JitterLaw:
    """What a number of the structure is drawn from.

    Attributes
    ----------
    name : str
    width : int
    kinds : tuple of Digits
        The other variables of the structure that are categories.
    cells : int array, shape (k,)
        Code of each kind of persons, sorted.
    starts : int array, shape (k + 1,)
        Where the values of each kind begin.
    values : float array, shape (m,)
        Distinct values of each kind, sorted.
    cumulative : float array, shape (m,)
        Weight of the values of all kinds up to each, itself included.
    limits : float array
        Between values, that are not crossed.
    """

    name: str
    width: int
    kinds: tuple[Digits, ...]
    cells: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    cumulative: np.ndarray
    limits: np.ndarray

    def drawn(
        self, columns: Mapping[str, np.ndarray], offsets: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return new numbers of the persons of a block, shape (n,), as the old ones are typed."""
        old = columns[self.name]
        out, span = old.copy(), 2 * self.width + 1
        shift = np.repeat(rng.integers(0, span, len(offsets) - 1), np.diff(offsets))
        uniforms = rng.random(len(old))
        numbers = old.astype(np.float64)
        low = np.floor((numbers + shift) / span) * span - shift - 0.5
        high = low + span
        if len(self.limits):
            inner = np.concatenate([[-np.inf], self.limits, [np.inf]])
            part = np.searchsorted(self.limits, numbers, side="left")
            low, high = np.maximum(low, inner[part]), np.minimum(high, inner[part + 1])
        cells = cell_codes(self.kinds, [columns[d.name] for d in self.kinds], len(old))
        kind = np.searchsorted(self.cells, cells)
        for k in np.unique(kind[~np.isnan(numbers)]):
            rows = np.flatnonzero((kind == k) & ~np.isnan(numbers))
            out[rows] = self._of_kind(int(k), low[rows], high[rows], uniforms[rows])
        return out

    def _of_kind(
        self, kind: int, low: np.ndarray, high: np.ndarray, uniforms: np.ndarray
    ) -> np.ndarray:
        begin, end = self.starts[kind], self.starts[kind + 1]
        values = self.values[begin:end]
        weight = np.concatenate([[0.0], self.cumulative[begin:end]])
        weight[1:] -= 0.0 if begin == 0 else self.cumulative[begin - 1]
        first = np.searchsorted(values, low, side="right")
        last = np.searchsorted(values, high, side="right")
        target = weight[first] + uniforms * (weight[last] - weight[first])
        place = np.searchsorted(weight, target, side="right") - 1
        chosen: np.ndarray = values[np.clip(place, first, last - 1)]
        return chosen


def jitter_laws(
    widths: Mapping[str, int], variables: Sequence[str], sample: Sample
) -> tuple[JitterLaw, ...]:
    """Learn what the numbers are drawn from."""
    coded = [(name,) for name in variables if sample.fields[name].kind == "categorical"]
    coding = make_coding(sample, coded)
    digits = sample_digits(sample, coding)
    columns = [sample.columns[item.name] for item in coding.variables]
    cell = cell_codes(coding.variables, columns, sample.n_persons)
    first = distinct_cells(digits, coding.sizes)[0]
    cells = np.unique(cell[first])
    laws = []
    for name, width in widths.items():
        numbers = sample.columns[name].astype(np.float64)
        known = ~np.isnan(numbers)
        kind = np.searchsorted(cells, cell)
        pairs, place = np.unique(
            np.column_stack([kind[known], numbers[known]]), axis=0, return_inverse=True
        )
        weights = np.bincount(place.reshape(-1), sample.weights[known], minlength=len(pairs))
        starts = np.searchsorted(pairs[:, 0], np.arange(len(cells) + 1))
        limits = _limits(name, variables, sample)
        laws.append(
            JitterLaw(
                name, int(width), coding.variables, cells, starts, pairs[:, 1],
                np.cumsum(weights), limits,
            )
        )  # fmt: skip
    return tuple(laws)


def _limits(name: str, variables: Sequence[str], sample: Sample) -> np.ndarray:
    """Return the values beyond which nobody has a variable that is not of the structure."""
    numbers = sample.columns[name].astype(np.float64)
    known = ~np.isnan(numbers)
    found: list[float] = []
    for other, values in sample.columns.items():
        if other in variables or other not in sample.fields:
            continue
        coded = sample.fields[other].kind == "categorical"
        without = values == MISSING if coded else np.isnan(values.astype(np.float64))
        if without.any() and known.any():
            found += response_limits(numbers[known], without[known]).tolist()
    return np.unique(found)
