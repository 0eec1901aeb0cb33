"""Disclosure of outliers: intervals that widen with the robust Mahalanobis distance (RMDID)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.interval_disclosure import ratio
from riskeval.measures.linkage.distances import column_spreads, patterns_of
from riskeval.shared.files import read_pair
from riskeval.shared.measurement import MeasureInfo
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import POSITIVE, OneOf, Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, percent, plural
from synthpop.microdata.statistics.robust import Scatter, scatter, squared_distances

DISTANCE_SCALE = 0.05
"""Half-width of an interval in standard deviations is k x 0.05 x robust distance."""
PARAMETERS = {
    "k": POSITIVE, "k2": POSITIVE, "standardise": OneOf("separate", "original"),
    "rule": OneOf("any", "all"), "neighbours": Whole(1),
}  # fmt: skip

MAHALANOBIS = MeasureInfo(
    "mahalanobis_disclosure", "link risk", "low", "share",
    "share of the records with a number too near the truth, outliers needing more distance, that "
    "are alone in the release (RMDID2)",
    "Templ and Meindl 2008", "Mahalanobis disclosure",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class MahalanobisDisclosure(Result):
    """Records too near their true values, nearness widening with how outlying a record is.

    Attributes
    ----------
    risky1, risky2 : bool, shape (n,)
        RMDID1: the released values fall in the interval around the true ones. RMDID2: moreover
        fewer than `neighbours` other released records are close to the released one.
    rate1, rate2 : float
        Shares of all records.
    rate1_judged, rate2_judged : float
        Shares of the records that have a variable in common with their original.
    weighted1, weighted2 : float
        Number of risky records times the sum of their half-widths before k (0.05 x distance),
        divided by the number of records: outliers count more.
    distance : float64, shape (n,)
        Robust Mahalanobis distance of each original record, on the variables that both files have,
        brought to the level of all; NaN where there is none.
    covariance : float64, shape (p, p)
        Of the standardised original variables.
    n_missing, n_unjudged : int
        Records with a missing value in either file, and those with nothing in common, which are
        not risky.
    fallback : str
        Empty, or why the classical covariance stands in for the robust one.
    variables : tuple of str
    k, k2 : float
    """

    risky1: np.ndarray
    risky2: np.ndarray
    rate1: float
    rate2: float
    rate1_judged: float
    rate2_judged: float
    weighted1: float
    weighted2: float
    distance: np.ndarray
    covariance: np.ndarray
    n_missing: int
    n_unjudged: int
    fallback: str
    variables: tuple[str, ...]
    k: float
    k2: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record: ``distance``, ``risky1``, ``risky2``."""
        return pd.DataFrame(
            {"distance": self.distance, "risky1": self.risky1, "risky2": self.risky2}
        )

    def summary(self) -> str:
        """Say what the two rates mean."""
        stand_in = (
            (" " + message("Classical covariance: {fallback}.", fallback=self.fallback))
            if self.fallback
            else ""
        )
        return message(
            "Robust Mahalanobis disclosure: {rate1} of {n} records have released values of "
            "{variables} too near the true ones, where outlying records need more distance "
            "(RMDID1, k = {k}); {rate2} are also alone within {k2} standard deviations in "
            "the released file (RMDID2). {n_unjudged} no value in common with the original "
            "and could not be judged. There is no published threshold; compare releases "
            "with the same k.{stand_in}",
            rate1=percent(self.rate1),
            n=count_text(len(self.risky1)),
            variables=", ".join(self.variables),
            k=formatted(self.k, "g"),
            rate2=percent(self.rate2),
            k2=formatted(self.k2, "g"),
            n_unjudged=plural(self.n_unjudged, "record has", "records have"),
            stand_in=stand_in,
        )


@same_library
def mahalanobis_disclosure(
    original: Any,
    released: Any,
    variables: Sequence[str],
    *,
    k: float = 0.01,
    k2: float = 0.05,
    neighbours: int = 1,
    robust: bool = True,
    standardise: str = "separate",
    rule: str = "any",
) -> MahalanobisDisclosure:
    """Interval disclosure that asks more of outliers (RMDID1 and RMDID2).

    Around each true value lies an interval of half-width ``k x 0.05 x d`` standard deviations, d
    being the robust Mahalanobis distance of the record.

    Parameters
    ----------
    original, released : DataFrame, n rows each
        Row i of both is the same unit.
    variables : names of numeric columns of both
    k : float, positive
        Scale of the intervals around the true values.
    k2 : float, positive
        A released record is close to another one within this Euclidean distance in
        standardised variables.
    neighbours : int, at least 1
        A risky record is safe after all (RMDID2) when so many other released ones are close.
    robust : bool
        MCD of the original variables, or the classical covariance.
    standardise : {"separate", "original"}
        Each file by its own mean and standard deviation (an intruder who undoes a change of
        location and scale), or both by those of the original; of the values that both files have.
    rule : {"any", "all"}
        A record is risky when any variable, or when every variable, is in its interval.

    Returns
    -------
    MahalanobisDisclosure

    Raises
    ------
    InputError
        Missing or non-numeric columns, files of different length, values out of range.

    Notes
    -----
    A record is judged by the variables that have a value in both files, with the part of the
    covariance matrix that belongs to them; squared distances are multiplied by p / q for q of p
    variables. The covariance is that of the complete original records. A constant variable is
    divided by 1. Source: Templ and Meindl (2008), Robust statistics meets SDC, LNCS 5262, 113-126;
    Templ (2017), section 3.12.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> original = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    >>> near = original + rng.normal(0, 0.0001, (200, 2))
    >>> far = original + rng.normal(0, 1, (200, 2))
    >>> risk = mahalanobis_disclosure(original, near, ["a", "b"])
    >>> risk.rate1 > 0.9, mahalanobis_disclosure(original, far, ["a", "b"]).rate1 < 0.1
    (True, True)
    """
    faults = Faults("mahalanobis_disclosure")
    options = {"k": k, "k2": k2, "neighbours": neighbours, "standardise": standardise, "rule": rule}
    check(faults, PARAMETERS, options)
    x, y, names = read_pair(faults, original, released, variables)
    known = ~(np.isnan(x) | np.isnan(y))
    common_x, common_y = (np.where(known, values, np.nan) for values in (x, y))
    zx = standardised(x, common_x)
    zy = standardised(y, common_y if standardise == "separate" else common_x)
    cloud = scatter_of(zx, "robust" if robust else "classical")
    width, hit = near_truth(zx, zy, cloud, k, rule)
    alone = ~crowded(zy, hit, k2, neighbours)
    n, judged = len(x), known.any(axis=1)
    return MahalanobisDisclosure(
        risky1=hit,
        risky2=hit & alone,
        rate1=float(hit.sum() / n),
        rate2=float((hit & alone).sum() / n),
        rate1_judged=float(ratio(hit.sum(), judged.sum())),
        rate2_judged=float(ratio((hit & alone).sum(), judged.sum())),
        weighted1=float(hit.sum() * width[hit].sum() / n),
        weighted2=float((hit & alone).sum() * width[hit & alone].sum() / n),
        distance=width / DISTANCE_SCALE,
        covariance=cloud.covariance,
        n_missing=int((~known).any(axis=1).sum()),
        n_unjudged=int((~judged).sum()),
        fallback=cloud.fallback,
        variables=names,
        k=k,
        k2=k2,
    )


def scatter_of(values: np.ndarray, kind: str = "robust") -> Scatter:
    """Covariance of complete rows of standardised values; uncorrelated where there are few."""
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        why = message(
            "there are fewer than two complete records, so variables count as uncorrelated"
        )
        return Scatter(np.zeros(values.shape[1]), np.eye(values.shape[1]), why)
    return scatter(complete, kind)


def near_truth(
    x: np.ndarray, y: np.ndarray, cloud: Scatter, k: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Half-widths before k, and whether released values fall in, of standardised values (n, p).

    Distances of `x` are from 0, on the variables that both rows have; NaN where there is none.
    """
    n, p = x.shape
    width, hit = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
    rows_by_pattern, patterns = patterns_of(x + y)
    for number, rows in rows_by_pattern:
        shared = np.flatnonzero(patterns[number])
        if not len(shared):
            continue
        of_shared = Scatter(np.zeros(len(shared)), cloud.covariance[np.ix_(shared, shared)])
        one, two = x[np.ix_(rows, shared)], y[np.ix_(rows, shared)]
        width[rows] = DISTANCE_SCALE * np.sqrt(squared_distances(one, of_shared) * p / len(shared))
        inside = np.abs(two - one) < k * width[rows, None]
        hit[rows] = inside.any(axis=1) if rule == "any" else inside.all(axis=1)
    return width, hit


def crowded(y: np.ndarray, asked: np.ndarray, reach: float, neighbours: int) -> np.ndarray:
    """Whether `neighbours` other rows lie within `reach`; False if not asked.

    Rows with missing values are compared on the variables that they have, with the rows that have
    these too; distances on q of p variables are multiplied by the root of p / q.
    """
    from scipy.spatial import KDTree

    is_crowded = np.zeros(len(y), dtype=np.bool_)
    rows_by_pattern, patterns = patterns_of(y)
    for number, rows in rows_by_pattern:
        records, shared = rows[asked[rows]], np.flatnonzero(patterns[number])
        others = y[~np.isnan(y[:, shared]).any(axis=1)][:, shared]
        if len(records) and len(shared) and len(others) > neighbours:
            # the row itself comes first
            nearest, _ = KDTree(others).query(y[np.ix_(records, shared)], k=[neighbours + 1])
            is_crowded[records] = nearest[:, 0] * np.sqrt(y.shape[1] / len(shared)) <= reach
    return is_crowded


def standardised(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Subtract the means of known values of `by` and divide by their standard deviations."""
    means = np.array([c[~np.isnan(c)].mean() if (~np.isnan(c)).any() else 0.0 for c in by.T])
    return np.ascontiguousarray((values - means) / column_spreads(by))
