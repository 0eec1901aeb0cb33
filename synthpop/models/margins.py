"""Class probabilities of cells, scaled to margins, with a penalty on the effects where wanted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from synthpop.models.extrapolation import fixed_point

LOWEST_EFFECT = -300.0


class MarginsOfCells(NamedTuple):
    """Cells of one or more samples, what they have to add up to, and the penalty on effects."""

    # levels, blocks, starts, totals, target, ridge: arrays: as in the kernel `shrink_to_margins`
    levels: np.ndarray
    blocks: np.ndarray
    starts: np.ndarray
    totals: np.ndarray
    target: np.ndarray
    ridge: np.ndarray


def scale_to_margins(
    sample: MarginsOfCells,
    effects: np.ndarray,
    probabilities: np.ndarray,
    tolerance: float,
    max_sweeps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Change effects and probabilities in place until the margins are met.

    Returns the number of sweeps and the largest gap of each block. A block of its own is carried
    on between its sweeps; cells without weight take part at the end only.
    """
    from synthpop.kernels.shrinking import shrink_to_margins

    levels, _, starts, totals, target, ridge = sample
    if len(starts) > 1:
        return shrink_to_margins(*sample, effects, probabilities, tolerance, max_sweeps)
    first, base = effects.copy(), probabilities.copy()
    weighted = np.flatnonzero(totals > 0.0)
    chosen = slice(None) if len(weighted) == len(totals) else weighted
    cells, of_cells = np.ascontiguousarray(levels[:, chosen]), probabilities[chosen]
    base_of_cells = base[chosen]
    weighted_sample = sample._replace(
        levels=cells, blocks=np.array([0, len(of_cells)]), totals=totals[chosen]
    )

    def sweep() -> tuple[np.ndarray, float]:
        _, gaps = shrink_to_margins(*weighted_sample, effects, of_cells, tolerance, 1)
        return effects.reshape(-1).copy(), float(gaps[0])

    def move(new: np.ndarray) -> None:
        effects[:] = np.maximum(new, LOWEST_EFFECT).reshape(effects.shape)
        of_cells[:] = changed(cells, effects - first, base_of_cells)

    # what a change counts: about the information that the sample and the penalty hold
    penalty = np.where(np.isfinite(ridge[0]), ridge[0], 0.0)
    weights = target + np.repeat(penalty, np.diff(starts[0]))[:, None]
    n_sweeps, gap = fixed_point(
        sweep, move, first.reshape(-1).copy(), weights.reshape(-1), tolerance, max_sweeps
    )
    probabilities[chosen] = of_cells
    if len(weighted) < len(totals):
        empty = np.flatnonzero(totals <= 0.0)
        weightless = np.ascontiguousarray(levels[:, empty])
        probabilities[empty] = changed(weightless, effects - first, base[empty])
    return np.array([n_sweeps]), np.array([gap])


def changed(levels: np.ndarray, changes: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Return probabilities of cells after their effects changed.

    levels (m, c); changes (L, R); base (c, R).
    """
    from synthpop.kernels.shrinking import sum_changes

    sums = np.empty_like(base)
    sum_changes(levels, changes, base, sums)
    probabilities: np.ndarray = np.exp(sums, out=sums)
    probabilities *= base
    total = probabilities.sum(axis=1, keepdims=True)
    probabilities /= np.where(total > 0.0, total, 1.0)
    return probabilities
