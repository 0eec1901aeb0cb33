"""Poverty: the rate, the line and the gap, with lines of all persons or of each domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.statistics.indicators import formulas
from synthpop.microdata.statistics.indicators.formulas import Line
from synthpop.microdata.statistics.indicators.measures import (
    Sorted,
    local_indicator,
    local_influence,
    make_indicator,
    prepare,
)
from synthpop.microdata.statistics.indicators.results import Indicator

LINES = ("overall", "domain")
Formula = Callable[[np.ndarray, np.ndarray, float], float]
Influence = Callable[[np.ndarray, np.ndarray, np.ndarray, Line], np.ndarray]


def _line(
    faults: Faults,
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    by: Any,
    p: float,
    threshold: float | None,
    line: str = "overall",
) -> tuple[Sorted, float, Callable[[], Line]]:
    """Rows, the poverty line, and a function that returns the line with its influence."""
    if not (isinstance(p, (int, float)) and p > 0):
        faults.add("p", f"is {p!r}", hint="Give a share of the median such as 0.6.")
    if threshold is not None and not threshold > 0:
        faults.add("threshold", f"is {threshold}", hint="It must be positive.")
    check_choice(faults, "line", line, LINES)
    if line == "domain" and (by is None or threshold is not None):
        what = "'domain' needs domains and no given threshold"
        faults.add("line", what, hint="Give by, and leave threshold out.")
    data = prepare(faults, values, weights, by)
    if threshold is not None:
        fixed = float(threshold)
        return data, fixed, lambda: Line(fixed)
    level = p * formulas.quantile_of(data.x, data.w, 0.5)
    return data, level, lambda: _line_of(data.x, data.w, p)


def _line_of(x: np.ndarray, w: np.ndarray, p: float) -> Line:
    median = formulas.quantile_of(x, w, 0.5)
    return Line(p * median, p * formulas.quantile_influence(x, w, 0.5))


def _below(
    data: Sorted,
    formula: Formula,
    influence: Influence,
    level: float,
    common: Callable[[], Line],
    p: float,
    line: str,
) -> tuple[Callable[[Any], float], Callable[[np.ndarray], np.ndarray]]:
    """How to evaluate and to linearise a measure of those below the line."""
    if line == "overall":
        return (
            lambda at: formula(data.x[at], data.w[at], level),
            lambda inside: influence(data.x, data.w, inside, common()),
        )

    def value(at: Any) -> float:
        x, w = data.x[at], data.w[at]
        return formula(x, w, p * formulas.quantile_of(x, w, 0.5))

    def of_domain(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return influence(x, w, np.ones(len(x), dtype=bool), _line_of(x, w, p))

    return value, local_influence(data, of_domain)


def at_risk_of_poverty(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    by: Any = None,
    p: float = 0.6,
    threshold: float | None = None,
    line: str = "overall",
) -> Indicator:
    """At-risk-of-poverty rate: percent of persons below a share of the median.

    Parameters
    ----------
    values : array, shape (n,)
        Equivalised income of each person. NaN is left out.
    weights : array, shape (n,), optional
    by : array, shape (n,), optional
        Domains.
    p : float
        The line as a share of the median.
    threshold : float, optional
        A given line in units of the values, instead of a share of the median.
    line : {"overall", "domain"}
        The line of all rows, or for each domain a share of its own median.

    Returns
    -------
    Indicator
        With the line in `threshold`.

    Notes
    -----
    100 sum(w 1[x < line]) / sum(w) (Eurostat ILC definition, line at 60 % of the median).

    Examples
    --------
    >>> result = at_risk_of_poverty([5.0, 10.0, 20.0, 30.0, 40.0])
    >>> result.value, result.threshold
    (40.0, 12.0)
    """
    faults = Faults("at-risk-of-poverty rate")
    data, level, common = _line(faults, values, weights, by, p, threshold, line)
    rate, influence = formulas.poverty_rate, formulas.poverty_rate_influence
    value, linearised = _below(data, rate, influence, level, common, p, line)
    return make_indicator(
        "at_risk_of_poverty",
        data,
        value,
        linearised,
        "{value} % of the persons are below the poverty line of {threshold:.6g}, "
        + _origin(p, threshold),
        threshold=level,
    )


def _origin(p: float, threshold: float | None) -> str:
    return "which was given." if threshold is not None else f"{100 * p:g} % of the median."


def at_risk_of_poverty_threshold(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, by: Any = None, p: float = 0.6
) -> Indicator:
    """Poverty line: a share of the median.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    by : array, shape (n,), optional
        Domains, each with the line from its own median.
    p : float

    Returns
    -------
    Indicator
        In units of the values.

    Examples
    --------
    >>> at_risk_of_poverty_threshold([10.0, 20.0, 30.0]).value
    12.0
    """
    data, _, _ = _line(Faults("at-risk-of-poverty threshold"), values, weights, by, p, None)
    return local_indicator(
        "at_risk_of_poverty_threshold",
        data,
        lambda x, w: p * formulas.quantile_of(x, w, 0.5),
        lambda x, w: p * formulas.quantile_influence(x, w, 0.5),
        f"The poverty line is {{value}}, {100 * p:g} % of the median.",
    )


def poverty_gap(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    by: Any = None,
    p: float = 0.6,
    threshold: float | None = None,
    line: str = "overall",
) -> Indicator:
    """Relative median at-risk-of-poverty gap in percent.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    by : array, shape (n,), optional
        Domains.
    p : float
    threshold : float, optional
        As in `at_risk_of_poverty`.
    line : {"overall", "domain"}
        The line of all rows, or for each domain a share of its own median.

    Returns
    -------
    Indicator
        NaN where nobody is below the line.

    Notes
    -----
    100 (line - median of those below) / line (Eurostat ILC definition).

    Examples
    --------
    >>> poverty_gap([5.0, 10.0, 20.0, 30.0, 40.0]).value
    16.666666666666664
    """
    faults = Faults("poverty gap")
    data, level, common = _line(faults, values, weights, by, p, threshold, line)
    gap, influence = formulas.poverty_gap, formulas.poverty_gap_influence
    value, linearised = _below(data, gap, influence, level, common, p, line)
    return make_indicator(
        "poverty_gap",
        data,
        value,
        linearised,
        "The median of those below the poverty line of {threshold:.6g} lies {value} % below it; "
        "the line is " + _origin(p, threshold),
        threshold=level,
    )
