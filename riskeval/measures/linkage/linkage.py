"""Record linkage: can an intruder who holds the original file find the released records in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.linkage.methods import (
    Ranks,
    Sides,
    assign_one_to_one,
    ranges_of,
    rank_by_gower,
    rank_by_tree,
    rank_by_weight,
    read_sides,
)
from synthpop.microdata.checks import check_choice
from synthpop.microdata.codes import cell_ids
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.text import plural

METHODS = ("distance", "mahalanobis", "gower", "probabilistic")


@dataclass(frozen=True, slots=True, eq=False)
class RecordLinkage(Result):
    """Released records that an intruder links to the right original one.

    Attributes
    ----------
    linked, linked_second : bool, shape (n_released,)
        No original is nearer than the own one (ties count as linked), or exactly one is.
    rate, rate_second, expected_rate : float
        Shares of all released records: linked; linked to the second nearest; linked when an
        intruder picks at random among originals that are equally near.
    nearest : int64, shape (n_released,)
        Row of the original that each released record is linked to (the first of equals); -1 where
        nothing can be compared, or the link is below `threshold`.
    score : float64, shape (n_released,)
        Distance to that original (weight of the pair for method "probabilistic").
    own_score : float64, shape (n_released,)
        The same for the own original; NaN where it is not in the block or cannot be compared.
    n_unjudged : int
        Released records that cannot be compared with any original; they count as not linked.
    chance : float
        Expected rate of an intruder who links at random inside the blocks.
    parameters : dict
        Probabilistic: share of matching pairs, and for each variable the probabilities of agreement
        of matching (m) and other (u) pairs. One-to-one: the total distance.
    method : str
    """

    linked: np.ndarray
    linked_second: np.ndarray
    rate: float
    rate_second: float
    expected_rate: float
    nearest: np.ndarray
    score: np.ndarray
    own_score: np.ndarray
    n_unjudged: int
    chance: float
    parameters: dict[str, Any]
    method: str

    def to_frame(self) -> pd.DataFrame:
        """Return one row a released record."""
        return pd.DataFrame(
            {
                "nearest": self.nearest,
                "score": self.score,
                "own_score": self.own_score,
                "linked": self.linked,
                "linked_second": self.linked_second,
            }
        )

    def summary(self) -> str:
        """Say how many records are linked, and against what to read it."""
        return (
            f"Record linkage ({self.method}): an intruder who holds the original file links "
            f"{self.rate:.2%} of {len(self.linked):,} released records to the right person "
            f"({self.expected_rate:.2%} when equally near ones are told apart by lot), and for "
            f"another {self.rate_second:.2%} the right one is the second nearest. Linking at "
            f"random would reach {self.chance:.2%}. {plural(self.n_unjudged, 'record')} could not "
            "be compared and count as not linked. There is no published threshold; this is a worst "
            "case, as no intruder holds the original file itself."
        )


def record_linkage(
    original: Any,
    released: Any,
    variables: Sequence[str],
    *,
    method: str = "distance",
    metric: str = "euclidean",
    standardise: str = "original",
    weights: Mapping[str, float] | None = None,
    block: Sequence[str] = (),
    assign: str = "nearest",
    identifier: str | None = None,
    agreement: Mapping[str, float] | None = None,
    threshold: float | None = None,
) -> RecordLinkage:
    """Link every released record to the nearest original one and count the right links.

    Parameters
    ----------
    original, released : DataFrame, shapes (n_original, ...) and (n_released, ...)
        Row i of both is the same unit, unless `identifier` says otherwise.
    variables : names of columns of both
        Numeric for "distance" and "mahalanobis"; any type for "gower" and "probabilistic".
    method : {"distance", "mahalanobis", "gower", "probabilistic"}
        "mahalanobis" uses the sum of both covariance matrices, since the intruder does not know
        which records belong together. "gower": absolute differences of numbers divided by their
        range over both files, 0 or 1 for other columns, weighted mean. "probabilistic":
        agreement weights of Fellegi and Sunter with probabilities estimated by EM.
    metric : {"euclidean", "manhattan"}
        Of method "distance".
    standardise : {"original", "none"}
        Method "distance": divide by the standard deviation of the original, or compare raw units.
    weights : mapping of variable to number, optional
        Importance of variables in methods "distance" (multiplies the difference) and "gower".
    block : names of columns of both
        Only records that agree on all of them are compared (missing agrees with missing).
    assign : {"nearest", "one-to-one"}
        "one-to-one" links both files so that the total distance is smallest, or the total weight
        greatest (at most 50 million pairs a block). `linked_second` is then all False.
    identifier : str, optional
        Column of both that names units; the files may then differ in length and order.
    agreement : mapping of variable to number, optional
        Method "probabilistic": numbers agree within this many units (0.1 standard deviations of
        the original when not given); texts agree from this Jaro similarity on (equal when not
        given).
    threshold : float, optional
        Method "probabilistic": links with a smaller weight are not made.

    Returns
    -------
    RecordLinkage

    Raises
    ------
    InputError
        Missing columns, text where numbers are needed, files of different length without
        `identifier`, options that the method does not use.

    Notes
    -----
    Records with a missing value are not compared by "distance" and "mahalanobis"; the other methods
    leave the variable out of the pair. No randomness. Distances equal to 1e-9 of them are ties.
    Nearest originals are exact, by a k-d tree for "distance" and "mahalanobis"; the other methods
    go through all pairs of a block. Source: Pagliuca and Seri (1999); Torra, Abowd and
    Domingo-Ferrer (2006) for Mahalanobis; Fellegi and Sunter (1969) and Jaro (1989); Templ (2017),
    section 3.11.

    Examples
    --------
    >>> original = pd.DataFrame({"income": [10.0, 20.0, 31.0], "age": [20, 40, 60]})
    >>> released = pd.DataFrame({"income": [11.0, 30.0, 20.5], "age": [21, 60, 41]})
    >>> linkage = record_linkage(original, released, ["income", "age"])
    >>> linkage.nearest.tolist(), linkage.linked.tolist()
    ([0, 2, 1], [True, False, False])
    """
    faults = Faults("record_linkage")
    _check_options(faults, method, metric, standardise, weights, assign, agreement, threshold)
    blocks = (block,) if isinstance(block, str) else tuple(block)
    sides = read_sides(
        faults, original, released, variables, blocks, identifier, weights, agreement,
        numeric_only=method in ("distance", "mahalanobis"),
    )  # fmt: skip
    blocks_of_rows = _blocks(sides)
    parameters: dict[str, Any] = {}
    if method == "probabilistic":
        ranks, parameters = rank_by_weight(sides, blocks_of_rows, assign)
    else:
        rank = _ranker(sides, method, metric, standardise, assign)
        ranks = Ranks.empty(len(sides.r_numbers))
        for o, r, truth in blocks_of_rows:
            ranks.put(r, o, rank(o, r, truth))
    if assign == "one-to-one":
        total = "total_weight" if method == "probabilistic" else "total_distance"
        parameters[total] = float(np.nansum(ranks.score))
    by_chance = sum((truth >= 0).sum() / len(o) for o, _, truth in blocks_of_rows)
    made = np.ones(len(ranks.best), dtype=np.bool_)
    if threshold is not None:
        made = ranks.score >= threshold
    linked = (ranks.nearer == 0) & (ranks.ties > 0) & made
    second = (ranks.nearer == 1) & (ranks.ties > 0) & made
    return RecordLinkage(
        linked=linked,
        linked_second=second,
        rate=float(linked.mean()),
        rate_second=float(second.mean()),
        expected_rate=float(np.where(linked, 1 / np.maximum(ranks.ties, 1), 0).mean()),
        nearest=np.where(made, ranks.best, -1),
        score=ranks.score,
        own_score=ranks.own,
        n_unjudged=int((ranks.best < 0).sum()),
        chance=float(by_chance / len(linked)),
        parameters=parameters,
        method=method,
    )


def _check_options(
    faults: Faults,
    method: str,
    metric: str,
    standardise: str,
    weights: object,
    assign: str,
    agreement: object,
    threshold: object,
) -> None:
    check_choice(faults, "method", method, METHODS)
    check_choice(faults, "metric", metric, ["euclidean", "manhattan"])
    check_choice(faults, "standardise", standardise, ["original", "none"])
    check_choice(faults, "assign", assign, ["nearest", "one-to-one"])
    unused = [
        ("metric", metric != "euclidean", ("distance",)),
        ("standardise", standardise != "original", ("distance",)),
        ("weights", weights is not None, ("distance", "gower")),
        ("agreement", agreement is not None, ("probabilistic",)),
        ("threshold", threshold is not None, ("probabilistic",)),
    ]
    for name, given, used_by in unused:
        if given and method in METHODS and method not in used_by:
            faults.add(name, f"is not used by method {method!r}", remedy="Leave it out.")


def _ranker(
    sides: Sides, method: str, metric: str, standardise: str, assign: str
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Ranks]:
    """Return the function that ranks a block: rows of the original and released, and truth."""
    if method == "gower":
        ranges = ranges_of(sides)
        return lambda o, r, truth: rank_by_gower(sides, o, r, truth, ranges, assign)
    o_points, r_points = sides.o_numbers, sides.r_numbers
    if method == "mahalanobis":
        o_points, r_points = _whitened(o_points, r_points)
    elif method == "distance":
        known = o_points[~np.isnan(o_points).any(axis=1)]
        spread = known.std(axis=0, ddof=1) if len(known) > 1 else np.ones(o_points.shape[1])
        spread = np.where(spread > 0, spread, 1.0) if standardise == "original" else 1.0
        o_points, r_points = (
            points * sides.number_weights / spread for points in (o_points, r_points)
        )
    norm = 1 if method == "distance" and metric == "manhattan" else 2
    find = assign_one_to_one if assign == "one-to-one" else rank_by_tree
    return lambda o, r, truth: find(o_points[o], r_points[r], truth, norm)


def _whitened(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn Mahalanobis distance, with the sum of both covariances, into Euclidean distance."""
    total = np.zeros((x.shape[1], x.shape[1]))
    for values in (x, y):
        known = values[~np.isnan(values).any(axis=1)]
        if len(known) > 1:
            total += np.atleast_2d(np.cov(known, rowvar=False))
    if not (np.diag(total) > 0).any():
        return x * 0, y * 0
    scale = np.sqrt(np.where(np.diag(total) > 0, np.diag(total), 1.0))
    size, axes = np.linalg.eigh(total / np.outer(scale, scale))
    kept = size > 1e-10  # a direction without spread separates nobody
    turn = axes[:, kept] / np.sqrt(size[kept]) / scale[:, None]
    return x @ turn, y @ turn


def _blocks(sides: Sides) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows of the original and released of each block, and the own original's place in it."""
    n_o = len(sides.o_numbers)
    if sides.blocks is None:
        return [(np.arange(n_o), np.arange(len(sides.r_numbers)), sides.truth)]
    ids, n_blocks = cell_ids(sides.blocks.codes, [len(level) for level in sides.blocks.levels])
    rows = np.argsort(ids, kind="stable")
    place = np.full(n_o + 1, -1)
    found = []
    for members in np.split(rows, np.cumsum(np.bincount(ids, minlength=n_blocks))[:-1]):
        o, r = members[members < n_o], members[members >= n_o] - n_o
        if len(o) and len(r):
            place[o] = np.arange(len(o))
            found.append((o, r, place[sides.truth[r]]))
            place[o] = -1
    return found
