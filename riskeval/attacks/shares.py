"""Intervals of shares and of areas under curves."""

from __future__ import annotations

import numpy as np


def wilson(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """Wilson interval of a share; (NaN, NaN) for no records.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(5, 50, 0.95)]
    [0.043, 0.214]
    """
    from scipy.stats import norm

    if n == 0:
        return float("nan"), float("nan")
    z = float(norm.ppf((1 + confidence) / 2))
    share = hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def newcombe(
    hits: int, n: int, other_hits: int, other_n: int, confidence: float
) -> tuple[float, float]:
    """Interval of the difference of two independent shares (Newcombe 1998, method 10).

    Examples
    --------
    >>> [round(end, 3) for end in newcombe(56, 70, 48, 80, 0.95)]
    [0.052, 0.334]
    """
    low, high = wilson(hits, n, confidence)
    other_low, other_high = wilson(other_hits, other_n, confidence)
    share, other = hits / n, other_hits / other_n
    gap = share - other
    down = np.sqrt((share - low) ** 2 + (other_high - other) ** 2)
    up = np.sqrt((high - share) ** 2 + (other - other_low) ** 2)
    return float(gap - down), float(gap + up)


def auc(members: np.ndarray, others: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """Area under the ROC curve with its interval (DeLong, DeLong and Clarke-Pearson 1988).

    Parameters
    ----------
    members, others : float64, shapes (n,) and (m,)
        Scores; equal scores count one half.

    Examples
    --------
    >>> auc(np.array([3.0, 4.0]), np.array([1.0, 2.0]), 0.95)
    (1.0, 1.0, 1.0)
    """
    from scipy.stats import norm, rankdata

    n, m = len(members), len(others)
    both = rankdata(np.concatenate([members, others]))
    above = (both[:n] - rankdata(members)) / m
    below = 1 - (both[n:] - rankdata(others)) / n
    area = float(above.mean())
    if min(n, m) < 2:
        return area, 0.0, 1.0
    variance = above.var(ddof=1) / n + below.var(ddof=1) / m
    half = float(norm.ppf((1 + confidence) / 2) * np.sqrt(variance))
    return area, max(0.0, area - half), min(1.0, area + half)
