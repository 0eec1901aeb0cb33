"""Performance of an estimator over the repetitions of a simulation study."""

from __future__ import annotations

import numpy as np
import pandas as pd

NAN = float("nan")
MEASURES = (
    "bias", "relative_bias", "variance", "rmse", "coverage", "length", "standard_error_ratio",
)  # fmt: skip


def performance(estimates: pd.DataFrame, truth: float) -> dict[str, float]:
    """Return the measures of one estimator and domain (see `Study.table`).

    estimates: one row per repetition, with columns estimate, standard_error, lower, upper and,
        where it differs between repetitions, truth in place of `truth`

    Morris, White and Crowther (2019), doi:10.1002/sim.8086, table 6.
    """
    estimates = estimates[np.isfinite(estimates["estimate"].to_numpy(dtype=np.float64))]
    x = estimates["estimate"].to_numpy(dtype=np.float64)
    n = len(x)
    true = np.full(n, truth)
    if "truth" in estimates:
        true = estimates["truth"].to_numpy(dtype=np.float64)
    truth = float(true.mean()) if n else truth
    scale = truth if n and truth != 0 else NAN
    error = x - true
    variance, of_error = _variance(x), _variance(error)
    bias, rmse = _mean(error), float(np.sqrt(_mean(error**2)))
    bias_mc = float(np.sqrt(of_error / max(n, 1)))
    spread = float(np.sqrt(_variance(error**2)))
    errors = estimates["standard_error"].to_numpy(dtype=np.float64)
    mean_error = _mean(errors[np.isfinite(errors)])
    return {
        "truth": truth,
        "mean": _mean(x),
        "bias": bias,
        "relative_bias": bias / scale,
        "variance": variance,
        "rmse": rmse,
        **_of_intervals(estimates, true),
        "standard_error_ratio": float(mean_error / np.sqrt(of_error)) if of_error > 0 else NAN,
        "repetitions": n,
        "bias_mc": bias_mc,
        "relative_bias_mc": bias_mc / abs(scale),
        "variance_mc": _error_of_variance(x, variance),
        "rmse_mc": spread / (2 * rmse * np.sqrt(n)) if rmse > 0 else 0.0,
    }


def _mean(x: np.ndarray) -> float:
    return float(x.mean()) if len(x) else NAN


def _variance(x: np.ndarray) -> float:
    return float(x.var(ddof=1)) if len(x) > 1 else NAN


def _of_intervals(estimates: pd.DataFrame, truth: np.ndarray) -> dict[str, float]:
    """Coverage and mean length of the intervals, with their Monte Carlo errors."""
    low, high = (estimates[c].to_numpy(dtype=np.float64) for c in ("lower", "upper"))
    finite = np.isfinite(low) & np.isfinite(high)
    lengths = (high - low)[finite]
    n = len(lengths)
    covered = _mean(((low <= truth) & (truth <= high))[finite])
    if not np.isfinite(truth).all():
        covered = NAN
    return {
        "coverage": covered,
        "length": _mean(lengths),
        "coverage_mc": float(np.sqrt(covered * (1 - covered) / max(n, 1))),
        "length_mc": float(lengths.std(ddof=1) / np.sqrt(n)) if n > 1 else NAN,
    }


def _error_of_variance(x: np.ndarray, variance: float) -> float:
    """Monte Carlo standard error of the variance of x, shape (n,)."""
    n = len(x)
    if n < 2:
        return NAN
    fourth = float(((x - x.mean()) ** 4).mean())
    return float(np.sqrt(max(fourth - variance**2 * (n - 3) / (n - 1), 0.0) / n))
