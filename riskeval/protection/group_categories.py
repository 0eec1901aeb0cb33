"""Joining categories of one column for everybody."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.result import Protected, categorical_column, protected
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import as_file


@same_library
def group_categories(data: Any, column: str, *, groups: Mapping[Any, Any]) -> Protected:
    """Join categories under a new name, or rename them.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    column : str
        A categorical, text, whole-number or bool column.
    groups : mapping
        New name -> the old category, or a list of old categories. Categories that are not named
        stay as they are; missing values stay missing, unless a group has None among its old
        categories: it then takes them in (a text or categorical column only).

    Returns
    -------
    Protected
        A categorical column keeps its order: a group stands where its first category stood. A
        text column stays text. A column of numbers stays one if all new names are numbers of its
        type, else it becomes an ordered categorical of text labels.

    Raises
    ------
    InputError
        An old category is not in the data, is in two groups, a new name is that of a category
        which is not in the group, or a group of an ordered column has a gap.

    Notes
    -----
    Templ (2017), section 4.2.1. Nothing is drawn at random. Equal values stay equal, so that
    members of a household who shared a value share its class: `household` has no meaning here.

    Examples
    --------
    >>> people = pd.DataFrame({"status": ["single", "widowed", "divorced"]})
    >>> result = group_categories(people, "status", groups={"alone": ["widowed", "divorced"]})
    >>> result.data["status"].tolist()
    ['single', 'alone', 'alone']
    """
    faults = Faults("group_categories")
    frame = as_file(data, faults).indexed
    check_columns(faults, frame, [column], "column to group")
    if not isinstance(groups, Mapping):
        faults.add("groups", "is not a mapping", hint="Give {new name: [old categories]}.")
    elif not all(isinstance(m, Hashable) for members in groups.values() for m in _listed(members)):
        faults.add("groups", "hold lists within lists")
    faults.raise_if_any()
    values = frame[column]
    categorical = isinstance(values.dtype, pd.CategoricalDtype)
    ordered = categorical and bool(values.cat.ordered)
    old = values if categorical else values.astype("category")
    levels = list(old.cat.categories)
    listed = {new: _listed(members) for new, members in groups.items()}
    plan = {new: [m for m in members if not _is_missing(m)] for new, members in listed.items()}
    takers = [new for new, members in listed.items() if any(map(_is_missing, members))]
    _check_groups(faults, column, plan, levels, ordered)
    if len(takers) > 1:
        faults.add("groups", f"missing values are in {len(takers)} groups")
    faults.raise_if_any()
    new_of = {member: new for new, members in plan.items() for member in members}
    targets = [new_of.get(level, level) for level in levels]
    released = frame.copy(deep=False)
    released[column] = _regrouped(values, old, targets, list(plan))
    if takers:
        released[column] = _without_missing(released[column], takers[0])
    return protected(
        frame,
        released,
        [column],
        method="group_categories",
        parameters={"column": column, "groups": listed},
        notes=[
            message(
                "{column} has {n}, previously {levels}.",
                column=column,
                n=plural(len(dict.fromkeys(targets)), "category", "categories"),
                levels=len(levels),
            )
        ],
        details={"counts": released[column].value_counts(sort=False)},
    )


def _listed(members: Any) -> list[Any]:
    return list(members) if isinstance(members, (list, tuple, set, frozenset)) else [members]


def _is_missing(member: Any) -> bool:
    return member is None or member is pd.NA or member is pd.NaT or member != member


def _without_missing(values: pd.Series, name: Any) -> pd.Series:
    """Give missing values the category `name`, which becomes one where it is none."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        if name not in values.cat.categories:
            values = values.cat.add_categories([name])
        return values.fillna(name)
    number = pd.api.types.is_numeric_dtype(values.dtype) and not _fits(name, values.dtype)
    return (values.astype(object) if number else values).fillna(name)


def _check_groups(
    faults: Faults, column: str, plan: dict[Any, list[Any]], levels: list[Any], ordered: bool
) -> None:
    group_of: dict[Any, Any] = {}
    for new, members in plan.items():
        for member in members:
            if member not in levels:
                faults.add(
                    f"groups[{new!r}]",
                    f"{member!r} is not a category of {column!r}",
                    hint=did_you_mean(member, levels),
                )
            elif member in group_of:
                faults.add(f"groups[{new!r}]", f"{member!r} is also in group {group_of[member]!r}")
            group_of.setdefault(member, new)
    for new, members in plan.items():
        if new in levels and new not in members and new not in group_of:
            faults.add(
                f"groups[{new!r}]",
                "is the name of a category that is not in the group",
                hint="Put it into the list too, or choose another name.",
            )
        positions = sorted(levels.index(member) for member in members if member in levels)
        if ordered and positions and positions[-1] - positions[0] >= len(positions):
            faults.add(f"groups[{new!r}]", "joins categories that are not neighbours in the order")


def _regrouped(
    values: pd.Series, old: pd.Series, targets: list[Any], new_names: list[Any]
) -> pd.Series:
    dtype = values.dtype
    codes = old.cat.codes.to_numpy()
    if not isinstance(dtype, pd.CategoricalDtype):
        number = pd.api.types.is_numeric_dtype(dtype)
        if not number or all(_fits(name, dtype) for name in new_names):
            table = pd.Series(targets, dtype=object)
            column = pd.Series(table.reindex(codes).to_numpy(), index=values.index)
            return column.where(codes >= 0, values.astype(object)).astype(dtype)
        targets = [str(item) for item in targets]
    names = list(dict.fromkeys(targets))
    positions = np.array([*(names.index(item) for item in targets), -1], dtype=np.int64)
    ordered = bool(dtype.ordered) if isinstance(dtype, pd.CategoricalDtype) else True
    return categorical_column(positions[codes], names, ordered=ordered, index=values.index)


def _fits(name: Any, dtype: Any) -> bool:
    if pd.api.types.is_bool_dtype(dtype):
        return isinstance(name, (bool, np.bool_))
    if isinstance(name, (bool, np.bool_)) or not isinstance(name, (int, float, np.number)):
        return False
    return pd.api.types.is_float_dtype(dtype) or float(name).is_integer()


METHOD = ProtectionMethod(
    run=group_categories,
    rank=20,
    title="Groups of categories",
    question="Which categories are joined under one name?",
    blind_spots=(
        "records that are rare in the joined category too; other columns that keep the finer detail"
    ),
    example={
        "column": "pb190",
        "groups": {"formerly married": ["widowed", "divorced"]},
    },
    new_types=True,
)
