"""Records, or whole households, that are left out of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.result import Protected, with_fewer_records
from riskeval.protection.where import records_where, where_text, with_their_households
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.roles.microdata import as_file


@same_library
def drop(data: Any, where: Mapping[str, Any], *, household: str | None = None) -> Protected:
    """Leave records out: those, or the households of those, that meet conditions.

    Parameters
    ----------
    data : DataFrame or another table, one row per record
    where : mapping
        Column -> a value, a list of values, or an interval ``{"least": 14, "most": 20}``.
        Records that meet every condition go; a missing value meets none.
    household : str, optional
        Column of household ids: every member of a household goes with the one that meets the
        conditions. Records without an id go by themselves.

    Returns
    -------
    Protected
        Fewer records, their index labels as before; ``details["rows"]`` are the positions of those
        that are left.

    Raises
    ------
    InputError
        Unknown columns, conditions that no value meets, no record would be left.

    Notes
    -----
    Weights are left as they are: calibrate them to known totals where records of the sample are
    left out. SDC practice guide of the World Bank, case study 1. Nothing is drawn at random.

    Examples
    --------
    >>> import pandas as pd
    >>> homes = pd.DataFrame({"hid": [1, 1, 2], "size": [14, 14, 1], "age": [40, 38, 71]})
    >>> drop(homes, {"size": {"least": 14}}).data["hid"].tolist()
    [2]
    """
    faults = Faults("drop")
    file = as_file(data, faults, household=household)
    frame = file.indexed
    faults.raise_if_any()
    gone = records_where(faults, frame, where)
    if not faults:
        gone = with_their_households(file, gone)
    if not faults and gone.all():
        faults.add("where", "every record meets it", hint="Give a stricter condition.")
    faults.raise_if_any()
    note = message("Left out: records with {what}.", what=where_text(where))
    if file.roles.household is not None:
        note = message("Left out: households with a member with {what}.", what=where_text(where))
    return with_fewer_records(
        file, np.flatnonzero(~gone), method="drop", notes=[note],
        parameters={"where": dict(where), "household": file.roles.household},
    )  # fmt: skip


METHOD = ProtectionMethod(
    run=drop,
    rank=300,
    title="Leave records out",
    question="Which records or households are so rare that they leave the file?",
    blind_spots=(
        "the weights, which no longer add up to the population; whoever sees that a group is "
        "absent from the file"
    ),
    example={"where": {"hsize": {"least": 6}}},
    roles=roles_named("household"),
    fewer_records=True,
)
