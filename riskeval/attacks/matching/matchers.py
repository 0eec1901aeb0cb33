"""What the population shows about one target of the persons looked for, kept in linear space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskeval.attacks.matching.lookup import BlockMatches, PopulationLookup

ROUNDING = 1e-9
"""Slack of predictions, as a share of the largest one: a fitted 0 is 0 up to rounding."""


def truth_intervals(target: np.ndarray, accuracy: tuple[float, ...]) -> np.ndarray:
    """Intervals around true values, shape (2, n, a); ordered also where the value is negative.

    Examples
    --------
    >>> truth_intervals(np.array([100.0, -100.0, 0.0]), (0.5,))[:, :, 0].tolist()
    [[50.0, -150.0, 0.0], [150.0, -50.0, 0.0]]
    """
    p = np.asarray(accuracy)
    ends = np.stack([target[:, None] * (1 - p), target[:, None] * (1 + p)])
    return np.sort(ends, axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class MatchEvidence:
    """What the population shows about one target of r rows that are looked for."""

    known: np.ndarray  # bool, shape (r,): rows with a true value
    n_matches: np.ndarray  # int64, shape (r,)
    # float64, shape (r, a): scenarios 2 and 4: 1 where all matches have the answer, also where
    # there is no match
    all_right: np.ndarray
    # float64, shape (r, a): scenarios 1 and 3: product of the overlap ratios of numbers (1 where
    # there is no match); share of matches with the true category (0 where there is none)
    chance: np.ndarray
    # shape (n,): prediction for every row of the file; NaN or None where none
    predicted: np.ndarray
    has_prediction: np.ndarray  # bool, shape (r,)
    close: np.ndarray  # float64, shape (r, a): Scenario 5: 1 where the prediction has the answer
    # float64, shape (r,): categories: 1 where the true one is the commonest of the population;
    # NaN for numbers
    commonest: np.ndarray
    zero: np.ndarray  # bool, shape (r,): the true value is 0
    model: str  # what was fitted for scenario 5; empty when nothing was

    def attacked(self, scenario: int) -> np.ndarray:
        """Rows with a true value that the scenario applies to: bool, shape (r,)."""
        if scenario in (1, 2):
            return self.known & (self.n_matches == 1)
        if scenario in (3, 4):
            return self.known & (self.n_matches > 0)
        return self.known & self.has_prediction

    def disclosed(self, scenario: int) -> np.ndarray:
        """Probability that each row is disclosed at each accuracy: float64, shape (r, a)."""
        probability = self.close
        if scenario != 5:
            probability = self.chance if scenario in (1, 3) else self.all_right
        return np.where(self.attacked(scenario)[:, None], probability, 0.0)


class _Points:
    """Distinct pairs of a cell and a true value among rows with a true value."""

    def __init__(self, cell: np.ndarray, value: np.ndarray, known: np.ndarray, n: int) -> None:
        known_rows = np.flatnonzero(known)
        order = np.lexsort((value[known_rows], cell[known_rows]))
        owner, values = cell[known_rows][order], value[known_rows][order]
        new = np.ones(len(known_rows), dtype=np.bool_)
        new[1:] = (np.diff(owner) != 0) | (np.diff(values) != 0)
        self.of_row = np.full(len(cell), -1, dtype=np.int64)
        self.of_row[known_rows[order]] = np.cumsum(new) - 1
        self.value = values[new]
        self.first = np.searchsorted(owner[new], np.arange(n + 1)).astype(np.int64)

    def spread(self, of_points: np.ndarray, empty: float) -> np.ndarray:
        """Values of points, shape (p, ...), by row; `empty` where a row has no true value."""
        nothing = np.full((1, *of_points.shape[1:]), empty)
        return np.concatenate([of_points, nothing])[self.of_row]


class NumericMatcher:
    """Matches and intervals of a target of numbers."""

    def __init__(
        self, target: np.ndarray, lookup: PopulationLookup, accuracy: tuple[float, ...],
        open_interval: str,
    ) -> None:  # fmt: skip
        truth = target[lookup.rows]
        self.known, self.zero = ~np.isnan(truth), truth == 0
        self.points = _Points(lookup.cell, truth, self.known, lookup.n_cells)
        self.low, self.high = truth_intervals(self.points.value, accuracy)
        self.open_as_value = open_interval == "value"
        self.last = self.points.first[1:].copy()
        self.order = np.arange(len(self.points.value))
        self.within = np.ones(self.low.shape, dtype=np.bool_)
        self.product = np.ones(self.low.shape)

    def read(self, states: np.ndarray, numbers: tuple[np.ndarray, ...]) -> None:
        """Look at the persons of a chunk: values, lower and upper bounds."""
        from riskeval.kernels.scenarios import match_block

        # one layout of all chunks: one form of the kernel instead of three
        states = np.require(states, np.int64, ["C", "W"])
        values, lower, upper = (np.require(column, np.float64, ["C", "W"]) for column in numbers)
        match_block(
            states, values, lower, upper, self.open_as_value, self.points.first[:-1], self.last,
            self.order, self.low, self.high, self.within, self.product,
        )  # fmt: skip

    def successes(self) -> tuple[np.ndarray, np.ndarray]:
        """`all_right` and `chance` of `MatchEvidence`."""
        within = self.points.spread(self.within.astype(np.float64), 0.0)
        return within, self.points.spread(self.product, 0.0)

    def answers(self, predicted: np.ndarray | None, rows: np.ndarray, n: int) -> dict[str, Any]:
        """`predicted`, `has_prediction` and `close` of `MatchEvidence`, of n records."""
        predicted = np.full(n, np.nan) if predicted is None else predicted
        slack = ROUNDING * np.abs(predicted[~np.isnan(predicted)]).max(initial=0.0)
        answer = predicted[rows][:, None]
        low, high = self.points.spread(self.low, np.nan), self.points.spread(self.high, np.nan)
        close = (answer >= low - slack) & (answer <= high + slack)
        return {
            "predicted": predicted, "has_prediction": ~np.isnan(predicted[rows]),
            "close": close.astype(np.float64),
        }  # fmt: skip


class CategoricalMatcher:
    """Matches by level of a target of categories."""

    def __init__(self, level: np.ndarray, lookup: PopulationLookup) -> None:
        self.truth = level[lookup.rows]
        self.known, self.zero = self.truth >= 0, np.zeros(len(self.truth), dtype=np.bool_)
        self.cell = lookup.cell
        self.points = _Points(lookup.cell, self.truth, self.known, lookup.n_cells)
        self.right = np.zeros(len(self.points.value), dtype=np.int64)
        self.persons = np.zeros(lookup.n_cells, dtype=np.int64)

    def read(self, states: np.ndarray, levels: tuple[np.ndarray, ...]) -> None:
        """Look at the persons of a chunk; `levels` holds one array of codes."""
        from riskeval.kernels.scenarios import count_block, levels_block

        count_block(states, self.persons)
        levels_block(states, levels[0], self.points.first, self.points.value, self.right)

    def successes(self) -> tuple[np.ndarray, np.ndarray]:
        """`all_right` and `chance` of `MatchEvidence`."""
        persons = self.persons[self.cell]
        right = self.points.spread(self.right.astype(np.float64), 0.0)
        all_right = (self.known & (right == persons)).astype(np.float64)
        return all_right[:, None], (right / np.maximum(persons, 1))[:, None]

    def answers(self, predicted: np.ndarray | None, rows: np.ndarray, n: int) -> dict[str, Any]:
        """As of numbers; predictions are codes of levels."""
        predicted = np.full(n, -1) if predicted is None else predicted
        close = (predicted[rows] == self.truth).astype(np.float64)
        return {
            "predicted": predicted, "has_prediction": predicted[rows] >= 0, "close": close[:, None],
        }  # fmt: skip


Matcher = NumericMatcher | CategoricalMatcher


class HoleMatcher:
    """One matcher for each number of holes; the matches with the fewest holes count.

    Where suppressed values match anything, matches without a value of the target are left out
    beside those that have one.
    """

    def __init__(self, make: Callable[[], Matcher], lookup: PopulationLookup) -> None:
        self._make = make
        self._lookup = lookup
        self._matchers = {0: make()}
        self._with_value = {0: np.zeros(lookup.n_cells, dtype=np.int64)}

    def read(
        self, blocks: Sequence[BlockMatches], values: tuple[np.ndarray, ...], known: np.ndarray
    ) -> None:
        """Look at the persons of a chunk; `known` marks those with a value of the target."""
        from riskeval.kernels.scenarios import count_block

        for block in blocks:
            if block.n_holes not in self._matchers:
                self._matchers[block.n_holes] = self._make()
                self._with_value[block.n_holes] = np.zeros(self._lookup.n_cells, dtype=np.int64)
            cells, of_block, has_value = block.cell, values, known
            if block.n_holes:  # without holes everybody is in the block, in order
                of_block = tuple(
                    column[block.person] if len(column) else column for column in values
                )
                has_value = known[block.person]
            if self._lookup.wildcard:
                cells = np.where(has_value, cells, -1)
                count_block(cells, self._with_value[block.n_holes])
            self._matchers[block.n_holes].read(cells, of_block)

    def evidence(self, predicted: np.ndarray | None, model: str) -> MatchEvidence:
        """Sum up after the last chunk: matches of each row with the fewest holes.

        predicted: shape (n,), of all rows of the file; None without a model
        """
        lookup, first = self._lookup, self._matchers[0]
        n_matches, n_holes = lookup.n_matches, lookup.n_holes
        all_right, chance = first.successes()
        n_known = self._with_value[0][lookup.cell]
        for holes, matcher in self._matchers.items():
            rows = n_holes == holes
            if holes and rows.any():
                all_right[rows], chance[rows] = (values[rows] for values in matcher.successes())
                n_known[rows] = self._with_value[holes][lookup.cell[rows]]
        if lookup.wildcard:
            nothing = (n_matches > 0) & (n_known == 0)
            all_right[nothing] = chance[nothing] = 0.0
            if lookup.finder is None:
                n_matches = np.where(n_known > 0, n_known, n_matches)
        return MatchEvidence(
            known=first.known, n_matches=n_matches, all_right=all_right, chance=chance,
            **first.answers(predicted, lookup.rows, len(lookup.targets.unit)),
            commonest=np.full(len(lookup.rows), np.nan), zero=first.zero, model=model,
        )  # fmt: skip
