"""Which rows of a survey are hit by non-response or contamination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.checks import check_columns
from synthpop.microdata.errors import Faults, InputError, did_you_mean
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import plural

Rate = float | Mapping[Any, float] | Callable[[pd.DataFrame], Any]


def probabilities_of_rows(name: str, frame: pd.DataFrame, rate: Rate, by: str | None) -> np.ndarray:
    """Probability of each row, shape (n,)."""
    faults = Faults(name)
    n = len(frame)
    if callable(rate):
        p: np.ndarray = np.asarray(rate(frame), dtype=np.float64)
        if p.shape != (n,):
            faults.add("rate", f"gave {p.shape} numbers for {plural(n, 'row')}")
    elif isinstance(rate, Mapping):
        if by is None:
            remedy = "Name the column of the levels in rate."
            raise InputError.of(name, "by", "is not given", remedy)
        check_columns(faults, frame, [by], "by")
        faults.raise_if_any()
        levels = list(pd.unique(frame[by].dropna()))
        for level in levels:
            if level not in rate:
                faults.add("rate", f"level {level!r} has none", remedy=did_you_mean(level, rate))
        faults.raise_if_any()
        p = frame[by].map(dict(rate)).astype(np.float64).fillna(0.0).to_numpy()
    else:
        p = np.full(n, float(rate))
    if not bool(np.all((p >= 0) & (p <= 1))):
        faults.add("rate", "is not between 0 and 1", remedy="Give shares, not percent.")
    faults.raise_if_any()
    return p


def affected_rows(
    name: str, frame: pd.DataFrame, rate: Rate, by: str | None, whole: str | None, rng: Any
) -> np.ndarray:
    """Which rows are affected, shape (n,); members of a group together, by their first row."""
    p = probabilities_of_rows(name, frame, rate, by)
    if whole is None:
        return rng.random(len(frame)) < p
    faults = Faults(name)
    check_columns(faults, frame, [whole], "whole")
    faults.raise_if_any()
    group = pd.factorize(frame[whole], use_na_sentinel=False)[0]
    first = np.unique(group, return_index=True)[1]
    return (rng.random(len(first)) < p[first])[group]


def frame_to_change(name: str, survey: Survey, columns: Sequence[str]) -> pd.DataFrame:
    """Return a copy of the frame whose `columns` may be replaced: they exist and have no role."""
    faults = Faults(name)
    check_columns(faults, survey.frame, columns, "columns")
    role_columns = [column for column in columns if column in survey.roles.named().values()]
    for column in role_columns:
        faults.add(column, "has a role in the survey", remedy="Leave it as it is.")
    faults.raise_if_any()
    return survey.frame.copy(deep=False)
