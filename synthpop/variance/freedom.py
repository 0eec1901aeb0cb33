"""Degrees of freedom of a variance that a sample estimates, for statistics of any form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.design_variance import SampledUnits
from synthpop.variance.bootstrap_plan import numbers_of_indicator

GROUPS = 100


def sample_degrees_of_freedom(
    function: Callable[[pd.DataFrame, np.ndarray], Any], survey: Survey, groups: int = GROUPS
) -> pd.Series:
    """Return the degrees of freedom that a survey leaves for the variance of each estimate.

    function: function (data, weights) -> number, Indicator, mapping or Series
    groups: of the jackknife
    Infinite where an estimate does not change, or has no value without one of the groups.

    Groups of sampled units are left out in turn (delete-a-group jackknife, Kott 2001, Journal of
    Official Statistics 17, 521-526), which changes the estimate by u_1, ..., u_g. Their squares
    add up to the variance V, whose own variance is near sum u^4 - V^2/g. Satterthwaite (1946,
    doi:10.2307/3002019): the degrees of freedom are 2 V^2 over that. They are g for normal
    changes, and 2 where one group decides: a mean of a small domain that holds the largest income.

    Examples
    --------
    >>> frame = pd.DataFrame({"y": [1.0, 2, 3, 4, 5, 6, 7, 900], "w": 1.0})
    >>> mean = lambda data, w: np.average(data["y"], weights=w)
    >>> float(sample_degrees_of_freedom(mean, Survey(frame, weight="w"))["value"].round(1))
    3.1
    """
    start = pd.Series(numbers_of_indicator(function(survey.frame, survey.weights)))
    rows = []
    for factors in delete_a_group(survey.sampled_units, groups):
        is_in_sample = factors > 0
        part = survey.frame[is_in_sample]
        try:
            numbers = numbers_of_indicator(function(part, (survey.weights * factors)[is_in_sample]))
        except (InputError, ArithmeticError, ValueError):
            numbers = {}
        rows.append(numbers)
    changes = pd.DataFrame(rows).reindex(columns=start.index) - start
    return pd.Series({name: satterthwaite(changes[name].to_numpy(float)) for name in changes})


def satterthwaite(changes: np.ndarray) -> float:
    """Return the degrees of freedom of a sum of squares from its terms.

    Examples
    --------
    >>> changes = np.tile([1.0, -1.0], 50)
    >>> satterthwaite(changes), round(satterthwaite(np.append(changes, 50.0)), 1)
    (inf, 2.2)
    """
    changes = changes[np.isfinite(changes)]
    scale = np.abs(changes).max(initial=0.0)
    if scale == 0.0:
        return float("inf")
    squares = (changes[changes != 0.0] / scale) ** 2
    variance = squares.sum()
    spread = np.sum(squares**2) - variance**2 / len(squares)
    return float(2 * variance**2 / spread) if spread > 1e-12 else float("inf")


def delete_a_group(units: SampledUnits, groups: int) -> Iterator[np.ndarray]:
    """Yield the factors on the weights of the rows when a group of sampled units is left out.

    Units are assigned to the groups in turn, stratum by stratum; those that stay stand for those of
    their stratum that are left out. A stratum that would be empty keeps its weights.
    """
    order = np.argsort(units.stratum, kind="stable")
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.arange(len(order)) % groups
    sizes = np.bincount(units.stratum)
    for k in range(min(groups, len(order))):
        left_out = group == k
        remaining = sizes - np.bincount(units.stratum[left_out], minlength=len(sizes))
        empty = remaining == 0
        raised = np.where(empty, 1.0, sizes / np.maximum(remaining, 1))[units.stratum]
        per_unit = np.where(left_out & ~empty[units.stratum], 0.0, raised)
        yield per_unit if units.unit is None else per_unit[units.unit]


def joint_degrees_of_freedom(first: float, second: float) -> float:
    """Return the degrees of freedom of a variance estimated in two steps with these.

    The relative variances of the two steps, 2/first and 2/second, add up.

    Examples
    --------
    >>> joint_degrees_of_freedom(19, float("inf")), joint_degrees_of_freedom(20.0, 5.0)
    (19.0, 4.0)
    """
    return 1.0 / (1.0 / first + 1.0 / second)
