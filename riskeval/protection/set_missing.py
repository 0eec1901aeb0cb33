"""Values that are taken out of the file by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.result import Protected, protected, suppress_cells
from riskeval.protection.where import records_where
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.roles.microdata import as_file


@same_library
def set_missing(
    data: Any, columns: str | Sequence[str], *, where: Mapping[str, Any] | None = None
) -> Protected:
    """Make values of some columns missing, in all records or in those that meet conditions.

    Parameters
    ----------
    data : DataFrame or another table, one row per record
    columns : str or sequence of str
        Whose values become missing.
    where : mapping, optional
        Column -> a value, a list of values, or an interval ``{"least": 14, "most": 20}``. Records
        that meet every condition; all of them without it. A missing value meets none.

    Returns
    -------
    Protected
        Columns of whole numbers get the type of the same size that holds missing values.

    Raises
    ------
    InputError
        Unknown columns, conditions that no value meets.

    Notes
    -----
    Whether values can be read back from other columns or members is counted by the session
    (`recover`). `household` has no meaning here: the conditions say whose values go. Nothing is
    drawn at random.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 97], "job": ["clerk", "judge"]})
    >>> set_missing(people, "job", where={"age": {"least": 90}}).data["job"].isna().tolist()
    [False, True]
    """
    faults = Faults("set_missing")
    frame, names = as_file(data, faults).indexed, listed_names(columns)
    if not names:
        faults.add("columns", "no column is named", hint="Name at least one.")
    check_columns(faults, frame, names, "columns")
    rows = records_where(faults, frame, where)
    faults.raise_if_any()
    released = frame.copy(deep=False)
    for name in names:
        released[name] = suppress_cells(frame[name], rows)
    return protected(
        frame, released, names, method="set_missing",
        parameters={"columns": list(names), "where": None if where is None else dict(where)},
    )  # fmt: skip


METHOD = ProtectionMethod(
    run=set_missing,
    rank=320,
    title="Make values missing",
    question="Which values does the office take out by hand?",
    blind_spots="values that follow from other columns, members of the household, or totals",
    example={"columns": ["pl030"], "where": {"age": {"least": 80}}},
)
