"""Confidence intervals of shares and their differences, in closed form, and of means over files.

The closed forms are those of statsmodels, with which the tests compare them. To import it takes
0.6 s of processor time, which a command that only needs an interval would wait for.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

NONE = (float("nan"), float("nan"))


def interval_of_mean(values: Any, confidence: float = 0.95) -> tuple[Any, Any, Any]:
    """Return the mean over the first axis (files of one fit, say) and its t interval."""
    from scipy.stats import t

    m = len(values)
    mean = values.mean(axis=0)
    half = values.std(axis=0, ddof=1) / np.sqrt(m) * float(t.ppf((1 + confidence) / 2, m - 1))
    return mean, mean - half, mean + half


def wilson(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson interval of a share (1927, doi:10.1080/01621459.1927.10502953); NaN for no records."""
    from scipy.special import ndtri

    if n == 0:
        return NONE
    share, z = float(hits) / float(n), float(ndtri(1 - (1 - confidence) / 2))
    centre = share + z**2 / (2 * n)
    half = z * sqrt(max(share * (1 - share), 0.0) / n + z**2 / (4 * n**2))
    low, high = ((centre + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
    return low if hits > 0 else 0.0, min(1.0, high)


def clopper_pearson(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share: its coverage is never below `confidence`.

    Ends are quantiles of beta distributions (Clopper and Pearson 1934,
    doi:10.1093/biomet/26.4.404).
    """
    from scipy.special import betaincinv

    if n == 0:
        return NONE
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    return low, float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0


def newcombe(
    hits: float, n: float, other_hits: float, other_n: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of ``hits / n - other_hits / other_n`` (Newcombe 1998, method 10)."""
    if not (n and other_n):
        return NONE
    share, other_share = float(hits) / float(n), float(other_hits) / float(other_n)
    low, high = wilson(hits, n, confidence)
    other_low, other_high = wilson(other_hits, other_n, confidence)
    below = sqrt((share - low) ** 2 + (other_high - other_share) ** 2)
    above = sqrt((other_share - other_low) ** 2 + (high - share) ** 2)
    return share - other_share - below, share - other_share + above
