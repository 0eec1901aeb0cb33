"""Log-linear models of a key table, fitted without building the table.

The cells of the table are all combinations of the levels of the keys, empty ones included. Terms
of the model tie keys into *parts* (connected components); the mean of a cell is then a product of
one factor a part, so that sums over all cells are products of sums over parts. Only the table of
one part has ever to be held in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from riskeval.measures.loglinear.terms import Term

MOST_CELLS = 20_000_000
MOST_DESIGN = 2_000_000
MOST_PARAMETERS = 2_000


@dataclass(frozen=True)
class FitPart:
    """Keys that the model ties together."""

    keys: tuple[int, ...]
    # float64, shape (product of the levels,): factor of each combination of levels, in C order
    values: np.ndarray


@dataclass(frozen=True)
class Fit:
    """A fitted model."""

    mean: np.ndarray  # float64, shape (n_observed,): fitted sample mean of the observed cells
    # the mean of a cell without offset is the product of its factors
    parts: tuple[FitPart, ...]
    n_cells: int  # cells of the whole table
    n_parameters: int
    deviance: float
    converged: bool
    iterations: int


def connected_keys(terms: Sequence[Term], n_keys: int) -> list[tuple[int, ...]]:
    """Return the keys in groups that terms tie together, shape (m,) in all."""
    group = list(range(n_keys))
    for term in terms:
        joined = {group[j] for j in term}
        group = [min(joined) if g in joined else g for g in group]
    return [tuple(j for j in range(n_keys) if group[j] == g) for g in sorted(set(group))]


def part_terms(terms: Sequence[Term], keys: Sequence[int]) -> list[Term]:
    """Return the terms inside a part, as positions in `keys`."""
    return [frozenset(keys.index(j) for j in sorted(term)) for term in terms if term <= set(keys)]


def cell_places(codes: np.ndarray, keys: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """Return the place of each observed cell in the table of a part, shape (n_observed,)."""
    place = np.zeros(len(codes), dtype=np.int64)
    for j in keys:
        place = place * sizes[j] + codes[:, j]
    return place


def poisson_deviance(counts: np.ndarray, mean: np.ndarray, total: float) -> float:
    """Return the deviance over all cells; `total` is the sum of the means of all cells."""
    positive = counts > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(counts[positive] / mean[positive])
    return float(2 * ((counts[positive] * ratio).sum() - counts.sum() + total))


def fit_margins(
    codes: np.ndarray,
    counts: np.ndarray,
    sizes: Sequence[int],
    terms: Sequence[Term],
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 2000,
) -> Fit:
    """Fit a hierarchical log-linear model by iterative proportional fitting, part by part.

    `tolerance` is the largest relative deviation of a fitted margin. Lower terms are implied; a key
    in no term has equal means on all its levels.
    """
    total = float(counts.sum())
    named = set().union(*terms) if terms else set()
    mean = np.full(len(counts), total)
    parts, converged, iterations, n_parameters = [], True, 0, 1
    for keys in connected_keys(terms, len(sizes)):
        shape = tuple(sizes[j] for j in keys)
        inside = part_terms(terms, keys)
        if keys[0] not in named:
            values = np.full(prod(shape), 1 / prod(shape))
        else:
            margins = [t for t in inside if not any(t < other for other in inside)]
            table = np.bincount(
                cell_places(codes, keys, sizes), weights=counts, minlength=prod(shape)
            ).reshape(shape)
            values, fine, rounds = _proportional_fit(table, margins, tolerance, max_iterations)
            values = values.ravel() / total
            converged, iterations = converged and fine, max(iterations, rounds)
            closed = {frozenset(s) for t in margins for k in range(len(t)) for s in
                      combinations(sorted(t), k + 1)}  # fmt: skip
            n_parameters += sum(prod(shape[j] - 1 for j in t) for t in closed)
        mean *= values[cell_places(codes, keys, sizes)]
        parts.append(FitPart(keys, values))
    parts[0] = FitPart(parts[0].keys, parts[0].values * total)
    return Fit(
        mean=mean,
        parts=tuple(parts),
        n_cells=prod(int(size) for size in sizes),
        n_parameters=n_parameters,
        deviance=poisson_deviance(counts, mean, total),
        converged=converged,
        iterations=iterations,
    )


def _proportional_fit(
    table: np.ndarray, margins: Sequence[Term], tolerance: float, max_iterations: int
) -> tuple[np.ndarray, bool, int]:
    """Return the fitted table, whether it converged, and the rounds."""
    n_keys = table.ndim
    if len(margins) == 1 and len(margins[0]) == n_keys:
        return table, True, 0
    fitted = np.full(table.shape, table.sum() / table.size)
    others = [tuple(j for j in range(n_keys) if j not in margin) for margin in margins]
    targets = [table.sum(axis=axes, keepdims=True) for axes in others]
    for rounds in range(1, max_iterations + 1):
        worst = 0.0
        for axes, target in zip(others, targets, strict=True):
            present = fitted.sum(axis=axes, keepdims=True)
            factor = np.divide(target, present, out=np.zeros_like(target), where=present > 0)
            positive = target > 0
            worst = max(
                worst, float(np.abs(present[positive] / target[positive] - 1).max(initial=0.0))
            )
            fitted *= factor
        if worst < tolerance:
            return fitted, True, rounds
    return fitted, False, max_iterations
