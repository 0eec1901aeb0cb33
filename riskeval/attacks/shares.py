"""Areas under ROC curves with their intervals."""

from __future__ import annotations

import numpy as np


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
