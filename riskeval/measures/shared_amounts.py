"""Amounts as keys: how many records of one file share all of their amounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.frames import numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, join, percent
from synthpop.microdata.roles.microdata import as_file


@dataclass(frozen=True, slots=True, eq=False)
class SharedAmounts(Result):
    """How many records have the same amounts.

    Attributes
    ----------
    f : int64 array, shape (n,)
        Records with the same amounts in all variables, the record itself included.
    variables : tuple of str
    k : int
    """

    f: np.ndarray
    variables: tuple[str, ...]
    k: int

    @property
    def below(self) -> int:
        """Records whose amounts fewer than `k` records share."""
        return int((self.f < self.k).sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a record: ``f``."""
        return pd.DataFrame({"f": self.f})

    def summary(self) -> str:
        """Say how many records whoever knows the amounts finds."""
        return message(
            "{n} of {all} records ({share}) share their amounts of {names} with fewer than {k} "
            "records, themselves included: if these are the true amounts, whoever knows them finds "
            "the record.",
            n=count(self.below), all=count(len(self.f)), names=join(self.variables), k=self.k,
            share=percent(self.below / len(self.f) if len(self.f) else 0.0),
        )  # fmt: skip


@same_library
def shared_amounts(
    data: Any, variables: str | Sequence[str] | None = None, *, k: int = 3
) -> SharedAmounts:
    """Count the records that have the same amounts in all numeric keys.

    Parameters
    ----------
    data : table of n records
    variables : str or sequence of str, optional
        Default: the numeric keys of a `Microdata`.
    k : int, default 3
        Records that must at least share their amounts.

    Returns
    -------
    SharedAmounts
        A missing amount is a value of its own. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown or non-numeric columns, k below 1.

    Notes
    -----
    k-anonymity of continuous keys as microaggregation reaches it: Domingo-Ferrer and Torra (2005).
    One file does not tell whether its amounts are true: a file with noise has unique amounts too,
    and is judged beside its original (``riskeval.compare``, `record_linkage`).

    Examples
    --------
    >>> firms = pd.DataFrame({"sales": [10, 10, 10, 70], "staff": [1, 1, 1, 9]})
    >>> shared_amounts(firms, ["sales", "staff"]).f.tolist()
    [3, 3, 3, 1]
    """
    faults = Faults("shared_amounts")
    file = as_file(data, faults, numeric=variables, columns=())
    names = file.roles.numeric
    if not names:
        faults.add("variables", "no column is named", hint="Name at least one.")
    check(faults, {"k": Whole(1)}, {"k": k})
    faults.raise_if_any()
    values = pd.DataFrame(numbers(file.frame, names))
    cell = values.groupby(list(values), dropna=False).ngroup().to_numpy()
    return SharedAmounts(np.bincount(cell, minlength=1)[cell], names, k)


AMOUNTS_BELOW_K = person_risk(
    "amounts_below_k", "Records that their amounts single out", "records",
    "records that share all of their amounts with fewer than k records, themselves included, if "
    "the amounts are true ones",
    "Domingo-Ferrer and Torra 2005",
)  # fmt: skip


def _run(request: AssessRequest) -> SharedAmounts:
    return shared_amounts(request.file, k=request.limits.k or 3)


def of_shared_amounts(result: SharedAmounts, request: AssessRequest) -> list[Measurement]:
    """Records that amounts single out, judged where the amounts are those of the original."""
    asked = (
        request.limits.k is not None and not request.file.roles.keys and request.kind == "original"
    )
    return [
        request.measured(
            AMOUNTS_BELOW_K, result.below, limit=0.0 if asked else None,
            limit_source=message("k = {k}, as asked", k=result.k),
        )
    ]  # fmt: skip


MEASURE = Measure(
    name="shared_amounts",
    rank=151,
    title="Shared amounts",
    question="Does whoever knows all amounts of a unit find its record?",
    blind_spots="amounts that are known roughly, or only some of them; whether amounts are true",
    source="Domingo-Ferrer and Torra 2005",
    function=shared_amounts,
    run=_run,
    measurements=of_shared_amounts,
    needs=("numeric",),
    of_keys=False,
    compared=False,
)
