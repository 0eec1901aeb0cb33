"""Pairs of records of two releases whose amounts are near: of files with noise in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from riskeval.ledger.columns import Readable, numbered, row_hash

CLEARLY = 0.7
"""The nearest record is clear where it is nearer than so much of the distance to the next one."""
AGREES = 0.9
SAMPLE = 2_000
APART = 1e6
Pairs = Mapping[str, tuple[Readable, Readable]]


class Near(NamedTuple):
    """Pairs, each record the nearest of the other."""

    record: np.ndarray  # int64, shape (n_b,): earlier record, -1 for none that is clearly nearest
    right: float  # estimated share of new records that the earlier release holds
    by: tuple[str, ...]  # columns that group the records


def nearest_pairs(pairs: Pairs, amounts: Sequence[str], by: Sequence[str]) -> Near | None:
    """Return pairs of nearest records within groups, on the scale that tells persons apart best.

    Of other persons the nearest one in another file is no nearer than the nearest one in the same
    file: what is nearer beyond this chance is the estimated share of persons in both. Amounts are
    compared as they are (additive noise) and as asinh (multiplicative noise); groups are those of
    all columns of `by`, of those on which near pairs without groups agree, and none.

    Returns None without an amount or with fewer than three records.
    """
    n_a, n_b = (len(column.hash) for column in next(iter(pairs.values())))
    if not amounts or min(n_a, n_b) < 3:
        return None
    best: tuple[float, tuple[str, ...], bool] | None = None
    for as_log in (False, True):
        loose = _pairs(pairs, amounts, (), as_log)
        agreeing = tuple(name for name in by if _agreement(pairs[name], loose.record) >= AGREES)
        tried = {(): loose.right}
        for names in {agreeing, tuple(by)} - {()}:
            tried[names] = _right(*_sides(pairs, amounts, names, as_log))
        names = max(tried, key=lambda one: (tried[one], len(one)))
        if best is None or tried[names] > best[0]:
            best = (tried[names], names, as_log)
    assert best is not None
    return _pairs(pairs, amounts, best[1], best[2])


def _pairs(pairs: Pairs, amounts: Sequence[str], by: tuple[str, ...], as_log: bool) -> Near:
    from scipy.spatial import cKDTree

    x, y = _sides(pairs, amounts, by, as_log)
    gaps, two = cKDTree(x).query(y, k=2)
    _, back = cKDTree(y).query(x, k=1)
    clear = (back[two[:, 0]] == np.arange(len(y))) & (gaps[:, 0] < CLEARLY * gaps[:, 1])
    clear &= gaps[:, 0] < APART
    return Near(np.where(clear, two[:, 0], -1), _right(x, y), by)


def _sides(
    pairs: Pairs, amounts: Sequence[str], by: Sequence[str], as_log: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return both files as points; records of other groups, or with other holes, lie far apart."""
    n_a, n_b = (len(column.hash) for column in next(iter(pairs.values())))
    holes = [
        [(pairs[name][side].hash == 0).astype(np.uint64) for name in amounts] for side in (0, 1)
    ]
    groups = [[pairs[name][side].hash for name in by] for side in (0, 1)]
    a, b, _ = numbered(row_hash(groups[0] + holes[0], n_a), row_hash(groups[1] + holes[1], n_b))
    x, y = [a * 2 * APART], [b * 2 * APART]
    for name in amounts:
        low = [one.low for one in pairs[name]]
        assert low[0] is not None
        assert low[1] is not None
        u, v = (np.where(np.isfinite(one), one, 0.0) for one in low if one is not None)
        if as_log:
            typical = float(np.median(np.abs(u[u != 0]))) if (u != 0).any() else 1.0
            u, v = np.arcsinh(10 * u / typical), np.arcsinh(10 * v / typical)
        scale = float(u.std()) or 1.0
        x.append(u / scale)
        y.append(v / scale)
    return np.column_stack(x), np.column_stack(y)


def _right(x: np.ndarray, y: np.ndarray) -> float:
    """Return how many of y are nearer to x than to others of y, beyond chance (Abbott)."""
    from scipy.spatial import cKDTree

    sample = y[:: max(len(y) // SAMPLE, 1)]
    to_x = cKDTree(x).query(sample, k=1)[0]
    to_y = cKDTree(y).query(sample, k=2)[0][:, 1]
    told = (to_x < APART) & (to_y < APART)
    if not told.any():
        return 0.0
    chance = len(x) / (len(x) + len(y))
    nearer = float((to_x[told] < to_y[told]).mean() + 0.5 * (to_x[told] == to_y[told]).mean())
    return (nearer - chance) / (1 - chance)


def _agreement(pair: tuple[Readable, Readable], record: np.ndarray) -> float:
    """Return the share of pairs with the same value, 0 without a pair."""
    rows = np.flatnonzero(record >= 0)
    return float((pair[0].hash[record[rows]] == pair[1].hash[rows]).mean()) if len(rows) else 0.0
