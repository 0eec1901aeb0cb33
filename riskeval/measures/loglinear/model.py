"""Risk of sample uniques under log-linear models of the key table (Skinner and Shlomo).

How many persons who are unique in the sample are unique in the population too, and how many would
an intruder match correctly? Population counts are taken as Poisson with means from a log-linear
model, which lends strength to a cell from the cells that share levels with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from warnings import warn

import numpy as np
import pandas as pd

from riskeval.measures.individual import household_risks, with_lone_persons
from riskeval.measures.loglinear import fit as fitting
from riskeval.measures.loglinear.fit import Fit
from riskeval.measures.loglinear.mixing import (
    DISTRIBUTIONS,
    estimated_dispersion,
    match_risks,
    unique_probabilities,
)
from riskeval.measures.loglinear.newton import fit_newton
from riskeval.measures.loglinear.result import LogLinearRisk
from riskeval.measures.loglinear.table import (
    CellCounts,
    cell_levels,
    check_size,
    program_measures,
    read_cells,
)
from riskeval.measures.loglinear.terms import Term, format_formula, read_terms
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults
from synthpop.microdata.messages.parameters import NONE, POSITIVE, OneOf, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import as_file

METHODS = ("poisson", "clogg-eliason", "pseudo-ml", "weighted", "ipf")
PARAMETERS = {
    "method": OneOf(*METHODS), "inclusion": OneOf("global", "cell"), "fit": OneOf("book", "exact"),
    "distribution": OneOf(*DISTRIBUTIONS), "dispersion": POSITIVE | NONE,
}  # fmt: skip
BOOK_CONSTANT = 0.1


def unique_risks(mean: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(F = 1 | f = 1) and E(1 / F | f = 1) by population mean, equations 3.21 to 3.23."""
    v = (1 - pi) * mean
    small = np.maximum(v, 1e-300)
    return np.exp(-v), np.where(v > 0, -np.expm1(-v) / small, 1.0)


def fit_model(
    table: CellCounts,
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    method: str,
    fit: str = "book",
    tolerance: float = 1e-8,
) -> Fit:
    """Fit one of the five variants; means are on the scale of the sample.

    numbers: for each key its values by level, or None for a category
    """
    counts, sampled = table.counts, table.total / table.population
    offset, empty_offset, covariate = None, 0.0, None
    if method == "pseudo-ml":
        counts = table.weights * sampled
        counts = np.rint(counts) if fit == "book" else counts
    elif method == "clogg-eliason":
        constant = BOOK_CONSTANT if fit == "book" else 0.0
        offset = np.log(table.counts / table.weights + constant)
        empty_offset = float(np.log(BOOK_CONSTANT if fit == "book" else sampled))
    elif method == "weighted":
        covariate = table.weights / table.weights.mean()
    if offset is None and covariate is None and not any(x is not None for x in numbers):
        return fitting.fit_margins(table.codes, counts, table.sizes, terms, tolerance=tolerance)
    return fit_newton(
        table.codes, counts, table.sizes, terms, numbers, offset=offset,
        empty_offset=empty_offset, covariate=covariate,
    )  # fmt: skip


def _numbers_of(
    frame: pd.DataFrame, table: CellCounts, categorical: set[int], method: str, is_named: bool
) -> list[np.ndarray | None]:
    """Return the values of the keys that enter as numbers."""
    named = is_named and method != "ipf"
    return [
        np.array(levels, dtype=np.float64)
        if named and j not in categorical and is_number(frame[name]) else None
        for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True))
    ]  # fmt: skip


@same_library
def loglinear_risk(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weights: Any = None,
    formula: str | None = None,
    method: str = "poisson",
    bound: float = np.inf,
    inclusion: str = "global",
    fit: str = "book",
    distribution: str = "poisson",
    dispersion: float | None = None,
    household: str | None = None,
) -> LogLinearRisk:
    """Estimate how many sample uniques are unique, and can be matched, in the population.

    Parameters
    ----------
    data, keys, weights, household
        The sample and its roles: see `Microdata`. Every combination of the observed levels of the
        keys is a cell; a missing household is one of one.
    formula : str, optional
        Log-linear model of the table, as ``"~ sex + age + sex:age"``; the operators are those of
        `synthpop.microdata.statistics.formula`, and ``.`` stands for all keys. Columns of numbers
        enter as numbers (a trend), unless written ``C(age)``. Not given: main effects of all keys,
        all as categories.
    method : {"poisson", "clogg-eliason", "pseudo-ml", "weighted", "ipf"}
        "poisson": sample counts. "clogg-eliason": sample counts with the log of f / F as offset.
        "pseudo-ml": weighted counts, brought to the size of the sample. "weighted": sample counts
        with F as one more covariate. "ipf": sample counts by iterative proportional fitting, every
        key a category.
    bound : float
        Only for the `program_` fields: cells of more records are not counted there.
    inclusion : {"global", "cell"}
        pi of a cell: n / N of the file, or its own f / F (for a sample unique, 1 / weight).
    fit : {"book", "exact"}
        "book": as the code of the book: "clogg-eliason" adds 0.1 to f / F in every cell (so empty
        cells have the offset log 0.1), and "pseudo-ml" rounds the scaled counts. "exact": the
        offset is log(f / F), of empty cells log(n / N), and counts are not rounded. No difference
        for the other methods.
    distribution : {"poisson", "negative-binomial", "poisson-inverse-gaussian"}
        Of the counts of a cell given the model. The latter two let the mean of each cell vary
        around the model by a gamma or an inverse Gaussian factor: fewer cells are as the model
        says, and more are empty or full. Without one, a model that lacks an interaction takes
        persons in rare cells for less rare than they are.
    dispersion : float, above 0, optional
        Variance of the factor (its mean is 1). Default: that of greatest likelihood of the
        occupied cells, given the fitted means.

    Returns
    -------
    LogLinearRisk

    Raises
    ------
    InputError
        Unknown columns, formula or options, weights that are not positive, no complete record, or
        a model whose tied keys have too many cells.

    Warns
    -----
    ConvergenceWarning
        The fit stopped short.

    Notes
    -----
    Records that miss a key are left out of the table; they count in n / N. The population mean of
    a cell is its fitted sample mean divided by pi; with ``fit="exact"``, that of "clogg-eliason"
    divided by f / F and that of "pseudo-ml" by n / N, as these models have it.

    The model is over all cells, empty ones too, but the table is not built: keys that no term ties
    together are independent in the model, and only the tables of tied keys are held (20 million
    cells at most; 2 million where a number, an offset or a covariate is in the model).

    References
    ----------
    Skinner and Shlomo (2008), doi:10.1198/016214507000001328; Templ (2017), equations 3.6, 3.7
    and 3.20 to 3.23, household risk: section 3.6. Negative binomial: Rinott and Shlomo (2006),
    doi:10.1007/11930242_8. Poisson-inverse Gaussian: Carlson (2002), Statistics in Transition 5,
    901-925.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": list("mmffm"), "job": list("aabbc"), "w": [10.0] * 5})
    >>> risk = loglinear_risk(people, ["sex", "job"], weights="w")
    >>> risk.n_uniques, round(risk.tau2, 4)
    (1, 0.1843)
    """
    faults = Faults("log-linear risk")
    options = {
        "method": method, "inclusion": inclusion, "fit": fit, "distribution": distribution,
        "dispersion": dispersion,
    }  # fmt: skip
    check(faults, PARAMETERS, options)
    if dispersion is not None and distribution == "poisson":
        hint = "Leave it out, or choose another distribution."
        faults.add("dispersion", "has no meaning for Poisson counts", hint=hint)
    if not isinstance(bound, (int, float, np.number)) or not bound >= 1:
        faults.add("bound", f"is {bound!r}", hint="Give a number of records, 1 or more.")
    file = as_file(data, faults, keys=keys, weights=weights, household=household, columns=())
    frame, names = file.frame, file.roles.keys
    terms: list[Term] = [frozenset([j]) for j in range(len(names))]
    categorical: set[int] = set()
    if formula is not None and names:
        terms, categorical = read_terms(faults, formula, names) or (terms, categorical)
    table = read_cells(faults, file, weights)
    numbers = _numbers_of(frame, table, categorical, method, formula is not None)
    check_size(faults, table, terms, numbers, method)
    faults.raise_if_any()
    fitted = fit_model(table, terms, numbers, method, fit)
    if not fitted.converged:
        what = f"log-linear model stopped after {plural(fitted.iterations, 'iteration')}"
        warn(what, ConvergenceWarning, stacklevel=2)
    text = format_formula(terms, table.names, _written_as_levels(frame, table, numbers))
    homes = None if file.roles.household is None else file.household_index
    asked = _Settings(
        text, _as_numbers(table, terms, numbers), method, fit, inclusion, float(bound),
        distribution, dispersion,
    )  # fmt: skip
    return _assemble(table, fitted, asked, homes)


def _written_as_levels(
    frame: pd.DataFrame, table: CellCounts, numbers: Sequence[np.ndarray | None]
) -> set[int]:
    """Return the keys of numbers that the model takes as categories."""
    return {
        j for j, name in enumerate(table.names)
        if numbers[j] is None and pd.api.types.is_numeric_dtype(frame[name].dtype)
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Settings:
    formula: str
    as_numbers: tuple[str, ...]
    method: str
    fit: str
    inclusion: str
    bound: float
    distribution: str
    dispersion: float | None


def _assemble(
    table: CellCounts, fitted: Fit, asked: _Settings, homes: np.ndarray | None
) -> LogLinearRisk:
    """Turn fitted cell means into the measures (Skinner and Manning 2008, section 2)."""
    # 1. Means of the cells of the population
    pi, population_mean = _population_means(table, fitted, asked.method, asked.fit, asked.inclusion)
    # 2. Risks of a cell by its count, of uniques by those of a sample unique
    distribution = asked.distribution
    spread = asked.dispersion or estimated_dispersion(distribution, table.counts, fitted.mean)
    unique, match = unique_risks(population_mean, pi)
    cell_risk = match_risks(distribution, spread, table.counts, population_mean, pi)
    if distribution != "poisson":
        unique, match = unique_probabilities(distribution, spread, population_mean, pi), cell_risk
    alone = table.counts == 1
    cell_risk = np.where(alone, match, cell_risk)
    # 3. The measures of the reference program, of cells below its bound
    gr1, gr2, n_used = program_measures(table, fitted.mean, asked.bound)
    # 4. From cells to records, and to their households
    complete = table.cell_of >= 0
    cell = table.cell_of[complete]
    risk = _spread(complete, cell_risk[cell])
    household_risk = None
    if homes is not None:  # a missing number is a household of one
        household_risk = household_risks(np.nan_to_num(risk), with_lone_persons(homes)[0])
    cells = cell_levels(table).assign(
        f=table.counts.astype(np.int64), F=table.weights, pi=pi, sample_mean=fitted.mean
    )
    return LogLinearRisk(
        tau1=float(unique[alone].sum()),
        tau2=float(match[alone].sum()),
        lambda_=_spread(complete, population_mean[cell]),
        inclusion_probability=_spread(complete, pi[cell]),
        risk_unique=_spread(complete, np.where(alone, unique, 0.0)[cell]),
        risk_match=_spread(complete, np.where(alone, match, np.nan)[cell]),
        risk=risk,
        household_risk=household_risk,
        **asdict(asked) | {"dispersion": spread},
        n_uniques=int(alone.sum()),
        n_left_out=int((~complete).sum()),
        cells=cells.assign(**{"lambda": population_mean}),
        n_cells=fitted.n_cells,
        n_parameters=fitted.n_parameters,
        deviance=fitted.deviance,
        converged=fitted.converged,
        iterations=fitted.iterations,
        program_gr1=gr1,
        program_gr2=gr2,
        program_cells=n_used,
    )


def _population_means(
    table: CellCounts, fitted: Fit, method: str, fit: str, inclusion: str
) -> tuple[np.ndarray, np.ndarray]:
    """Inclusion probability of each cell, and its mean in the population."""
    fraction = np.full(len(table.counts), table.total / table.population)
    of_cell = table.counts / table.weights
    pi = np.minimum(fraction if inclusion == "global" else of_cell, 1.0)
    scale = pi
    if fit == "exact" and method == "pseudo-ml":
        scale = np.minimum(fraction, 1.0)
    elif fit == "exact" and method == "clogg-eliason":
        scale = of_cell
    return pi, fitted.mean / scale


def _as_numbers(
    table: CellCounts, terms: Sequence[Term], numbers: Sequence[np.ndarray | None]
) -> tuple[str, ...]:
    """Keys that enter the model as numbers."""
    return tuple(
        name
        for j, (name, x) in enumerate(zip(table.names, numbers, strict=True))
        if x is not None and any(j in term for term in terms)
    )


def _spread(complete: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values of complete records among all records, NaN elsewhere."""
    by_record = np.full(len(complete), np.nan)
    by_record[complete] = values
    return by_record
