"""Disclosure risk of perturbed continuous variables: released values too near the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.files import read_pair
from riskeval.measurement import MeasureInfo
from riskeval.measures.linkage.methods import column_spreads, patterns_of
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.parameters import POSITIVE, check
from synthpop.microdata.results import Result
from synthpop.microdata.robust import Scatter, scatter, squared_distances
from synthpop.microdata.text import count as count_text
from synthpop.microdata.text import percent, plural

DISTANCE_SCALE = 0.05
"""Half-width of an interval in standard deviations is k x 0.05 x robust distance."""

INTERVAL = MeasureInfo(
    "interval_disclosure", "link risk", "low", "share",
    "share of the records whose true numbers all lie within 0.01 standard deviations of the "
    "released ones",
    "Mateo-Sanz et al. 2004", "Interval disclosure",
)  # fmt: skip
MAHALANOBIS = MeasureInfo(
    "mahalanobis_disclosure", "link risk", "low", "share",
    "share of the records with a number too near the truth, outliers needing more distance, that "
    "are alone in the release (RMDID2)",
    "Templ and Meindl 2008", "Mahalanobis disclosure",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class IntervalDisclosure(Result):
    """Records whose true values lie in intervals around the released ones.

    Attributes
    ----------
    rate : float
        Disclosed records as a share of all records.
    rate_judged : float
        The same as a share of the records that have a variable in common with their original; NaN
        where there is none.
    per_record : bool, shape (n,)
        Whether the record is disclosed: every variable that both files have is inside. False where
        they have none in common.
    per_variable : DataFrame
        ``variable``, ``rate`` (share of all records inside on this variable alone),
        ``rate_judged`` (of those with a value in both files), ``half_width`` (in units of the
        variable; NaN for intervals of ranks).
    n_missing, n_unjudged : int
        Records with a missing value in either file, and those with nothing in common.
    k : float
    by : str
    """

    rate: float
    rate_judged: float
    per_record: np.ndarray
    per_variable: pd.DataFrame
    n_missing: int
    n_unjudged: int
    k: float
    by: str

    def to_frame(self) -> pd.DataFrame:
        """Return the rates by variable."""
        return self.per_variable

    def summary(self) -> str:
        """Say what the rate means."""
        unit = "standard deviations" if self.by == "sd" else "of the ranks"
        n = len(self.per_record)
        incomplete = ""
        if self.n_missing:
            incomplete = (
                f"{plural(self.n_missing, 'record')} with missing values "
                f"{'is' if self.n_missing == 1 else 'are'} judged by the variables that both files "
                f"have; {count_text(self.n_unjudged)} without any count as not disclosed "
                f"({percent(self.rate_judged)} of the other {count_text(n - self.n_unjudged)} are "
                "disclosed). "
            )
        return (
            f"Interval disclosure: for {percent(self.rate)} of {count_text(n)} records the "
            f"true values of {', '.join(self.per_variable['variable'])} all lie within {self.k:g} "
            f"{unit} of the released ones. {incomplete}The rate is reached by an intruder who is "
            "right whenever a value is this near. There is no published threshold; k sets what "
            "counts as too near, and 0.01 is customary."
        )


def interval_disclosure(
    original: Any, released: Any, variables: Sequence[str], *, k: float = 0.01, by: str = "sd"
) -> IntervalDisclosure:
    """Share of records whose true values all lie in intervals around the released values.

    Parameters
    ----------
    original, released : DataFrame, n rows each
        Row i of both is the same unit.
    variables : names of numeric columns of both
    k : float, positive
        Half-width: times the standard deviation of the released variable (n - 1), or share of
        the ranks. Bounds are inside.
    by : {"sd", "rank"}
        "rank": from the released value that is ``floor(k n)`` places lower in order to the one
        that many places higher, cut at the smallest and largest released values; n counts the
        released values that are not missing, and equal values share the range of all of them.

    Returns
    -------
    IntervalDisclosure

    Raises
    ------
    InputError
        Missing or non-numeric columns, files of different length, k not positive.

    Notes
    -----
    A record is judged by the variables that have a value in both files: a suppressed value does
    not protect the others. A record without any in common counts as not disclosed. No randomness.
    Source: Pagliuca and Seri
    (1999); Mateo-Sanz, Sebé and Domingo-Ferrer (2004), Outlier protection in continuous microdata
    masking; Templ (2017), Statistical Disclosure Control for Microdata, section 3.11.

    Examples
    --------
    >>> original = pd.DataFrame({"income": [10.0, 20.0, 30.0, 40.0]})
    >>> released = pd.DataFrame({"income": [10.1, 25.0, 30.0, 47.0]})
    >>> interval_disclosure(original, released, ["income"], k=0.1).rate
    0.5
    """
    faults = Faults("interval_disclosure")
    check_choice(faults, "by", by, ["sd", "rank"])
    check_positive(faults, "k", k)
    x, y, names = read_pair(faults, original, released, variables)
    known = ~(np.isnan(x) | np.isnan(y))
    if by == "sd":
        half_width = k * np.array([_sd(column) for column in y.T])
        inside = np.abs(x - y) <= half_width
    else:
        half_width = np.full(len(names), np.nan)
        inside = np.column_stack([_inside_ranks(x[:, j], y[:, j], k) for j in range(len(names))])
    judged = known.any(axis=1)
    per_record = (inside | ~known).all(axis=1) & judged
    table = pd.DataFrame(
        {
            "variable": names,
            "rate": inside.mean(axis=0),
            "rate_judged": _ratio(inside.sum(axis=0), known.sum(axis=0)),
            "half_width": half_width,
        }
    )
    return IntervalDisclosure(
        rate=float(per_record.mean()),
        rate_judged=float(_ratio(per_record.sum(), judged.sum())),
        per_record=per_record,
        per_variable=table,
        n_missing=int((~known).any(axis=1).sum()),
        n_unjudged=int((~judged).sum()),
        k=k,
        by=by,
    )


def _ratio(count: Any, of: Any) -> Any:
    """Shares; NaN where there is nothing to be counted."""
    of = np.asarray(of, dtype=np.float64)
    return np.divide(count, of, out=np.full(of.shape, np.nan), where=of > 0)


def check_positive(faults: Faults, name: str, value: object) -> None:
    """Note a value that is not a positive finite number."""
    check(faults, {name: POSITIVE}, {name: value})


def _sd(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else 0.0


def _inside_ranks(x: np.ndarray, y: np.ndarray, k: float) -> np.ndarray:
    ordered = np.sort(y[~np.isnan(y)])
    if len(ordered) == 0:
        return np.zeros(len(x), dtype=np.bool_)
    reach = int(k * len(ordered) + 1e-9)
    first = np.searchsorted(ordered, y, side="left") - reach
    last = np.searchsorted(ordered, y, side="right") - 1 + reach
    top = len(ordered) - 1
    lower, upper = ordered[np.clip(first, 0, top)], ordered[np.clip(last, 0, top)]
    known = ~(np.isnan(x) | np.isnan(y))
    inside: np.ndarray = known & (lower <= x) & (x <= upper)
    return inside


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
        """Return one row a record: ``distance``, ``risky1``, ``risky2``."""
        return pd.DataFrame(
            {"distance": self.distance, "risky1": self.risky1, "risky2": self.risky2}
        )

    def summary(self) -> str:
        """Say what the two rates mean."""
        stand_in = f" Classical covariance: {self.fallback}." if self.fallback else ""
        return (
            f"Robust Mahalanobis disclosure: {percent(self.rate1)} of "
            f"{count_text(len(self.risky1))} "
            "records have "
            f"released values of {', '.join(self.variables)} too near the true ones, where "
            f"outlying records need more distance (RMDID1, k = {self.k:g}); "
            f"{percent(self.rate2)} are "
            f"moreover alone within {self.k2:g} standard deviations in the released file (RMDID2). "
            f"{plural(self.n_unjudged, 'record has', 'records have')} no value in common with the "
            f"original and could not be judged. There is no published threshold; compare "
            f"releases with the same k.{stand_in}"
        )


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
    check_positive(faults, "k", k)
    check_positive(faults, "k2", k2)
    check_choice(faults, "standardise", standardise, ["separate", "original"])
    check_choice(faults, "rule", rule, ["any", "all"])
    if isinstance(neighbours, bool) or not isinstance(neighbours, int) or neighbours < 1:
        faults.add("neighbours", f"{neighbours!r} is not a whole number of at least 1")
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
        rate1_judged=float(_ratio(hit.sum(), judged.sum())),
        rate2_judged=float(_ratio((hit & alone).sum(), judged.sum())),
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
    """Covariance of the complete rows of standardised values; uncorrelated where there are few.

    Parameters
    ----------
    values : float64, shape (n, p)
    kind : {"classical", "robust"}
    """
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        why = "there are fewer than two complete records, so variables count as uncorrelated"
        return Scatter(np.zeros(values.shape[1]), np.eye(values.shape[1]), why)
    return scatter(complete, kind)


def near_truth(
    x: np.ndarray, y: np.ndarray, cloud: Scatter, k: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Half-widths before k, and whether released values fall in: float64 and bool, shape (n,).

    Parameters
    ----------
    x, y : float64, shape (n, p)
        Standardised original and released values, NaN where missing. Distances of `x` are from 0,
        on the variables that both rows have; NaN where there is none.
    """
    n, p = x.shape
    width, hit = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
    rows_by_pattern, patterns = patterns_of(x + y)
    for number, rows in rows_by_pattern:
        shared = np.flatnonzero(patterns[number])
        if not len(shared):
            continue
        part = Scatter(np.zeros(len(shared)), cloud.covariance[np.ix_(shared, shared)])
        one, two = x[np.ix_(rows, shared)], y[np.ix_(rows, shared)]
        width[rows] = DISTANCE_SCALE * np.sqrt(squared_distances(one, part) * p / len(shared))
        inside = np.abs(two - one) < k * width[rows, None]
        hit[rows] = inside.any(axis=1) if rule == "any" else inside.all(axis=1)
    return width, hit


def crowded(y: np.ndarray, asked: np.ndarray, reach: float, neighbours: int) -> np.ndarray:
    """Whether `neighbours` other rows lie within `reach`: bool, shape (n,), False if not asked.

    Rows with missing values are compared on the variables that they have, with the rows that have
    these too; distances on q of p variables are multiplied by the root of p / q.
    """
    from scipy.spatial import KDTree

    result = np.zeros(len(y), dtype=np.bool_)
    rows_by_pattern, patterns = patterns_of(y)
    for number, rows in rows_by_pattern:
        own, shared = rows[asked[rows]], np.flatnonzero(patterns[number])
        others = y[~np.isnan(y[:, shared]).any(axis=1)][:, shared]
        if len(own) and len(shared) and len(others) > neighbours:
            # the row itself comes first
            nearest, _ = KDTree(others).query(y[np.ix_(own, shared)], k=[neighbours + 1])
            result[own] = nearest[:, 0] * np.sqrt(y.shape[1] / len(shared)) <= reach
    return result


def standardised(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Subtract the means of known values of `by` and divide by their standard deviations.

    Examples
    --------
    >>> values = np.array([[1.0], [3.0], [np.nan]])
    >>> standardised(values, values).round(3).tolist()
    [[-0.707], [0.707], [nan]]
    """
    means = np.array([c[~np.isnan(c)].mean() if (~np.isnan(c)).any() else 0.0 for c in by.T])
    result: np.ndarray = np.ascontiguousarray((values - means) / column_spreads(by))
    return result
