"""Scores of minimal sample uniques, DIS-SUDA, and the order in which SUDA2 takes values up."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial, prod

import numpy as np

NORMALISATIONS = ("original", "factorial", "book")


def msu_weights(n_keys: int, max_size: int, normalise: str) -> np.ndarray:
    """Score of one MSU by its number of keys, float64, shape (q + 1,); 0 for none and above M."""
    weights = np.zeros(n_keys + 1)
    for k in range(1, max_size + 1):
        if normalise == "book":
            weights[k] = (2 ** (n_keys - k) - 1) / comb(n_keys, k)
        else:
            steps = [n_keys - i for i in range(k, min(max_size, n_keys - 1) + 1)]
            scale = factorial(n_keys) if normalise == "factorial" else 1
            weights[k] = prod(steps) / scale
    return weights


def dis_scores(
    score: np.ndarray, uniques: int, pairs: int, fraction: float, n_keys: int
) -> tuple[np.ndarray, float]:
    """Return the DIS-SUDA score of each record and the DIS of the file.

    With U records that are unique and P that are in pairs on all keys, and sampling fraction d, DIS
    = U d / (U d + P (1 - d)). With Q = 1 + (8 - q) / 20 and A the sum of s ** -Q over positive
    scores s, the score of a record is 1 / (1 + (U / DIS - U) / (A s ** Q)), else 0.
    """
    dis_score = np.zeros(len(score))
    if uniques == 0:
        return dis_score, 0.0
    dis = uniques * fraction / (uniques * fraction + pairs * (1 - fraction))
    positive = score > 0
    if not positive.any():
        return dis_score, dis
    q = 1 + (8 - n_keys) / 20
    powers = score[positive] ** q
    total = (1 / powers).sum()
    dis_score[positive] = 1 / (1 + (uniques / dis - uniques) / (powers * total))
    return dis_score, dis


def ranked_items(
    codes: np.ndarray, n_levels: Sequence[int], copies: np.ndarray, missing: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the values of all keys by how many records hold them, the rarest first.

    codes, copies: distinct rows, -1 missing, and how many records have each
    Returns items of each row, ranks ascending, filled up with the number of items; the key of each
    item; where the value of a key is missing (with "category" it is an item like another).
    """
    codes = codes.astype(np.int64)
    absent = codes < 0
    sizes = np.array(n_levels) + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    if missing == "category":
        codes = np.where(absent, sizes - 1, codes)
        absent = np.zeros_like(absent)
    names = codes + offsets
    present = ~absent
    weights = np.broadcast_to(copies[:, None], names.shape)[present]
    support = np.bincount(names[present], weights=weights, minlength=int(sizes.sum()))
    order = np.argsort(support, kind="stable")
    order = order[support[order] > 0]
    rank = np.empty(int(sizes.sum()), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    items = np.where(present, rank[names * present], np.int32(len(order))).astype(np.int32)
    items.sort(axis=1)
    column_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order]
    return items, column_of, absent
