"""`calibrate`: survey weights that meet known totals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.controls import Controls, controls_of
from synthpop.calibration.distances import Distance, Exponential, Linear, Logit
from synthpop.calibration.feasibility import check_bounds, check_linked, check_sums
from synthpop.calibration.margins import Margin, margin_list
from synthpop.calibration.newton import solve_dual
from synthpop.calibration.problem import Problem, Solution, group_units
from synthpop.calibration.raking import solve_raking, solve_updating
from synthpop.calibration.result import Calibration
from synthpop.calibration.weights import design_effect
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults, InputError
from synthpop.microdata.messages.parameters import NONE, POSITIVE, OneOf, Whole, check
from synthpop.microdata.roles.survey import Survey, as_survey

METHODS = ("raking", "ipu", "linear", "logit", "exponential")
DISTANCES: dict[str, Callable[[np.ndarray, np.ndarray], Distance]] = {
    "linear": Linear,
    "logit": Logit,
    "exponential": Exponential,
}
LOGIT_BOUNDS = (0.0, 10.0)
DISTANCE_LEVELS = ("person", "household")
SHOWN_PROOF = 8
PARAMETERS = {
    "method": OneOf(*METHODS),
    "distance_over": OneOf(*DISTANCE_LEVELS) | NONE,
    "tolerance": POSITIVE,
    "max_iterations": Whole(1),
}

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """What `calibrate` is asked for beside the totals."""

    method: str
    bounds: Bounds | None
    weight_bounds: Bounds | None
    tolerance: float
    max_iterations: int
    household_equal: bool
    distance_over: str | None


@same_library
def calibrate(
    survey: Survey,
    margins: Margin | list[Margin],
    *,
    method: str = "raking",
    bounds: Bounds | None = None,
    weight_bounds: Bounds | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    household_equal: bool = True,
    distance_over: str | None = None,
) -> Calibration:
    """Change weights as little as possible so that known totals are met.

    Parameters
    ----------
    survey : Survey
        Its weights are the start.
    margins : Margin or list of Margin
        Known totals of persons, households, or sums of variables; any number, together.
    method : {"raking", "ipu", "linear", "logit", "exponential"}
        "raking": iterative proportional fitting, finished by Newton steps where it is slow.
        "exponential": the same weights by Newton steps alone. "linear": generalised regression;
        without bounds weights can become negative. "logit": ratios move smoothly between the
        bounds (default 0 and 10). "ipu": iterative proportional updating (Ye et al. 2009), which
        multiplies a household by the same factor however many members a control has in it.
    bounds : (low, high), optional
        Limits of the ratio g of new to start weight.
    weight_bounds : (low, high), optional
        Limits of the new weight itself; with "logit" the start weights must lie inside.
    tolerance : float
        Largest relative error of a control.
    max_iterations : int
        Sweeps, rounds or Newton steps.
    household_equal : bool
        One weight for all members of a household. Where start weights differ between members,
        their mean is the start weight of the household, and bounds refer to it.
    distance_over : {"person", "household"}, optional
        What is counted in the distance between old and new weights: with "person" a household
        counts as often as it has members (integrated weighting, Lemaitre and Dufour 1987); with
        "household" once. Default: "person", unless all margins are of households.

    Returns
    -------
    Calibration
        ``converged`` says whether the totals are met; where they are not, a warning has the
        numbers.

    Raises
    ------
    InputError
        Before anything is computed: margins that do not match the survey, cells with a total and
        no sample, totals that do not add up between margins or contradict each other, controls
        that the bounds cannot reach. Each is named with its amounts.

    Warns
    -----
    ConvergenceWarning
        When controls are not met within `tolerance`.

    Notes
    -----
    Deville and Sarndal (1992), doi 10.1080/01621459.1992.10475217; Deville, Sarndal and Sautory
    (1993), doi 10.1080/01621459.1993.10476369; Ye, Konduri, Pendyala, Sana and Waddell (2009).
    A missing category belongs to no cell, unless the table has a row for it; a missing value of a
    summed variable adds nothing. A household control counts the household once; with person
    weights that differ inside it, by the mean of its members' weights. Nothing is random.

    Examples
    --------
    >>> survey = Survey(
    ...     pd.DataFrame({"sex": ["f", "f", "m", "m"], "old": ["y", "n", "y", "n"], "w": 1.0}),
    ...     weight="w",
    ... )
    >>> sex = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [60.0, 40.0]}))
    >>> old = Margin(pd.DataFrame({"old": ["n", "y"], "total": [70.0, 30.0]}))
    >>> calibrate(survey, [sex, old]).weights.round(6).tolist()
    [18.0, 42.0, 12.0, 28.0]
    """
    survey = checked_survey(survey, "calibrate")
    items = margin_list(margins)
    limits = LOGIT_BOUNDS if method == "logit" and bounds is None else bounds
    options = CalibrationOptions(
        method, limits, weight_bounds, tolerance, max_iterations, household_equal, distance_over
    )
    _check_options(items, options)
    controls, problem, grouped, group = _prepare(survey, items, options)
    solution = _solve(grouped, options)
    g_unit = solution.g[group]
    unit = survey.household_index if household_equal else np.arange(survey.n_persons)
    new = problem.start * g_unit
    if weight_bounds is not None and solution.converged:  # last digit of weight / start * start
        new = np.clip(new, *weight_bounds)
    weights = new[unit]
    result = Calibration(
        base=survey,
        weights=weights,
        g=weights / survey.weights,
        margins=_table(controls, problem, g_unit),
        converged=solution.converged,
        iterations=solution.iterations,
        method=method,
        bounds=limits,
        weight_bounds=weight_bounds,
        tolerance=tolerance,
        gap=solution.gap,
        proof=tuple(controls.label(int(k)) for k in solution.proof[:SHOWN_PROOF]),
        start_design_effect=design_effect(survey.weights),
    )
    if not result.converged:
        warnings.warn(ConvergenceWarning(result.verdict()), stacklevel=2)
    return result


def checked_survey(data: object, subject: str) -> Survey:
    """Return a survey; raise an InputError where neither it nor a file with its roles is given."""
    survey = as_survey(data)
    if not isinstance(survey, Survey):
        hint = "Name the roles of the columns: Survey(data, weight=..., household=...)."
        raise InputError.of(subject, "survey", f"is a {type(survey).__name__}", hint)
    return survey


def _check_options(margins: list[Margin], options: CalibrationOptions) -> None:
    faults = Faults("calibrate")
    check(faults, PARAMETERS, options)
    method, bounds = options.method, options.bounds
    for name, pair in (("bounds", bounds), ("weight_bounds", options.weight_bounds)):
        if pair is not None and not _is_pair(pair):
            faults.add(name, f"{pair!r} is not a pair (low, high) with low < high")
        elif pair is not None and method != "linear" and pair[0] < 0:
            faults.add(name, f"lower limit {pair[0]} is negative", hint="Give 0 or more.")
    if method == "logit" and bounds and _is_pair(bounds) and not bounds[0] < 1 < bounds[1]:
        faults.add("bounds", f"{bounds} do not hold 1", hint="logit needs low < 1 < high.")
    if method == "ipu" and any(margin.importance is not None for margin in margins):
        hint = "Use 'raking', 'linear' or 'logit', or leave importance out."
        faults.add("importance", "cannot be used with method 'ipu'", hint=hint)
    if method == "ipu" and options.distance_over is not None:
        faults.add("distance_over", "method 'ipu' has no distance", hint="Leave it out.")
    faults.raise_if_any()


def _is_pair(value: Any) -> bool:
    numbers = np.asarray(value, dtype=object).reshape(-1)
    is_pair = len(numbers) == 2 and all(isinstance(n, (int, float, np.number)) for n in numbers)
    return is_pair and bool(numbers[0] < numbers[1])


def _prepare(
    survey: Survey, margins: list[Margin], options: CalibrationOptions
) -> tuple[Controls, Problem, Problem, np.ndarray]:
    """Match margins, set the problem up and report everything that cannot work.

    Returns the controls, the problem over units, that over groups of equal units, and the groups.
    """
    controls = controls_of(survey, margins, "calibrate")
    if len(controls.targets) == 0:
        what = "there is nothing to meet: no cell with a total"
        raise InputError.of("calibrate", "margins", what)
    method, bounds, tolerance = options.method, options.bounds, options.tolerance
    level = options.distance_over or ("household" if all(controls.household_level) else "person")
    problem = set_up(
        controls,
        survey.weights,
        survey.household_index,
        household_equal=options.household_equal,
        bounds=bounds if bounds is not None else (-np.inf if method == "linear" else 0.0, np.inf),
        weight_bounds=options.weight_bounds,
        by_household=level == "household",
    )
    faults = Faults("calibrate")
    if method == "logit":
        outside = ~((problem.low < 1) & (problem.high > 1))
        if outside.any():
            what = f"{int(outside.sum())} start weights lie outside"
            faults.add("weight_bounds", what, hint="Widen them, or use method 'raking'.")
    if method == "ipu":
        negative = np.asarray(problem.matrix.minimum(0).sum(axis=0)).reshape(-1) < 0
        for k in np.flatnonzero(negative | (problem.targets <= 0)):
            hint = "Method 'ipu' needs positive totals of values that are not negative."
            faults.add(controls.label(int(k)), "is not a positive sum", hint=hint)
    check_sums(controls, tolerance, faults)
    grouped, group = group_units(problem)
    if not faults:
        check_linked(grouped, controls, tolerance, faults)
    if bounds is not None or options.weight_bounds is not None:
        check_bounds(grouped, controls, tolerance, faults)
    faults.raise_if_any()
    return controls, problem, grouped, group


def set_up(
    controls: Controls,
    weights: np.ndarray,
    household_index: np.ndarray,
    *,
    household_equal: bool,
    bounds: Bounds,
    weight_bounds: Bounds | None,
    by_household: bool,
) -> Problem:
    """Return the calibration problem of matched controls over persons or whole households.

    by_household: every household counts once in the distance, whatever its size
    """
    sizes = np.bincount(household_index).astype(np.float64)
    matrix = controls.matrix(household_index, household_equal=household_equal)
    if household_equal:
        start = np.bincount(household_index, weights) / sizes
        first = np.empty(len(sizes))
        first[household_index[::-1]] = weights[::-1]
        equal = np.bincount(household_index, weights != first[household_index]) == 0
        start[equal] = first[equal]  # a mean of equal numbers is that number, to the last bit
        size = np.ones(len(sizes)) if by_household else sizes
    else:
        start = np.asarray(weights, dtype=np.float64)
        size = 1.0 / sizes[household_index] if by_household else np.ones(len(start))
    low, high = np.full(len(start), float(bounds[0])), np.full(len(start), float(bounds[1]))
    if weight_bounds is not None:
        low = np.maximum(low, weight_bounds[0] / start)
        high = np.minimum(high, weight_bounds[1] / start)
        low = np.minimum(low, high)
    return Problem(
        matrix, start, size, controls.targets, controls.margin, controls.importance, low, high
    )


def _solve(problem: Problem, options: CalibrationOptions) -> Solution:
    ends: dict[str, Any] = {
        "tolerance": options.tolerance, "max_iterations": options.max_iterations,
    }  # fmt: skip
    if options.method == "raking":
        return solve_raking(problem, **ends)
    if options.method == "ipu":
        return solve_updating(problem, **ends)
    return solve_dual(problem, DISTANCES[options.method](problem.low, problem.high), **ends)


def _table(controls: Controls, problem: Problem, g: np.ndarray) -> pd.DataFrame:
    achieved = problem.matrix.T @ (problem.start * g)
    target = controls.targets
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(target != 0, achieved / target - 1.0, achieved / problem.scale())
    importance = np.where(problem.hard, np.nan, controls.importance)
    return controls.table().assign(
        target=target, achieved=achieved, relative_error=error, importance=importance
    )
