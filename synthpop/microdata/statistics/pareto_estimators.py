"""Estimators of the shape of a Pareto tail from weighted values above a threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

LARGEST_SHAPE = 1e3


def _minimise(objective: Callable[[float], float], start: float) -> float:
    from scipy.optimize import minimize_scalar

    grid = start * np.logspace(-1, 1, 41)
    best = int(np.argmin([objective(theta) for theta in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    options = {"xatol": 1e-10 * start}
    return float(minimize_scalar(objective, bounds=bounds, method="bounded", options=options).x)


def hill(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """1 / mean(log y): the (weighted) maximum of the likelihood."""
    level = float(np.dot(share, log_y))
    return 1.0 / level if level > 0 else np.inf


def ise(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Minimise theta^2 / (2 theta + 1) - 2 mean(f(y)), the integrated squared error."""

    def objective(theta: float) -> float:
        f = np.dot(share, theta * np.exp(-(1 + theta) * log_y))
        return float(theta**2 / (2 * theta + 1) - 2 * f)

    return _minimise(objective, min(hill(log_y, share, cutoff, trim), LARGEST_SHAPE))


def pdc(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Minimise u^2 integral(f^2) - 2 u mean(f(y)) over theta and the share u of good data."""

    def objective(theta: float) -> float:
        f_by_theta = np.dot(share, np.exp(-(1 + theta) * log_y))
        return float(-(f_by_theta**2) * (2 * theta + 1))

    return _minimise(objective, min(hill(log_y, share, cutoff, trim), LARGEST_SHAPE))


def moment(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Estimator of Dekkers, Einmahl and de Haan: M1 + 1 - 1 / (2 (1 - M1^2 / M2))."""
    first, second = float(np.dot(share, log_y)), float(np.dot(share, log_y**2))
    spread = 1 - first**2 / second if second > 0 else 0.0
    index = first + 1 - 0.5 / spread if spread > 0 else 0.0
    return 1.0 / index if index != 0 else np.inf


def _expected(k: int) -> np.ndarray:
    """Quantiles of the standard exponential distribution at i / (k + 1)."""
    return -np.log1p(-np.arange(1, k + 1) / (k + 1))


def qq(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Slope of log y on the expected exponential quantiles, by least squares with intercept."""
    e = _expected(len(log_y))
    e = e - e.mean()
    slope = float(np.dot(e, log_y) / np.dot(e, e))
    return 1.0 / slope if slope > 0 else np.inf


def ls(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Slope of log y on the expected exponential quantiles, through the origin (the threshold)."""
    e = _expected(len(log_y))
    slope = float(np.dot(e, log_y) / np.dot(e, e))
    return 1.0 / slope if slope > 0 else np.inf


def tm(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Sum of the kept order statistics of log y over its expectation at theta = 1."""
    k = len(log_y)
    cut = int(k * trim)
    mean_order = np.cumsum(1.0 / np.arange(k, 0, -1))
    total = float(log_y[cut : k - cut].sum())
    return float(mean_order[cut : k - cut].sum()) / total if total > 0 else np.inf


def wml(log_y: np.ndarray, share: np.ndarray, cutoff: float, trim: float) -> float:
    """Solve sum w(r) (1/theta - log y) = 0, residuals r of the quantile plot, less its bias."""
    from scipy.optimize import brentq

    k = len(log_y)
    start = hill(log_y, share, cutoff, trim)
    if not np.isfinite(start):
        return start
    expected = _expected(k)
    spread = np.sqrt(np.cumsum(1.0 / np.arange(k, 0, -1.0) ** 2))

    def weights(theta: float) -> np.ndarray:
        residual = np.abs((theta * log_y - expected) / spread)
        return np.minimum(1.0, cutoff / np.maximum(residual, 1e-300))

    def score(theta: float) -> float:
        return float(np.dot(weights(theta), 1 / theta - log_y))

    low, high = start / 2, start * 2
    for _ in range(40):
        if score(low) > 0 > score(high):
            break
        low, high = low / 1.5, high * 1.5
    else:
        return np.inf
    theta = float(brentq(score, low, high, xtol=1e-12 * start))
    w = weights(theta)
    residual = (theta * log_y - expected) / spread
    slope = np.where(w < 1, -w * log_y / (spread * np.where(residual == 0, 1, residual)), 0.0)
    mass = np.diff(-np.exp(-theta * log_y), prepend=-1.0)
    level = 1 / theta - log_y
    bias = -np.dot(w * level, mass) / np.dot(slope * level - w / theta**2, mass)
    return theta - float(bias)
