"""Household weights that reproduce known totals."""

from __future__ import annotations

import numpy as np


def rake_households(
    counts: np.ndarray, totals: np.ndarray, weights: np.ndarray, *, tolerance: float = 1e-12
) -> np.ndarray:
    """Calibrate household weights by raking: w = d exp(x'λ) with sum of w x equal to the totals.

    counts: array, shape (n_households, n_controls); how many members of each control
    weights: array, shape (n_households,); starting weights d
    tolerance: greatest relative error of a control
    Raises ArithmeticError: when the totals are not met in 100 Newton steps.

    Raking ratio estimator of Deville and Särndal (1992, doi:10.1080/01621459.1992.10475217), with
    one weight per household as in Lemaître and Dufour (1987). Controls may be linearly dependent.
    """
    new = weights.astype(np.float64)
    effect = np.zeros(counts.shape[1])
    for _ in range(100):
        gap = totals - new @ counts
        if np.all(np.abs(gap) <= tolerance * np.abs(totals)):
            return new
        slope = counts.T @ (new[:, None] * counts)
        effect = effect + np.linalg.lstsq(slope, gap, rcond=1e-12)[0]
        new = weights * np.exp(counts @ effect)
    raise ArithmeticError("the totals of the demo survey cannot be met")
