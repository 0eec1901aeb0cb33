"""Least squares on dummy-coded keys from counts and sums: the model of scenario 5 (eq. 6.25)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALIASED = 1e-10
"""A dummy of which less than this share is left by those before it adds nothing to the model."""


class KeyMoments:
    """Counts and sums from which the model is solved; they grow with the levels that are met."""

    def __init__(self, n_keys: int) -> None:
        # int32, shape (m, codes): row of `gram` of each code of each key; -1 where not met
        self.slots = np.full((n_keys, 1), -1, dtype=np.int32)
        self.gram = np.zeros((0, 0))  # shape (s, s): persons with both levels
        self.moment = np.zeros(0)  # shape (s,): sums of the values by level

    def make_room(self, sizes: Sequence[int]) -> None:
        """Give every code ``0 ... sizes[k] - 1`` of key k a slot."""
        if max(sizes) > self.slots.shape[1]:
            wider = np.full((len(sizes), max(sizes)), -1, dtype=np.int32)
            wider[:, : self.slots.shape[1]] = self.slots
            self.slots = wider
        n_slots = len(self.moment)
        for k, size in enumerate(sizes):
            new = np.flatnonzero(self.slots[k, :size] < 0)
            self.slots[k, new] = n_slots + np.arange(len(new))
            n_slots += len(new)
        grown = n_slots - len(self.moment)
        if grown:
            self.gram = np.pad(self.gram, ((0, grown), (0, grown)))
            self.moment = np.pad(self.moment, (0, grown))

    def add(self, codes: np.ndarray, values: np.ndarray) -> None:
        """Add persons: codes int32, shape (m, n), and values, shape (n,), NaN left out."""
        from riskeval.kernels.scenarios import moments_block

        moments_block(codes, self.slots, values, self.gram, self.moment)


@dataclass(frozen=True, slots=True)
class KeyModel:
    """Main-effects least squares on categorical keys."""

    intercept: float  # NaN when there was nothing to fit
    # float64, shape (m, codes): effect of each code of each key; 0 for reference and aliased
    # levels, NaN for levels that no person with a value has
    effects: np.ndarray
    n_coefficients: int  # coefficients of the model, the intercept included
    # key and code of each dummy that the ones before it already determine; effect 0
    aliased: tuple[tuple[int, int], ...]

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """Return predictions, shape (n,), of codes, shape (n, m); NaN where a level is unknown."""
        effects = np.pad(self.effects, ((0, 0), (0, 1)), constant_values=np.nan)
        unknown_code = effects.shape[1] - 1
        total = np.full(len(codes), self.intercept)
        for k in range(codes.shape[1]):
            total = total + effects[k, np.minimum(codes[:, k], unknown_code)]
        return total


def solve_key_model(moments: KeyMoments) -> KeyModel:
    """Solve the normal equations of the intercept and one dummy a level but the first.

    A dummy of a level that nobody with a value has, or that depends on earlier ones, has effect 0:
    predictions of combinations that occur do not depend on which one is left out.

    Examples
    --------
    >>> moments = KeyMoments(1)
    >>> moments.make_room([2])
    >>> moments.add(np.array([[0, 0, 1]], dtype=np.int32), np.array([1.0, 3.0, 7.0]))
    >>> solve_key_model(moments).predict(np.array([[0], [1], [2]])).round(9).tolist()
    [2.0, 7.0, nan]
    """
    full = moments.gram + moments.gram.T
    np.fill_diagonal(full, np.diag(moments.gram))
    size = np.diag(full)
    effects = np.full(moments.slots.shape, np.nan)
    places: list[tuple[int, int]] = []
    for k, row in enumerate(moments.slots):
        codes = [code for code, slot in enumerate(row) if slot >= 0 and size[slot] > 0]
        effects[k, codes] = 0.0
        places += [(k, code) for code in codes[1:]]
    first = moments.slots[0][moments.slots[0] >= 0]
    n = size[first].sum()
    if n == 0:
        return KeyModel(float("nan"), effects, 0, ())
    rows = np.array([moments.slots[place] for place in places], dtype=np.int64)
    cross = np.empty((len(rows) + 1, len(rows) + 1))
    cross[0, 0] = n
    cross[0, 1:] = cross[1:, 0] = size[rows]
    cross[1:, 1:] = full[np.ix_(rows, rows)]
    target = np.concatenate([[moments.moment[first].sum()], moments.moment[rows]])
    chosen = _independent(cross)
    scale = np.sqrt(np.diag(cross)[chosen])
    solved = np.linalg.solve(
        cross[np.ix_(chosen, chosen)] / np.outer(scale, scale), target[chosen] / scale
    )
    coefficients = np.zeros(len(cross))
    coefficients[chosen] = solved / scale
    for place, effect in zip(places, coefficients[1:], strict=True):
        effects[place] = effect
    left_out = sorted(set(range(len(cross))) - set(chosen.tolist()))
    aliased = tuple(places[column - 1] for column in left_out)
    return KeyModel(float(coefficients[0]), effects, len(chosen), aliased)


def _independent(cross: np.ndarray) -> np.ndarray:
    """Columns that earlier ones do not determine, by Cholesky steps in the order given."""
    scale = np.sqrt(np.diag(cross))
    residual = cross / np.outer(scale, scale)
    chosen = []
    for j in range(len(residual)):
        pivot = residual[j, j]
        if pivot <= ALIASED:
            continue
        chosen.append(j)
        column = residual[j + 1 :, j]
        residual[j + 1 :, j + 1 :] -= np.outer(column, column / pivot)
    return np.array(chosen)
