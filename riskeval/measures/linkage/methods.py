"""Ways to rank original records by their nearness to released ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.files import read_frames
from synthpop.microdata.checks import check_columns, check_numeric
from synthpop.microdata.codes import CodedKeys, encode_keys
from synthpop.microdata.errors import Faults
from synthpop.microdata.frames import as_names, check_finite, is_number, numbers
from synthpop.microdata.text import count

SLACK = 1e-9
MOST_PAIRS = 50_000_000
MOST_PATTERNS = 20_000
MOST_VARIABLES = 12
EM_STEPS = 500


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Both files as arrays.

    Attributes
    ----------
    o_numbers, r_numbers : float64, shape (n_o, p) and (n_r, p)
    o_codes, r_codes : int64, shape (n_o, q) and (n_r, q)
        Codes of the other columns, shared by both files, -1 missing.
    levels : tuple of tuples
    numeric, coded : tuple of str
        Names of the columns.
    number_weights, code_weights : float64, shape (p,) and (q,)
    blocks : CodedKeys or None
        Block columns of the stacked files.
    truth : int64, shape (n_r,)
        Row of the own original, -1 where there is none.
    agreement : dict
        Given agreement limits by variable.
    """

    o_numbers: np.ndarray
    r_numbers: np.ndarray
    o_codes: np.ndarray
    r_codes: np.ndarray
    levels: tuple[tuple[Any, ...], ...]
    numeric: tuple[str, ...]
    coded: tuple[str, ...]
    number_weights: np.ndarray
    code_weights: np.ndarray
    blocks: CodedKeys | None
    truth: np.ndarray
    agreement: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Where the own original stands among all; arrays of shape (n_released,).

    Attributes
    ----------
    best : int64
        The first nearest original, -1 where nothing can be compared.
    score, own : float64
        Distance (or weight) of the nearest and of the own original.
    nearer, ties : int64
        Originals nearer than the own one (from 2 on, no exact count), and as near, itself included;
        no ties where the own one cannot be compared.
    """

    best: np.ndarray
    score: np.ndarray
    own: np.ndarray
    nearer: np.ndarray
    ties: np.ndarray

    @classmethod
    def empty(cls, n: int) -> Ranks:
        """Nothing compared yet."""
        none, zero = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
        return cls(np.full(n, -1, dtype=np.int64), none, none.copy(), zero, zero.copy())

    def put(self, released: np.ndarray, original: np.ndarray, part: Ranks) -> None:
        """Write the ranks of a block, whose `best` are positions in `original`."""
        self.best[released] = np.where(part.best >= 0, original[part.best], -1)
        self.score[released] = part.score
        self.own[released] = part.own
        self.nearer[released] = part.nearer
        self.ties[released] = part.ties


def read_sides(
    faults: Faults,
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    block: tuple[str, ...],
    identifier: str | None,
    weights: Mapping[str, float] | None,
    agreement: Mapping[str, float] | None,
    *,
    numeric_only: bool,
) -> Sides:
    """Check both files and turn them into arrays; raise every fault found."""
    o, r = read_frames(faults, original, released, same_length=identifier is None)
    names = as_names(faults, variables, "variables")
    fine = bool(names)
    for frame, side in ((o, "original"), (r, "release")):
        check = check_numeric if numeric_only else check_columns
        fine = check(faults, frame, names, f"variable of the {side}") and fine
        fine = check_columns(faults, frame, block, f"block of the {side}") and fine
        if identifier is not None:
            fine = check_columns(faults, frame, [identifier], f"identifier of the {side}") and fine
    for argument, given in (("weights", weights), ("agreement", agreement)):
        for name, value in (given or {}).items():
            if name not in names:
                faults.add(argument, f"{name!r} is not one of the variables")
            elif not (isinstance(value, (int, float)) and 0 <= value < np.inf):
                faults.add(argument, f"{value!r} for {name!r} is not a number of at least 0")
    if not fine:
        faults.raise_if_any()
    truth = _truth(faults, o, r, identifier)
    numeric = tuple(name for name in names if is_number(o[name]) and is_number(r[name]))
    coded = tuple(name for name in names if name not in numeric)
    o_numbers, r_numbers = (
        numbers(f, numeric) if numeric else np.empty((len(f), 0)) for f in (o, r)
    )
    check_finite(faults, o_numbers, numeric, "original")
    check_finite(faults, r_numbers, numeric, "release")
    faults.raise_if_any()
    keys = _stacked(o, r, coded)
    given = weights or {}
    return Sides(
        o_numbers, r_numbers,
        keys.codes[: len(o)].astype(np.int64), keys.codes[len(o) :].astype(np.int64), keys.levels,
        numeric, coded,
        np.array([given.get(name, 1.0) for name in numeric], dtype=np.float64),
        np.array([given.get(name, 1.0) for name in coded], dtype=np.float64),
        _stacked(o, r, block) if block else None, truth, dict(agreement or {}),
    )  # fmt: skip


def _stacked(o: pd.DataFrame, r: pd.DataFrame, names: Sequence[str]) -> CodedKeys:
    columns = {
        name: pd.concat([o[name].astype(object), r[name].astype(object)], ignore_index=True)
        for name in names
    }
    if not columns:
        return CodedKeys((), np.empty((len(o) + len(r), 0), dtype=np.int32), ())
    return encode_keys(pd.DataFrame(columns), list(names))


def _truth(faults: Faults, o: pd.DataFrame, r: pd.DataFrame, identifier: str | None) -> np.ndarray:
    if identifier is None:
        return np.arange(len(r))
    index = pd.Index(o[identifier])
    if not index.is_unique:
        rows = np.flatnonzero(index.duplicated(keep=False))
        faults.add(identifier, "names two units of the original alike", rows=rows)
        return np.full(len(r), -1)
    return index.get_indexer(pd.Index(r[identifier])).astype(np.int64)


Transform = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Points of both files and the positions of some variables to points for Euclidean (or Manhattan)
distance on these variables."""


def rank_by_tree(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, norm: int, transform: Transform
) -> Ranks:
    """Rank by distance of points with k-d trees.

    A pair is compared on the variables that both records have. As in Gower's coefficient a
    missing variable counts as the mean of the others: the distance on q of p variables is
    multiplied by p / q (Manhattan) or its root (Euclidean and Mahalanobis).

    Parameters
    ----------
    x, y : float64, shape (n_o, p) and (n_r, p)
        Originals and released records; NaN is missing.
    truth : int64, shape (n_r,)
    norm : 1 or 2
        Manhattan or Euclidean.
    transform : function of x, y and the positions of shared variables to two arrays of points

    Raises
    ------
    InputError
        More combinations of missing variables than can be searched.
    """
    ranks = Ranks.empty(len(y))
    own = partial_distances(x, y, truth, norm, transform)
    ranks.own[:] = own
    asked, patterns_y = patterns_of(y)
    kept, patterns_x = patterns_of(x)
    if len(patterns_x) * len(patterns_y) > MOST_PATTERNS:
        faults = Faults("record_linkage")
        faults.add(
            "variables",
            f"are missing in {count(len(patterns_x))} x {count(len(patterns_y))} combinations",
            remedy='Use method="gower", or fewer variables.',
        )
        faults.raise_if_any()
    for released in asked:
        for original in kept:
            shared = np.flatnonzero(patterns_y[released[0]] & patterns_x[original[0]])
            if len(shared):
                _add_pairs(ranks, x, y, own, original[1], released[1], shared, norm, transform)
    known = ~np.isnan(own)
    ranks.ties[:] = np.where(known, np.maximum(ranks.ties, 1), 0)
    return ranks


def patterns_of(values: np.ndarray) -> tuple[list[tuple[int, np.ndarray]], np.ndarray]:
    """Rows by pattern of known variables.

    Returns
    -------
    rows : list of pairs (number of the pattern, int64 rows)
    patterns : bool, shape (patterns, p)

    Examples
    --------
    >>> rows, patterns = patterns_of(np.array([[1.0, 2.0], [1.0, np.nan], [3.0, 4.0]]))
    >>> [(number, list(map(int, who))) for number, who in rows], patterns.tolist()
    ([(0, [1]), (1, [0, 2])], [[True, False], [True, True]])
    """
    known = ~np.isnan(values)
    if known.all():
        return [(0, np.arange(len(values)))], np.ones((1, values.shape[1]), dtype=np.bool_)
    patterns, number = np.unique(known, axis=0, return_inverse=True)
    number = number.reshape(-1)
    return [(p, np.flatnonzero(number == p)) for p in range(len(patterns))], patterns


def column_spreads(values: np.ndarray) -> np.ndarray:
    """Standard deviation (n - 1) of the known values of each column, 1 where there is none.

    Examples
    --------
    >>> column_spreads(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])).round(3).tolist()
    [1.414, 1.0]
    """
    spreads = np.ones(values.shape[1])
    for j, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        if len(known) > 1 and known.std(ddof=1) > 0:
            spreads[j] = known.std(ddof=1)
    return spreads


def partial_distances(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, norm: int, transform: Transform
) -> np.ndarray:
    """Distance of each released record to its own original: float64, NaN where none is known."""
    own = np.full(len(y), np.nan)
    linked = np.flatnonzero(truth >= 0)
    both = ~np.isnan(x[truth[linked]]) & ~np.isnan(y[linked])
    patterns, number = np.unique(both, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        shared = np.flatnonzero(pattern)
        if not len(shared):
            continue
        rows = linked[number.reshape(-1) == p]
        points_x, points_y = transform(x[truth[rows]], y[rows], shared)
        own[rows] = _distance(points_x, points_y, norm) * _scale(x.shape[1], len(shared), norm)
    return own


def _scale(p: int, q: int, norm: int) -> float:
    """Factor that brings a distance on q variables to the level of p."""
    return float(p / q) ** (1 / norm)


def _add_pairs(
    ranks: Ranks,
    x: np.ndarray,
    y: np.ndarray,
    own: np.ndarray,
    original: np.ndarray,
    released: np.ndarray,
    shared: np.ndarray,
    norm: int,
    transform: Transform,
) -> None:
    """Count the originals of one pattern that are nearer and as near as the own one."""
    from scipy.spatial import KDTree

    scale = _scale(x.shape[1], len(shared), norm)
    points_x, points_y = transform(x[original], y[released], shared)
    points, first, copies = _distinct(points_x)
    tree = KDTree(points, balanced_tree=False)
    near, who = tree.query(points_y, k=[1, 2], p=norm)
    near = near * scale
    # 1. The nearest original so far, the first of equals
    better = ~(near[:, 0] >= ranks.score[released])
    rows = original[first[np.minimum(who[:, 0], len(first) - 1)]]
    ranks.best[released[better]] = rows[better]
    ranks.score[released[better]] = near[better, 0]
    # 2. Originals that are nearer than the own one (from 2 on no exact count)
    target = own[released]
    farther = near * (1 + SLACK) < target[:, None]
    ranks.nearer[released] += (
        farther[:, 0] * copies[np.minimum(who[:, 0], len(first) - 1)] + farther[:, 1]
    )
    # 3. Originals that are as near; counted only where none is nearer
    reach = target * (1 + SLACK)
    close = ~np.isnan(target) & ~farther[:, 0] & (near[:, 0] <= reach)
    alone = close & (near[:, 1] > reach)
    ranks.ties[released[alone]] += copies[who[alone, 0]]
    several = np.flatnonzero(close & ~alone)
    if len(several):
        balls = tree.query_ball_point(points_y[several], reach[several] / scale, p=norm)
        ranks.ties[released[several]] += np.array([copies[ball].sum() for ball in balls])


def _distinct(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows, where each comes first, and how often it comes."""
    number = pd.DataFrame(points).groupby(list(range(points.shape[1])), sort=False).ngroup()
    copies = np.bincount(number)
    first = np.empty(len(copies), dtype=np.int64)
    first[number[::-1]] = np.arange(len(points))[::-1]
    return points[first], first, copies


def _distance(x: np.ndarray, y: np.ndarray, norm: int) -> np.ndarray:
    gaps = np.abs(x - y)
    return gaps.sum(axis=1) if norm == 1 else np.sqrt((gaps * gaps).sum(axis=1))


def assign_one_to_one(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, norm: int, transform: Transform
) -> Ranks:
    """Link points so that the total distance is smallest; see `rank_by_tree` for the arguments.

    Records that share no variable with anybody are not linked; a pair without a shared variable
    is farther than any other.
    """
    from scipy.spatial.distance import cdist

    original = np.flatnonzero(~np.isnan(x).all(axis=1))
    released = np.flatnonzero(~np.isnan(y).all(axis=1))
    _check_pairs(len(released), len(original))
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
    _assign(ranks, cost, released, original, truth)
    return ranks


def _check_pairs(n_released: int, n_original: int) -> None:
    if n_released * n_original > MOST_PAIRS:
        faults = Faults("record_linkage")
        what = (
            f"{count(n_released)} x {count(n_original)} pairs are too many for one-to-one "
            "assignment"
        )
        faults.add("assign", what, remedy="Name columns in block.")
        faults.raise_if_any()


def _assign(
    ranks: Ranks, cost: np.ndarray, asked: np.ndarray, kept: np.ndarray, truth: np.ndarray
) -> None:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(cost)
    released, original = asked[rows], kept[columns]
    ranks.best[released] = original
    ranks.score[released] = cost[rows, columns]
    place = np.full(max(truth.max(initial=-1), kept.max(initial=-1)) + 2, -1)  # [-1]: no original
    place[kept] = np.arange(len(kept))
    own = place[truth[asked]]
    ranks.own[asked] = np.where(
        (truth[asked] >= 0) & (own >= 0), cost[np.arange(len(asked)), own], np.nan
    )
    right = original == truth[released]
    ranks.ties[released[right]] = 1


def rank_by_gower(
    sides: Sides, o: np.ndarray, r: np.ndarray, truth: np.ndarray, ranges: np.ndarray, assign: str
) -> Ranks:
    """Rank rows `o` and `r` of the files by Gower distance, or assign them one to one."""
    from riskeval.kernels.linkage import gower_ranks

    if assign == "one-to-one":
        _check_pairs(len(r), len(o))
        cost = gower_matrix(sides, r, o, ranges)
        ranks = Ranks.empty(len(r))
        _assign(ranks, cost, np.arange(len(r)), np.arange(len(o)), truth)
        return ranks
    found = gower_ranks(
        sides.o_numbers[o], sides.r_numbers[r], ranges, sides.number_weights,
        sides.o_codes[o], sides.r_codes[r], sides.code_weights, truth, SLACK,
    )  # fmt: skip
    return Ranks(*found)


def ranges_of(sides: Sides) -> np.ndarray:
    """Return the range of each numeric variable over both files, shape (p,)."""
    stacked = np.vstack([sides.o_numbers, sides.r_numbers])
    ranges = np.zeros(stacked.shape[1])
    for k, column in enumerate(stacked.T):
        known = column[~np.isnan(column)]
        ranges[k] = np.ptp(known) if len(known) else 0.0
    return ranges


def gower_matrix(sides: Sides, r: np.ndarray, o: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Gower distances, shape (len(r), len(o)); the largest possible, 1, where nothing compares."""
    total = np.zeros((len(r), len(o)))
    compared = np.zeros_like(total)
    for k, width in enumerate(ranges):
        gap = np.abs(sides.r_numbers[r, k][:, None] - sides.o_numbers[o, k][None])
        known = ~np.isnan(gap)
        compared += sides.number_weights[k] * known
        if width > 0:
            total += sides.number_weights[k] * np.where(known, gap, 0.0) / width
    for k, weight in enumerate(sides.code_weights):
        a, b = sides.r_codes[r, k][:, None], sides.o_codes[o, k][None]
        known = (a >= 0) & (b >= 0)
        compared += weight * known
        total += weight * (known & (a != b))
    return np.where(compared > 0, total / np.where(compared > 0, compared, 1.0), 1.0)


def rank_by_weight(
    sides: Sides, blocks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], assign: str
) -> tuple[Ranks, dict[str, Any]]:
    """Rank by Fellegi-Sunter weights, with probabilities estimated by EM over all blocks.

    One to one: the links with the greatest total weight.
    """
    from riskeval.kernels.linkage import pair_weights, pattern_counts, weight_ranks

    n_variables = len(sides.numeric) + len(sides.coded)
    if n_variables > MOST_VARIABLES:
        faults = Faults("record_linkage")
        what = f"{n_variables} are too many for method 'probabilistic'"
        faults.add("variables", what, remedy=f"At most {MOST_VARIABLES}.")
        faults.raise_if_any()
    rules = _agreement_rules(sides)
    counts = np.zeros(3**n_variables, dtype=np.int64)
    for o, r, _ in blocks:
        pattern_counts(*(*_pair_arrays(sides, o, r, rules), counts))
    n_matches = float(sum((truth >= 0).sum() for _, _, truth in blocks))
    share, m, u = fit_fellegi_sunter(counts, n_variables, n_matches)
    weights = pattern_weights(n_variables, m, u)
    whole = Ranks.empty(len(sides.r_numbers))
    for o, r, truth in blocks:
        pairs: tuple[Any, ...] = _pair_arrays(sides, o, r, rules)
        if assign == "one-to-one":
            _check_pairs(len(r), len(o))
            cost = np.empty((len(r), len(o)))
            pair_weights(*(*pairs, weights, cost))
            found = Ranks.empty(len(r))
            _assign(found, -cost, np.arange(len(r)), np.arange(len(o)), truth)
            found = replace(found, score=-found.score, own=-found.own)
        else:
            found = Ranks(*weight_ranks(*(*pairs, weights, truth)))
        whole.put(r, o, found)
    names = (*sides.numeric, *sides.coded)
    parameters = {
        "share": share,
        "m": dict(zip(names, m.tolist(), strict=True)),
        "u": dict(zip(names, u.tolist(), strict=True)),
    }
    return whole, parameters


def _agreement_rules(sides: Sides) -> tuple[np.ndarray, ...]:
    """Reach of numbers; agreement of codes as one flat table, with its starts and widths."""
    given = sides.agreement
    spreads = [np.nanstd(c) if not np.isnan(c).all() else 0.0 for c in sides.o_numbers.T]
    reach = np.array(
        [given.get(name, 0.1 * sd) for name, sd in zip(sides.numeric, spreads, strict=True)]
    )
    tables = []
    for name, levels in zip(sides.coded, sides.levels, strict=True):
        table = np.eye(len(levels), dtype=np.bool_)
        if name in given and all(isinstance(level, str) for level in levels):
            table = _alike(levels, given[name])
        tables.append(table)
    width = np.array([len(table) for table in tables], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(width * width)])[:-1].astype(np.int64)
    flat = np.concatenate([table.ravel() for table in tables]) if tables else np.zeros(1, np.bool_)
    return reach, flat, start, width


def _alike(levels: tuple[str, ...], threshold: float) -> np.ndarray:
    from riskeval.kernels.linkage import jaro_agree

    lengths = np.array([len(level) for level in levels], dtype=np.int64)
    points = np.zeros((len(levels), max(int(lengths.max(initial=0)), 1)), dtype=np.int32)
    for row, level in enumerate(levels):
        points[row, : len(level)] = [ord(letter) for letter in level]
    table: np.ndarray = jaro_agree(points, lengths, points, lengths, threshold)
    return table


def _pair_arrays(
    sides: Sides, o: np.ndarray, r: np.ndarray, rules: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    reach, agree, start, width = rules
    return (
        sides.o_numbers[o], sides.r_numbers[r], reach, sides.o_codes[o], sides.r_codes[r], agree,
        start, width,
    )  # fmt: skip


def _states(n_variables: int) -> np.ndarray:
    """Agreement states of each pattern: int64, shape (3 ** variables, variables)."""
    place = 3 ** np.arange(n_variables - 1, -1, -1)
    states: np.ndarray = np.arange(3**n_variables)[:, None] // place % 3
    return states


def fit_fellegi_sunter(
    counts: np.ndarray, n_variables: int, n_matches: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Estimate the share of matching pairs and the probabilities m and u by EM.

    Agreements are independent within matching and within other pairs; a missing comparison
    tells nothing. Started at `n_matches` matching pairs, m = 0.9 and u at the overall agreement.

    Parameters
    ----------
    counts : integer, shape (3 ** variables,)
        Pairs by agreement pattern (base 3; 0 disagrees, 1 agrees, 2 missing).

    Examples
    --------
    >>> counts = np.array([900, 5, 0, 5, 90, 0, 0, 0, 0])
    >>> share, m, u = fit_fellegi_sunter(counts, 2, 90.0)
    >>> round(share, 2), m.round(1).tolist(), u.round(1).tolist()
    (0.09, [1.0, 1.0], [0.0, 0.0])
    """
    states = _states(n_variables)
    agrees, known = states == 1, states != 2
    pairs = counts.sum()
    share = n_matches / pairs if pairs else 0.0
    m = np.full(n_variables, 0.9)
    u = _clip((counts @ agrees) / np.maximum(counts @ known, 1))
    for _ in range(EM_STEPS):
        like_m = np.exp(_log_likelihood(agrees, known, m))
        like_u = np.exp(_log_likelihood(agrees, known, u))
        mixed = share * like_m + (1 - share) * like_u
        matching = counts * share * like_m / np.where(mixed > 0, mixed, 1.0)
        other = counts - matching
        new_m = _clip((matching @ agrees) / np.maximum(matching @ known, 1e-300))
        new_u = _clip((other @ agrees) / np.maximum(other @ known, 1e-300))
        moved = max(np.abs(new_m - m).max(), np.abs(new_u - u).max())
        m, u, share = new_m, new_u, float(matching.sum() / pairs)
        if moved < 1e-9:
            break
    return share, m, u


def pattern_weights(n_variables: int, m: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return log2 likelihood ratios of the patterns: float64, shape (3 ** variables,)."""
    states = _states(n_variables)
    agrees, known = states == 1, states != 2
    ratio = _log_likelihood(agrees, known, m) - _log_likelihood(agrees, known, u)
    weights: np.ndarray = ratio / np.log(2)
    return weights


def _clip(probability: np.ndarray) -> np.ndarray:
    clipped: np.ndarray = np.clip(probability, 1e-6, 1 - 1e-6)
    return clipped


def _log_likelihood(agrees: np.ndarray, known: np.ndarray, p: np.ndarray) -> np.ndarray:
    each = np.where(agrees, np.log(p), np.log1p(-p)) * known
    total: np.ndarray = each.sum(axis=1)
    return total
