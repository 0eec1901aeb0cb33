"""Recoding one column for everybody into classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.dates import numbers_of_limits, text_of, unit_of
from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.result import Protected, categorical_column, protected
from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.frames import as_numbers, is_date
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import formatted, plural
from synthpop.microdata.roles.microdata import as_file

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
    data : DataFrame or Arrow table, one row per record
    column : str
        A numeric column, one of dates, or an ordered categorical one.
    breaks : sequence or int
        Ascending limits b0 < b1 < ... < bm of the m classes [b0, b1], (b1, b2], ..., so that the
        lowest value belongs to the first class; -inf and inf may stand at the ends. For an
        ordered column: categories in their order, with the same meaning. A whole number asks for
        that many classes between the smallest and the largest value. For dates: texts such as
        "2000-12-31".
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
    faults = Faults("global_recode")
    frame = as_file(data, faults).indexed
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
        check_numeric(faults, values.to_frame(column), [column], "a column to recode", dates=True)


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
        numbers_of = numbers_of_limits(faults, "breaks", values, list(breaks))
        limits = pd.to_numeric(pd.Series(numbers_of, dtype=object), errors="coerce").to_numpy(
            dtype=np.float64
        )
    if len(limits) < 2 or np.isnan(limits).any() or (np.diff(limits) <= 0).any():
        faults.add("breaks", f"are not at least two ascending numbers: {limits.tolist()}")
        faults.raise_if_any()
    whole = bool(np.all(filled == np.round(filled)))
    finite = limits[np.isfinite(limits)]
    if is_date(values):
        unit = unit_of(values)
        return numbers, limits, [_dates_name(low, high, unit) for low, high in _spans(limits)]
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


def _dates_name(low: float, high: float, unit: int) -> str:
    if np.isinf(low) and np.isinf(high):
        return "all"
    if np.isinf(low):
        return message("up to {high}", high=text_of(high, unit))
    if np.isinf(high):
        return message("from {low} on", low=text_of(low, unit))
    first, last = text_of(low, unit), text_of(high, unit)
    return first if first == last else message("{low} to {high}", low=first, high=last)


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


METHOD = ProtectionMethod(
    run=global_recode,
    rank=10,
    title="Classes of numbers",
    question="Which classes replace exact numbers such as the age?",
    blind_spots=(
        "records that are rare in their class too; what other columns tell of the exact value"
    ),
    example={"column": "age", "breaks": [0, 14, 29, 44, 64, 120]},
    new_types=True,
)
