"""Outliers of numeric key variables in one raw file: values that stay recognisable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.entry import Measure, person_risk, run_on
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import check_finite, listed_names, numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import POSITIVE, SHARE, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, formatted, percent, plural
from synthpop.microdata.roles.microdata import as_file


@dataclass(frozen=True, slots=True, eq=False)
class OutlierRisk(Result):
    """Records with values in the tail of numeric keys.

    Attributes
    ----------
    per_variable : DataFrame
        One row per variable: ``variable``, ``values`` (records with a value), ``threshold`` (the
        percentile; NaN with `by`, where each group has its own), ``above`` (records at or above
        it), ``isolated`` (of these, records whose nearest other value is farther than `reach`),
        ``largest_share`` (part of the largest value in the sum of absolute values).
    above, isolated : bool, shape (n,)
        Whether the record is in the tail, or isolated there, on at least one variable.
    percentile, reach : float
    by : tuple of str
    """

    per_variable: pd.DataFrame
    above: np.ndarray
    isolated: np.ndarray
    percentile: float
    reach: float
    by: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record: ``above``, ``isolated``."""
        return pd.DataFrame({"above": self.above, "isolated": self.isolated})

    def summary(self) -> str:
        """Return how many records stand out and how many of them on their own."""
        n = len(self.above)
        groups = (" " + message("of their {by}", by=", ".join(self.by))) if self.by else ""
        alone = int(self.isolated.sum())
        return message(
            "Outliers: {n} of {all} ({share}) are at or above the {percentile} % "
            "percentile{groups} on at least one of {variable}. For {alone} of them no "
            "other value lies within {reach} %: changes of that size leave them "
            "recognisable, so top coding or stronger noise is needed. The percentile is a "
            "choice of the office and depends on the skewness of the variable (SDC "
            "practice guide).",
            n=plural(int(self.above.sum()), "record"),
            all=count(n),
            share=percent(self.above.mean() if n else 0.0),
            percentile=formatted(100 * self.percentile, "g"),
            groups=groups,
            variable=", ".join(self.per_variable["variable"]),
            alone=count(alone),
            reach=formatted(100 * self.reach, "g"),
        )


@same_library
def outlier_risk(
    data: Any,
    variables: str | Sequence[str] | None = None,
    *,
    percentile: float = 0.99,
    reach: float = 0.05,
    by: str | Sequence[str] = (),
) -> OutlierRisk:
    """Find the records whose numeric key variables stand out in the file itself.

    Parameters
    ----------
    data : table of n records
        The raw file; nothing is compared with a release.
    variables : str or sequence of str
        Default: the numeric keys of a `Microdata`.
    percentile : float, default 0.99
        Values at or above this percentile (R's type 7, of the values that are there) are in the
        tail, none where several values are all equal; above 0 and below 1.
    reach : float, default 0.05
        A value is isolated when no other value of the file is within this share of it.
    by : str or sequence of str, optional
        Columns of groups, for instance regions: percentile and neighbours are then those of the
        group. A missing group is a group of its own.

    Returns
    -------
    OutlierRisk
        Missing values are left out. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown or non-numeric columns, numbers out of range.

    Notes
    -----
    Percentile rule: SDC practice guide of the World Bank, section "Outlier detection". Isolation
    says which of these values remain recognisable under a relative change, as an intruder who
    knows an amount roughly would look for it.

    Examples
    --------
    >>> incomes = pd.DataFrame({"income": [*range(1000, 1099), 90_000]})
    >>> risk = outlier_risk(incomes, "income")
    >>> int(risk.above.sum()), int(risk.isolated.sum())
    (1, 1)
    """
    faults = Faults("outlier_risk")
    file = as_file(data, faults, numeric=variables, columns=(by,))
    frame, names, groups = file.frame, file.roles.numeric, listed_names(by)
    if not names:
        faults.add("variables", "no column is named", hint="Name at least one.")
    check_columns(faults, frame, groups, "group")
    table = {"percentile": SHARE, "reach": POSITIVE}
    check(faults, table, {"percentile": percentile, "reach": reach})
    faults.raise_if_any()
    values = numbers(frame, names)
    check_finite(faults, values, names, "file")
    faults.raise_if_any()
    group: np.ndarray = np.zeros(len(frame), dtype=np.int64)
    if groups:
        group = frame.groupby(list(groups), dropna=False, observed=True).ngroup().to_numpy()
    above: np.ndarray = np.zeros(values.shape, dtype=np.bool_)
    isolated: np.ndarray = np.zeros(values.shape, dtype=np.bool_)
    for rows in _rows_of(group):
        for j in range(values.shape[1]):
            filled = rows[~np.isnan(values[rows, j])]
            above[filled, j], isolated[filled, j] = tail_of(values[filled, j], percentile, reach)
    known = ~np.isnan(values)
    thresholds = [
        float(np.nanquantile(column, percentile)) if not groups and any_known else np.nan
        for column, any_known in zip(values.T, known.any(axis=0), strict=True)
    ]
    per_variable = pd.DataFrame({
        "variable": names, "values": known.sum(axis=0), "threshold": thresholds,
        "above": above.sum(axis=0), "isolated": isolated.sum(axis=0),
        "largest_share": [_largest_share(column) for column in values.T],
    })  # fmt: skip
    in_tail = np.asarray(above.any(axis=1))
    alone = np.asarray(isolated.any(axis=1))
    return OutlierRisk(per_variable, in_tail, alone, float(percentile), float(reach), groups)


def tail_of(values: np.ndarray, percentile: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether values (none missing) are in the upper tail, and isolated there; shape (n,) each."""
    if not len(values) or (len(values) > 1 and np.ptp(values) == 0):  # alike: nothing lies out
        return np.zeros(len(values), dtype=np.bool_), np.zeros(len(values), dtype=np.bool_)
    above = values >= np.quantile(values, percentile)
    order = np.argsort(values, kind="stable")
    gaps = np.concatenate([[np.inf], np.diff(values[order]), [np.inf]])
    nearest = np.empty(len(values))
    nearest[order] = np.minimum(gaps[:-1], gaps[1:])
    return above, above & (nearest > reach * np.abs(values))


def _rows_of(group: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group))[:-1]) if len(group) else []


def _largest_share(values: np.ndarray) -> float:
    size = np.abs(values[~np.isnan(values)])
    return float(size.max() / size.sum()) if size.sum() > 0 else float("nan")


OUTLIERS = person_risk(
    "outlier_risk", "Isolated outliers", "records",
    "records with an amount in the tail that no other value is near to",
    "SDC practice guide of the World Bank",
)  # fmt: skip


def of_outliers(result: OutlierRisk, request: AssessRequest) -> list[Measurement]:
    """Isolated values in the tails of the numeric keys."""
    note = message(
        "{n} at or above the {percentile} % percentile; near is within {reach} %",
        n=plural(int(result.above.sum()), "record"),
        percentile=formatted(100 * result.percentile, "g"),
        reach=formatted(100 * result.reach, "g"),
    )
    return [request.measured(OUTLIERS, int(result.isolated.sum()), note=note)]


MEASURE = Measure(
    name="outlier_risk",
    rank=150,
    title="Outliers",
    question="Which amounts stand out whatever small change is made to them?",
    blind_spots=(
        "amounts that stand out only together with others, or inside a group that `by` does "
        "not name"
    ),
    source="SDC practice guide of the World Bank",
    function=outlier_risk,
    run=run_on("outlier_risk", outlier_risk),
    measurements=of_outliers,
    needs=("numeric",),
    options=("percentile", "reach", "by"),
    of_keys=False,
    compared=False,
)
