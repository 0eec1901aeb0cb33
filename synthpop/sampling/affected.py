"""Which rows of a survey are hit by non-response or contamination."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey

Rate = float | Mapping[Any, float] | Callable[[pd.DataFrame], Any]


def probabilities_of_rows(step: Any, frame: pd.DataFrame) -> np.ndarray:
    """Probability of each row, shape (n,), by the `rate` of a step and its column `by`."""
    faults = Faults(step.name)
    rate, by, n = step.rate, step.by, len(frame)
    if callable(rate):
        p: np.ndarray = np.asarray(rate(frame), dtype=np.float64)
        if p.shape != (n,):
            faults.add("rate", f"gave {p.shape} numbers for {plural(n, 'row')}")
    elif isinstance(rate, Mapping):
        if by is None:
            hint = "Name the column of the levels in rate."
            raise InputError.of(step.name, "by", "is not given", hint)
        check_columns(faults, frame, [by], "by")
        faults.raise_if_any()
        levels = list(pd.unique(frame[by].dropna()))
        for level in levels:
            if level not in rate:
                faults.add("rate", f"level {level!r} has none", hint=did_you_mean(level, rate))
        faults.raise_if_any()
        p = frame[by].map(dict(rate)).astype(np.float64).fillna(0.0).to_numpy()
    else:
        p = np.full(n, float(rate))
    if not bool(np.all((p >= 0) & (p <= 1))):
        faults.add("rate", "is not between 0 and 1", hint="Give shares, not percent.")
    faults.raise_if_any()
    return p


def affected_rows(step: Any, frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Which rows a step hits, shape (n,); members of a group `whole` together, by the first row."""
    p = probabilities_of_rows(step, frame)
    if step.whole is None:
        return rng.random(len(frame)) < p
    faults = Faults(step.name)
    check_columns(faults, frame, [step.whole], "whole")
    faults.raise_if_any()
    group = pd.factorize(frame[step.whole], use_na_sentinel=False)[0]
    first = np.unique(group, return_index=True)[1]
    return (rng.random(len(first)) < p[first])[group]


def frame_to_change(step: Any, survey: Survey) -> pd.DataFrame:
    """Return a copy of the frame whose columns a step may replace: they exist and have no role."""
    faults = Faults(step.name)
    check_columns(faults, survey.frame, step.columns, "columns")
    for column in step.columns:
        if column in survey.roles.named().values():
            faults.add(column, "has a role in the survey", hint="Leave it as it is.")
    faults.raise_if_any()
    return survey.frame.copy(deep=False)
