"""Disclosure risk of perturbed continuous variables: released values too near the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.pairs import read_pair
from riskeval.measures.robust import Scatter, classical, mcd, squared_distances
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.text import plural

DISTANCE_SCALE = 0.05
"""Half-width of an interval in standard deviations is k x 0.05 x robust distance."""


@dataclass(frozen=True, slots=True, eq=False)
class IntervalDisclosure(Result):
    """Records whose true values lie in intervals around the released ones.

    Attributes
    ----------
    rate : float
        Share of records with every variable inside, of all records.
    per_record : bool, shape (n,)
        Whether every variable of the record is inside; False where one is missing.
    per_variable : DataFrame
        ``variable``, ``rate`` (share of records inside on this variable alone), ``half_width``
        (in units of the variable; NaN for intervals of ranks).
    n_missing : int
        Records with a missing value, which cannot be judged and count as not disclosed.
    k : float
    by : str
    """

    rate: float
    per_record: np.ndarray
    per_variable: pd.DataFrame
    n_missing: int
    k: float
    by: str

    def to_frame(self) -> pd.DataFrame:
        """Return the rates by variable."""
        return self.per_variable

    def summary(self) -> str:
        """Say what the rate means."""
        unit = "standard deviations" if self.by == "sd" else "of the ranks"
        return (
            f"Interval disclosure: for {self.rate:.2%} of {len(self.per_record):,} records the "
            f"true values of {', '.join(self.per_variable['variable'])} all lie within {self.k:g} "
            f"{unit} of the released ones. The true risk is between 0 and this share, which is "
            "reached if an intruder is right whenever a value is this near. "
            f"{plural(self.n_missing, 'record counts', 'records count')} as not disclosed for a "
            "missing value. There is no published threshold; k sets what counts as too near, and "
            "0.01 is customary."
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
    A missing value, original or released, is never inside. No randomness. Source: Pagliuca and Seri
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
    if by == "sd":
        half_width = k * np.array([_sd(column) for column in y.T])
        inside = np.abs(x - y) <= half_width
    else:
        half_width = np.full(len(names), np.nan)
        inside = np.column_stack([_inside_ranks(x[:, j], y[:, j], k) for j in range(len(names))])
    per_record = inside.all(axis=1)
    table = pd.DataFrame({"variable": names, "rate": inside.mean(axis=0), "half_width": half_width})
    n_missing = int((np.isnan(x) | np.isnan(y)).any(axis=1).sum())
    return IntervalDisclosure(float(per_record.mean()), per_record, table, n_missing, k, by)


def check_positive(faults: Faults, name: str, value: object) -> None:
    """Note a value that is not a positive finite number."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0 < float(value) < np.inf:  # type: ignore[arg-type]
        faults.add(name, f"{value!r} is not a positive number")


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
    weighted1, weighted2 : float
        Number of risky records times the sum of their half-widths before k (0.05 x distance),
        divided by the number of records: outliers count more.
    distance : float64, shape (n,)
        Robust Mahalanobis distance of each original record; NaN where a value is missing.
    covariance : float64, shape (p, p)
        Of the standardised original variables.
    n_missing : int
        Records with a missing value in either file; never risky.
    fallback : str
        Empty, or why the classical covariance stands in for the robust one.
    seed : int
    variables : tuple of str
    k, k2 : float
    """

    risky1: np.ndarray
    risky2: np.ndarray
    rate1: float
    rate2: float
    weighted1: float
    weighted2: float
    distance: np.ndarray
    covariance: np.ndarray
    n_missing: int
    fallback: str
    seed: int
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
            f"Robust Mahalanobis disclosure: {self.rate1:.2%} of {len(self.risky1):,} records have "
            f"released values of {', '.join(self.variables)} too near the true ones, where "
            f"outlying records need more distance (RMDID1, k = {self.k:g}); {self.rate2:.2%} are "
            f"moreover alone within {self.k2:g} standard deviations in the released file (RMDID2). "
            f"{plural(self.n_missing, 'record is', 'records are')} not judged for a missing "
            f"value. There is no published threshold; compare releases with the same k.{stand_in}"
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
    seed: int | None = None,
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
        location and scale), or both by those of the original.
    rule : {"any", "all"}
        A record is risky when any variable, or when every variable, is in its interval.
    seed : int, optional
        Of the random starts of the MCD.

    Returns
    -------
    MahalanobisDisclosure

    Raises
    ------
    InputError
        Missing or non-numeric columns, files of different length, values out of range.

    Notes
    -----
    Records with a missing value in either file are left out of everything. A constant variable is
    divided by 1. Source: Templ and Meindl (2008), Robust statistics meets SDC, LNCS 5262, 113-126;
    Templ (2017), section 3.12.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> original = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    >>> near = original + rng.normal(0, 0.0001, (200, 2))
    >>> far = original + rng.normal(0, 1, (200, 2))
    >>> risk = mahalanobis_disclosure(original, near, ["a", "b"], seed=1)
    >>> risk.rate1 > 0.9, mahalanobis_disclosure(original, far, ["a", "b"], seed=1).rate1 < 0.1
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
    seed = resolve_seed(seed)
    complete = ~(np.isnan(x) | np.isnan(y)).any(axis=1)
    zx = _standardised(x[complete], x[complete])
    zy = _standardised(y[complete], y[complete] if standardise == "separate" else x[complete])
    rng = Streams(seed).at("mahalanobis_disclosure", "mcd")
    scatter = mcd(zx, rng) if robust else classical(zx)
    width, hit = near_truth(zx, zy, scatter, k, rule)
    alone = ~crowded(zy, hit, k2, neighbours)
    n = len(x)
    return MahalanobisDisclosure(
        risky1=_spread(hit, complete),
        risky2=_spread(hit & alone, complete),
        rate1=float(hit.sum() / n),
        rate2=float((hit & alone).sum() / n),
        weighted1=float(hit.sum() * width[hit].sum() / n),
        weighted2=float((hit & alone).sum() * width[hit & alone].sum() / n),
        distance=_spread(width / DISTANCE_SCALE, complete),
        covariance=scatter.covariance,
        n_missing=int((~complete).sum()),
        fallback=scatter.fallback,
        seed=seed,
        variables=names,
        k=k,
        k2=k2,
    )


def near_truth(
    x: np.ndarray, y: np.ndarray, scatter: Scatter, k: float, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Half-widths before k, and whether released values fall in: float64 and bool, shape (n,).

    Parameters
    ----------
    x, y : float64, shape (n, p)
        Standardised original and released values. Distances of `x` are from 0.
    """
    about_zero = Scatter(np.zeros(x.shape[1]), scatter.covariance)
    width = DISTANCE_SCALE * np.sqrt(squared_distances(x, about_zero))
    inside = np.abs(y - x) < k * width[:, None]
    hit = inside.any(axis=1) if rule == "any" else inside.all(axis=1)
    return width, hit


def crowded(y: np.ndarray, asked: np.ndarray, reach: float, neighbours: int) -> np.ndarray:
    """Whether `neighbours` other rows lie within `reach`: bool, shape (n,), False if not asked."""
    from scipy.spatial import KDTree

    result = np.zeros(len(y), dtype=np.bool_)
    if asked.any() and len(y) > neighbours:
        nearest, _ = KDTree(y).query(y[asked], k=[neighbours + 1])  # the row itself comes first
        result[asked] = nearest[:, 0] <= reach
    return result


def _standardised(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    if len(by) < 2:
        return values - values
    scale = by.std(axis=0, ddof=1)
    result: np.ndarray = (values - by.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return result


def _spread(values: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Put values of complete records back in place; False or NaN elsewhere."""
    empty = False if values.dtype == np.bool_ else np.nan
    result = np.full(len(complete), empty, dtype=values.dtype)
    result[complete] = values
    return result
