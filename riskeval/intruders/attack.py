"""The pass over the population: every block is looked up in the tree of sample-unique keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.intruders.key_model import KeyMoments, solve_key_model
from riskeval.intruders.key_tree import KeyCoder, KeyTree, key_tree
from riskeval.intruders.requests import Request, check_block
from synthpop.microdata.codes import MISSING, CodedKeys, cell_ids, encode_keys
from synthpop.microdata.errors import Faults

CHUNK = 1 << 17
ROUNDING = 1e-9
"""Slack of predictions, as a share of the largest one: a fitted 0 is 0 up to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """What the population shows about the sample-unique records.

    Attributes
    ----------
    unique : int64, shape (u,)
        Positions of the sample-unique records.
    target : float64, shape (n,)
        True values, NaN where missing.
    count : int64, shape (u,)
        Matches in the population.
    within : bool, shape (u, a)
        Whether all matches are close to the true value; True where there is no match.
    product : float64, shape (u, a)
        Product of the overlap ratios over all matches; 1 where there is no match.
    predicted : float64, shape (n,)
        Prediction of the linear model; NaN where none is possible or none was asked for.
    low, high : float64, shape (u, a)
        The intervals around the true values.
    n_population : int
    """

    unique: np.ndarray
    target: np.ndarray
    count: np.ndarray
    within: np.ndarray
    product: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_population: int

    def attacked(self, scenario: int) -> np.ndarray:
        """Records with a true value that the scenario applies to: bool, shape (u,)."""
        known = ~np.isnan(self.target[self.unique])
        if scenario in (1, 2):
            return known & (self.count == 1)
        if scenario in (3, 4):
            return known & (self.count > 0)
        return known & ~np.isnan(self.predicted[self.unique])

    def disclosed(self, scenario: int) -> np.ndarray:
        """Probability that each record is disclosed at each accuracy: float64, shape (u, a)."""
        if scenario == 5:
            predicted = self.predicted[self.unique][:, None]
            largest = np.abs(self.predicted[~np.isnan(self.predicted)]).max(initial=0.0)
            slack = ROUNDING * largest
            close = (predicted >= self.low - slack) & (predicted <= self.high + slack)
        else:
            close = self.product if scenario in (1, 3) else self.within
        return np.where(self.attacked(scenario)[:, None], close, 0.0)


def truth_intervals(target: np.ndarray, accuracy: tuple[float, ...]) -> np.ndarray:
    """Intervals around true values, shape (2, n, a); ordered also where the value is negative.

    Examples
    --------
    >>> truth_intervals(np.array([100.0, -100.0, 0.0]), (0.5,))[:, :, 0].tolist()
    [[50.0, -150.0, 0.0], [150.0, -50.0, 0.0]]
    """
    p = np.asarray(accuracy)
    ends = np.stack([target[:, None] * (1 - p), target[:, None] * (1 + p)])
    ordered: np.ndarray = np.sort(ends, axis=0)
    return ordered


def sample_unique(keys: CodedKeys, missing: str) -> np.ndarray:
    """Positions of the records whose key combination no other record of the sample has."""
    ids, n_cells = cell_ids(keys.codes, [len(levels) for levels in keys.levels])
    alone = np.bincount(ids, minlength=n_cells)[ids] == 1
    if missing == "unmatched":
        alone &= (keys.codes != MISSING).all(axis=1)
    return np.flatnonzero(alone)


def attack(request: Request) -> Attack:
    """Read the population once and note what it shows about the sample-unique records."""
    keys = encode_keys(request.sample, request.keys)
    unique = sample_unique(keys, request.missing)
    target = request.sample[request.target].to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = truth_intervals(target[unique], request.accuracy)
    coders = [KeyCoder(levels) for levels in keys.levels]
    n_known = np.array([coder.n_known for coder in coders], dtype=np.int32)
    own_codes = np.where(keys.codes == MISSING, n_known, keys.codes)
    tree = key_tree(own_codes[unique], [coder.radix for coder in coders])
    seen = _Seen(
        count=np.zeros(len(unique), dtype=np.int64),
        within=np.ones(low.shape, dtype=np.bool_),
        product=np.ones(low.shape),
        moments=KeyMoments(len(coders)) if 5 in request.computed else None,
    )
    for offset, block in _checked(request):
        _read_block(request, block, offset, coders, tree, low, high, seen)
    _check_common_levels(request, coders, seen.n)
    predicted = np.full(len(target), np.nan)
    if seen.moments is not None and seen.n:
        predicted = solve_key_model(seen.moments).predict(own_codes)
    return Attack(
        unique, target, seen.count, seen.within, seen.product, predicted, low, high, seen.n
    )


@dataclass(slots=True, eq=False)
class _Seen:
    """What has been seen so far; the only thing here that changes."""

    count: np.ndarray
    within: np.ndarray
    product: np.ndarray
    moments: KeyMoments | None
    n: int = 0


def _checked(request: Request) -> Iterator[tuple[int, pd.DataFrame]]:
    """Blocks with the number of persons before them; a faulty block stops the pass."""
    offset = 0
    for block in request.population:
        faults = Faults("population")
        check_block(faults, block, request.keys, request.target, request.intervals)
        faults.raise_if_any()
        yield offset, block
        offset += len(block)


def _read_block(
    request: Request,
    block: pd.DataFrame,
    offset: int,
    coders: list[KeyCoder],
    tree: KeyTree,
    low: np.ndarray,
    high: np.ndarray,
    seen: _Seen,
) -> None:
    from riskeval.kernels.scenarios import match_block

    for begin in range(0, len(block), CHUNK):
        chunk = block.iloc[begin : begin + CHUNK]
        codes = np.empty((len(coders), len(chunk)), dtype=np.int32)
        for row, k in enumerate(tree.order):
            codes[row] = coders[k].code(chunk[request.keys[k]])
        values, lower, upper = _numbers(request, chunk, offset + begin)
        match_block(
            codes, tree.radix, tree.start, tree.tree, values, lower, upper,
            request.open_interval == "value", low, high, seen.count, seen.within, seen.product,
        )  # fmt: skip
        if seen.moments is not None:
            in_given_order = codes[np.argsort(tree.order)]
            seen.moments.make_room([coder.size for coder in coders])
            seen.moments.add(in_given_order, values)
    seen.n += len(block)


def _numbers(
    request: Request, chunk: pd.DataFrame, offset: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and bounds of a chunk; bounds are empty when scenarios 1 and 3 are not computed."""
    faults = Faults("population")
    values = chunk[request.target].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        rows = np.flatnonzero(np.isinf(values)) + offset
        faults.add(request.target, "value is infinite", rows=rows)
    lower = upper = np.empty(0)
    if request.intervals is not None and (1 in request.scenarios or 3 in request.scenarios):
        lower, upper = (
            chunk[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in request.intervals
        )
        if (lower > upper).any():
            remedy = "Name the lower bound first."
            rows = np.flatnonzero(lower > upper) + offset
            what = f"lower bound is above the upper bound {request.intervals[1]!r}"
            faults.add(request.intervals[0], what, rows=rows, remedy=remedy)
    faults.raise_if_any()
    return values, lower, upper


def _check_common_levels(request: Request, coders: list[KeyCoder], n_population: int) -> None:
    """A key without any common level is a mistake (codes against labels), never a zero risk."""
    faults = Faults("intruder_scenarios")
    if n_population == 0:
        faults.add("population", "has no persons")
    for name, coder in zip(request.keys, coders, strict=True):
        if n_population and coder.n_known and not coder.met_known:
            faults.add(
                name,
                "sample and population have no level in common "
                f"({coder.shown_known()} in the sample, {coder.shown_new()} in the population)",
                remedy="Code the key in the same way in both files.",
            )
    faults.raise_if_any()
