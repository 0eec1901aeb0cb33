"""The pass over the population: every block is looked up in the tree of sample-unique keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.intruders.key_model import KeyMoments, solve_key_model
from riskeval.intruders.key_tree import KeyCoder, key_tree
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


def attack(request: Request) -> tuple[Attack, Attack | None]:
    """Read the population once and note what it shows about the sample, and about a hold-out."""
    files = [request.sample] if request.holdout is None else [request.sample, request.holdout]
    parties = [_Party(request, frame) for frame in files]
    offset = 0
    for block in request.population:
        faults = Faults("population")
        check_block(faults, block, request.keys, request.target, request.intervals)
        faults.raise_if_any()
        for begin in range(0, len(block), CHUNK):
            chunk = block.iloc[begin : begin + CHUNK]
            numbers = _numbers(request, chunk, offset + begin)
            for party in parties:
                party.read(request, chunk, numbers)
        offset += len(block)
    _check_common_levels(request, parties[0].coders, offset)
    found = [party.result(offset) for party in parties]
    return found[0], found[1] if len(found) > 1 else None


class _Party:
    """Persons whom the intruder looks for, and what was seen of them so far."""

    def __init__(self, request: Request, frame: pd.DataFrame) -> None:
        keys = encode_keys(frame, request.keys)
        self.unique = sample_unique(keys, request.missing)
        self.target = frame[request.target].to_numpy(dtype=np.float64, na_value=np.nan)
        self.low, self.high = truth_intervals(self.target[self.unique], request.accuracy)
        self.coders = [KeyCoder(levels) for levels in keys.levels]
        n_known = np.array([coder.n_known for coder in self.coders], dtype=np.int32)
        self.codes = np.where(keys.codes == MISSING, n_known, keys.codes)
        self.tree = key_tree(self.codes[self.unique], [coder.radix for coder in self.coders])
        self.count = np.zeros(len(self.unique), dtype=np.int64)
        self.within = np.ones(self.low.shape, dtype=np.bool_)
        self.product = np.ones(self.low.shape)
        self.moments = KeyMoments(len(self.coders)) if 5 in request.computed else None

    def read(
        self,
        request: Request,
        chunk: pd.DataFrame,
        numbers: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> None:
        """Look up the persons of a chunk and add them to the model."""
        from riskeval.kernels.scenarios import match_block

        values, lower, upper = numbers
        codes = np.empty((len(self.coders), len(chunk)), dtype=np.int32)
        for row, k in enumerate(self.tree.order):
            codes[row] = self.coders[k].code(chunk[request.keys[k]])
        match_block(
            codes, self.tree.radix, self.tree.start, self.tree.tree, values, lower, upper,
            request.open_interval == "value", self.low, self.high, self.count, self.within,
            self.product,
        )  # fmt: skip
        if self.moments is not None:
            in_given_order = codes[np.argsort(self.tree.order)]
            self.moments.make_room([coder.size for coder in self.coders])
            self.moments.add(in_given_order, values)

    def result(self, n_population: int) -> Attack:
        """Sum up after the last chunk."""
        predicted = np.full(len(self.target), np.nan)
        if self.moments is not None and n_population:
            predicted = solve_key_model(self.moments).predict(self.codes)
        return Attack(
            self.unique, self.target, self.count, self.within, self.product, predicted, self.low,
            self.high, n_population,
        )  # fmt: skip


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
