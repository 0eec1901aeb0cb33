"""Amounts within a group: the key alone tells an amount within a few percent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.table import KeyTable
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import percent, plural

CLOSE = 0.05
"""Relative distance within which an amount counts as disclosed."""
FEW_VALUES = 30
"""Distinct numbers from which on a sensitive variable is an amount."""
AMOUNTS_TOLD = 0.01
"""Share of the records whose amount the key may tell."""


@dataclass(frozen=True, slots=True, eq=False)
class AmountGroups(Result):
    """Records whose key tells an amount within a few percent.

    Attributes
    ----------
    disclosed : mapping of variable to bool array, shape (n,)
    close : float
    """

    disclosed: dict[str, np.ndarray]
    close: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row a record, one column a variable."""
        return pd.DataFrame(self.disclosed)

    def summary(self) -> str:
        """Say how many amounts the keys tell."""
        texts = [f"{name}: {plural(int(rows.sum()), 'record')}"
                 for name, rows in self.disclosed.items()]  # fmt: skip
        if not texts:
            return "No sensitive variable is an amount."
        return message(
            "Records of which everybody with the same key has the same amount within "
            "{close}: {texts}.",
            close=percent(self.close, 0),
            texts=joined_by("; ", texts),
        )


def amount_groups(
    table: KeyTable, amounts: dict[str, pd.Series], k: int, close: float = CLOSE
) -> AmountGroups:
    """Find the groups of at least k records in which an amount is the same within a few percent.

    Groups of fewer records are what k-anonymity counts. Amounts of zero alone and missing ones
    disclose nothing here.

    Parameters
    ----------
    table : KeyTable
        Distinct keys of the file, of n records.
    amounts : dict of name to Series, shape (n,)
    k : int
    close : float
        Relative distance within which amounts are the same.

    Returns
    -------
    AmountGroups

    Examples
    --------
    >>> from riskeval.keys.table import tabulate
    >>> pay = pd.DataFrame({"job": [1, 1, 1, 2, 2, 2], "pay": [100, 101, 102, 50, 90, 70]})
    >>> int(amount_groups(tabulate(pay, ["job"]), {"pay": pay["pay"]}, 3).disclosed["pay"].sum())
    3
    """
    disclosed = {}
    for name, column in amounts.items():
        values = as_numbers(column)
        by_cell = pd.Series(values).groupby(table.cell)
        low, high, known = (by_cell.agg(what).to_numpy() for what in ("min", "max", "count"))
        size = np.abs(np.maximum(np.abs(low), np.abs(high)))
        with np.errstate(invalid="ignore"):
            alike = (high - low <= close * size) & (size > 0) & (known >= max(k, 2))
        disclosed[name] = alike[table.cell] & np.isfinite(values)
    return AmountGroups(disclosed, close)


AMOUNT_TOLD = person_risk(
    "amount_told", "Amounts that the key tells", "records",
    "records of which all others with the same key have the same amount within 5 %",
    "Machanavajjhala et al. 2007",
)  # fmt: skip


def _run_amounts(request: AssessRequest) -> AmountGroups:
    amounts = {
        name: request.frame[name] for name in request.sensitive
        if is_number(request.frame[name]) and request.frame[name].nunique() > FEW_VALUES
    }  # fmt: skip
    return amount_groups(request.counts.keys, amounts, request.limits.k or 2)


def of_amounts(result: AmountGroups, request: AssessRequest) -> list[Measurement]:
    """Records whose amounts the key tells."""
    most = None if request.limits.l is None else int(AMOUNTS_TOLD * len(request.frame))
    return [
        request.measured(
            AMOUNT_TOLD, int(rows.sum()), target=name, limit=most,
            limit_source="a hundredth of the records",
        )
        for name, rows in result.disclosed.items()
    ]  # fmt: skip


MEASURE = Measure(
    name="amount_groups",
    rank=105,
    title="Amounts within a group",
    question="Does the key alone tell an amount within a few percent?",
    blind_spots="groups of fewer than k records; amounts that are near and not within 5 %, or zero",
    source="Machanavajjhala et al. 2007",
    function=amount_groups,
    run=_run_amounts,
    measurements=of_amounts,
    needs=("sensitive",),
)
