"""Top and bottom coding of one column: limits at its ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.dates import numbers_of_limits, text_of, unit_of
from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import Households, read_households
from riskeval.protection.household.once import read_layer
from riskeval.protection.numeric import put_numbers
from riskeval.protection.recode import check_ordered
from riskeval.protection.result import Protected, categorical_column, protected
from riskeval.protection.sums import magnitude_note, sums_kept
from synthpop.microdata.frame.checks import check_columns, check_weights
from synthpop.microdata.frame.frames import as_numbers, is_date
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice, is_number
from synthpop.microdata.messages.text import plural, short_percent
from synthpop.microdata.roles.microdata import as_file

LEAST_TAIL = 3
DOMINANT = 0.8


@same_library
def top_bottom_code(
    data: Any,
    column: str,
    *,
    upper: Any = None,
    lower: Any = None,
    replacement: Any = None,
    weights: str | None = None,
    household: str | None = None,
    components: Mapping[str, Sequence[str]] | None = None,
) -> Protected:
    """Replace values above a limit, below a limit, or both.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    column : str
        A numeric column, one of dates, or an ordered categorical one.
    upper, lower : number, date such as "2000-12-31", or category, optional
        Values strictly above `upper` and strictly below `lower` are replaced; one of the two must
        be given.
    replacement : None, "mean", number or (lower, upper) pair
        What stands for the replaced values: the limit itself (None), the mean of the values that
        are replaced ("mean", each end by its own, which keeps the mean of the column), a given
        number (when one limit is given), or a pair of numbers. Ordered columns take None.
    weights : str, optional
        Column of weights for "mean": the weighted mean of the column is kept.
    household : str, optional
        Column of household ids: a tail must hold members of 3 households, and the mean of a
        variable that members share counts each household once.
    components : mapping, optional
        Total -> its parts. Where they add up before they add up afterwards: the total follows a
        part that was coded, and the parts change in proportion to a total that was.

    Returns
    -------
    Protected
        Missing values stay missing. A whole-number column becomes a column of reals only when a
        replacement is not whole; this is noted.

    Raises
    ------
    InputError
        No limit is given, `lower` is above `upper`, the column has no order, weights are faulty;
        with "mean", a tail of one or two values, or one value with more than 80 % of the weighted
        sum of its tail: the mean would tell it.

    Notes
    -----
    Templ (2017), section 4.2.1.1. Nothing is drawn at random.

    Examples
    --------
    >>> people = pd.DataFrame({"income": [10.0, 20.0, 90.0, 100.0, 110.0]})
    >>> top_bottom_code(people, "income", upper=50, replacement="mean").data["income"].tolist()
    [10.0, 20.0, 100.0, 100.0, 100.0]
    """
    faults = Faults("top_bottom_code")
    file = as_file(data, faults, household=household)
    frame, household = file.indexed, file.roles.household
    asked = (lower, upper)
    if column in frame and is_date(frame[column]):
        lower, upper = numbers_of_limits(faults, "upper, lower", frame[column], asked)
    weight = _check_ends(faults, frame, column, upper, lower, replacement, weights)
    alone = file.with_roles(household=None)
    layer = read_layer(faults, alone, [column], components=components)
    faults.raise_if_any()
    values, released = frame[column], frame.copy(deep=False)
    if isinstance(values.dtype, pd.CategoricalDtype):
        released[column] = _coded_levels(values, upper, lower)
        used: dict[str, object] = {"lower": lower, "upper": upper}
    else:
        homes = read_households(faults, file, [column])
        faults.raise_if_any()
        if replacement == "mean":
            _check_tails(faults, values, upper, lower, weight, homes)
            faults.raise_if_any()
        if column in homes.variables:
            shares = 1 / homes.size[homes.number]  # all members together count as one
            weight = shares if weight is None else weight * shares
        released[column], used = _coded_ends(values, upper, lower, replacement, weight)
    notes = [
        message("Values {side} {limit} became {used}.", side=side, limit=limit, used=used[end])
        for side, end, limit in (("above", "upper", asked[1]), ("below", "lower", asked[0]))
        if limit is not None
    ]
    if str(released[column].dtype) != str(values.dtype):
        notes.append(
            message(
                "{column} now contains real numbers, because a replacement is not whole.",
                column=column,
            )
        )
    released, touched, sums = sums_kept(frame, released, [column], layer.components)
    sizes = magnitude_note(frame, released, [column])
    return protected(
        frame,
        released,
        [column, *touched],
        method="top_bottom_code",
        parameters={
            "column": column,
            "upper": asked[1],
            "lower": asked[0],
            "replacement": list(replacement) if isinstance(replacement, tuple) else replacement,
            "weights": weights,
            "household": household,
            "components": layer.parameters()["components"],
        },
        notes=[*notes, *sums, *sizes],
        details={"replacement": used},
    )


def _coded_levels(values: pd.Series, upper: Any, lower: Any) -> pd.Series:
    """Give categories beyond a limit the limit."""
    codes = values.cat.codes.to_numpy().astype(np.int64)
    levels = list(values.cat.categories)
    lowest = 0 if lower is None else levels.index(lower)
    highest = len(levels) - 1 if upper is None else levels.index(upper)
    codes = np.where(codes < 0, -1, np.clip(codes, lowest, highest))
    return categorical_column(codes, levels, ordered=True, index=values.index)


def _check_tails(
    faults: Faults,
    values: pd.Series,
    upper: Any,
    lower: Any,
    weight: np.ndarray | None,
    homes: Households,
) -> None:
    """Note tails whose mean tells a single value."""
    numbers = as_numbers(values)
    for side, limit in (("lower", lower), ("upper", upper)):
        if limit is None:
            continue
        tail = numbers > limit if side == "upper" else numbers < limit
        units = homes.number[tail]
        distinct, position = np.unique(units, return_inverse=True)
        if not tail.any():
            continue
        sizes = np.abs(numbers[tail]) * (1.0 if weight is None else weight[tail])
        sizes = np.bincount(position.reshape(-1), sizes)
        if len(distinct) < LEAST_TAIL:
            holds = plural(len(distinct), homes.unit)
            faults.add(
                side,
                f"the tail holds {holds}, so that its mean tells a value",
                hint=f"Choose a limit with at least {LEAST_TAIL} beyond it, or replacement=None.",
            )
        elif sizes.sum() > 0 and sizes.max() > DOMINANT * sizes.sum():
            share = short_percent(sizes.max() / sizes.sum())
            faults.add(
                side,
                f"one {homes.unit} has {share} of the tail, so that its mean tells the value",
                hint="Choose another limit, or replacement=None.",
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
        faults.add("upper, lower", "no limit is given", hint="Give one of them or both.")
    if isinstance(replacement, str) and replacement != "mean":
        check_choice(faults, "replacement", replacement, ["mean"])
    one_number = replacement is not None and not isinstance(replacement, (str, tuple, list))
    if one_number and upper is not None and lower is not None:
        faults.add("replacement", "one number for two ends", hint="Give a (lower, upper) pair.")
    pair = isinstance(replacement, (tuple, list))
    if pair and (len(replacement) != 2 or not all(map(_is_number, replacement))):
        faults.add("replacement", "is not a (lower, upper) pair of numbers")
    if one_number and not _is_number(replacement):
        faults.add("replacement", f"is {replacement!r}", hint="Give a number.")
    if weights is not None and replacement != "mean":
        faults.add("weights", "are used by replacement='mean' only", hint="Leave them out.")
    if check_columns(faults, frame, [column], "column to code"):
        check_ordered(faults, frame[column], column)
        _check_limits(faults, frame[column], column, upper, lower, replacement)
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        return check_weights(faults, frame[weights], weights)
    return None


def _check_limits(
    faults: Faults, values: pd.Series, column: str, upper: Any, lower: Any, replacement: Any
) -> None:
    limits = [end for end in (("lower", lower), ("upper", upper)) if end[1] is not None]
    if isinstance(values.dtype, pd.CategoricalDtype):
        levels = list(values.cat.categories)
        known = [(name, limit) for name, limit in limits if limit in levels]
        for name, limit in limits:
            if (name, limit) not in known:
                faults.add(
                    name,
                    message("{value} is not a category", value=repr(limit)),
                    hint=did_you_mean(limit, levels),
                )
        if replacement is not None:
            faults.add(
                "replacement",
                "an ordered column takes the limit itself",
                hint="Rename the category with group_categories afterwards.",
            )
        limits = [(name, levels.index(limit)) for name, limit in known]
    elif not all(_is_number(limit) for _, limit in limits):
        faults.add(column, "is numeric and needs numbers as limits")
        return
    if len(limits) == 2 and limits[0][1] > limits[1][1]:
        faults.add("lower, upper", f"lower {lower!r} is above upper {upper!r}")


def _is_number(value: object) -> bool:
    return is_number(value) or (isinstance(value, (float, np.floating)) and np.isinf(value))


def _coded_ends(
    values: pd.Series, upper: Any, lower: Any, replacement: Any, weight: np.ndarray | None
) -> tuple[pd.Series, dict[str, object]]:
    numbers = as_numbers(values)
    used: dict[str, object] = {}
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
        used[side] = text_of(value, unit_of(values)) if is_date(values) else value
        if tail.any() and is_date(values):
            result = put_numbers(result, np.full(len(values), value), tail)
        elif tail.any():
            if pd.api.types.is_integer_dtype(result.dtype) and not float(value).is_integer():
                nullable = isinstance(result.dtype, pd.api.extensions.ExtensionDtype)
                result = result.astype("Float64" if nullable else "float64")
            elif pd.api.types.is_integer_dtype(result.dtype):
                value = int(value)
            result = result.mask(tail, value)
    return result, used


METHOD = ProtectionMethod(
    run=top_bottom_code,
    rank=30,
    title="Limits at the ends",
    question="Which extreme values of a column are replaced by a limit?",
    blind_spots=(
        "records that are extreme only in several columns together; whoever is known to be at"
        " an end of the column"
    ),
    example={"column": "netIncome", "upper": 40000},
    roles=roles_named("household", "components"),
)
