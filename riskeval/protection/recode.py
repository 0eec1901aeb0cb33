"""Recoding one column for everybody: classes and groups of categories."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, categorical_column, own_frame, protected
from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import formatted, plural

SPACINGS = ("equal", "log", "quantile")
MOST_CLASSES = 1000  # of a column with fewer values


@same_library
def global_recode(
    data: Any,
    column: str,
    *,
    breaks: int | Sequence[Any],
    labels: Sequence[Any] | None = None,
    spacing: str = "equal",
) -> Protected:
    """Replace the values of a column by classes.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row a record
    column : str
        A numeric column or an ordered categorical one.
    breaks : sequence or int
        Ascending limits b0 < b1 < ... < bm of the m classes [b0, b1], (b1, b2], ..., so that the
        lowest value belongs to the first class; -inf and inf may stand at the ends. For an
        ordered column: categories in their order, with the same meaning. A whole number asks for
        that many classes between the smallest and the largest value.
    labels : sequence of length m, optional
        Names of the classes, all different. Default: "0-9" for whole numbers, "(2.5, 4]" for
        other numbers, "low - middle" for categories.
    spacing : {"equal", "log", "quantile"}
        How a whole number in `breaks` places the limits: equal width, equal ratio (positive
        values), or equal counts (classes whose limits coincide are joined).

    Returns
    -------
    Protected
        The column is an ordered categorical; missing values stay missing.

    Raises
    ------
    InputError
        A value lies outside the limits (it is never turned into a missing one), limits are not
        ascending, the number of labels is wrong, the column is not ordered.

    Notes
    -----
    Templ (2017), section 4.2.1. Nothing is drawn at random. Equal values stay equal, so that
    members of a household who shared a value share its class: `household` has no meaning here.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [0, 9, 10, 34, 71]})
    >>> result = global_recode(people, "age", breaks=[0, 9, 19, 64, np.inf])
    >>> result.data["age"].tolist()
    ['0-9', '0-9', '10-19', '20-64', '65 and over']
    """
    frame = own_frame(data)
    faults = Faults("global_recode")
    check_choice(faults, "spacing", spacing, SPACINGS)
    if isinstance(breaks, (bool, str)) or not isinstance(breaks, (int, np.integer, Iterable)):
        faults.add("breaks", f"are {breaks!r}", hint="Give limits, or a number of classes.")
    if check_columns(faults, frame, [column], "column to recode"):
        check_ordered(faults, frame[column], column)
    faults.raise_if_any()
    values = frame[column]
    if isinstance(values.dtype, pd.CategoricalDtype):
        positions, limits, names = _ordered_classes(faults, values, breaks, spacing)
    else:
        positions, limits, names = _number_classes(faults, values, breaks, spacing)
    if labels is not None:
        _check_labels(faults, list(labels), len(limits) - 1)
        names = list(labels)
    outside = (positions < limits[0]) | (positions > limits[-1]) if len(limits) else positions < 0
    if outside.any():
        faults.add(
            column,
            "values outside the breaks",
            rows=np.flatnonzero(outside),
            hint="Widen the first or last break; -inf and inf are allowed.",
        )
    faults.raise_if_any()
    codes = np.searchsorted(limits[1:-1], positions, side="left")
    codes[np.isnan(positions)] = -1
    released = frame.copy(deep=False)
    released[column] = categorical_column(codes, names, ordered=True, index=frame.index)
    return protected(
        frame,
        released,
        [column],
        method="global_recode",
        parameters={
            "column": column,
            "breaks": breaks if isinstance(breaks, int) else list(breaks),
            "labels": None if labels is None else list(labels),
            "spacing": spacing,
        },
        notes=[
            message("{column} has {n}.", column=column, n=plural(len(names), "class", "classes"))
        ],
        details={"limits": limits, "counts": released[column].value_counts(sort=False)},
    )


def check_ordered(faults: Faults, values: pd.Series, column: str) -> None:
    """Note a column that has no order: neither numbers nor ordered categories."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        if not values.cat.ordered:
            faults.add(
                column,
                "the categories have no order",
                hint="Order them first, or use group_categories.",
            )
    else:
        check_numeric(faults, values.to_frame(column), [column], "a column to recode")


def _check_labels(faults: Faults, labels: list[Any], n_classes: int) -> None:
    if len(labels) != n_classes:
        faults.add(
            "labels", f"{plural(len(labels), 'label')} for {plural(n_classes, 'class', 'classes')}"
        )
    if len(set(labels)) != len(labels):
        faults.add("labels", "a label is given twice", hint="Join the classes instead.")


def _number_classes(
    faults: Faults, values: pd.Series, breaks: int | Sequence[Any], spacing: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    numbers = as_numbers(values)
    filled = numbers[np.isfinite(numbers)]
    if isinstance(breaks, (int, np.integer)):
        limits = _placed(filled, int(breaks), spacing)
    else:
        if spacing != "equal":
            faults.add("spacing", "is for a number of classes only", hint="Leave it out.")
        limits = pd.to_numeric(pd.Series(list(breaks), dtype=object), errors="coerce").to_numpy(
            dtype=np.float64
        )
    if len(limits) < 2 or np.isnan(limits).any() or (np.diff(limits) <= 0).any():
        faults.add("breaks", f"are not at least two ascending numbers: {limits.tolist()}")
        faults.raise_if_any()
    whole = bool(np.all(filled == np.round(filled)))
    finite = limits[np.isfinite(limits)]
    if whole and np.all(finite == np.round(finite)):
        return numbers, limits, [_whole_name(low, high) for low, high in _spans(limits)]
    names = [f"({low:.10g}, {high:.10g}]" for low, high in pairwise(limits)]
    return numbers, limits, ["[" + names[0][1:], *names[1:]]


def _placed(filled: np.ndarray, n_classes: int, spacing: str) -> np.ndarray:
    """Limits of so many classes, whole ones for whole numbers."""
    low, high = filled.min(initial=np.inf), filled.max(initial=-np.inf)
    if not (1 <= n_classes <= max(len(filled), MOST_CLASSES) and low < high):
        what = f"cannot make {plural(n_classes, 'class', 'classes')} of this column"
        raise InputError.of("global_recode", "breaks", what)
    if spacing == "log" and low <= 0:
        what, hint = "'log' needs positive values", "Use 'quantile'."
        raise InputError.of("global_recode", "spacing", what, hint)
    if spacing == "log":
        limits = np.geomspace(low, high, n_classes + 1)
        limits[[0, -1]] = low, high
    elif spacing == "quantile":
        shares = np.linspace(0, 1, n_classes + 1)
        limits = np.unique(np.quantile(filled, shares, method="inverted_cdf"))
    else:
        limits = np.linspace(low, high, n_classes + 1)
    whole = bool(np.all(filled == np.round(filled)))  # the same classes, with readable limits
    return np.unique(np.floor(limits + 1e-9)) if whole else limits


def _spans(limits: np.ndarray) -> Iterable[tuple[float, float]]:
    """First and last value of each class of whole numbers."""
    return zip([limits[0], *(limits[1:-1] + 1)], limits[1:], strict=True)


def _whole_name(low: float, high: float) -> str:
    if np.isinf(low) and np.isinf(high):
        return "all"
    if np.isinf(low):
        return message("up to {high}", high=formatted(high, ".0f"))
    if np.isinf(high):
        return message("{low} and over", low=formatted(low, ".0f"))
    return f"{low:.0f}" if low == high else f"{low:.0f}-{high:.0f}"


def _ordered_classes(
    faults: Faults, values: pd.Series, breaks: int | Sequence[Any], spacing: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    levels = list(values.cat.categories)
    positions = values.cat.codes.to_numpy().astype(np.float64)
    positions[positions < 0] = np.nan
    if isinstance(breaks, (int, np.integer)):
        edges = _placed(positions[~np.isnan(positions)], int(breaks), spacing)
        limits = np.unique(np.floor(edges))
    else:
        unknown = [item for item in breaks if item not in levels]
        for item in unknown:
            faults.add(
                "breaks",
                message("{value} is not a category", value=repr(item)),
                hint=did_you_mean(item, levels),
            )
        faults.raise_if_any()
        limits = np.array([levels.index(item) for item in breaks], dtype=np.float64)
        if len(limits) < 2 or (np.diff(limits) <= 0).any():
            faults.add("breaks", "are not at least two categories in ascending order")
            faults.raise_if_any()
    ends = [(levels[int(low)], levels[int(high)]) for low, high in _spans(limits)]
    names = [str(low) if low == high else f"{low} - {high}" for low, high in ends]
    return positions, limits, names


@same_library
def group_categories(data: Any, column: str, *, groups: Mapping[Any, Any]) -> Protected:
    """Join categories under a new name, or rename them.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row a record
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
    frame = own_frame(data)
    faults = Faults("group_categories")
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
        places = sorted(levels.index(member) for member in members if member in levels)
        if ordered and places and places[-1] - places[0] >= len(places):
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
    places = np.array([*(names.index(item) for item in targets), -1], dtype=np.int64)
    ordered = bool(dtype.ordered) if isinstance(dtype, pd.CategoricalDtype) else True
    return categorical_column(places[codes], names, ordered=ordered, index=values.index)


def _fits(name: Any, dtype: Any) -> bool:
    if pd.api.types.is_bool_dtype(dtype):
        return isinstance(name, (bool, np.bool_))
    if isinstance(name, (bool, np.bool_)) or not isinstance(name, (int, float, np.number)):
        return False
    return pd.api.types.is_float_dtype(dtype) or float(name).is_integer()
