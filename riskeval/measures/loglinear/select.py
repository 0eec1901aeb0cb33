"""Which interactions a log-linear model of risk needs: the minimum-error criterion.

A model with too few interactions overstates the risk measures, one with too many understates
them. Skinner and Shlomo estimate the error of tau1 and tau2 from the sample itself and choose the
model where it is smallest beside its standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.loglinear.fit import Fit
from riskeval.measures.loglinear.model import fit_model, loglinear_risk, unique_risks
from riskeval.measures.loglinear.result import LogLinearRisk
from riskeval.measures.loglinear.table import CellCounts, check_size, read_cells
from riskeval.measures.loglinear.terms import Term, format_formula
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, plural
from synthpop.microdata.roles.microdata import Microdata, as_file

MOST_CELLS = 1_000_000_000
SEARCH_TOLERANCE = 1e-5  # relative, of the margins; the chosen model is fitted to 1e-8


@dataclass(frozen=True)
class ErrorEstimate:
    """Estimated error of the two measures under a model."""

    # b1, b2: estimated error of tau1 and tau2, in persons; positive where the model overstates
    b1: float
    b2: float
    # z1, z2: the same divided by their standard errors
    z1: float
    z2: float


@dataclass(frozen=True, eq=False)
class ModelChoice(Result):
    """The model of smallest estimated error.

    Attributes
    ----------
    formula : str
        For `loglinear_risk`; numbers are written as categories.
    path : DataFrame
        One row per step: ``step``, ``added``, ``b1``, ``z1``, ``b2``, ``z2``, ``tau1``, ``tau2``.
    risk : LogLinearRisk
        The measures under the chosen model.
    criterion : str
    skipped : tuple of str
        Interactions that were left out because their tables were too large.
    """

    formula: str
    path: pd.DataFrame
    risk: LogLinearRisk
    criterion: str
    skipped: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the path of the search."""
        return self.path

    def summary(self) -> str:
        """Return what was chosen and why, in sentences."""
        z = f"z{self.criterion[-1]}"
        first, last = self.path[z].iloc[0], self.path[z].iloc[-1]
        text = message(
            "Model choice: {n} interactions were added to the main effects; the estimated "
            "error of {criterion} went from {first} to {last} standard errors (near 0 is "
            "good; above 2 the model is too simple and overstates the risk, below -2 too "
            "rich and understates it). Chosen: {formula}.",
            n=len(self.path) - 1,
            criterion=self.criterion,
            first=number(first),
            last=number(last),
            formula=self.formula,
        )
        if self.skipped:
            text += " " + message("Too large to try: {skipped}.", skipped=", ".join(self.skipped))
        return text + f" {self.risk.summary()}"


def estimated_error(table: CellCounts, fit: Fit, pi: float) -> ErrorEstimate:
    """Estimate the error of tau1 and tau2 under a fitted model without offset or covariate.

    With h(x) = exp(-(1 - pi) x) for tau1 and (1 - exp(-(1 - pi) x)) / ((1 - pi) x) for tau2, cells
    k of count f and estimated population mean x, m = pi x and g = f - m,
    B = sum_k x exp(-m) (-h'(x) g + h''(x) (g^2 - f) / (2 pi)), with variance
    v = sum_k x^2 exp(-2 m) (h'(x)^2 m + h''(x)^2 m^2 / (2 pi^2)):
    Skinner and Shlomo (2008), doi:10.1198/016214507000001328.
    """
    from riskeval.kernels.loglinear import error_sums

    halves = [np.array([1 / pi]), np.ones(1)]
    for values in sorted((part.values for part in fit.parts), key=len, reverse=True):
        shorter = int(len(halves[1]) < len(halves[0]))
        halves[shorter] = np.outer(halves[shorter], values[values > 0]).ravel()
    sums = error_sums(halves[0], halves[1], table.counts, fit.mean / pi, pi)
    errors = np.sqrt(np.maximum(sums[2:], 1e-300))
    b1, b2 = float(sums[0]), float(sums[1])
    return ErrorEstimate(b1=b1, b2=b2, z1=b1 / float(errors[0]), z2=b2 / float(errors[1]))


@same_library
def choose_model(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weights: Any = None,
    criterion: str = "tau2",
    max_interactions: int | None = None,
) -> ModelChoice:
    """Add two-way interactions as long as the estimated error of the risk measure falls.

    Parameters
    ----------
    data, keys, weights
        The sample and its roles: see `Microdata`. At least two keys; of weights the sum enters.
    criterion : {"tau1", "tau2"}
        The measure whose error, in standard errors, is made small.
    max_interactions : int, optional
        Stop after so many; no limit when not given.

    Returns
    -------
    ModelChoice

    Raises
    ------
    InputError
        Unknown columns or options, or a key table of more than a thousand million cells.

    Notes
    -----
    Forward search: begin with the main effects, try every two-way interaction that is not yet in
    the model, keep the one with the smallest absolute error in standard errors, and stop when none
    makes it smaller. Records that miss a key are left out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> job = rng.integers(0, 30, 400)
    >>> frame = pd.DataFrame({"job": job, "area": (job + rng.integers(0, 3, 400)) % 30,
    ...                       "sex": rng.integers(0, 2, 400), "w": 20.0})
    >>> choice = choose_model(frame, ["job", "area", "sex"], weights="w", max_interactions=1)
    >>> choice.path["added"].tolist()
    ['', 'job:area']
    """
    file, table, pi = _read(data, keys, weights, criterion, max_interactions)
    keys = file.roles.keys
    z = f"z{criterion[-1]}"
    terms: list[Term] = [frozenset([j]) for j in range(len(keys))]
    candidates: list[Term] = [frozenset(pair) for pair in combinations(range(len(keys)), 2)]
    path, skipped = [_row(table, terms, pi, 0, "")], []
    limit = len(candidates) if max_interactions is None else max_interactions
    while candidates and len(path) <= limit:
        rows = []
        for pair in list(candidates):
            if _too_large(table, [*terms, pair]):
                candidates.remove(pair)
                skipped.append(":".join(keys[j] for j in sorted(pair)))
                continue
            name = ":".join(keys[j] for j in sorted(pair))
            rows.append((pair, _row(table, [*terms, pair], pi, len(path), name)))
        if not rows:
            break
        pair, best = min(rows, key=lambda row: abs(row[1][z]))
        if abs(best[z]) >= abs(path[-1][z]):
            break
        path.append(best)
        terms.append(pair)
        candidates.remove(pair)
    is_numeric = pd.api.types.is_numeric_dtype
    numeric = {j for j, key in enumerate(keys) if is_numeric(file.frame[key].dtype)}
    formula = format_formula(terms, keys, numeric)
    risk = loglinear_risk(file, formula=formula)
    return ModelChoice(formula, pd.DataFrame(path), risk, criterion, tuple(skipped))


def _read(
    data: Any,
    keys: Sequence[str] | None,
    weights: Any,
    criterion: str,
    max_interactions: int | None,
) -> tuple[Microdata, CellCounts, float]:
    faults = Faults("model choice")
    check_choice(faults, "criterion", criterion, ("tau1", "tau2"))
    if max_interactions is not None and max_interactions < 0:
        faults.add("max_interactions", f"is {max_interactions}", hint="Give 0 or more.")
    file = as_file(data, faults, keys=keys, weights=weights, columns=())
    table = read_cells(faults, file, weights, least=2)
    cells = prod(table.sizes)
    if cells > MOST_CELLS:
        faults.add(
            "keys",
            f"span {plural(cells, 'cell')}, at most {count(MOST_CELLS)} can be summed over",
            hint="Use fewer or coarser keys.",
        )
    pi = table.total / table.population
    if not pi < 1:
        faults.add("weights", "add to no more than the records: there is nothing to estimate")
    faults.raise_if_any()
    return file, table, pi


def _too_large(table: CellCounts, terms: Sequence[Term]) -> bool:
    faults = Faults("model choice")
    check_size(faults, table, terms, [None] * len(table.sizes), "poisson")
    return bool(faults)


def _row(
    table: CellCounts, terms: Sequence[Term], pi: float, step: int, added: str
) -> dict[str, Any]:
    fit = fit_model(table, terms, [None] * len(table.sizes), "poisson", tolerance=SEARCH_TOLERANCE)
    error = estimated_error(table, fit, pi)
    unique, match = unique_risks(fit.mean / pi, np.full(len(fit.mean), pi))
    alone = table.counts == 1
    return {
        "step": step,
        "added": added,
        "b1": error.b1,
        "z1": error.z1,
        "b2": error.b2,
        "z2": error.z2,
        "tau1": float(unique[alone].sum()),
        "tau2": float(match[alone].sum()),
    }
