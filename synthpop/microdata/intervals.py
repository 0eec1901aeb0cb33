"""Confidence intervals of shares, from statsmodels."""

from __future__ import annotations

NONE = (float("nan"), float("nan"))


def wilson(hits: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson interval of a share; (NaN, NaN) for no records.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(5, 50)]
    [0.043, 0.214]
    """
    from statsmodels.stats.proportion import proportion_confint

    if n == 0:
        return NONE
    low, high = proportion_confint(hits, n, alpha=1 - confidence, method="wilson")
    return float(low) if hits > 0 else 0.0, min(1.0, float(high))


def clopper_pearson(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share: its coverage is never below `confidence`.

    Examples
    --------
    >>> [round(end, 3) for end in clopper_pearson(0, 50)]
    [0.0, 0.071]
    """
    from statsmodels.stats.proportion import proportion_confint

    if n == 0:
        return NONE
    low, high = proportion_confint(hits, n, alpha=1 - confidence, method="beta")
    return float(low), float(high)


def newcombe(
    hits: float, n: int, other_hits: float, other_n: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of the difference of two independent shares (Newcombe 1998, method 10).

    Returns
    -------
    low, high
        Of ``hits / n - other_hits / other_n``; NaN where either has no records.

    Examples
    --------
    >>> [round(end, 3) for end in newcombe(56, 70, 48, 80)]
    [0.052, 0.334]
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    if not (n and other_n):
        return NONE
    low, high = confint_proportions_2indep(
        hits, n, other_hits, other_n, method="newcomb", compare="diff", alpha=1 - confidence
    )
    return float(low), float(high)
