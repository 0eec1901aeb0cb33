"""Record linkage: can an intruder who holds the original file find the released records in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.linkage.distances import (
    Ranks,
    Transform,
    assign_one_to_one,
    column_spreads,
    rank_by_tree,
)
from riskeval.measures.linkage.methods import (
    LinkageFiles,
    ranges_of,
    rank_by_gower,
    rank_by_weight,
    read_linkage_files,
)
from riskeval.shared.measurement import MeasureInfo
from synthpop.microdata.frame.codes import cell_ids
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Instance, OneOf, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, percent, plural

LINKED = MeasureInfo(
    "record_linkage", "link risk", "low", "share",
    "share of the records that are linked to their own original, or to which it is the second "
    "nearest, by the nearest numbers; ties broken at random",
    "Pagliuca and Seri 1999; Templ 2017, section 3.11", "Record linkage",
)  # fmt: skip


def linkage_limit(keys: Sequence[str], record_risk: float | None) -> dict[str, Any]:
    """Return the limit of `LINKED` where amounts are all that an intruder knows: two guesses."""
    if keys or record_risk is None:
        return {}
    source = message("twice the limit of one record: the two nearest count")
    return {"limit": min(2 * record_risk, 1.0), "limit_source": source}


METHODS = ("distance", "mahalanobis", "gower", "probabilistic")
BY_VARIABLE = Instance(Mapping, "{variable: number}") | NONE
PARAMETERS = {
    "method": OneOf(*METHODS), "metric": OneOf("euclidean", "manhattan"),
    "standardise": OneOf("original", "none"), "assign": OneOf("nearest", "one-to-one"),
    "weights": BY_VARIABLE, "agreement": BY_VARIABLE,
}  # fmt: skip


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
    expected_rate_two : float
        Share of records linked or linked to the second nearest, ties broken at random: the risk
        of Pagliuca and Seri (1999).
    rate_judged : float
        Linked records as a share of those that could be judged; NaN where there is none.
    nearest : int64, shape (n_released,)
        Row of the original that each released record is linked to (one of those that are equally
        near); -1 where nothing can be compared, or the link is below `threshold`.
    score : float64, shape (n_released,)
        Distance to that original (weight of the pair for method "probabilistic").
    own_score : float64, shape (n_released,)
        The same for the own original; NaN where it is not in the block or cannot be compared.
    n_unjudged : int
        Released records that cannot be compared with any original, or not with their own one; they
        count as not linked.
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
    expected_rate_two: float
    rate_judged: float
    nearest: np.ndarray
    score: np.ndarray
    own_score: np.ndarray
    n_unjudged: int
    chance: float
    parameters: dict[str, Any]
    method: str

    def to_frame(self) -> pd.DataFrame:
        """Return one row per released record."""
        names = ("nearest", "score", "own_score", "linked", "linked_second")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def summary(self) -> str:
        """Say how many records are linked, and against what to read it."""
        n = len(self.linked)
        judged = ""
        if self.n_unjudged:
            judged = " " + (
                message(
                    "{n_unjudged} could not be compared and counts as not linked; of the other {n} "
                    "records {rate_judged} are linked."
                    if self.n_unjudged == 1
                    else "{n_unjudged} could not be compared and count as not linked; of the other "
                    "{n} records {rate_judged} are linked.",
                    n_unjudged=plural(self.n_unjudged, "record"),
                    n=count(n - self.n_unjudged),
                    rate_judged=percent(self.rate_judged),
                )
            )
        return message(
            "Record linkage ({method}): an intruder who holds the original file links "
            "{rate} of {n} released records to the right person ({expected_rate} when ties "
            "are broken at random), and for another {rate_second} the right one is the "
            "second nearest. Linking at random would reach {chance}.{judged} There is no "
            "published threshold; this is a worst case for these variables, as no intruder "
            "holds the original file itself.",
            method=self.method,
            rate=percent(self.rate),
            n=count(n),
            expected_rate=percent(self.expected_rate),
            rate_second=percent(self.rate_second),
            chance=percent(self.chance),
            judged=judged,
        )


@same_library
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
    A pair of records is compared on the variables that both have, by every method; "distance" and
    "mahalanobis" are then brought to the level of all variables (times p / q, or its root, for q of
    p), as Gower's coefficient does. A released record that shares no variable with its own original
    is not linked. No randomness. Distances equal to 1e-9 of them are ties.
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
    options = {
        "method": method, "metric": metric, "standardise": standardise, "assign": assign,
        "weights": weights, "agreement": agreement, "threshold": threshold,
    }  # fmt: skip
    _check_options(faults, options)
    blocks = listed_names(block)
    files = read_linkage_files(
        faults, original, released, variables, blocks, identifier,
        {"weights": _mapping(weights), "agreement": _mapping(agreement)},
        numeric_only=method in ("distance", "mahalanobis"),
    )  # fmt: skip
    blocks_of_rows = _blocks(files)
    ranks, parameters = _ranked(files, blocks_of_rows, method, metric, standardise, assign)
    by_chance = sum((truth >= 0).sum() / len(o) for o, _, truth in blocks_of_rows)
    in_block = np.zeros(len(ranks.best), dtype=np.bool_)
    for _, r, truth in blocks_of_rows:
        in_block[r] = truth >= 0
    judged = (ranks.best >= 0) & ~(in_block & np.isnan(ranks.own_score))
    links = np.ones(len(ranks.best), dtype=np.bool_)
    if threshold is not None:
        links = ranks.score >= threshold
    linked = (ranks.nearer == 0) & (ranks.ties > 0) & links
    second = (ranks.nearer == 1) & (ranks.ties > 0) & links
    chance_of_tie = 1 / np.maximum(ranks.ties, 1)  # of equally near originals one is drawn
    return RecordLinkage(
        linked=linked,
        linked_second=second,
        rate=float(linked.mean()),
        rate_second=float(second.mean()),
        expected_rate=float(np.where(linked, chance_of_tie, 0).mean()),
        expected_rate_two=float(
            np.where(linked, np.minimum(2 * chance_of_tie, 1), second * chance_of_tie).mean()
        ),
        rate_judged=float(linked.sum() / judged.sum()) if judged.any() else float("nan"),
        nearest=np.where(links, ranks.best, -1),
        score=ranks.score,
        own_score=ranks.own_score,
        n_unjudged=int((~judged).sum()),
        chance=float(by_chance / len(linked)),
        parameters=parameters,
        method=method,
    )


def _ranked(
    files: LinkageFiles, blocks_of_rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    method: str, metric: str, standardise: str, assign: str,
) -> tuple[Ranks, dict[str, Any]]:  # fmt: skip
    """Return the nearest originals of each released record, and what the method estimated."""
    parameters: dict[str, Any] = {}
    if method == "probabilistic":
        ranks, parameters = rank_by_weight(files, blocks_of_rows, assign)
    else:
        rank = _ranker(files, method, metric, standardise, assign)
        ranks = Ranks.empty(len(files.r_numbers))
        for o, r, truth in blocks_of_rows:
            ranks.put(r, o, rank(o, r, truth))
    if assign == "one-to-one":
        total = "total_weight" if method == "probabilistic" else "total_distance"
        parameters[total] = float(np.nansum(ranks.score))
    return ranks, parameters


def _check_options(faults: Faults, options: Mapping[str, Any]) -> None:
    """Note options that are not allowed, or that the method does not use."""
    check(faults, PARAMETERS, options)
    method = options["method"]
    unused = [
        ("metric", options["metric"] != "euclidean", ("distance",)),
        ("standardise", options["standardise"] != "original", ("distance",)),
        ("weights", options["weights"] is not None, ("distance", "gower")),
        ("agreement", options["agreement"] is not None, ("probabilistic",)),
        ("threshold", options["threshold"] is not None, ("probabilistic",)),
    ]
    for name, is_set, used_by in unused:
        if is_set and method in METHODS and method not in used_by:
            faults.add(name, f"is not used by method {method!r}", hint="Leave it out.")


def _mapping(value: object) -> Any:
    return value if isinstance(value, Mapping) else None


def _ranker(
    files: LinkageFiles, method: str, metric: str, standardise: str, assign: str
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Ranks]:
    """Return the function that ranks a block: rows of the original and released, and truth."""
    if method == "gower":
        ranges = ranges_of(files)
        return lambda o, r, truth: rank_by_gower(files, o, r, truth, ranges, assign)
    o_points, r_points = files.o_numbers, files.r_numbers
    if method == "mahalanobis":
        transform = _whitening(o_points, r_points)
    else:
        transform = lambda x, y, shared: (x[:, shared], y[:, shared])  # noqa: E731
        spread = column_spreads(o_points) if standardise == "original" else 1.0
        o_points, r_points = (
            points * files.number_weights / spread for points in (o_points, r_points)
        )
    norm = 1 if method == "distance" and metric == "manhattan" else 2
    rank = assign_one_to_one if assign == "one-to-one" else rank_by_tree
    return lambda o, r, truth: rank(o_points[o], r_points[r], truth, norm, transform)


def _whitening(x: np.ndarray, y: np.ndarray) -> Transform:
    """Turn Mahalanobis distance, with the sum of both covariances, into Euclidean distance."""
    total = _covariance(x) + _covariance(y)

    def transform(
        first: np.ndarray, second: np.ndarray, shared: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        covariance = total[np.ix_(shared, shared)]
        first, second = first[:, shared], second[:, shared]
        variances = np.diag(covariance)
        if not (variances > 0).any():
            return first * 0, second * 0
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        sizes, axes = np.linalg.eigh(covariance / np.outer(scale, scale))
        spread_axes = sizes > 1e-10  # a direction without spread separates nobody
        turn = axes[:, spread_axes] / np.sqrt(sizes[spread_axes]) / scale[:, None]
        return first @ turn, second @ turn

    return transform


def _covariance(values: np.ndarray) -> np.ndarray:
    """Covariance (n - 1) of the complete rows; of fewer than 2 of them, variances of columns."""
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) > 1:
        return np.atleast_2d(np.cov(complete, rowvar=False))
    variances = [np.nanvar(c, ddof=1) if (~np.isnan(c)).sum() > 1 else 0.0 for c in values.T]
    return np.diag(variances)


def _blocks(files: LinkageFiles) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows of the original and released of each block, and the own original's place in it."""
    n_o = len(files.o_numbers)
    if files.blocks is None:
        return [(np.arange(n_o), np.arange(len(files.r_numbers)), files.truth)]
    ids, n_blocks = cell_ids(files.blocks.codes)
    rows = np.argsort(ids, kind="stable")
    position = np.full(n_o + 1, -1)
    blocks = []
    for members in np.split(rows, np.cumsum(np.bincount(ids, minlength=n_blocks))[:-1]):
        o, r = members[members < n_o], members[members >= n_o] - n_o
        if len(o) and len(r):
            position[o] = np.arange(len(o))
            blocks.append((o, r, position[files.truth[r]]))
            position[o] = -1
    return blocks
