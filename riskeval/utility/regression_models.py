"""Designs and fits of the same regression in two files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import FilePair, check_both, check_numbers, ones
from riskeval.utility.families import FAMILIES, fit_family
from riskeval.utility.tables import coded_alike, common_levels
from synthpop.microdata.frame.codes import recode_to
from synthpop.microdata.frame.frames import numbers
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.design_variance import sampled_units
from synthpop.microdata.statistics.formula import Allowed, Formula, FormulaFactor, read_formula

ALLOWED = Allowed(responses=(1, 1), functions=("log", "C"))
INTERCEPT = "(Intercept)"
LOWEST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda values: np.zeros(len(values), dtype=np.bool_),
    "poisson": lambda values: values < 0,
    "gamma": lambda values: values <= 0,
}
"""Family -> which values its response cannot have."""
WANTED = {"poisson": "counts below 0", "gamma": "values of 0 or less"}
DEPENDENT = 1e-9
ROLES = ("original", "release")


@dataclass(frozen=True, slots=True, eq=False)
class FittedRegression:
    """A regression of one file."""

    # coefficients, errors: float64, shape (k,): NaN where a column depends on those before it or is
    # zero throughout
    coefficients: np.ndarray
    errors: np.ndarray
    rows: np.ndarray  # int array: records that entered
    # float64, shape (rows,): fitted values (of the logarithm where the response is one;
    # probabilities; linear predictors of an ordered response)
    values: np.ndarray
    r_squared: float


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Response and matrices of both files, with the same columns."""

    labels: tuple[str, ...]
    z: tuple[np.ndarray, np.ndarray]
    response: tuple[np.ndarray, np.ndarray]
    files: FilePair
    family: str

    def fit(
        self, file: int, strata: str | None = None, cluster: str | None = None
    ) -> FittedRegression:
        """Fit to one file (0: original, 1: release)."""
        frame, weights = self.files.frames[file], self.files.weights[file]
        z, y = self.z[file], self.response[file]
        rows = np.flatnonzero(~np.isnan(y) & ~np.isnan(z).any(axis=1))
        design = {
            name: None if column is None else frame[column].iloc[rows]
            for name, column in (("strata", strata), ("cluster", cluster))
        }
        return _fit(z[rows], y[rows], ones(len(frame), weights)[rows], rows, self.family, design)


def build_model(faults: Faults, files: FilePair, text: object, family: str) -> Model | None:
    """Parse, check and build; None where faults were noted."""
    formula = read_formula(faults, text, ALLOWED)
    check_choice(faults, "family", family, FAMILIES)
    if formula is None:
        return None
    response, factors = formula.responses[0], (*formula.responses, *formula.factors)
    names = tuple(dict.fromkeys(factor.column for factor in factors))
    if not check_both(faults, files, names, "formula"):
        return None
    logs = tuple(dict.fromkeys(factor.column for factor in factors if factor.function == "log"))
    numeric = files.numeric(names)
    if family == "ordered" and (files.wx is not None or files.wy is not None):
        faults.add("weights", "an ordered regression has none", hint="Leave them out.")
    measured = (response.column,) if family in ("linear", "poisson", "gamma") else ()
    needed = {*numeric, *logs, *measured}
    if check_numbers(faults, files, [n for n in names if n in needed], "formula"):
        for name in logs:
            for frame, role in zip(files.frames, ROLES, strict=True):
                rows = np.flatnonzero(numbers(frame, [name])[:, 0] <= 0)
                if len(rows):
                    faults.add(name, f"logarithm of values <= 0 in the {role}", rows=rows)
    if faults:
        return None
    values = _response(faults, files, response, family)
    if values is None:
        return None
    labels, x, y = _matrices(files, formula, intercept=family != "ordered")
    return Model(labels, (x, y), values, files, family)


def _response(
    faults: Faults, files: FilePair, factor: FormulaFactor, family: str
) -> tuple[np.ndarray, np.ndarray] | None:
    if family in LOWEST:
        values = _numeric(files.x, factor), _numeric(files.y, factor)
        for responses, role in zip(values, ROLES, strict=True):
            rows = np.flatnonzero(LOWEST[family](responses))
            if len(rows):
                faults.add(factor.label, f"{WANTED[family]} in the {role}", rows=rows)
        return values
    both, single = common_levels(files.x[factor.column], files.y[factor.column])
    levels = both + single
    if family == "ordered":
        levels = tuple(_in_order(files, factor.column, list(levels)))
    if len(levels) < 2 or (family == "logistic" and len(levels) > 2):
        needs = "two" if family == "logistic" else "two or more"
        faults.add(
            factor.column,
            f"{plural(len(levels), 'level')}; {'a' if family == 'logistic' else 'an'} {family} "
            f"response needs {needs}",
        )
        return None
    x, y = (recode_to(frame[factor.column], levels)[0] for frame in files.frames)
    return np.where(x < 0, np.nan, x.astype(float)), np.where(y < 0, np.nan, y.astype(float))


def _in_order(files: FilePair, name: str, levels: list[Any]) -> list[Any]:
    """Levels of an ordered response: as its categories are ordered, or sorted."""
    dtype = files.x[name].dtype
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        rank = {str(level): j for j, level in enumerate(dtype.categories)}
        return sorted(levels, key=lambda level: rank.get(str(level), len(rank)))
    numeric = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce")
    keys = list(numeric) if numeric.notna().all() else [str(level) for level in levels]
    return [levels[j] for j in sorted(range(len(levels)), key=lambda j: keys[j])]


def _numeric(frame: pd.DataFrame, factor: FormulaFactor) -> np.ndarray:
    values = numbers(frame, [factor.column])[:, 0]
    return np.log(values) if factor.function == "log" else values


def _matrices(
    files: FilePair, formula: Formula, intercept: bool
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Intercept, then the columns of each term; the first common level is the reference."""
    of_factor = {factor: _columns(files, factor) for factor in formula.factors}
    labels = [INTERCEPT] if intercept else []
    columns = [[np.ones((len(frame), int(intercept)))] for frame in files.frames]
    for term in formula.terms:
        names, matrices = of_factor[term[0]]
        for factor in term[1:]:
            names_of_factor, others = of_factor[factor]
            names = tuple(f"{a}:{b}" for a in names for b in names_of_factor)
            matrices = tuple(
                (one[:, :, None] * two[:, None, :]).reshape(len(one), -1)
                for one, two in zip(matrices, others, strict=True)
            )
        labels += names
        for of_file, matrix in zip(columns, matrices, strict=True):
            of_file.append(matrix)
    return tuple(labels), np.hstack(columns[0]), np.hstack(columns[1])


def _columns(
    files: FilePair, factor: FormulaFactor
) -> tuple[tuple[str, ...], tuple[np.ndarray, np.ndarray]]:
    name = factor.column
    as_numbers = bool(files.numeric([name])) and factor.function != "C"
    if factor.function == "log" or as_numbers:
        x, y = _numeric(files.x, factor), _numeric(files.y, factor)
        return (factor.label,), (x[:, None], y[:, None])
    levels, *coded = coded_alike(files, name)
    columns = []
    for codes in coded:
        dummies = (codes[:, None] == np.arange(1, max(len(levels), 1))).astype(np.float64)
        dummies[codes < 0] = np.nan
        columns.append(dummies)
    return tuple(f"{name}={level}" for level in levels[1:]), (columns[0], columns[1])


def _fit(
    z: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    rows: np.ndarray,
    family: str,
    design: dict[str, Any],
) -> FittedRegression:
    k = z.shape[1]
    beta, errors = np.full(k, np.nan), np.full(k, np.nan)
    if not len(rows):
        return FittedRegression(beta, errors, rows, np.zeros(0), np.nan)
    constant = np.ones((len(z), int(family == "ordered")))  # the thresholds
    full = np.hstack([constant, z])
    regular = independent_columns((full * w[:, None]).T @ full) - constant.shape[1]
    regular = regular[regular >= 0]
    x = z[:, regular]
    estimate = fit_family(x, y, w, family)
    beta[regular] = estimate.coefficients
    if len(rows) > len(regular):
        units = sampled_units(len(rows), **design)
        variances = [units.variance(column, None) for column in estimate.influence.T]
        factor = (len(rows) - 1) / (len(rows) - len(regular))
        errors[regular] = np.sqrt(np.array(variances) * factor)
    return FittedRegression(beta, errors, rows, estimate.values, estimate.r_squared)


def independent_columns(cross: np.ndarray) -> np.ndarray:
    """Positions of columns that do not depend on those before them, from Z'WZ.

    Examples
    --------
    >>> z = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    >>> independent_columns(z.T @ z).tolist()
    [0, 1]
    """
    regular: list[int] = []
    scale = np.sqrt(np.maximum(np.diag(cross), np.finfo(float).tiny))
    unit = cross / np.outer(scale, scale)
    for j in range(len(cross)):
        if cross[j, j] <= 0:
            continue
        inner = unit[np.ix_(regular, regular)]
        unexplained = 1.0
        if regular:
            unexplained -= unit[j, regular] @ np.linalg.solve(inner, unit[regular, j])
        if unexplained > DEPENDENT:
            regular.append(j)
    return np.array(regular, dtype=np.int64)
