"""Risk of sample uniques under log-linear models of the key table (Skinner and Shlomo).

How many persons who are unique in the sample are unique in the population too, and how many would
an intruder match correctly? Population counts are taken as Poisson with means from a log-linear
model, which lends strength to a cell from the cells that share levels with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from warnings import warn

import numpy as np
import pandas as pd

from riskeval.measures.frequencies import read_weights
from riskeval.measures.loglinear import fit as fitting
from riskeval.measures.loglinear.fit import Fit
from riskeval.measures.loglinear.newton import fit_newton
from riskeval.measures.loglinear.terms import Term, format_formula, read_terms
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.codes import cell_ids, encode
from synthpop.microdata.errors import ConvergenceWarning, Faults
from synthpop.microdata.results import Result
from synthpop.microdata.text import count, number, plural, short_percent

METHODS = ("poisson", "clogg-eliason", "pseudo-ml", "weighted", "ipf")
FITS = ("book", "exact")
INCLUSIONS = ("global", "cell")
BOOK_CONSTANT = 0.1


@dataclass(frozen=True, eq=False)
class LogLinearRisk(Result):
    """Risk of the sample uniques under a log-linear model.

    Attributes
    ----------
    tau1 : float
        Expected number of sample uniques that are unique in the population (equation 3.22).
    tau2 : float
        Expected number of correct matches of sample uniques, each matched at random inside its
        population cell (equation 3.23).
    lambda_ : float64, shape (n,)
        Estimated population mean of the cell of each record; NaN where a key is missing.
    inclusion_probability : float64, shape (n,)
        pi of each record; NaN where a key is missing.
    risk_unique : float64, shape (n,)
        Probability that the record is a population unique: 0 unless it is a sample unique.
    risk_match : float64, shape (n,)
        Expected 1 / F of a sample unique; NaN for other records.
    n_uniques, n_left_out : int
        Sample uniques with all keys; records that miss a key and are in no cell.
    cells : DataFrame
        Observed cells: the keys, ``f``, ``F`` (sum of weights), ``pi``, ``sample_mean`` (fitted),
        ``lambda`` (population mean).
    n_cells : int
        Cells of the whole key table, empty ones included.
    formula : str
        The model, with all its terms.
    as_numbers : tuple of str
        Keys that entered as numbers; all others are categories.
    method, fit, inclusion : str
    n_parameters : int
    deviance : float
    converged : bool
    iterations : int
    program_gr1, program_gr2 : float
        Not the published measures: what the function ``modRisk`` of the R package sdcMicro returns
        under these names, and the book prints as tau. Sample means in place of population means,
        sums over uniques divided by the number of cells with at most `bound` records.
    program_cells : int
        That number of cells.
    bound : float
    """

    tau1: float
    tau2: float
    lambda_: np.ndarray
    inclusion_probability: np.ndarray
    risk_unique: np.ndarray
    risk_match: np.ndarray
    n_uniques: int
    n_left_out: int
    cells: pd.DataFrame
    n_cells: int
    formula: str
    as_numbers: tuple[str, ...]
    method: str
    fit: str
    inclusion: str
    n_parameters: int
    deviance: float
    converged: bool
    iterations: int
    program_gr1: float
    program_gr2: float
    program_cells: int
    bound: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row a record: ``lambda``, ``pi``, ``risk_unique``, ``risk_match``."""
        return pd.DataFrame(
            {
                "lambda": self.lambda_,
                "pi": self.inclusion_probability,
                "risk_unique": self.risk_unique,
                "risk_match": self.risk_match,
            }
        )

    def summary(self) -> str:
        """Return what the measures mean, in sentences."""
        if self.n_uniques == 0:
            text = "Log-linear risk: no record is unique on the keys, so tau1 and tau2 are 0."
        else:
            text = (
                f"Log-linear risk: of {count(self.n_uniques)} records that are unique on the keys, "
                f"{_count(self.tau1)} are expected to be unique in the population (tau1), and an "
                f"intruder who matches all of them is expected to be right "
                f"{_count(self.tau2)} times (tau2, "
                f"{short_percent(self.tau2 / self.n_uniques)} of the uniques)."
            )
        text += f" Model {self.formula}, method {self.method}."
        if self.as_numbers:
            text += f" As numbers: {', '.join(self.as_numbers)}."
        if self.n_left_out:
            out = plural(self.n_left_out, "record is", "records are")
            text += f" {out} left out for a missing key."
        if not self.converged:
            text += f" The fit did not converge in {plural(self.iterations, 'iteration')}."
        return text + " There is no published threshold; the measures depend on the model."


@dataclass(frozen=True, eq=False)
class Table:
    """The observed cells of a key table.

    Attributes
    ----------
    names : tuple of str
    levels : tuple of lists
        Levels of each key that occur in the file.
    codes : int64, shape (n_observed, m)
        Cells without missing keys.
    counts, weights, inverse : float64, shape (n_observed,)
        Records, sum of weights, sum of 1 / weight.
    cell_of : int64, shape (n,)
        Cell of each record; -1 where a key is missing.
    total, population : float
        Records and sum of weights of the file, incomplete records included.
    """

    names: tuple[str, ...]
    levels: tuple[list[Any], ...]
    codes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    inverse: np.ndarray
    cell_of: np.ndarray
    total: float
    population: float

    @property
    def sizes(self) -> list[int]:
        """Number of levels of each key."""
        return [len(levels) for levels in self.levels]


def tabulate_cells(frame: pd.DataFrame, keys: Sequence[str], weights: np.ndarray) -> Table:
    """Count the cells of a key table (records that miss a key are in none)."""
    columns, levels = [], []
    for key in keys:
        codes, found = encode(frame[key])
        present = np.unique(codes[codes >= 0])
        rank = np.full(len(found) + 1, -1, dtype=np.int64)
        rank[present] = np.arange(len(present))
        columns.append(rank[codes])
        levels.append([found[code] for code in present])
    matrix = np.column_stack(columns)
    complete = (matrix >= 0).all(axis=1)
    ids, n_cells = cell_ids(matrix[complete], [len(found) for found in levels])
    first = np.empty(n_cells, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    cell_of = np.full(len(frame), -1, dtype=np.int64)
    cell_of[complete] = ids
    held = weights[complete]
    return Table(
        names=tuple(keys),
        levels=tuple(levels),
        codes=matrix[complete][first],
        counts=np.bincount(ids, minlength=n_cells).astype(np.float64),
        weights=np.bincount(ids, weights=held, minlength=n_cells),
        inverse=np.bincount(ids, weights=1 / held, minlength=n_cells),
        cell_of=cell_of,
        total=float(len(frame)),
        population=float(weights.sum()),
    )


def unique_risks(mean: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(F = 1 | f = 1) and E(1 / F | f = 1), equations 3.21 to 3.23.

    Parameters
    ----------
    mean : float64
        Population mean lambda.
    pi : float64
        Inclusion probability, at most 1.

    Examples
    --------
    >>> unique_risks(np.array([0.0, 10.0]), np.array([0.1, 0.1]))[1].round(4).tolist()
    [1.0, 0.1111]
    """
    v = (1 - pi) * mean
    small = np.maximum(v, 1e-300)
    return np.exp(-v), np.where(v > 0, -np.expm1(-v) / small, 1.0)


def fit_model(
    table: Table,
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    method: str,
    fit: str = "book",
    tolerance: float = 1e-8,
) -> Fit:
    """Fit one of the five variants; means are on the scale of the sample.

    Parameters
    ----------
    table : Table
    terms : terms of the model
    numbers : for each key its values by level, or None for a category
    method, fit : str
        See `loglinear_risk`.
    tolerance : float
        Of the margins, where the fit is by iterative proportional fitting.

    Returns
    -------
    Fit
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
        table.codes,
        counts,
        table.sizes,
        terms,
        numbers,
        offset=offset,
        empty_offset=empty_offset,
        covariate=covariate,
    )


def check_size(
    faults: Faults,
    table: Table,
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    method: str,
) -> None:
    """Note a model whose parts are too large to be held in memory."""
    newton = method in ("clogg-eliason", "weighted") or any(x is not None for x in numbers)
    most = fitting.MOST_DESIGN if newton else fitting.MOST_CELLS
    for keys in fitting.connected_keys(terms, len(table.sizes)):
        cells = prod(table.sizes[j] for j in keys)
        if cells > most:
            faults.add(
                "formula",
                f"ties {', '.join(table.names[j] for j in keys)} together: "
                f"{plural(cells, 'cell')}, at most {count(most)} can be held",
                remedy="Use fewer interactions or coarser keys.",
            )
    width = sum(
        prod(1 if numbers[j] is not None else table.sizes[j] for j in term) for term in terms
    )
    if newton and width > fitting.MOST_PARAMETERS:
        faults.add(
            "formula",
            f"has {count(width)} parameters, at most {count(fitting.MOST_PARAMETERS)} can be "
            "fitted here",
            remedy="Use coarser keys, or method 'poisson', 'pseudo-ml' or 'ipf'.",
        )


def _numbers_of(
    frame: pd.DataFrame, table: Table, categorical: set[int], method: str, given: bool
) -> list[np.ndarray | None]:
    """Return the values of the keys that enter as numbers."""
    numbers: list[np.ndarray | None] = []
    for j, name in enumerate(table.names):
        dtype = frame[name].dtype
        number = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        if number and given and method != "ipf" and j not in categorical:
            numbers.append(np.array(table.levels[j], dtype=np.float64))
        else:
            numbers.append(None)
    return numbers


def loglinear_risk(
    data: Any,
    keys: Sequence[str],
    *,
    weights: Any,
    formula: str | None = None,
    method: str = "poisson",
    bound: float = np.inf,
    inclusion: str = "global",
    fit: str = "book",
) -> LogLinearRisk:
    """Estimate how many sample uniques are unique, and can be matched, in the population.

    Parameters
    ----------
    data : DataFrame, shape (n, ...)
        The sample, one row a person; not changed.
    keys : sequence of str
        Columns that span the key table; every combination of their observed levels is a cell.
    weights : str or float array, shape (n,)
        Persons of the population that a record stands for.
    formula : str, optional
        Log-linear model of the table, as ``"~ sex + age + sex:age"``; the operators are those of
        `synthpop.microdata.formula`, and ``.`` stands for all keys. Columns of numbers enter as
        numbers (a trend), unless written ``C(age)``. Not given: main effects of all keys, all as
        categories.
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
    and 3.20 to 3.23.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": list("mmffm"), "job": list("aabbc"), "w": [10.0] * 5})
    >>> risk = loglinear_risk(people, ["sex", "job"], weights="w")
    >>> risk.n_uniques, round(risk.tau2, 4)
    (1, 0.1843)
    """
    frame = as_frame(data)
    keys = [keys] if isinstance(keys, str) else list(keys)
    faults = Faults("log-linear risk")
    found = check_columns(faults, frame, keys, "key")
    if not keys or len(set(keys)) < len(keys):
        faults.add("keys", "name each key once, and at least one")
    if len(frame) == 0:
        faults.add("data", "has no rows")
    if weights is None:
        faults.add("weights", "are needed", remedy="Name the column of sampling weights.")
    values = read_weights(faults, frame, weights)
    check_choice(faults, "method", method, METHODS)
    check_choice(faults, "inclusion", inclusion, INCLUSIONS)
    check_choice(faults, "fit", fit, FITS)
    if not isinstance(bound, (int, float, np.number)) or not bound >= 1:
        faults.add("bound", f"is {bound!r}", remedy="Give a number of records, 1 or more.")
    terms: list[Term] = [frozenset([j]) for j in range(len(keys))]
    categorical: set[int] = set()
    if formula is not None and keys:
        terms, categorical = read_terms(faults, formula, keys) or (terms, categorical)
    if found and not faults and frame[keys].isna().any(axis=1).all():
        faults.add("data", "has no record with all keys")
    faults.raise_if_any()
    assert values is not None
    table = tabulate_cells(frame, keys, values)
    numbers = _numbers_of(frame, table, categorical, method, formula is not None)
    check_size(faults, table, terms, numbers, method)
    faults.raise_if_any()
    fitted = fit_model(table, terms, numbers, method, fit)
    if not fitted.converged:
        warn(
            f"log-linear model stopped after {plural(fitted.iterations, 'iteration')}",
            ConvergenceWarning,
            stacklevel=2,
        )
    written = {
        j
        for j, name in enumerate(table.names)
        if numbers[j] is None and pd.api.types.is_numeric_dtype(frame[name].dtype)
    }
    text = format_formula(terms, table.names, written)
    return _assemble(table, fitted, text, terms, numbers, method, fit, inclusion, float(bound))


def _assemble(
    table: Table,
    fitted: Fit,
    text: str,
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    method: str,
    fit: str,
    inclusion: str,
    bound: float,
) -> LogLinearRisk:
    """Turn fitted cell means into the measures."""
    if inclusion == "global":
        pi = np.full(len(table.counts), table.total / table.population)
    else:
        pi = table.counts / table.weights
    pi = np.minimum(pi, 1.0)
    scale = pi
    if fit == "exact" and method == "pseudo-ml":
        scale = np.full(len(pi), min(table.total / table.population, 1.0))
    elif fit == "exact" and method == "clogg-eliason":
        scale = table.counts / table.weights
    population_mean = fitted.mean / scale
    unique, match = unique_risks(population_mean, pi)
    alone = table.counts == 1
    gr1, gr2, n_used = program_measures(table, fitted.mean, bound)
    complete = table.cell_of >= 0
    cell = table.cell_of[complete]
    cells = pd.DataFrame(
        {
            name: pd.Series([levels[code] for code in table.codes[:, j]], dtype=object)
            for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True))
        }
    ).infer_objects()
    return LogLinearRisk(
        tau1=float(unique[alone].sum()),
        tau2=float(match[alone].sum()),
        lambda_=_spread(complete, population_mean[cell]),
        inclusion_probability=_spread(complete, pi[cell]),
        risk_unique=_spread(complete, np.where(alone, unique, 0.0)[cell]),
        risk_match=_spread(complete, np.where(alone, match, np.nan)[cell]),
        n_uniques=int(alone.sum()),
        n_left_out=int((~complete).sum()),
        cells=cells.assign(
            f=table.counts.astype(np.int64),
            F=table.weights,
            pi=pi,
            sample_mean=fitted.mean,
            **{"lambda": population_mean},
        ),
        n_cells=fitted.n_cells,
        formula=text,
        as_numbers=tuple(
            name
            for j, (name, x) in enumerate(zip(table.names, numbers, strict=True))
            if x is not None and any(j in term for term in terms)
        ),
        method=method,
        fit=fit,
        inclusion=inclusion,
        n_parameters=fitted.n_parameters,
        deviance=fitted.deviance,
        converged=fitted.converged,
        iterations=fitted.iterations,
        program_gr1=gr1,
        program_gr2=gr2,
        program_cells=n_used,
        bound=bound,
    )


def _count(expected: float) -> str:
    """An expected number of records as words need it: 0.74, 41.1, 1,505."""
    return number(expected)


def _spread(complete: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values of complete records among all records, NaN elsewhere."""
    out = np.full(len(complete), np.nan)
    out[complete] = values
    return out


def program_measures(
    table: Table, sample_mean: np.ndarray, bound: float
) -> tuple[float, float, int]:
    """Return what the R function ``modRisk`` calls gr1 and gr2, which the book prints as tau.

    With p the *sum* of 1 / weight in a cell, mu the fitted *sample* mean, v = (1 - p) mu, and k
    cells of 1 to `bound` records: gr1 is the sum of exp(-v) over sample uniques divided by k, gr2
    that of (1 - exp(-v)) / v (1 where v is 0). These are not the measures of Skinner and Shlomo.

    Returns
    -------
    gr1, gr2 : float
        NaN when no cell counts.
    n_cells : int
    """
    used = table.counts <= bound
    alone = table.counts == 1
    v = ((1 - table.inverse) * sample_mean)[alone]
    n_used = int(used.sum())
    if n_used == 0:
        return np.nan, np.nan, 0
    match = np.where(v == 0, 1.0, -np.expm1(-v) / np.where(v == 0, 1.0, v))
    return float(np.exp(-v).sum() / n_used), float(match.sum() / n_used), n_used
