"""What is asked of the five intruders, checked once, every fault reported together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.blocks import iter_frames
from synthpop.microdata.checks import (
    as_frame,
    check_choice,
    check_columns,
    check_numeric,
    check_weights,
)
from synthpop.microdata.errors import Faults

ALL_SCENARIOS = (1, 2, 3, 4, 5)
NEED_INTERVALS = (1, 3)


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A checked request; `population` yields frames once.

    Attributes
    ----------
    scenarios, skipped : tuple of int
        Scenarios of the table, and those of them that lack intervals.
    weights : float64, shape (n,), or None
    holdout : DataFrame or None
        Real persons who are not in the sample.
    """

    sample: pd.DataFrame
    holdout: pd.DataFrame | None
    population: Iterator[pd.DataFrame]
    keys: tuple[str, ...]
    target: str
    accuracy: tuple[float, ...]
    intervals: tuple[str, str] | None
    scenarios: tuple[int, ...]
    skipped: tuple[int, ...]
    weights: np.ndarray | None
    missing: str
    open_interval: str

    @property
    def computed(self) -> tuple[int, ...]:
        """The scenarios that there is enough to compute."""
        return tuple(item for item in self.scenarios if item not in self.skipped)


def read_request(
    sample: Any,
    population: Any,
    keys: Sequence[str] | str,
    target: str,
    *,
    accuracy: Sequence[float] | float,
    intervals: tuple[str, str] | None,
    scenarios: Sequence[int],
    weights: str | np.ndarray | None,
    missing: str,
    open_interval: str,
    holdout: Any,
) -> Request:
    """Check the arguments of `intruder_scenarios` and the first block of the population."""
    faults = Faults("intruder_scenarios")
    survey = as_frame(sample, "sample")
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    bounds = None if intervals is None else _pair(faults, intervals)
    frames = iter_frames(population, columns=[*names, target, *(bounds or ())])
    first = next(frames)
    accuracies = _accuracies(faults, accuracy)
    asked = tuple(scenarios) if isinstance(scenarios, Iterable) else (scenarios,)
    skipped = _skipped(faults, asked, bounds)
    _check_keys(faults, names, target)
    check_choice(faults, "missing", missing, ["category", "unmatched"])
    check_choice(faults, "open_interval", open_interval, ["value", "zero"])
    others = None if holdout is None else as_frame(holdout, "holdout")
    _check_persons(faults, survey, names, target, "sample")
    if others is not None:
        _check_persons(faults, others, names, target, "hold-out")
    check_block(faults, first, names, target, bounds)
    values = _weights(faults, survey, weights)
    faults.raise_if_any()
    return Request(
        survey, others, chain([first], frames), names, target, accuracies, bounds, asked, skipped,
        values, missing, open_interval,
    )  # fmt: skip


def check_block(
    faults: Faults,
    block: pd.DataFrame,
    keys: tuple[str, ...],
    target: str,
    intervals: tuple[str, str] | None,
) -> None:
    """Note columns that a block of the population lacks or that are not numbers."""
    check_columns(faults, block, keys, "key of the population")
    check_numeric(faults, block, [target], "target of the population")
    check_numeric(faults, block, list(intervals or ()), "bound of the intervals")


def _check_persons(
    faults: Faults, frame: pd.DataFrame, keys: tuple[str, ...], target: str, role: str
) -> None:
    check_columns(faults, frame, keys, f"key of the {role}")
    if check_numeric(faults, frame, [target], f"target of the {role}"):
        infinite = np.isinf(frame[target].to_numpy(dtype=np.float64, na_value=np.nan))
        if infinite.any():
            what = f"value of the {role} is infinite"
            faults.add(target, what, rows=np.flatnonzero(infinite))
    if len(frame) == 0:
        faults.add(role, "has no records")


def _check_keys(faults: Faults, keys: tuple[str, ...], target: str) -> None:
    if not keys:
        faults.add("keys", "no key is given", remedy="Name the columns that the intruder knows.")
    for key in dict.fromkeys(keys):
        if keys.count(key) > 1:
            faults.add("keys", f"{key!r} is given {keys.count(key)} times")
    if target in keys:
        faults.add("target", f"{target!r} is also a key", remedy="The intruder looks for it.")


def _accuracies(faults: Faults, accuracy: Sequence[float] | float) -> tuple[float, ...]:
    given = tuple(accuracy) if isinstance(accuracy, Iterable) else (accuracy,)
    if not given:
        faults.add("accuracy", "no accuracy is given")
    for p in given:
        if isinstance(p, bool) or not isinstance(p, Real) or not 0 < p < 1:
            remedy = "0.05 means within five per cent of the true value."
            faults.add("accuracy", f"{p!r} is not a number between 0 and 1", remedy=remedy)
    if len(set(given)) < len(given):
        faults.add("accuracy", "a value is given twice")
    return given if faults else tuple(float(p) for p in given)


def _pair(faults: Faults, intervals: object) -> tuple[str, str] | None:
    if isinstance(intervals, Sequence) and not isinstance(intervals, str) and len(intervals) == 2:
        return intervals[0], intervals[1]
    remedy = "Give the names of two population columns: (lower, upper)."
    faults.add("intervals", f"{intervals!r} is not a pair", remedy=remedy)
    return None


def _skipped(
    faults: Faults, scenarios: tuple[int, ...], intervals: tuple[str, str] | None
) -> tuple[int, ...]:
    if not scenarios:
        faults.add("scenarios", "no scenario is given", remedy="There are: 1, 2, 3, 4, 5.")
    for item in dict.fromkeys(scenarios):
        check_choice(faults, "scenarios", item, ALL_SCENARIOS)
        if scenarios.count(item) > 1:
            faults.add("scenarios", f"{item!r} is given twice")
    lacking = tuple(item for item in scenarios if item in NEED_INTERVALS and intervals is None)
    if lacking and scenarios != ALL_SCENARIOS:
        faults.add(
            "intervals",
            f"scenarios {' and '.join(map(str, lacking))} need intervals, none are given",
            remedy="Name the population columns with the bounds each value was drawn from.",
        )
    return lacking


def _weights(
    faults: Faults, survey: pd.DataFrame, weights: str | np.ndarray | None
) -> np.ndarray | None:
    if weights is None:
        return None
    if isinstance(weights, str):
        if not check_columns(faults, survey, [weights], "weights"):
            return None
        return check_weights(faults, survey[weights], weights)
    values = pd.Series(np.asarray(weights))
    if len(values) != len(survey):
        faults.add("weights", f"{len(values)} values for {len(survey)} records of the sample")
        return None
    return check_weights(faults, values, "weights")
