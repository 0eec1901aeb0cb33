"""A random sample of the records or households of a file, as offices release of a census."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.numeric import check_strata, strata_of
from riskeval.protection.result import Protected, with_fewer_records
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import SHARE, check
from synthpop.microdata.messages.text import percent
from synthpop.microdata.roles.microdata import as_file


@same_library
def sample(
    data: Any,
    share: float,
    *,
    household: str | None = None,
    strata: str | Sequence[str] | None = None,
    weights: str | None = None,
    seed: int | None = None,
) -> Protected:
    """Release a simple random sample of the records, or of whole households.

    Parameters
    ----------
    data : DataFrame or another table, one row per record
    share : float, between 0 and 1
        Of the records, or of the households where they are named.
    household : str, optional
        Column of household ids: households stay whole.
    strata : str or sequence of str, optional
        The share is taken of each stratum (of the first member's, for households), to the nearest
        whole number and at least one.
    weights : str, optional
        Column of weights, which are divided by the share of the units of their stratum that are
        taken: they still add up to the population.
    seed : int, optional
        Of the draw; recorded in the result.

    Returns
    -------
    Protected
        Fewer records in their order, with their index labels; ``details["rows"]`` are the
        positions of those that are left.

    Raises
    ------
    InputError
        Unknown columns, a share out of range.

    Notes
    -----
    Hundepool et al. (2012), section 3.4.1: whoever finds a unique record in a sample cannot be
    sure that the person is unique. A household without an id is one record.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": range(10), "w": [5.0] * 10})
    >>> half = sample(people, 0.5, weights="w", seed=1).data
    >>> len(half), float(half["w"].sum())
    (5, 50.0)
    """
    faults = Faults("sample")
    file = as_file(data, faults, household=household)
    frame = file.indexed
    check(faults, {"share": SHARE}, {"share": share})
    check_strata(faults, frame, strata)
    weighted = as_file(file, faults, weights=weights).weights if weights is not None else None
    draw = read_secret(faults, seed)
    faults.raise_if_any()
    units = file.household_index
    units = np.where(units < 0, units.max(initial=-1) + 1 + np.arange(len(units)), units)
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    ids, labels = strata_of(frame, strata)
    stratum, taken = ids[first], np.zeros(len(first), dtype=np.bool_)
    factor = np.ones(len(labels))
    for number, label in enumerate(labels):
        members = np.flatnonzero(stratum == number)
        if len(members):
            size = max(int(np.rint(share * len(members))), 1)
            rng = draw.at("sample", label)
            taken[rng.choice(members, size, replace=False)] = True
            factor[number] = len(members) / size
    rows = np.flatnonzero(taken[unit])
    changed = frame
    if weights is not None and weighted is not None:
        values = as_numbers(frame[weights]) * factor[stratum[unit]]
        changed = frame.assign(**{weights: values})
    note = message("A simple random sample of {share} of the {units}.", share=percent(share),
                   units="households" if file.roles.household else "records")  # fmt: skip
    return with_fewer_records(
        file, rows, method="sample", notes=[note], seed=draw.seed, changed=changed,
        parameters={"share": share, "household": file.roles.household, "strata": strata,
                    "weights": weights},
    )  # fmt: skip


METHOD = ProtectionMethod(
    run=sample,
    rank=310,
    title="Release a sample",
    question="Which share of the records leaves, so that nobody is sure to be in the file?",
    blind_spots=(
        "persons who are known to be in the sample; persons whom everybody knows to be unique"
    ),
    example={"share": 0.5, "household": "db030"},
    roles=roles_named("household", "strata", "weights"),
    fewer_records=True,
)
