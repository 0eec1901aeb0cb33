"""Recoding one column for everybody: classes, groups of categories, limits at the ends."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, categorical_column, own_frame, protected
from synthpop.microdata.checks import check_choice, check_columns, check_numeric, check_weights
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.text import plural

SPACINGS = ("equal", "log", "quantile")


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
    Templ (2017), section 4.2.1. Nothing is drawn at random.

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
        faults.add("breaks", f"are {breaks!r}", remedy="Give limits, or a number of classes.")
    if check_columns(faults, frame, [column], "column to recode"):
        _check_ordered(faults, frame[column], column)
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
            remedy="Widen the first or last break; -inf and inf are allowed.",
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
        notes=[f"{column} has {plural(len(names), 'class', 'classes')}."],
        details={"limits": limits, "counts": released[column].value_counts(sort=False)},
    )


def _check_ordered(faults: Faults, values: pd.Series, column: str) -> None:
    if isinstance(values.dtype, pd.CategoricalDtype):
        if not values.cat.ordered:
            faults.add(
                column,
                "the categories have no order",
                remedy="Order them first, or use group_categories.",
            )
    else:
        check_numeric(faults, values.to_frame(column), [column], "a column to recode")


def _check_labels(faults: Faults, labels: list[Any], n_classes: int) -> None:
    if len(labels) != n_classes:
        faults.add(
            "labels", f"{plural(len(labels), 'label')} for {plural(n_classes, 'class', 'classes')}"
        )
    if len(set(labels)) != len(labels):
        faults.add("labels", "a label is given twice", remedy="Join the classes instead.")


def _number_classes(
    faults: Faults, values: pd.Series, breaks: int | Sequence[Any], spacing: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    filled = numbers[np.isfinite(numbers)]
    if isinstance(breaks, (int, np.integer)):
        limits = _placed(faults, filled, int(breaks), spacing)
    else:
        if spacing != "equal":
            faults.add("spacing", "is for a number of classes only", remedy="Leave it out.")
        limits = pd.to_numeric(pd.Series(list(breaks), dtype=object), errors="coerce").to_numpy(
            dtype=np.float64
        )
    if len(limits) < 2 or np.isnan(limits).any() or (np.diff(limits) <= 0).any():
        faults.add("breaks", f"are not at least two ascending numbers: {limits.tolist()}")
        faults.raise_if_any()
    whole = bool(np.all(filled == np.round(filled)))
    finite = limits[np.isfinite(limits)]
    if whole and np.all(finite == np.round(finite)):
        names = [_whole_name(limits, j) for j in range(len(limits) - 1)]
    else:
        names = [
            f"{'[' if j == 0 else '('}{limits[j]:.10g}, {limits[j + 1]:.10g}]"
            for j in range(len(limits) - 1)
        ]
    return numbers, limits, names


def _placed(faults: Faults, filled: np.ndarray, n_classes: int, spacing: str) -> np.ndarray:
    if n_classes < 1 or len(filled) == 0 or filled.min() == filled.max():
        faults.add("breaks", f"cannot make {plural(n_classes, 'class', 'classes')} of this column")
        faults.raise_if_any()
    low, high = float(filled.min()), float(filled.max())
    limits = _between(faults, filled, low, high, n_classes, spacing)
    whole = bool(np.all(filled == np.round(filled)))  # the same classes, with readable limits
    return np.unique(np.floor(limits + 1e-9)) if whole else limits


def _between(
    faults: Faults, filled: np.ndarray, low: float, high: float, n_classes: int, spacing: str
) -> np.ndarray:
    if spacing == "log":
        if low <= 0:
            faults.add("spacing", "'log' needs positive values", remedy="Use 'quantile'.")
            faults.raise_if_any()
        limits = np.geomspace(low, high, n_classes + 1)
        limits[[0, -1]] = low, high
        return limits
    if spacing == "quantile":
        shares = np.linspace(0, 1, n_classes + 1)
        return np.unique(np.quantile(filled, shares, method="inverted_cdf"))
    return np.linspace(low, high, n_classes + 1)


def _whole_name(limits: np.ndarray, j: int) -> str:
    low = limits[j] if j == 0 else limits[j] + 1
    high = limits[j + 1]
    if np.isinf(low) and np.isinf(high):
        return "all"
    if np.isinf(low):
        return f"up to {high:.0f}"
    if np.isinf(high):
        return f"{low:.0f} and over"
    return f"{low:.0f}" if low == high else f"{low:.0f}-{high:.0f}"


def _ordered_classes(
    faults: Faults, values: pd.Series, breaks: int | Sequence[Any], spacing: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    levels = list(values.cat.categories)
    positions = values.cat.codes.to_numpy().astype(np.float64)
    positions[positions < 0] = np.nan
    if isinstance(breaks, (int, np.integer)):
        edges = _placed(faults, positions[~np.isnan(positions)], int(breaks), spacing)
        limits = np.unique(np.floor(edges))
    else:
        unknown = [item for item in breaks if item not in levels]
        for item in unknown:
            faults.add("breaks", f"{item!r} is no category", remedy=did_you_mean(item, levels))
        faults.raise_if_any()
        limits = np.array([levels.index(item) for item in breaks], dtype=np.float64)
        if len(limits) < 2 or (np.diff(limits) <= 0).any():
            faults.add("breaks", "are not at least two categories in ascending order")
            faults.raise_if_any()
    names = []
    for j in range(len(limits) - 1):
        low = int(limits[j]) + (j > 0)
        high = int(limits[j + 1])
        names.append(str(levels[low]) if low == high else f"{levels[low]} - {levels[high]}")
    return positions, limits, names


def group_categories(data: Any, column: str, *, groups: Mapping[Any, Any]) -> Protected:
    """Join categories under a new name, or rename them.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row a record
    column : str
        A categorical, text, whole-number or bool column.
    groups : mapping
        New name -> the old category, or a list of old categories. Categories that are not named
        stay as they are; missing values stay missing.

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
    Templ (2017), section 4.2.1. Nothing is drawn at random.

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
        faults.add("groups", "are no mapping", remedy="Give {new name: [old categories]}.")
    elif not all(isinstance(m, Hashable) for members in groups.values() for m in _listed(members)):
        faults.add("groups", "hold lists within lists")
    faults.raise_if_any()
    values = frame[column]
    categorical = isinstance(values.dtype, pd.CategoricalDtype)
    ordered = categorical and bool(values.cat.ordered)
    old = values if categorical else values.astype("category")
    levels = list(old.cat.categories)
    plan = {new: _listed(members) for new, members in groups.items()}
    _check_groups(faults, column, plan, levels, ordered)
    faults.raise_if_any()
    new_of = {member: new for new, members in plan.items() for member in members}
    targets = [new_of.get(level, level) for level in levels]
    released = frame.copy(deep=False)
    released[column] = _regrouped(values, old, targets, list(plan))
    return protected(
        frame,
        released,
        [column],
        method="group_categories",
        parameters={"column": column, "groups": plan},
        notes=[
            f"{column} has {plural(len(dict.fromkeys(targets)), 'category', 'categories')}, had "
            f"{len(levels)}."
        ],
        details={"counts": released[column].value_counts(sort=False)},
    )


def _listed(members: Any) -> list[Any]:
    return list(members) if isinstance(members, (list, tuple, set, frozenset)) else [members]


def _check_groups(
    faults: Faults, column: str, plan: dict[Any, list[Any]], levels: list[Any], ordered: bool
) -> None:
    seen: dict[Any, Any] = {}
    for new, members in plan.items():
        for member in members:
            if member not in levels:
                faults.add(
                    f"groups[{new!r}]",
                    f"{member!r} is no category of {column!r}",
                    remedy=did_you_mean(member, levels),
                )
            elif member in seen:
                faults.add(f"groups[{new!r}]", f"{member!r} is also in group {seen[member]!r}")
            seen.setdefault(member, new)
    for new, members in plan.items():
        if new in levels and new not in members and new not in seen:
            faults.add(
                f"groups[{new!r}]",
                "is the name of a category that is not in the group",
                remedy="Put it into the list too, or choose another name.",
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
            taken = pd.Series(table.reindex(codes).to_numpy(), index=values.index)
            return taken.where(codes >= 0, values.astype(object)).astype(dtype)
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


def top_bottom_code(
    data: Any,
    column: str,
    *,
    upper: Any = None,
    lower: Any = None,
    replacement: Any = None,
    weights: str | None = None,
) -> Protected:
    """Replace values above a limit, below a limit, or both.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row a record
    column : str
        A numeric column or an ordered categorical one.
    upper, lower : number or category, optional
        Values strictly above `upper` and strictly below `lower` are replaced; one of the two must
        be given.
    replacement : None, "mean", number or (lower, upper) pair
        What stands for the replaced values: the limit itself (None), the mean of the values that
        are replaced ("mean", each end by its own, which keeps the mean of the column), a given
        number (when one limit is given), or a pair of numbers. Ordered columns take None.
    weights : str, optional
        Column of weights for "mean": the weighted mean of the column is kept.

    Returns
    -------
    Protected
        Missing values stay missing. A whole-number column becomes a column of reals only when a
        replacement is not whole; this is noted.

    Raises
    ------
    InputError
        No limit is given, `lower` is above `upper`, the column has no order, weights are faulty.

    Notes
    -----
    Templ (2017), section 4.2.1.1. Nothing is drawn at random.

    Examples
    --------
    >>> people = pd.DataFrame({"income": [10.0, 20.0, 90.0, 110.0]})
    >>> top_bottom_code(people, "income", upper=50, replacement="mean").data["income"].tolist()
    [10.0, 20.0, 100.0, 100.0]
    """
    frame = own_frame(data)
    faults = Faults("top_bottom_code")
    weight = _check_ends(faults, frame, column, upper, lower, replacement, weights)
    faults.raise_if_any()
    values, released = frame[column], frame.copy(deep=False)
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes = values.cat.codes.to_numpy().astype(np.int64)
        levels = list(values.cat.categories)
        if upper is not None:
            codes = np.where(codes > levels.index(upper), levels.index(upper), codes)
        if lower is not None:
            below = (codes >= 0) & (codes < levels.index(lower))
            codes = np.where(below, levels.index(lower), codes)
        released[column] = categorical_column(codes, levels, ordered=True, index=frame.index)
        used: dict[str, Any] = {"lower": lower, "upper": upper}
    else:
        released[column], used = _coded_ends(values, upper, lower, replacement, weight)
    notes = [
        f"Values {side} {limit}."
        for side, limit in (("above", upper), ("below", lower))
        if limit is not None
    ]
    notes = [
        f"{note[:-1]} became {used['upper' if 'above' in note else 'lower']}." for note in notes
    ]
    if str(released[column].dtype) != str(values.dtype):
        notes.append(f"{column} holds reals now, because a replacement is not whole.")
    return protected(
        frame,
        released,
        [column],
        method="top_bottom_code",
        parameters={
            "column": column,
            "upper": upper,
            "lower": lower,
            "replacement": list(replacement) if isinstance(replacement, tuple) else replacement,
            "weights": weights,
        },
        notes=notes,
        details={"replacement": used},
    )


def _check_ends(
    faults: Faults,
    frame: pd.DataFrame,
    column: str,
    upper: Any,
    lower: Any,
    replacement: Any,
    weights: str | None,
) -> np.ndarray | None:
    if upper is None and lower is None:
        faults.add("upper, lower", "no limit is given", remedy="Give one of them or both.")
    if isinstance(replacement, str) and replacement != "mean":
        check_choice(faults, "replacement", replacement, ["mean"])
    one_number = replacement is not None and not isinstance(replacement, (str, tuple, list))
    if one_number and upper is not None and lower is not None:
        faults.add("replacement", "one number for two ends", remedy="Give a (lower, upper) pair.")
    pair = isinstance(replacement, (tuple, list))
    if pair and (len(replacement) != 2 or not all(map(_is_number, replacement))):
        faults.add("replacement", "is not a (lower, upper) pair of numbers")
    if one_number and not _is_number(replacement):
        faults.add("replacement", f"is {replacement!r}", remedy="Give a number.")
    if weights is not None and replacement != "mean":
        faults.add("weights", "are used by replacement='mean' only", remedy="Leave them out.")
    if check_columns(faults, frame, [column], "column to code"):
        _check_ordered(faults, frame[column], column)
        _check_limits(faults, frame[column], column, upper, lower, replacement)
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        return check_weights(faults, frame[weights], weights)
    return None


def _check_limits(
    faults: Faults, values: pd.Series, column: str, upper: Any, lower: Any, replacement: Any
) -> None:
    given = [
        (name, limit) for name, limit in (("lower", lower), ("upper", upper)) if limit is not None
    ]
    if isinstance(values.dtype, pd.CategoricalDtype):
        levels = list(values.cat.categories)
        known = [(name, limit) for name, limit in given if limit in levels]
        for name, limit in given:
            if (name, limit) not in known:
                faults.add(name, f"{limit!r} is no category", remedy=did_you_mean(limit, levels))
        if replacement is not None:
            faults.add(
                "replacement",
                "an ordered column takes the limit itself",
                remedy="Rename the category with group_categories afterwards.",
            )
        given = [(name, levels.index(limit)) for name, limit in known]
    elif not all(_is_number(limit) for _, limit in given):
        faults.add(column, "is numeric and needs numbers as limits")
        return
    if len(given) == 2 and given[0][1] > given[1][1]:
        faults.add("lower, upper", f"lower {lower!r} is above upper {upper!r}")


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    return number and not np.isnan(float(value))  # type: ignore[arg-type]


def _coded_ends(
    values: pd.Series, upper: Any, lower: Any, replacement: Any, weight: np.ndarray | None
) -> tuple[pd.Series, dict[str, Any]]:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    used: dict[str, Any] = {}
    result = values
    for side, limit in (("lower", lower), ("upper", upper)):
        if limit is None:
            continue
        tail = numbers > limit if side == "upper" else numbers < limit
        if replacement is None:
            value = limit
        elif isinstance(replacement, (tuple, list)):
            value = replacement[side == "upper"]
        elif replacement == "mean":
            tail_weight = None if weight is None else weight[tail]
            value = float(np.average(numbers[tail], weights=tail_weight)) if tail.any() else limit
        else:
            value = replacement
        used[side] = value
        if tail.any():
            if pd.api.types.is_integer_dtype(result.dtype) and not float(value).is_integer():
                nullable = isinstance(result.dtype, pd.api.extensions.ExtensionDtype)
                result = result.astype("Float64" if nullable else "float64")
            elif pd.api.types.is_integer_dtype(result.dtype):
                value = int(value)
            result = result.mask(tail, value)
    return result, used
