"""Frequency counts record by record, as the definitions read."""

from __future__ import annotations

import numpy as np


def matches(own, other):
    return all(a == b or a < 0 or b < 0 for a, b in zip(own, other, strict=True))


def contribution(codes, i, j, missing, alpha, shares):
    """What record j adds to the count of record i."""
    own, other = codes[i], codes[j]
    if (own == other).all():
        return 1.0
    if missing == "own-category" or not matches(own, other):
        return 0.0
    complete_other = (other >= 0).all()
    if missing == "wildcard":
        return 1.0 if complete_other else alpha
    if missing == "conservative-2":
        return 1.0 if complete_other else 0.0
    if missing == "conservative":
        return 0.0 if (own >= 0).all() else 1.0
    gaps = [k for k in range(len(own)) if other[k] < 0 <= own[k]]
    return float(np.prod([shares[k][own[k]] for k in gaps]))


def naive_counts(codes, weights, missing="wildcard", alpha=1.0):
    codes = np.asarray(codes)
    n = len(codes)
    shares = [
        np.bincount(codes[:, k] + 1, minlength=codes.max(initial=0) + 2)[1:] / n
        for k in range(codes.shape[1])
    ]
    c = np.array(
        [[contribution(codes, i, j, missing, alpha, shares) for j in range(n)] for i in range(n)]
    )
    return c.sum(axis=1), c @ np.asarray(weights, dtype=float)
