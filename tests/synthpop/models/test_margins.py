"""Scaling of cells to margins, and the extrapolation that ends it sooner."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.models.extrapolation import fixed_point
from synthpop.models.margins import MarginsOfCells, scale_to_margins


def naive_scaling(levels, totals, target, sweeps):
    """One margin after another, as the method is described."""
    probabilities = np.full((levels.shape[1], target.shape[1]), 1.0 / target.shape[1])
    for _ in range(sweeps):
        for level in levels:
            margin = np.zeros_like(target)
            np.add.at(margin, level, totals[:, None] * probabilities)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.where(margin > 0, target / margin, 0.0)
            probabilities = probabilities * ratio[level]
            probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities


def some_sample(seed: int = 3):
    """Six cells of two predictors, three classes: levels, blocks, starts, totals, target."""
    levels = np.array([[a, 2 + b] for a in range(2) for b in range(3)]).T.copy()
    counts = np.random.default_rng(seed).integers(1, 30, (6, 3)).astype(float)
    counts /= counts.sum()
    target = np.zeros((5, 3))
    for level in levels:
        np.add.at(target, level, counts)
    return levels, np.array([0, 6]), np.array([[0, 2, 5]]), counts.sum(axis=1), target


def scaled(sample, ridge: float, max_sweeps: int = 500):
    effects, p = np.zeros((5, 3)), np.full((sample[0].shape[1], 3), 1 / 3)
    margins = MarginsOfCells(*sample, np.full((1, 2), ridge))
    outcome = scale_to_margins(margins, effects, p, 1e-12, max_sweeps)
    return effects, p, *outcome


def test_scaling_reaches_what_plain_scaling_reaches() -> None:
    levels, _, _, totals, target = sample = some_sample()
    effects, p, (sweeps,), (gap,) = scaled(sample, 0.0)
    assert gap < 1e-12
    assert sweeps < 12
    assert np.allclose(p, naive_scaling(levels, totals, target, 400), atol=1e-9)
    moved = np.exp(effects[levels].sum(axis=0))
    assert np.allclose(p, moved / moved.sum(axis=1, keepdims=True))


def test_a_penalty_holds_the_effects() -> None:
    levels, _, _, totals, target = sample = some_sample()
    effects, p, *_ = scaled(sample, 0.1)
    fitted = np.zeros_like(target)
    for level in levels:
        np.add.at(fitted, level, totals[:, None] * p)
    assert np.allclose(target - fitted, 0.1 * effects, atol=1e-10)


def test_cells_without_weight_get_their_probabilities_at_the_end() -> None:
    levels, blocks, starts, totals, target = some_sample()
    blocks_of_more = np.append(0, 1 + blocks[1:])
    more = (
        np.column_stack([[1, 3], levels]), blocks_of_more, starts, np.append(0, totals), target
    )  # fmt: skip
    effects, p, *_ = scaled(more, 0.1)
    assert np.allclose(effects, scaled(some_sample(), 0.1)[0], atol=1e-12)
    moved = np.exp(effects[1] + effects[3])
    assert np.allclose(p[0], moved / moved.sum())


def test_sweeps_are_counted_and_bounded() -> None:
    _, _, (sweeps,), (gap,) = scaled(some_sample(), 0.0, 3)
    assert sweeps == 3
    assert gap > 1e-12


def test_an_extrapolation_that_goes_too_far_is_taken_back() -> None:
    x, moves = np.array([1.0]), []

    def sweep() -> tuple[np.ndarray, float]:
        gap = abs(x[0])
        x[0] -= 0.1 * np.tanh(3.0 * x[0])  # nearly steady first, so that the step is too long
        return x.copy(), gap

    def move(new: np.ndarray) -> None:
        moves.append(float(new[0]))
        x[:] = new if len(moves) > 1 else 50.0

    n_sweeps, gap = fixed_point(sweep, move, x.copy(), np.ones(1), 1e-9, 200)
    assert moves[1] == pytest.approx(0.6, abs=0.05)  # the best point so far
    assert n_sweeps < 60
    assert gap < 1e-9


def test_an_extrapolation_forgets_the_oldest_changes_of_many_parameters() -> None:
    """Forty parameters need more sweeps than it remembers: without them it takes 71."""
    rng = np.random.default_rng(1)
    turned = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    matrix = turned @ np.diag(np.linspace(0.1, 0.97, 40)) @ turned.T
    x = np.ones(40)

    def sweep() -> tuple[np.ndarray, float]:
        gap = float(np.abs(x).max())
        x[:] = matrix @ x
        return x.copy(), gap

    n_sweeps, _ = fixed_point(
        sweep, lambda new: np.copyto(x, new), x.copy(), np.ones(40), 1e-8, 400
    )
    assert 20 < n_sweeps < 56
