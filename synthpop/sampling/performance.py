"""Performance of an estimator over the repetitions of a simulation study."""

from __future__ import annotations

import numpy as np
import pandas as pd

MEASURES = (
    "bias", "relative_bias", "variance", "rmse", "coverage", "length", "standard_error_ratio",
)  # fmt: skip


def performance(estimates: pd.DataFrame, truth: float, level: float = 0.95) -> dict[str, float]:
    """Return the measures of one estimator and domain (see `Study.table`).

    estimates: one row a repetition, with columns estimate, standard_error, lower, upper and perhaps
        truth (where it differs between repetitions)
    truth: used where there is no such column
    level: nominal coverage

    Morris, White and Crowther (2019), doi:10.1002/sim.8086, table 6.
    """
    estimates = estimates[np.isfinite(estimates["estimate"].to_numpy(dtype=np.float64))]
    x = estimates["estimate"].to_numpy(dtype=np.float64)
    n = len(x)
    true = np.full(n, truth)
    if "truth" in estimates:
        true = estimates["truth"].to_numpy(dtype=np.float64)
    truth = float(true.mean()) if n else truth
    error = x - true
    variance = float(x.var(ddof=1)) if n > 1 else float("nan")
    of_error = float(error.var(ddof=1)) if n > 1 else float("nan")
    bias = float(error.mean()) if n else float("nan")
    bias_mc = float(np.sqrt(of_error / n)) if n else float("nan")
    squared = error**2
    rmse = float(np.sqrt(squared.mean())) if n else float("nan")
    spread = float(squared.std(ddof=1)) if n > 1 else float("nan")
    errors = estimates["standard_error"].to_numpy(dtype=np.float64)
    is_finite = np.isfinite(errors)
    relative = abs(truth) if n and truth != 0 else float("nan")
    return {
        "truth": truth,
        "mean": float(x.mean()) if n else float("nan"),
        "bias": bias,
        "relative_bias": bias / truth if n and truth != 0 else float("nan"),
        "variance": variance,
        "rmse": rmse,
        **_of_intervals(estimates, true),
        "standard_error_ratio": (
            float(errors[is_finite].mean() / np.sqrt(of_error))
            if is_finite.any() and of_error > 0
            else float("nan")
        ),
        "repetitions": n,
        "bias_mc": bias_mc,
        "relative_bias_mc": bias_mc / relative,
        "variance_mc": _error_of_variance(x, variance),
        "rmse_mc": spread / (2 * rmse * np.sqrt(n)) if n and rmse > 0 else 0.0,
    }


def _of_intervals(estimates: pd.DataFrame, truth: np.ndarray) -> dict[str, float]:
    """Coverage and mean length of the intervals, with their Monte Carlo errors."""
    low, high = (estimates[c].to_numpy(dtype=np.float64) for c in ("lower", "upper"))
    finite = np.isfinite(low) & np.isfinite(high)
    lengths = (high - low)[finite]
    n = len(lengths)
    nan = float("nan")
    covered = float(((low <= truth) & (truth <= high))[finite].mean()) if n else nan
    if not np.isfinite(truth).all():
        covered = nan
    return {
        "coverage": covered,
        "length": float(lengths.mean()) if n else nan,
        "coverage_mc": float(np.sqrt(covered * (1 - covered) / max(n, 1))),
        "length_mc": float(lengths.std(ddof=1) / np.sqrt(n)) if n > 1 else nan,
    }


def _error_of_variance(x: np.ndarray, variance: float) -> float:
    """Monte Carlo standard error of the variance of x, shape (n,)."""
    n = len(x)
    if n < 2:
        return float("nan")
    fourth = float(((x - x.mean()) ** 4).mean())
    return float(np.sqrt(max(fourth - variance**2 * (n - 3) / (n - 1), 0.0) / n))
