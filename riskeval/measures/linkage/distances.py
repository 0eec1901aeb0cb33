"""Nearest originals by distances on the variables that both records have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import first_rows
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.text import count

SLACK = 1e-9
MOST_PAIRS = 50_000_000
MOST_PATTERNS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Where the own original stands among all; arrays of shape (n_released,)."""

    best: np.ndarray  # int64: a nearest original, -1 where nothing can be compared
    # score, own_score: float64: distance (or weight) of the nearest and of the own original
    score: np.ndarray
    own_score: np.ndarray
    # nearer, ties: int64: originals nearer than the own one (from 2 on, no exact count), and as
    # near, itself included; no ties where the own one cannot be compared
    nearer: np.ndarray
    ties: np.ndarray

    @classmethod
    def empty(cls, n: int) -> Ranks:
        """Nothing compared yet."""
        none, zero = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
        return cls(np.full(n, -1, dtype=np.int64), none, none.copy(), zero, zero.copy())

    def put(self, released: np.ndarray, original: np.ndarray, block: Ranks) -> None:
        """Write the ranks of a block, whose `best` are positions in `original`."""
        self.best[released] = np.where(block.best >= 0, original[block.best], -1)
        for name in ("score", "own_score", "nearer", "ties"):
            getattr(self, name)[released] = getattr(block, name)


Transform = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Points of both files and the positions of some variables to points for Euclidean (or Manhattan)
distance on these variables."""


def rank_by_tree(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, norm: int, transform: Transform
) -> Ranks:
    """Rank by distance of points with k-d trees; norm 1 (Manhattan) or 2 (Euclidean).

    A pair is compared on the q of p variables that both records have; its distance is multiplied
    by p / q (Manhattan) or the root of it: a missing variable counts as the mean of the others.
    """
    ranks = Ranks.empty(len(y))
    true_distance = partial_distances(x, y, truth, norm, transform)
    ranks.own_score[:] = true_distance
    asked, patterns_y = patterns_of(y)
    patterns, patterns_x = patterns_of(x)
    if len(patterns_x) * len(patterns_y) > MOST_PATTERNS:
        what = f"are missing in {count(len(patterns_x))} x {count(len(patterns_y))} combinations"
        hint = 'Use method="gower", or fewer variables.'
        raise InputError.of("record_linkage", "variables", what, hint)
    for released in asked:
        for original in patterns:
            shared = np.flatnonzero(patterns_y[released[0]] & patterns_x[original[0]])
            if len(shared):
                points = transform(x[original[1]], y[released[1]], shared)
                scale = _scale(x.shape[1], len(shared), norm)
                _add_pairs(ranks, points, scale, true_distance, original[1], released[1], norm)
    known = ~np.isnan(true_distance)
    ranks.ties[:] = np.where(known, np.maximum(ranks.ties, 1), 0)
    return ranks


def patterns_of(values: np.ndarray) -> tuple[list[tuple[int, np.ndarray]], np.ndarray]:
    """Rows by pattern of known variables, and the patterns, bool, shape (patterns, p)."""
    known = ~np.isnan(values)
    if known.all():
        return [(0, np.arange(len(values)))], np.ones((1, values.shape[1]), dtype=np.bool_)
    patterns, number = np.unique(known, axis=0, return_inverse=True)
    number = number.reshape(-1)
    return [(p, np.flatnonzero(number == p)) for p in range(len(patterns))], patterns


def column_spreads(values: np.ndarray) -> np.ndarray:
    """Standard deviation (n - 1) of the known values of each column, 1 where there is none."""
    spreads = np.ones(values.shape[1])
    for j, column in enumerate(values.T):
        filled = column[~np.isnan(column)]
        largest = float(np.abs(filled).max(initial=0.0))
        if len(filled) > 1 and 0 < largest < np.inf:  # in units of the largest: no square overflows
            spread = float((filled / largest).std(ddof=1)) * largest
            spreads[j] = spread if spread > 0 else 1.0
    return spreads


def partial_distances(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, norm: int, transform: Transform
) -> np.ndarray:
    """Distance of each released record to its own original: float64, NaN where none is known."""
    distances = np.full(len(y), np.nan)
    linked = np.flatnonzero(truth >= 0)
    both = ~np.isnan(x[truth[linked]]) & ~np.isnan(y[linked])
    patterns, number = np.unique(both, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        shared = np.flatnonzero(pattern)
        if not len(shared):
            continue
        rows = linked[number.reshape(-1) == p]
        points_x, points_y = transform(x[truth[rows]], y[rows], shared)
        gaps = np.abs(points_x - points_y)
        distance = gaps.sum(axis=1) if norm == 1 else np.sqrt((gaps * gaps).sum(axis=1))
        distances[rows] = distance * _scale(x.shape[1], len(shared), norm)
    return distances


def _scale(p: int, q: int, norm: int) -> float:
    """Factor that brings a distance on q variables to the level of p."""
    return float(p / q) ** (1 / norm)


def _add_pairs(
    ranks: Ranks,
    points: tuple[np.ndarray, np.ndarray],
    scale: float,
    true_distance: np.ndarray,
    original: np.ndarray,
    released: np.ndarray,
    norm: int,
) -> None:
    """Count the originals of one pattern that are nearer and as near as the own one."""
    from scipy.spatial import KDTree

    points_x, points_y = points
    groups = pd.DataFrame(points_x).groupby(list(range(points_x.shape[1])), sort=False)
    number = groups.ngroup().to_numpy()
    copies = np.bincount(number)
    first = first_rows(number, len(copies))
    tree = KDTree(points_x[first], balanced_tree=False)
    near, who = tree.query(points_y, k=[1, 2, 3], p=norm)
    near, who = near * scale, np.minimum(who, len(first) - 1)
    # 1. The nearest original so far
    better = ~(near[:, 0] >= ranks.score[released])
    rows = original[first[who[:, 0]]]
    ranks.best[released[better]] = rows[better]
    ranks.score[released[better]] = near[better, 0]
    # 2. Originals that are nearer than the own one (from 2 on no exact count)
    target = true_distance[released]
    is_nearer = near * (1 + SLACK) < target[:, None]
    of_nearest = is_nearer[:, 0] * copies[who[:, 0]]
    ranks.nearer[released] += of_nearest + is_nearer[:, 1]
    # 3. Originals that are as near; counted only where at most one point is nearer
    reach = target * (1 + SLACK)
    row, place = np.arange(len(near)), is_nearer[:, 0].astype(np.int64)
    close = ~np.isnan(target) & ~is_nearer[:, 1] & (near[row, place] <= reach)
    alone = close & (near[row, place + 1] > reach)
    ranks.ties[released[alone]] += copies[who[row, place][alone]]
    several = np.flatnonzero(close & ~alone)
    if len(several):
        balls = tree.query_ball_point(points_y[several], reach[several] / scale, p=norm)
        within = np.array([copies[ball].sum() for ball in balls])
        ranks.ties[released[several]] += within - of_nearest[several]


def assign_one_to_one(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, norm: int, transform: Transform
) -> Ranks:
    """Link points so that the total distance is smallest; arguments as of `rank_by_tree`.

    Records that share no variable with anybody are not linked.
    """
    from scipy.spatial.distance import cdist

    original = np.flatnonzero(~np.isnan(x).all(axis=1))
    released = np.flatnonzero(~np.isnan(y).all(axis=1))
    check_pairs(len(released), len(original))
    cost = np.full((len(released), len(original)), np.nan)
    rows_y, patterns_y = patterns_of(y[released])
    rows_x, patterns_x = patterns_of(x[original])
    for a, rows in rows_y:
        for b, columns in rows_x:
            shared = np.flatnonzero(patterns_y[a] & patterns_x[b])
            if not len(shared):
                continue
            points_x, points_y = transform(x[original[columns]], y[released[rows]], shared)
            distance = cdist(points_y, points_x, "cityblock" if norm == 1 else "euclidean")
            cost[np.ix_(rows, columns)] = distance * _scale(x.shape[1], len(shared), norm)
    if cost.size:
        cost = np.where(np.isnan(cost), 2 * np.nanmax(cost) + 1, cost)
    ranks = Ranks.empty(len(y))
    link_by_cost(ranks, cost, released, original, truth)
    return ranks


def check_pairs(n_released: int, n_original: int) -> None:
    """Refuse more pairs than one-to-one assignment can hold in memory."""
    if n_released * n_original > MOST_PAIRS:
        pairs = f"{count(n_released)} x {count(n_original)} pairs"
        what = f"{pairs} are too many for one-to-one assignment"
        raise InputError.of("record_linkage", "assign", what, "Name columns in block.")


def link_by_cost(
    ranks: Ranks, cost: np.ndarray, asked: np.ndarray, candidates: np.ndarray, truth: np.ndarray
) -> None:
    """Assign released rows to original candidates at the smallest total cost; fill `ranks`."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(cost)
    released, original = asked[rows], candidates[columns]
    ranks.best[released] = original
    ranks.score[released] = cost[rows, columns]
    largest_row = max(truth.max(initial=-1), candidates.max(initial=-1))
    place = np.full(largest_row + 2, -1)  # [-1]: no original
    place[candidates] = np.arange(len(candidates))
    true_place = place[truth[asked]]
    ranks.own_score[asked] = np.where(
        (truth[asked] >= 0) & (true_place >= 0), cost[np.arange(len(asked)), true_place], np.nan
    )
    right = original == truth[released]
    ranks.ties[released[right]] = 1
