"""Two ways in which a group of k records hides nobody: one household, or amounts that are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.table import KeyTable
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, percent, plural

CLOSE = 0.05
"""Relative distance within which an amount counts as disclosed."""


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdGroups(Result):
    """Households that share the key of each record.

    Attributes
    ----------
    households : int64, shape (n,)
    records : int64, shape (n,)
        Records that share the key, a missing value being a value.
    k : int
    """

    households: np.ndarray
    records: np.ndarray
    k: int

    @property
    def n_few(self) -> int:
        """Records whose key fewer than k households share."""
        return int((self.households < self.k).sum())

    @property
    def n_alone(self) -> int:
        """Records whose k records or more are all of one household."""
        return int(((self.households < 2) & (self.records >= self.k)).sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a record."""
        return pd.DataFrame({"households": self.households, "records": self.records})

    def summary(self) -> str:
        """Say how many records a single household stands behind."""
        return (
            f"Counted in households, {count(self.n_few)} of {plural(len(self.records), 'record')} "
            f"are shared by fewer than {self.k}; of {count(self.n_alone)} the {self.k} or more "
            "records with the same key are all of one household, whom it singles out."
        )


def household_groups(table: KeyTable, household: pd.Series, k: int) -> HouseholdGroups:
    """Count the households that share the key of each record; a missing id is a household.

    Examples
    --------
    >>> from riskeval.keys.table import tabulate
    >>> streets = pd.DataFrame({"street": [1, 1, 1, 2, 2, 2], "home": [1, 1, 1, 2, 3, 4]})
    >>> household_groups(tabulate(streets, ["street"]), streets["home"], 3).n_alone
    3
    """
    codes = pd.factorize(household)[0].astype(np.int64)
    absent = codes < 0
    codes[absent] = codes.max(initial=-1) + 1 + np.arange(int(absent.sum()))
    pairs = pd.DataFrame({"cell": table.cell, "home": codes}).drop_duplicates()
    homes = np.bincount(pairs["cell"], minlength=len(table.counts))
    records = table.counts.astype(np.int64)
    return HouseholdGroups(homes[table.cell], records[table.cell], k)


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
        return (
            f"Records of which everybody with the same key has the same amount within "
            f"{percent(self.close, 0)}: {'; '.join(texts)}."
        )


def amount_groups(
    table: KeyTable, amounts: dict[str, pd.Series], k: int, close: float = CLOSE
) -> AmountGroups:
    """Find the groups of at least k records in which an amount is the same within a few percent.

    Groups of fewer records are what k-anonymity counts. Amounts of zero alone and missing ones
    disclose nothing here.

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
