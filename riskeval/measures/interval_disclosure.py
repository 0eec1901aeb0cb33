"""Interval disclosure: true values that lie in intervals around the released ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import read_pair
from riskeval.shared.measurement import MeasureInfo
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import POSITIVE, OneOf, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, percent, plural

INTERVAL = MeasureInfo(
    "interval_disclosure", "link risk", "low", "share",
    "share of the records whose true numbers all lie within 0.01 standard deviations of the "
    "released ones",
    "Mateo-Sanz et al. 2004", "Interval disclosure",
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
        unit = message("standard deviations") if self.by == "sd" else message("of the ranks")
        n = len(self.per_record)
        incomplete = ""
        if self.n_missing:
            incomplete = (
                message(
                    "{n_missing} with missing values is judged by the variables that both files "
                    "have; {n_unjudged} without any count as not disclosed ({rate_judged} of the "
                    "other {n} are disclosed)."
                    if self.n_missing == 1
                    else "{n_missing} with missing values are judged by the variables that both "
                    "files have; {n_unjudged} without any count as not disclosed ({rate_judged} of "
                    "the other {n} are disclosed).",
                    n_missing=plural(self.n_missing, "record"),
                    n_unjudged=count_text(self.n_unjudged),
                    rate_judged=percent(self.rate_judged),
                    n=count_text(n - self.n_unjudged),
                )
            ) + " "
        return message(
            "Interval disclosure: for {rate} of {n} records the true values of {variable} "
            "all lie within {k} {unit} of the released ones. {incomplete}This is the rate "
            "for an intruder who is right whenever a value is this near. There is no "
            "published threshold; k sets what counts as too near, and 0.01 is customary.",
            rate=percent(self.rate),
            n=count_text(n),
            variable=", ".join(self.per_variable["variable"]),
            k=formatted(self.k, "g"),
            unit=unit,
            incomplete=incomplete,
        )


@same_library
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
    check(faults, {"by": OneOf("sd", "rank"), "k": POSITIVE}, {"by": by, "k": k})
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
            "rate_judged": ratio(inside.sum(axis=0), known.sum(axis=0)),
            "half_width": half_width,
        }
    )
    return IntervalDisclosure(
        rate=float(per_record.mean()),
        rate_judged=float(ratio(per_record.sum(), judged.sum())),
        per_record=per_record,
        per_variable=table,
        n_missing=int((~known).any(axis=1).sum()),
        n_unjudged=int((~judged).sum()),
        k=k,
        by=by,
    )


def ratio(count: Any, of: Any) -> Any:
    """Shares; NaN where there is nothing to be counted."""
    of = np.asarray(of, dtype=np.float64)
    return np.divide(count, of, out=np.full(of.shape, np.nan), where=of > 0)


def _sd(values: np.ndarray) -> float:
    filled = values[~np.isnan(values)]
    return float(filled.std(ddof=1)) if len(filled) > 1 else 0.0


def _inside_ranks(x: np.ndarray, y: np.ndarray, k: float) -> np.ndarray:
    ordered = np.sort(y[~np.isnan(y)])
    if len(ordered) == 0:
        return np.zeros(len(x), dtype=np.bool_)
    reach = int(min(k, 1.0) * len(ordered) + 1e-9)
    lowest = np.searchsorted(ordered, y, side="left") - reach
    highest = np.searchsorted(ordered, y, side="right") - 1 + reach
    top = len(ordered) - 1
    lower, upper = ordered[np.clip(lowest, 0, top)], ordered[np.clip(highest, 0, top)]
    known = ~(np.isnan(x) | np.isnan(y))
    return known & (lower <= x) & (x <= upper)
