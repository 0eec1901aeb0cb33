"""Weighted quantiles, by sorting or, of large arrays, by buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.statistics.weighted.columns import SHARE_TOLERANCE, Missing, clean

Definition = Literal["reached", "exceeded"]
LARGE = 200_000
BUCKET_BITS = 22


def quantile(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    probs: float | Sequence[float] | np.ndarray = (0.0, 0.25, 0.5, 0.75, 1.0),
    *,
    definition: Definition = "reached",
    missing: Missing = "drop",
) -> Any:
    """Weighted quantiles, always values that were observed.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    probs : number or array, shape (q,)
        Between 0 and 1.
    definition : {"reached", "exceeded"}
        "reached": the first sorted value whose cumulated share of weight is at least p.
        "exceeded": the first whose share is larger than p (p = 0 the smallest, p = 1 the largest
        value), the rule behind the income indicators of Eurostat as computed in practice. The two
        differ only where a share equals p. Shares closer than 1e-12 count as equal.
    missing : {"drop", "propagate"}

    Returns
    -------
    float, or array of shape (q,)
        NaN when nothing is left.

    Examples
    --------
    >>> quantile([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4], [0.1, 0.3, 0.31])
    array([1., 2., 3.])
    >>> quantile([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4], 0.3, definition="exceeded")
    3.0
    """
    faults = Faults("weighted quantile")
    p = np.asarray(probs, dtype=np.float64)
    if not bool(np.all((p >= 0) & (p <= 1))):
        faults.add("probs", "not between 0 and 1", hint="Give shares, not percent.")
    check_choice(faults, "definition", definition, ("reached", "exceeded"))
    faults.raise_if_any()
    x, w, _ = clean(values, weights, missing)
    result = _quantiles(x, w, np.atleast_1d(p), definition)
    return float(result[0]) if p.ndim == 0 else result


def _quantiles(x: np.ndarray, w: np.ndarray | None, p: np.ndarray, definition: str) -> np.ndarray:
    n = len(x)
    if n == 0:
        return np.full(len(p), np.nan)
    if w is None:
        position = p * n
        at = np.ceil(position - SHARE_TOLERANCE * n).astype(np.int64) - 1
        if definition == "exceeded":
            at = np.floor(position + SHARE_TOLERANCE * n).astype(np.int64)
        at = np.clip(at, 0, n - 1)
        return np.partition(x, np.unique(at))[at]
    if n >= LARGE:
        return _by_buckets(x, w, p, definition)
    order = np.argsort(x)
    return sorted_quantiles(x[order], w[order], p, definition)


def _by_buckets(x: np.ndarray, w: np.ndarray, p: np.ndarray, definition: str) -> np.ndarray:
    """Quantiles of many values: only the buckets, by the leading bits of a double, are sorted."""
    key = (x + 0.0).view(np.int64) >> (64 - BUCKET_BITS)  # + 0.0 makes -0.0 zero
    low = int(key.min())
    if low < 0:  # negative doubles run backwards
        key = np.where(key < 0, -(1 << (BUCKET_BITS - 1)) - 1 - key, key)
        low = int(key.min())
    key -= low
    share = np.cumsum(np.bincount(key, weights=w))
    total = share[-1]
    share = share / total
    side: Literal["left", "right"] = "right" if definition == "exceeded" else "left"
    sign = 1 if definition == "exceeded" else -1
    bucket = np.searchsorted(share, p + sign * SHARE_TOLERANCE, side=side)
    bucket = np.minimum(bucket, int(key.max()))
    result = np.empty(len(p))
    for number in np.unique(bucket):
        inside = np.flatnonzero(key == number)
        order = np.argsort(x[inside])
        values, weights_inside = x[inside][order], w[inside][order]
        before = share[number - 1] if number > 0 else 0.0
        reached = before + np.cumsum(weights_inside) / total
        in_bucket = bucket == number
        at = np.searchsorted(reached, p[in_bucket] + sign * SHARE_TOLERANCE, side=side)
        result[in_bucket] = values[np.clip(at, 0, len(values) - 1)]
    return result


def sorted_quantiles(
    x: np.ndarray, w: np.ndarray, p: np.ndarray, definition: str = "reached"
) -> np.ndarray:
    """`quantile` of values (n,) that are sorted already, with positive weights (no checks)."""
    share = np.cumsum(w)
    share /= share[-1]
    if definition == "exceeded":
        at = np.searchsorted(share, p + SHARE_TOLERANCE, side="right")
    else:
        at = np.searchsorted(share, p - SHARE_TOLERANCE, side="left")
    return x[np.clip(at, 0, len(x) - 1)]
