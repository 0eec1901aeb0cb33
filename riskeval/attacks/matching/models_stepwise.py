"""Least squares on keys and pairs of keys, fitted to cells; stepwise choice of terms by BIC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from riskeval.attacks.matching.key_cells import KeyCells
from riskeval.attacks.matching.key_model import ALIASED
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, plural

MOST_DUMMIES = 500
"""Pairs of keys are offered to the stepwise choice as long as all dummies are at most so many."""
FLOOR = 1e-12
"""Least share of the total sum of squares that a residual sum of squares is taken as."""


@dataclass(frozen=True, slots=True, eq=False)
class TermModel:
    """Least squares on chosen terms."""

    terms: tuple[tuple[int, ...], ...]  # the keys of each term: one, or two for a pair
    # effect of each combination of codes of a term, shape (r,); combinations that are not in the
    # table have effect 0
    tables: tuple[tuple[np.ndarray, np.ndarray], ...]
    intercept: np.ndarray  # float64, shape (r,)
    n_coefficients: int
    text: str

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """Return fitted outcomes, shape (n, r), of codes, shape (n, m)."""
        total = np.tile(self.intercept, (len(codes), 1))
        for term, (levels, effects) in zip(self.terms, self.tables, strict=True):
            cells = _packed(codes, term)
            places = np.minimum(np.searchsorted(levels, cells), len(levels) - 1)
            total += np.where((levels[places] == cells)[:, None], effects[places], 0.0)
        return total


def fit_terms(cells: KeyCells, *, stepwise: bool, on_event: Listener) -> TermModel:
    """Fit main effects of all keys, or the terms that a stepwise choice by BIC takes.

    The choice starts from the mean; each step adds the term that lowers
    ``n log(RSS / n) + p log(n)`` most, or drops one when that lowers it more. A pair of keys can
    be chosen when both keys are, and a key be dropped when no pair with it is in the model.
    """
    system = _NormalEquations(cells, stepwise)
    chosen = list(range(len(cells.sizes)))
    if stepwise:
        chosen = _choose(system, on_event)
    return system.solved(chosen, stepwise)


class _NormalEquations:
    """Normal equations of the intercept and the dummies of all terms."""

    def __init__(self, cells: KeyCells, with_pairs: bool) -> None:
        from scipy.sparse import csr_matrix

        self.n = float(cells.persons.sum())
        self.square = cells.square
        self.terms: list[tuple[int, ...]] = [(k,) for k in range(len(cells.sizes))]
        self.levels = [np.unique(_packed(cells.codes, term)) for term in self.terms]
        n_columns = 1 + sum(len(levels) - 1 for levels in self.levels)
        self.left_out = 0
        for pair in combinations(range(len(cells.sizes)), 2) if with_pairs else ():
            levels = np.unique(_packed(cells.codes, pair))
            if n_columns + len(levels) - 1 > MOST_DUMMIES:
                self.left_out += 1
                continue
            self.terms.append(pair)
            self.levels.append(levels)
            n_columns += len(levels) - 1
        rows, columns = [np.arange(len(cells.codes))], [np.zeros(len(cells.codes), dtype=np.int64)]
        self.columns: list[np.ndarray] = []
        begin = 1
        for term, levels in zip(self.terms, self.levels, strict=True):
            code = np.searchsorted(levels, _packed(cells.codes, term))
            used = np.flatnonzero(code)
            rows.append(used)
            columns.append(begin + code[used] - 1)
            self.columns.append(np.arange(begin, begin + len(levels) - 1))
            begin += len(levels) - 1
        row, column = np.concatenate(rows), np.concatenate(columns)
        design = csr_matrix((np.ones(len(row)), (row, column)), shape=(len(cells.codes), begin))
        gram = (design.T @ design.multiply(cells.persons[:, None])).toarray()
        self.scale = np.sqrt(np.diag(gram))
        self.gram = gram / np.outer(self.scale, self.scale)
        self.cross = (design.T @ cells.total) / self.scale[:, None]
        self.tss = max(self.square - float((self.cross[0] ** 2).sum()), 0.0)

    def bic(self, rss: float, n_coefficients: int) -> float:
        """The criterion of a model."""
        floor = max(FLOOR * self.tss, np.finfo(float).tiny)
        return float(self.n * np.log(max(rss, floor) / self.n) + n_coefficients * np.log(self.n))

    def eliminated(self, chosen: Sequence[int]) -> tuple[np.ndarray, np.ndarray, float, list[int]]:
        """Gram and cross-products with the columns of the chosen terms swept out, RSS, columns."""
        gram, cross, rss = self.gram.copy(), self.cross.copy(), self.square
        columns = np.concatenate([[0], *(self.columns[t] for t in chosen)]).astype(np.int64)
        falls = _sweep(gram, cross, columns)
        for fall in falls.values():
            rss -= fall
        return gram, cross, rss, list(falls)

    def gain(self, gram: np.ndarray, cross: np.ndarray, term: int) -> tuple[float, int]:
        """Fall of the RSS, and new coefficients, when a term is added to what was swept out."""
        columns = self.columns[term]
        falls = _sweep(gram[np.ix_(columns, columns)], cross[columns], range(len(columns)))
        return sum(falls.values(), 0.0), len(falls)

    def solved(self, chosen: Sequence[int], stepwise: bool) -> TermModel:
        """Solve for the effects of the chosen terms."""
        pivots = np.array(self.eliminated(chosen)[3])
        effects = np.zeros_like(self.cross)
        effects[pivots] = np.linalg.solve(self.gram[np.ix_(pivots, pivots)], self.cross[pivots])
        effects /= self.scale[:, None]
        none = np.zeros((1, effects.shape[1]))
        tables = tuple(
            (self.levels[t], np.concatenate([none, effects[self.columns[t]]])) for t in chosen
        )
        kind = message("a stepwise linear model") if stepwise else message("a linear model")
        text = message("{kind} with {n} coefficients", kind=kind, n=count(len(pivots)))
        if stepwise:
            pairs = sum(len(self.terms[t]) == 2 for t in chosen)
            keys = plural(len(chosen) - pairs, "key")
            text += ", " + message(
                "{keys} and {pairs} pairs of keys chosen by BIC", keys=keys, pairs=pairs
            )
            if self.left_out:
                text += " " + message(
                    "({left_out} pairs with too many levels were not considered)",
                    left_out=self.left_out,
                )
        terms = tuple(self.terms[t] for t in chosen)
        return TermModel(terms, tables, effects[0], len(pivots), text)


def _choose(system: _NormalEquations, on_event: Listener) -> list[int]:
    chosen: list[int] = []
    gram, cross, rss, pivots = system.eliminated(chosen)
    best = system.bic(rss, len(pivots))
    while True:
        options = []
        keys = {system.terms[t][0] for t in chosen if len(system.terms[t]) == 1}
        paired = {k for t in chosen if len(system.terms[t]) == 2 for k in system.terms[t]}
        for t, term in enumerate(system.terms):
            if t in chosen or not (len(term) == 1 or keys.issuperset(term)):
                continue  # a pair is added to both of its keys only
            fall, df = system.gain(gram, cross, t)
            options.append((system.bic(rss - fall, len(pivots) + df), [*chosen, t]))
        for t in chosen:
            if len(system.terms[t]) == 1 and system.terms[t][0] in paired:
                continue  # nor does a key leave before its pairs
            smaller = [other for other in chosen if other != t]
            _, _, larger_rss, columns_left = system.eliminated(smaller)
            options.append((system.bic(larger_rss, len(columns_left)), smaller))
        if not options or min(options)[0] >= best - 1e-9 * abs(best):
            return sorted(chosen)
        best, chosen = min(options)
        gram, cross, rss, pivots = system.eliminated(chosen)
        on_event(
            Event("progress", "scenario 5", len(chosen), len(system.terms), "terms of the model")
        )


def _sweep(gram: np.ndarray, cross: np.ndarray, columns: Iterable[int]) -> dict[int, float]:
    """Sweep columns out, in place; the fall of the RSS by each that is not aliased."""
    falls = {}
    for j in columns:
        pivot = gram[j, j]
        if pivot > ALIASED:
            row, value = gram[j].copy(), cross[j].copy()
            falls[int(j)] = float((value**2).sum() / pivot)
            gram -= np.outer(row, row / pivot)
            cross -= np.outer(row / pivot, value)
    return falls


def _packed(codes: np.ndarray, term: tuple[int, ...]) -> np.ndarray:
    """One number for the codes of the keys of a term, shape (n,)."""
    packed = codes[:, term[0]].astype(np.int64)
    for k in term[1:]:
        packed = (packed << 31) + codes[:, k]
    return packed
