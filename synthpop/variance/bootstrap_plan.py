"""What a bootstrap evaluates: an indicator, its data, and the calibration of each replicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_columns, check_weights
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.indicators.results import OVERALL, Indicator

Estimator = Callable[..., Any]
Calibrator = Callable[[Any, np.ndarray], Any]


def first_line(problem: BaseException) -> str:
    """Return what an error says, on one line, with its kind."""
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}"


@dataclass(frozen=True, slots=True)
class BootstrapPlan:
    """What is estimated from each replicate."""

    indicator: Estimator
    data: Any
    weights: np.ndarray
    by: pd.Series | None
    calibrator: Callable[[Any, np.ndarray, pd.Series | None], Any] | None
    household: pd.Series | None
    rows: np.ndarray

    def evaluate(self, factors: np.ndarray) -> dict[Any, float]:
        """Estimate from the rows with their weights times `factors`."""
        rows = self.rows[factors[self.rows] > 0]
        part = self.data.iloc[rows] if hasattr(self.data, "iloc") else self.data[rows]
        weights = self.weights[rows] * factors[rows]
        if self.calibrator is not None:
            members = None if self.household is None else self.household.iloc[rows]
            weights = np.asarray(self.calibrator(part, weights, members), dtype=np.float64)
        if self.by is None:
            return numbers_of_indicator(self.indicator(part, weights))
        return numbers_of_indicator(self.indicator(part, weights, by=self.by.iloc[rows]))


def read_plan(
    faults: Faults,
    indicator: Estimator,
    data: Any,
    weights: Any,
    by: Any,
    household: Any,
    calibrate: Calibrator | Sequence[Any] | None,
) -> BootstrapPlan:
    """Read what `bootstrap` is to estimate; faulty weights are noted, other faults raised."""
    column = _column(faults, data, weights, "weights")
    domains = None if by is None else _column(faults, data, by, "by")
    members = None if household is None else _column(faults, data, household, "household")
    faults.raise_if_any()
    w = check_weights(faults, column, "weights")
    return BootstrapPlan(
        indicator,
        data,
        np.ones(len(data)) if w is None else w,
        domains,
        _calibrator(calibrate),
        members,
        _presorted(data, calibrate),
    )


def numbers_of_indicator(result: Any) -> dict[Any, float]:
    """Return the numbers of what an indicator gives, by label."""
    if isinstance(result, Indicator):
        if not result.domains:
            return {"value": result.value}
        return dict(zip([OVERALL, *result.domains], result.values.tolist(), strict=True))
    if isinstance(result, pd.Series):
        result = result.to_dict()
    if isinstance(result, Mapping):
        return {label: float(value) for label, value in result.items()}
    return {"value": float(result)}


def _column(faults: Faults, data: Any, value: Any, name: str) -> pd.Series:
    n = len(data)
    if isinstance(value, str) and isinstance(data, pd.DataFrame):
        if check_columns(faults, data, [value], name):
            return data[value].reset_index(drop=True)
        return pd.Series(np.ones(n))
    column = pd.Series(value).reset_index(drop=True)
    if len(column) != n:
        what = f"{plural(len(column), 'entry', 'entries')} for {plural(n, 'row')}"
        faults.add(name, what, hint="Give one value per row.")
    return column


def design_columns(faults: Faults, data: Any, value: Any, name: str) -> Any:
    """Return one column, or a frame of one column per stage; numbers as they are."""
    if isinstance(value, pd.DataFrame):
        return value.reset_index(drop=True)
    several = isinstance(value, (list, tuple)) and isinstance(data, pd.DataFrame)
    if several and all(isinstance(one, str) and one in data.columns for one in value):
        return data[list(value)].reset_index(drop=True)
    if np.ndim(value) == 0 and not isinstance(value, str):
        return value
    return _column(faults, data, value, name)


def _presorted(data: Any, calibrate: Any) -> np.ndarray:
    """Row order in which indicators of one column need not sort again."""
    n = len(data)
    if isinstance(data, pd.DataFrame) or calibrate is not None or np.ndim(data) != 1:
        return np.arange(n)
    try:
        return np.argsort(np.asarray(data, dtype=np.float64), kind="stable")
    except (TypeError, ValueError):
        return np.arange(n)


def _calibrator(
    calibrate: Calibrator | Sequence[Any] | None,
) -> Callable[[Any, np.ndarray, pd.Series | None], Any] | None:
    if calibrate is None:
        return None
    if callable(calibrate):
        function = calibrate
        return lambda part, weights, members: function(part, weights)
    from synthpop.calibration import calibrate as fit_weights

    margins = list(calibrate)

    def to_margins(part: pd.DataFrame, weights: np.ndarray, members: pd.Series | None) -> Any:
        weight, household = "bootstrap weight", None
        frame = part.assign(**{weight: weights})
        if members is not None:
            household = "bootstrap household"
            frame[household] = members.to_numpy()
        survey = Survey(frame, weight=weight, household=household)
        return fit_weights(survey, margins, household_equal=household is not None).weights

    return to_margins
