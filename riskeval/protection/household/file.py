"""The hierarchical way: a household file out, protected, and merged back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import needing_household, read_households
from riskeval.protection.result import Protected, own_frame, protected
from riskeval.protection.top_bottom import top_bottom_code
from riskeval.recovery.columns import names_of
from synthpop.microdata.frame.checks import check_columns, check_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import as_file


@same_library
def household_file(
    data: Any, household: str | None = None, *, variables: str | Sequence[str] | None = None
) -> pd.DataFrame:
    """Return one row per household with the variables that its members share.

    Parameters
    ----------
    data : DataFrame or Arrow table, n persons
    household : str
        Column of household ids.
    variables : str or sequence of str, optional
        Columns to take; each must have one value in a household. Default: all that have.

    Returns
    -------
    DataFrame, H households
        The id, then the variables, households in the order of their first member.

    Raises
    ------
    InputError
        A missing id, a variable that differs within a household (the households are named).

    Examples
    --------
    >>> people = pd.DataFrame({"home": [1, 1, 2], "rooms": [3, 3, 5], "age": [30, 31, 70]})
    >>> household_file(people, "home").to_dict("list")
    {'home': [1, 2], 'rooms': [3, 5]}
    """
    faults = Faults("household_file")
    file = needing_household(data, faults, household)
    frame, household = file.indexed, file.roles.household
    check_names(faults, frame)
    declared = names_of(variables)
    others = [str(name) for name in frame if name != household]
    names = declared if variables is not None else others
    homes = read_households(faults, file, names, declared=declared)
    faults.raise_if_any()
    shared = [name for name in frame if name in homes.variables and name != household]
    return homes.collapse(frame, shared)[[household, *shared]]


@same_library
def merge_household_file(data: Any, households: Any, household: str) -> Protected:
    """Put the variables of a protected household file into the file of persons.

    Parameters
    ----------
    data : DataFrame or Arrow table, n persons
    households : DataFrame, Arrow table or Protected
        One row per household: the id, and columns that replace those of `data` (or are added).
    household : str
        Column of ids in both.

    Returns
    -------
    Protected
        All members of a household have its values, in the type of the column that they replace
        where they fit it. ``details``: ``households``.

    Raises
    ------
    InputError
        An id twice in the household file, or a household of a person that is not in it.

    Examples
    --------
    >>> people = pd.DataFrame({"home": [1, 1, 2], "rooms": [3, 3, 5]})
    >>> table = household_file(people, "home").assign(rooms=[4, 4])
    >>> merge_household_file(people, table, "home").data["rooms"].tolist()
    [4, 4, 4]
    """
    frame = as_file(data, Faults("merge_household_file")).indexed
    table = own_frame(households.data if isinstance(households, Protected) else households)
    faults = Faults("merge_household_file")
    for file in (frame, table):
        check_names(faults, file)
    fine = check_columns(faults, frame, [household], "household")
    if check_columns(faults, table, [household], "household") and fine:
        repeated = table[household].duplicated().to_numpy()
        if repeated.any():
            ids = table.loc[repeated, household].unique()[:5].tolist()
            what = f"the household file has {ids} twice"
            faults.add(household, what, rows=np.flatnonzero(repeated))
        position = pd.Index(table[household]).get_indexer(frame[household]) if not faults else None
        if position is not None and (position < 0).any():
            absent = frame[household][position < 0]
            faults.add(
                household,
                f"{plural(absent.nunique(), 'household')} of persons are not in the household file "
                f"({absent.unique()[:5].tolist()})",
                rows=np.flatnonzero(position < 0),
            )
    faults.raise_if_any()
    assert position is not None
    before, released = frame.copy(deep=False), frame.copy(deep=False)
    names = [name for name in table.columns if name != household]
    for name in names:
        values = table[name].take(position).set_axis(frame.index)
        released[name] = _of_type(values, frame[name].dtype) if name in frame else values
        if name not in before:
            before[name] = values.where(np.zeros(len(frame), dtype=bool))
    return protected(
        before,
        released,
        names,
        method="merge_household_file",
        parameters={"households": table, "household": household},
        notes=[f"Values of {plural(len(table), 'household')} were given to their members."],
        details={"households": len(table)},
    )


def _of_type(values: pd.Series, dtype: Any) -> pd.Series:
    """Return values in the type of the column that they replace, where none would be lost."""
    if isinstance(dtype, pd.CategoricalDtype):
        fits = values.dropna().isin(dtype.categories).all()
        return values.astype(dtype) if fits else values
    plain = values.infer_objects()
    return plain.astype(dtype) if plain.dtype.kind == dtype.kind and plain.notna().all() else plain


def _protected_households(data: Any) -> Protected:
    """Return the household file of the demo survey with a limit for incomes."""
    file = household_file(data, "db030", variables="hincome")
    return top_bottom_code(file, "hincome", upper=40000)


METHOD = ProtectionMethod(
    run=merge_household_file,
    rank=170,
    title="Protected household file",
    question=(
        "How do the variables of a protected household file come back into the file of persons?"
    ),
    blind_spots="anything by itself: what protects was done to the household file",
    example={"households": _protected_households, "household": "db030"},
    roles=roles_named("household"),
)
