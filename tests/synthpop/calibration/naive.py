"""Calibration that reads like the papers: dense, one unit at a time."""

from __future__ import annotations

import numpy as np


def rake(cells: list[np.ndarray], targets: list[np.ndarray], weights: np.ndarray, sweeps: int):
    """Deming and Stephan: scale to one margin after the other (persons)."""
    w = weights.astype(float).copy()
    for _ in range(sweeps):
        for cell, target in zip(cells, targets, strict=True):
            now = np.bincount(cell, w, len(target))
            w *= (target / now)[cell]
    return w


def greg(matrix: np.ndarray, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Deville and Sarndal (1992), eq. (2.5): closed form of linear calibration."""
    inverse = np.linalg.pinv(matrix.T @ (start[:, None] * matrix))
    return start * (1 + matrix @ (inverse @ (targets - matrix.T @ start)))


def update(matrix: np.ndarray, start: np.ndarray, targets: np.ndarray, rounds: int) -> np.ndarray:
    """Ye et al. (2009), steps 5 to 8 of the algorithm."""
    w = start.astype(float).copy()
    for _ in range(rounds):
        for k, target in enumerate(targets):
            current = (matrix[:, k] * w).sum()
            for h in range(len(w)):
                if matrix[h, k] > 0:
                    w[h] *= target / current
    return w


def penalised(
    matrix: np.ndarray, start: np.ndarray, targets: np.ndarray, importance: np.ndarray
) -> np.ndarray:
    """Minimise sum (w - d)^2 / (2 d) + sum c (achieved - target)^2 / (2 target), closed form."""
    penalty = np.diag(importance / targets)
    left = np.diag(1 / start) + matrix @ penalty @ matrix.T
    right = np.ones(len(start)) + matrix @ penalty @ targets
    return np.linalg.solve(left, right)
