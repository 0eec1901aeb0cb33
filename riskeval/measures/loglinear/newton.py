"""Newton's method for log-linear models with numbers, an offset or one more covariate.

The score and the information are sums over all cells of the key table. Apart from the observed
cells, whose offset or covariate is their own, they are products of sums over parts (see
`riskeval.measures.loglinear.fit`), so that the table itself is never built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from scipy import linalg, sparse

from riskeval.measures.loglinear.fit import (
    Fit,
    FitPart,
    cell_places,
    connected_keys,
    part_terms,
    poisson_deviance,
)
from riskeval.measures.loglinear.terms import Term


def design_columns(
    shape: tuple[int, ...], terms: Sequence[Term], numbers: Sequence[np.ndarray | None]
) -> sparse.csr_matrix:
    """Return the design of a part over all its cells, without the intercept.

    Categories are coded against their first level where the term without them is in the model, with
    all levels otherwise; numbers are scaled, and centred where this leaves the model the same.
    """
    margins: set[Term] = {*terms, frozenset()}
    grid = np.indices(shape).reshape(len(shape), -1)
    coded = [
        None if x is None else _scaled_number(x, all(t - {j} in margins for t in terms if j in t))
        for j, x in enumerate(numbers)
    ]
    columns = []
    for term in terms:
        block = sparse.csr_matrix(np.ones((grid.shape[1], 1)))
        for j in sorted(term):
            block = _crossed(block, _coded(grid[j], shape[j], coded[j], term - {j} in margins))
        columns.append(block)
    return sparse.csr_matrix(sparse.hstack(columns, format="csr"))


def _coded(
    codes: np.ndarray, size: int, numbers: np.ndarray | None, contrast: bool
) -> sparse.csr_matrix:
    """Return the columns of one key over the cells of a part."""
    if numbers is None:
        n = len(codes)
        indicators = sparse.csr_matrix((np.ones(n), (np.arange(n), codes)), shape=(n, size))
        return indicators[:, 1:] if contrast else indicators
    return sparse.csr_matrix(numbers[codes][:, None])


def _scaled_number(values: np.ndarray, centre: bool) -> np.ndarray:
    """Return the values of a number by level, on a scale near one."""
    shifted = values - values.mean() if centre else values
    size = np.abs(shifted).max()
    return np.asarray(shifted / size if size > 0 else shifted)


def _crossed(left: sparse.csr_matrix, right: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return all products of a column of `left` and one of `right`."""
    if right.shape[1] == 0:  # a category of one level, against itself
        return sparse.csr_matrix((left.shape[0], 0))
    blocks = [left.multiply(right[:, [k]]) for k in range(right.shape[1])]
    return sparse.csr_matrix(sparse.hstack(blocks, format="csr"))


TOLERANCE = 1e-11  # relative change of the deviance
MOST_ITERATIONS = 100


def fit_newton(
    codes: np.ndarray,
    counts: np.ndarray,
    sizes: Sequence[int],
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    *,
    offset: np.ndarray | None = None,
    empty_offset: float = 0.0,
    covariate: np.ndarray | None = None,
) -> Fit:
    """Fit a Poisson log-linear model by Newton's method, summing over parts of the table.

    numbers: for each key its values by level, or None for a category
    offset: known part of the log mean of the observed cells; `empty_offset` of all other cells
    covariate: one more covariate of the observed cells, 0 in the others
    Parts of the result are without offset and covariate, except `empty_offset`.
    """
    system = _System.build(codes, sizes, terms, numbers, offset, empty_offset, covariate)
    beta = np.zeros(system.observed.shape[1])
    beta[0] = np.log(counts.sum() / system.start_total())
    state = system.evaluate(beta, counts)
    converged, iterations = False, 0
    while not converged and iterations < MOST_ITERATIONS:
        iterations += 1
        step = _solve(state.hessian, state.score)
        scale, trial = 1.0, state
        for _ in range(40):
            trial = system.evaluate(beta + scale * step, counts)
            if np.isfinite(trial.deviance) and trial.deviance <= state.deviance + 1e-9:
                break
            scale /= 2
        change = abs(state.deviance - trial.deviance) / (abs(trial.deviance) + 0.1)
        beta, state = beta + scale * step, trial
        converged = change < TOLERANCE
    return Fit(
        mean=state.mean,
        parts=system.parts_at(beta),
        n_cells=prod(int(size) for size in sizes),
        n_parameters=int(np.linalg.matrix_rank(_scaled(state.hessian)[0], hermitian=True)),
        deviance=state.deviance,
        converged=converged,
        iterations=iterations,
    )


def _scaled(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = np.sqrt(np.diag(hessian))
    size = np.where(size > 1e-8 * max(size.max(), 1e-300), size, np.inf)
    return hessian / size / size[:, None], size


def _solve(hessian: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the Newton step; directions without information hardly move."""
    scaled, size = _scaled(hessian)
    ridge = 1e-11
    while True:
        try:
            factor = linalg.cho_factor(scaled + ridge * np.eye(len(score)))
            return np.asarray(linalg.cho_solve(factor, score / size) / size)
        except linalg.LinAlgError:
            ridge *= 10


@dataclass(frozen=True)
class _State:
    mean: np.ndarray
    deviance: float
    score: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True)
class _System:
    """Designs of the parts and of the observed cells; intercept first, covariate last."""

    keys: list[tuple[int, ...]]
    designs: list[sparse.csr_matrix]
    observed: sparse.csr_matrix
    known: np.ndarray
    empty_offset: float
    with_covariate: bool

    @classmethod
    def build(
        cls,
        codes: np.ndarray,
        sizes: Sequence[int],
        terms: Sequence[Term],
        numbers: Sequence[np.ndarray | None],
        offset: np.ndarray | None,
        empty_offset: float,
        covariate: np.ndarray | None,
    ) -> _System:
        named = set().union(*terms) if terms else set()
        groups = connected_keys(terms, len(sizes))
        designs, rows = [], [sparse.csr_matrix(np.ones((len(codes), 1)))]
        for keys in groups:
            shape = tuple(sizes[j] for j in keys)
            if keys[0] in named:
                design = design_columns(shape, part_terms(terms, keys), [numbers[j] for j in keys])
            else:
                design = sparse.csr_matrix((prod(shape), 0))
            designs.append(design)
            rows.append(design[cell_places(codes, keys, sizes)])
        if covariate is not None:
            rows.append(sparse.csr_matrix(covariate[:, None]))
        known = np.full(len(codes), empty_offset) if offset is None else offset
        observed = sparse.csr_matrix(sparse.hstack(rows, format="csr"))
        return cls(groups, designs, observed, known, empty_offset, covariate is not None)

    def start_total(self) -> float:
        cells = prod(design.shape[0] for design in self.designs)
        total = np.exp(self.empty_offset) * (cells - len(self.known)) + np.exp(self.known).sum()
        return float(total)

    def slices(self) -> list[slice]:
        edges = np.cumsum([1] + [design.shape[1] for design in self.designs])
        return [slice(a, b) for a, b in pairwise(edges)]

    def parts_at(self, beta: np.ndarray) -> tuple[FitPart, ...]:
        parts = [
            FitPart(keys, np.exp(design @ beta[where]))
            for keys, design, where in zip(self.keys, self.designs, self.slices(), strict=True)
        ]
        first = parts[0].values * np.exp(beta[0] + self.empty_offset)
        return (FitPart(parts[0].keys, first), *parts[1:])

    def evaluate(self, beta: np.ndarray, counts: np.ndarray) -> _State:
        """Return means, deviance, score and information at `beta`."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.exp(self.observed @ beta + self.known)
            plain = beta.copy()
            if self.with_covariate:
                plain[-1] = 0.0
            base = np.exp(self.observed @ plain + self.empty_offset)
            parts = [np.exp(d @ beta[s]) for d, s in zip(self.designs, self.slices(), strict=True)]
            sums = np.array([part.sum() for part in parts])
            table_total = np.exp(beta[0] + self.empty_offset) * sums.prod()
            total = table_total - base.sum() + mean.sum()
            if not np.isfinite(total) or not np.isfinite(mean).all():
                empty = np.zeros((0, 0))
                return _State(mean, np.inf, np.zeros(0), empty)
            score = self.observed.T @ counts - self._first(parts, sums, table_total)
            score -= self.observed.T @ mean - self._without_covariate().T @ base
            hessian = self._second(parts, sums, table_total)
            hessian += (self.observed.T @ self.observed.multiply(mean[:, None])).toarray()
            plain_rows = self._without_covariate()
            hessian -= (plain_rows.T @ plain_rows.multiply(base[:, None])).toarray()
        return _State(mean, poisson_deviance(counts, mean, total), np.asarray(score), hessian)

    def _without_covariate(self) -> sparse.csr_matrix:
        if not self.with_covariate:
            return self.observed
        keep = np.ones(self.observed.shape[1])
        keep[-1] = 0.0
        return self.observed.multiply(keep[None, :]).tocsr()

    def _first(self, parts: list[np.ndarray], sums: np.ndarray, table_total: float) -> np.ndarray:
        """Return the sum of mean times design over all cells, offset as in an empty cell."""
        sums_of_columns = np.zeros(self.observed.shape[1])
        sums_of_columns[0] = table_total
        for part, total, design, where in zip(
            parts, sums, self.designs, self.slices(), strict=True
        ):
            sums_of_columns[where] = table_total / total * (design.T @ part)
        return sums_of_columns

    def _second(self, parts: list[np.ndarray], sums: np.ndarray, table_total: float) -> np.ndarray:
        """Return the sum of mean times design times design over all cells."""
        first = self._first(parts, sums, table_total)
        products = np.outer(first, first) / table_total
        for part, total, design, where in zip(
            parts, sums, self.designs, self.slices(), strict=True
        ):
            block = (design.T @ design.multiply(part[:, None])).toarray()
            products[where, where] = table_total / total * block
        return products
