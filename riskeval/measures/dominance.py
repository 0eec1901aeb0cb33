"""Totals that one or a few units dominate: the p-percent rule and the (n, k) rule."""

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
from synthpop.microdata.messages.parameters import Between, Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, formatted, join, percent, plural
from synthpop.microdata.roles.microdata import Microdata, as_file

RANGES = {"p": Between(0, None, open="low"), "n": Whole(1), "k": Between(0, 100, open="both")}
WHOLE_FILE = "all"
COLUMNS = (
    "units", "total", "largest_share", "n_largest_share", "estimate_within", "p_percent", "n_k",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Dominance(Result):
    """Totals of amounts by group, and what they tell of their largest units.

    Attributes
    ----------
    table : DataFrame
        One row a variable and group: ``variable``, the columns of `by` (or ``group`` = "all"),
        ``units`` (that contribute something), ``total`` (of absolute amounts, weighted),
        ``largest_share`` and ``n_largest_share`` (of the largest unit, of the n largest),
        ``estimate_within`` (how near, in percent of the largest amount, the second largest unit
        comes when it takes its own amount off the total), ``p_percent`` and ``n_k`` (whether the
        rule is broken).
    told : bool array, shape (n_records,)
        Records of the largest unit of a total that breaks one of the rules.
    by : tuple of str
    p, k : float
    n : int
    """

    table: pd.DataFrame
    told: np.ndarray
    by: tuple[str, ...]
    p: float
    n: int
    k: float

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def summary(self) -> str:
        """Say how many totals break a rule, and what the rules mean."""
        broken = self.table["p_percent"] | self.table["n_k"]
        names = list(dict.fromkeys(self.table["variable"]))
        worst = self.table["largest_share"].max()
        return message(
            "{n} of {totals} of {names} break a rule ({by_p} the p-percent rule with p = {p}, "
            "{by_n} the ({largest}, {k}) rule); the largest unit makes up {worst} of a total at "
            "most. Such totals tell the amount of their largest unit to the others: publish them "
            "for larger groups only. Offices keep their p, n and k secret; there is no agreed "
            "value.",
            n=count(int(broken.sum())),
            totals=plural(len(self.table), "total"),
            names=join(names),
            by_p=count(int(self.table["p_percent"].sum())),
            by_n=count(int(self.table["n_k"].sum())),
            p=formatted(self.p, "g"),
            largest=self.n,
            k=formatted(self.k, "g"),
            worst=percent(float(worst)) if worst == worst else "-",
        )


@same_library
def dominance(
    data: Any,
    variables: str | Sequence[str] | None = None,
    *,
    by: str | Sequence[str] = (),
    p: float = 10.0,
    n: int = 1,
    k: float = 75.0,
    weights: Any = None,
    household: str | None = None,
) -> Dominance:
    """Find totals of amounts from which the amount of a single unit follows nearly.

    Parameters
    ----------
    data : table of n records
    variables : str or sequence of str, optional
        Amounts. Default: the numeric keys of a `Microdata`.
    by : str or sequence of str, optional
        Columns of the groups whose totals are looked at, for instance industry and region;
        the whole file is one group without. A missing group is a group of its own.
    p : float, default 10
        The p-percent rule is broken where the second largest unit can estimate the amount of the
        largest one within p percent of it: total - x1 - x2 < p / 100 x1.
    n, k : int and float, default 1 and 75
        The (n, k) rule is broken where the n largest units make up more than k percent of a total.
    weights : str or array, optional
        A sampled unit of weight w stands for w units with the same amount.
    household : str, optional
        Column of units that belong together, as the plants of an enterprise: their amounts are
        added up before they are compared, with the mean of their weights.

    Returns
    -------
    Dominance
        Missing amounts contribute nothing. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown or non-numeric columns, numbers out of range.

    Notes
    -----
    Amounts count by their absolute value, so that losses do not cancel gains. A group of one unit
    breaks both rules, one without any amount none. Source: Hundepool et al. (2012), Statistical
    Disclosure Control, sections 4.2.1 and 4.2.2.

    Examples
    --------
    >>> firms = pd.DataFrame({"nace": [*"AAABBB"], "sales": [900, 60, 20, 110, 100, 90]})
    >>> dominance(firms, "sales", by="nace").table[["nace", "estimate_within", "n_k"]].round(1)
      nace  estimate_within    n_k
    0    A              2.2   True
    1    B             81.8  False
    """
    faults = Faults("dominance")
    groups = listed_names(by)
    file = as_file(
        data, faults, columns=groups, numeric=variables, weights=weights, household=household
    )
    frame, names = file.frame, file.roles.numeric
    if not names:
        faults.add("variables", "no column is named", hint="Name at least one.")
    check_columns(faults, frame, groups, "group")
    check(faults, RANGES, {"p": p, "n": n, "k": k})
    faults.raise_if_any()
    amounts = numbers(frame, list(names))
    check_finite(faults, amounts, names, "file")
    faults.raise_if_any()
    return _dominance(file, np.abs(amounts), groups, p, n, k)


def _dominance(
    file: Microdata, amounts: np.ndarray, groups: tuple[str, ...], p: float, n: int, k: float
) -> Dominance:
    """Look at the totals of the numeric keys of a file; amounts: float64, (n, variables)."""
    frame, units = file.frame, file.household_index
    units = np.where(units < 0, units.max(initial=-1) + 1 + np.arange(len(units)), units)
    sizes = np.ones(len(frame)) if file.weights is None else file.weights
    group: np.ndarray = np.zeros(len(frame), dtype=np.int64)
    if groups:
        group = frame.groupby(list(groups), dropna=False, observed=True).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group))[:-1]) if len(order) else []
    rows, told = [], np.zeros(len(frame), dtype=np.bool_)
    for name, values in zip(file.roles.numeric, amounts.T, strict=True):
        for part in parts:
            members = part[values[part] > 0]
            row, largest = _total(values[members], sizes[members], units[members], n)
            row["p_percent"] = bool(row["units"] and row["estimate_within"] < p)
            row["n_k"] = bool(row["units"] and 100 * row["n_largest_share"] > k)
            if row["p_percent"] or row["n_k"]:
                told[members[units[members] == largest]] = True
            label = {one: frame[one].iloc[part[0]] for one in groups} or {"group": WHOLE_FILE}
            rows.append({"variable": name, **label, **row})
    columns = ["variable", *(groups or ("group",)), *COLUMNS]
    return Dominance(pd.DataFrame(rows, columns=columns), told, groups, float(p), n, float(k))


def _total(
    values: np.ndarray, sizes: np.ndarray, units: np.ndarray, n: int
) -> tuple[dict[str, Any], int]:
    """What one total tells of its largest units, and the number of the largest one (-1: none)."""
    if not len(values):
        nothing = dict.fromkeys(("largest_share", "n_largest_share", "estimate_within"), np.nan)
        return {"units": 0, "total": 0.0, **nothing}, -1
    numbers_of, place = np.unique(units, return_inverse=True)
    amount = np.bincount(place, weights=values)
    weight = np.bincount(place, weights=sizes) / np.bincount(place)
    order = np.argsort(-amount, kind="stable")
    amount, weight = amount[order], np.maximum(weight[order], 1.0)
    total = float(amount @ weight)
    one = _largest(amount, weight, 1)
    rest = total - _largest(amount, weight, 2)
    row = {
        "units": len(amount),
        "total": total,
        "largest_share": one / total,
        "n_largest_share": _largest(amount, weight, n) / total,
        "estimate_within": max(100 * rest / one, 0.0),
    }
    return row, int(numbers_of[order[0]])


def _largest(amount: np.ndarray, weight: np.ndarray, n: int) -> float:
    """Return the sum of the n largest amounts; a unit of weight w counts w times."""
    before = np.concatenate([[0.0], np.cumsum(weight)[:-1]])
    return float(amount @ np.clip(n - before, 0.0, weight))


DOMINATED = person_risk(
    "dominated_totals", "Dominated totals", "records",
    "records of the largest unit of a total that breaks the p-percent or the (n, k) rule",
    "Hundepool et al. 2012, section 4.2",
)  # fmt: skip
LARGEST_SHARE = person_risk(
    "largest_share", "Share of the largest unit", "share",
    "largest part that one unit has in a total", "Hundepool et al. 2012, section 4.2", single=True,
)  # fmt: skip


def of_dominance(result: Dominance, request: AssessRequest) -> list[Measurement]:
    """Units that totals tell, and the largest share of one."""
    rule = message(
        "p = {p}, n = {n}, k = {k} %", p=formatted(result.p, "g"), n=result.n,
        k=formatted(result.k, "g"),
    )  # fmt: skip
    largest = float(result.table["largest_share"].max())
    return [
        request.measured(
            DOMINATED, int(result.told.sum()), limit=0.0, limit_source=rule,
            note=message("totals by {by}", by=join(result.by)) if result.by
            else message("totals of the whole file"),
        ),
        request.measured(LARGEST_SHARE, largest),
    ]  # fmt: skip


MEASURE = Measure(
    name="dominance",
    rank=152,
    title="Dominance",
    question="Does the total of a group tell the amount of its largest unit?",
    blind_spots=(
        "groups that `by` does not name; differences of several published totals; two units that "
        "put their knowledge together, beyond the second largest"
    ),
    source="Hundepool et al. 2012, section 4.2",
    function=dominance,
    run=run_on("dominance", dominance),
    measurements=of_dominance,
    needs=("numeric",),
    options=("by", "p", "n", "k"),
    of_keys=False,
    compared=False,
)
