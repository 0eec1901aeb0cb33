"""Households behind a key: k records of one household hide nobody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.table import KeyTable
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, plural


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
        return message(
            "Counted in households, {n_few} of {n} are shared by fewer than {k}; of "
            "{n_alone} the {k} or more records with the same key are all of one household, "
            "whom it singles out.",
            n_few=count(self.n_few),
            n=plural(len(self.records), "record"),
            k=self.k,
            n_alone=count(self.n_alone),
        )


def household_groups(table: KeyTable, household: pd.Series, k: int) -> HouseholdGroups:
    """Count the households that share the key of each record; a missing id is a household.

    Parameters
    ----------
    table : KeyTable
        Distinct keys of the file, of n records.
    household : Series, shape (n,)
    k : int

    Returns
    -------
    HouseholdGroups

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


ONE_HOUSEHOLD = person_risk(
    "one_household", "Records that only one household shares", "records",
    "records whose key as many records share as k asks for, all of them of one household",
    "Templ 2017, section 3.6",
)  # fmt: skip
FEW_HOUSEHOLDS = person_risk(
    "few_households", "Records that fewer than k households share", "records",
    "records whose key fewer than k households share", "Templ 2017, section 3.6",
)  # fmt: skip


def of_households(result: HouseholdGroups, request: AssessRequest) -> list[Measurement]:
    """Records that one household stands behind, and those that fewer than k share."""
    limit = None if request.limits.k is None else 0.0
    source = "k records of one household hide nobody"
    return [
        request.measured(ONE_HOUSEHOLD, result.n_alone, limit=limit, limit_source=source),
        request.measured(FEW_HOUSEHOLDS, result.n_few, note=f"k = {result.k}"),
    ]


MEASURE = Measure(
    name="household_groups",
    rank=47,
    title="Households behind a key",
    question="Does a group of k records stand for one household?",
    blind_spots=(
        "households that share a key only through missing values; what else tells who lives "
        "together"
    ),
    source="Templ 2017, section 3.6",
    function=household_groups,
    run=lambda request: household_groups(
        request.counts.keys, request.frame[str(request.file.roles.household)], request.limits.k or 3
    ),
    measurements=of_households,
    needs=("household",),
    infos=(ONE_HOUSEHOLD, FEW_HOUSEHOLDS),
)
