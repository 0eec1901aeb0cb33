"""Limits and texts of dates: columns of dates are days, or seconds, since 1970 for every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import (
    DAY,
    SECOND,
    as_dates,
    has_time_of_day,
    is_date,
    since_1970,
)
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message


def unit_of(values: pd.Series) -> int:
    """Return the unit of a column of dates in microseconds."""
    return SECOND if has_time_of_day(values) else DAY


def numbers_of_limits(
    faults: Faults, where: str, values: pd.Series, limits: Sequence[Any]
) -> list[Any]:
    """Return limits as the numbers that stand for a column of dates; others as they are.

    limits: dates or texts such as "2000-12-31"; infinite numbers and None stay
    """
    if not is_date(values):
        return list(limits)
    numbers: list[Any] = []
    for limit in limits:
        if limit is None or (isinstance(limit, float) and np.isinf(limit)):
            numbers.append(limit)
            continue
        try:
            day = pd.Series([pd.Timestamp(limit)] if isinstance(limit, str) else [limit])
            numbers.append(float(since_1970(pd.to_datetime(day), unit_of(values))[0]))
        except (TypeError, ValueError):
            what = message("{value} is no date", value=repr(limit))
            faults.add(where, what, hint='Write "2000-12-31".')
            numbers.append(np.nan)
    return numbers


def text_of(number: float, unit: int) -> str:
    """Return a number as the date it stands for.

    Examples
    --------
    >>> text_of(365.0, DAY)
    '1971-01-01'
    """
    return str(pd.Timestamp(as_dates(np.array([number]), unit)[0])).removesuffix(" 00:00:00")
