"""Partial pooling: the model of a stratum held near the one of all strata.

Multinomial. The class probabilities of a stratum are those of the model pooled over strata, tilted,

    p_s(r | x) proportional to p(r | x) exp(a[r] + sum_j b_j[x_j, r]),

with b maximising the weighted log likelihood of the stratum minus (k / 2) sum b^2: each b is a draw
from a normal distribution of variance 1 / k before the data are seen. Constants a are free, so that
the class totals of a stratum stay its own. k = 0 gives the model of the stratum alone, k = infinity
the pooled model. The pooled model itself can be tilted by the pairs of predictors in the same way.
Penalised scaling (Chen and Rosenfeld 2000, doi:10.1109/89.817452) finds the maximum.

Observed distributions. The shares of a cell in a stratum are those of n + k persons, n of the
stratum itself and k with the shares of the cell in all strata (a Dirichlet prior).

k is given, or chosen by cross-validation: households are dealt to folds, each fold is predicted
from the others, and the k with the largest weighted mean log probability of the observed classes
is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from synthpop.models.cells import distinct_cells

FOLDS = 4
GRID = (np.inf, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
PAIRS_GRID = (300.0, 100.0, 30.0, 10.0)
LEAST = 1e-4  # probability that a class is given at least when predictions are scored
TOLERANCE = 1e-6
COARSE = 1e-4  # while comparing amounts of pooling
MAX_SWEEPS = 300
MOST_EFFECTS = 1_000_000  # of pairs of predictors: cells of all pairs times classes
MOST_WORK = 20_000_000  # of a sweep over them: pairs times persons times classes
HUGE = 1e300


@dataclass(frozen=True, slots=True)
class Tilt:
    """Effects on the logarithms of class probabilities.

    Attributes
    ----------
    terms : tuple of tuples of int
        Columns of digits of each term: none (the constant), one or two.
    sizes : tuple of int
        Number of levels of each column.
    codes : tuple of int arrays
        Codes of the levels of each term that the sample has, sorted.
    effects : float array, shape (L, R)
        Rows of the levels of all terms, one term after another.
    sweeps : int
    gap : float
        Largest violation of the likelihood equations, as a share of all weight.
    """

    terms: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    codes: tuple[np.ndarray, ...]
    effects: np.ndarray
    sweeps: int = 0
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Cells:
    """A sample as a tilt sees it: its distinct cells and the margins of its terms.

    Attributes
    ----------
    first : int array, shape (c,)
        A person of each cell.
    levels : int array, shape (c, terms)
        Row of each term's level among the effects.
    totals : float array, shape (c,)
        Weight of each cell, sum 1.
    target : float array, shape (L, R)
        Weight of each level and class.
    penalised : bool array, shape (L,)
    n_persons : int
    empty : Tilt
        All effects zero.
    """

    first: np.ndarray
    levels: np.ndarray
    totals: np.ndarray
    target: np.ndarray
    penalised: np.ndarray
    n_persons: int
    empty: Tilt


def tilt_cells(
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    n_classes: int,
    terms: Sequence[tuple[int, ...]],
) -> Cells:
    """Prepare a sample for `solve_tilt`; arguments as in `fit_tilt`."""
    shares = weights / weights.sum()
    first, inverse = distinct_cells(digits, sizes)
    codes = tuple(np.unique(_term_codes(term, sizes, digits[first])) for term in terms)
    n_levels = sum(len(item) for item in codes)
    empty = Tilt(tuple(terms), tuple(sizes), codes, np.zeros((n_levels, n_classes)))
    levels = level_rows(empty, digits[first])
    cell = inverse * n_classes + classes
    table = np.bincount(cell, weights=shares, minlength=len(first) * n_classes)
    table = table.reshape(len(first), n_classes)
    target = np.zeros((n_levels, n_classes))
    for t in range(len(terms)):
        np.add.at(target, levels[:, t], table)
    penalised = np.concatenate(
        [np.full(len(item), bool(term)) for term, item in zip(terms, codes, strict=True)]
    )
    totals = np.bincount(inverse, weights=shares, minlength=len(first))
    return Cells(first, levels, totals, target, penalised, len(classes), empty)


def solve_tilt(
    cells: Cells,
    base: np.ndarray,
    amount: float,
    *,
    start: Tilt | None = None,
    tolerance: float = TOLERANCE,
    max_sweeps: int = MAX_SWEEPS,
) -> Tilt:
    """Fit the effects of a prepared sample; base shape (c, R) of its cells."""
    from synthpop.kernels.shrinking import shrink_to_margins

    effects = (cells.empty if start is None else start).effects.copy()
    ridge = np.where(cells.penalised, min(amount, HUGE) / cells.n_persons, 0.0)
    levels = cells.levels
    if np.isinf(amount):
        effects[cells.penalised] = 0.0
        levels = np.where(cells.penalised[levels], -1, levels)
    probabilities = np.ascontiguousarray(moved(base, effects, levels))
    sweeps, gap = shrink_to_margins(
        levels, cells.totals, cells.target, ridge, effects, probabilities, tolerance, max_sweeps
    )
    return replace(cells.empty, effects=effects, sweeps=int(sweeps), gap=float(gap))


def fit_tilt(
    base: np.ndarray,
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    *,
    terms: Sequence[tuple[int, ...]],
    amount: float,
) -> Tilt:
    """Fit the effects by which a sample differs from given probabilities.

    Parameters
    ----------
    base : float array, shape (n, R)
        Class probabilities of each person to start from, the same for persons with the same digits.
    digits : int array, shape (n, m)
    classes : int array, shape (n,)
    weights : float array, shape (n,)
        Scaled to a mean of one, so that `amount` counts in persons.
    sizes : number of levels of each predictor
    terms : columns of each term
        The empty term, a constant, is not penalised.
    amount : float
        Penalty k above; infinity leaves all effects but the constant at zero.

    Examples
    --------
    >>> digits = np.array([[1], [1], [1], [2]])
    >>> base, one = np.full((4, 2), 0.5), np.ones(4)
    >>> tilt = fit_tilt(base, digits, np.array([0, 0, 1, 1]), one, [3], terms=[(0,)], amount=0.0)
    >>> tilted(tilt, base[:1], digits[:1])[0].round(3).tolist()
    [[0.667, 0.333]]
    """
    cells = tilt_cells(digits, classes, weights, sizes, base.shape[1], terms)
    return solve_tilt(cells, base[cells.first], amount)


def level_rows(tilt: Tilt, digits: np.ndarray) -> np.ndarray:
    """Return the row of `effects` of each term, -1 for a level without one; shape (c, terms)."""
    rows = np.full((len(digits), len(tilt.terms)), -1, dtype=np.int64)
    start = 0
    for t, (term, codes) in enumerate(zip(tilt.terms, tilt.codes, strict=True)):
        code = _term_codes(term, tilt.sizes, digits)
        place = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
        rows[:, t] = np.where(codes[place] == code, start + place, -1)
        start += len(codes)
    return rows


def _term_codes(term: tuple[int, ...], sizes: Sequence[int], digits: np.ndarray) -> np.ndarray:
    code = np.zeros(len(digits), dtype=np.int64)
    for j in term:
        code = code * int(sizes[j]) + digits[:, j]
    return code


def moved(base: np.ndarray, effects: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return probabilities with effects added to their logarithms, rows scaled to sum 1.

    Parameters
    ----------
    base : float array, shape (c, R)
    effects : float array, shape (L, R)
    levels : int array, shape (c, terms)
        Row of `effects` of each term, -1 for none. Rows of `base` that are zero stay zero.
    """
    rows = np.vstack([effects, np.zeros(effects.shape[1])])
    change = rows[levels].sum(axis=1) if levels.shape[1] else np.zeros_like(base)
    change[base <= 0] = -np.inf
    top = change.max(axis=1, keepdims=True)
    found: np.ndarray = base * np.exp(change - np.where(np.isfinite(top), top, 0.0))
    total = found.sum(axis=1, keepdims=True)
    found /= np.where(total > 0, total, 1.0)
    return found


def tilted(tilt: Tilt, base: np.ndarray, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return tilted probabilities and where every level of one predictor was in the sample.

    Parameters
    ----------
    base : float array, shape (c, R)
    digits : int array, shape (c, m)

    Returns
    -------
    probabilities : float array, shape (c, R)
        A level without an effect leaves the probabilities as they are.
    known : bool array, shape (c,)
    """
    rows = level_rows(tilt, digits)
    single = np.array([len(term) == 1 for term in tilt.terms], dtype=bool)
    known: np.ndarray = np.all(rows[:, single] >= 0, axis=1)
    return moved(base, tilt.effects, rows), known


def single_terms(m: int) -> list[tuple[int, ...]]:
    """Return the constant and each of m predictors."""
    return [(), *((j,) for j in range(m))]


def pair_terms(m: int) -> tuple[tuple[int, ...], ...]:
    """Return the pairs of m predictors."""
    return tuple(combinations(range(m), 2))


def pairs_within_bounds(
    digits: np.ndarray, sizes: Sequence[int], n_classes: int, pairs: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Return the pairs that can be fitted with bounded memory and time, in the order given.

    Those with the fewest cells in the sample come first, as long as all their effects are at most
    `MOST_EFFECTS`, and a sweep over them takes at most `MOST_WORK` steps.

    Examples
    --------
    >>> digits = np.array([[0, 0, 0], [1, 1, 0]])
    >>> pairs_within_bounds(digits, [2, 2, 1], 2, [(0, 1), (0, 2)])
    ((0, 1), (0, 2))
    """
    found = [len(np.unique(_term_codes(pair, sizes, digits))) for pair in pairs]
    cells = np.array(found, dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    effects = np.cumsum(cells[order]) * n_classes
    work = np.arange(1, len(pairs) + 1) * len(digits) * n_classes
    kept = np.sort(order[(effects <= MOST_EFFECTS) & (work <= MOST_WORK)])
    return tuple(pairs[place] for place in kept.tolist())


def smoothed_shares(
    counts: np.ndarray, sizes: np.ndarray, prior: np.ndarray, amount: float
) -> np.ndarray:
    """Return the shares of cells with `amount` persons of the prior added.

    Parameters
    ----------
    counts : float array, shape (c, R)
        Weighted counts.
    sizes : float array, shape (c,)
        Persons of each cell; the shares of `counts` stand for as many.
    prior : float array, shape (c, R)
    amount : float

    Examples
    --------
    >>> smoothed_shares(np.array([[30.0, 10.0]]), np.array([4.0]), np.array([[0.5, 0.5]]), 4.0)
    array([[0.625, 0.375]])
    """
    own = counts / counts.sum(axis=1, keepdims=True)
    if np.isinf(amount):
        return prior.copy()
    part = (sizes / (sizes + amount))[:, None]
    shares: np.ndarray = part * own + (1 - part) * prior
    return shares


def deal_folds(groups: np.ndarray, seed: int, n_folds: int = FOLDS) -> np.ndarray:
    """Return the fold of each person; those of a household share one.

    Parameters
    ----------
    groups : int array, shape (n,)
        Household of each person.

    Examples
    --------
    >>> folds = deal_folds(np.array([0, 0, 1, 1, 2]), seed=1, n_folds=2)
    >>> bool(folds[0] == folds[1] and folds[2] == folds[3])
    True
    """
    number = np.unique(groups, return_inverse=True)[1].reshape(-1)
    n = int(number.max(initial=-1)) + 1
    fold: np.ndarray = (np.random.default_rng(seed).permutation(n) % n_folds)[number]
    return fold


def log_score(probabilities: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Weighted sum of the log probabilities of the observed classes, each at least `LEAST`."""
    found = probabilities[np.arange(len(classes)), classes]
    return float(weights @ np.log(np.maximum(found, LEAST)))


@dataclass(frozen=True, slots=True)
class Pooling:
    """How a model was pooled over strata.

    Attributes
    ----------
    kind : "none", "partial" or "complete"
    amount : float
        Strength of the pull to the pooled model, in persons; infinity leaves a stratum nothing of
        its own but its class totals.
    pairs : float
        Strength of the pull of pairs of predictors to none; infinity is a model without pairs.
    chosen : "given" or "cross-validated"
    scores : tuple of (amount, score)
        Mean log probability of held-out classes for each amount that was tried.
    left_out : int
        Pairs of predictors that were not tried, as they have too many cells; see
        `pairs_within_bounds`.
    """

    kind: str = "none"
    amount: float = 0.0
    pairs: float = np.inf
    chosen: str = "given"
    scores: tuple[tuple[float, float], ...] = ()
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; "infinite" where an amount has no bound."""
        return {
            "kind": self.kind,
            "amount": _plain(self.amount),
            "pairs": _plain(self.pairs),
            "chosen": self.chosen,
            "scores": [[_plain(amount), score] for amount, score in self.scores],
            "pairs_left_out": self.left_out,
        }

    def summary(self) -> str:
        """Say what the amount means."""
        if self.kind == "none":
            return "Each stratum has a model of its own."
        if self.kind == "complete":
            return "One model for all strata, with the stratum as a predictor."
        how = "chosen by cross-validation" if self.chosen == "cross-validated" else "as given"
        pairs = "no pairs of predictors"
        if np.isfinite(self.pairs):
            pairs = f"pairs of predictors held to none with the weight of {self.pairs:g} persons"
        if self.left_out:
            pairs += f" (pairs with too many cells, not tried: {self.left_out})"
        if np.isinf(self.amount):
            held = "A stratum has its own class totals, all else is from the model of all strata"
        else:
            held = (
                "The model of a stratum is held near the one of all strata with the weight of "
                f"{self.amount:g} persons"
            )
        return f"{held}, {how}; {pairs}."


ALONE = Pooling()


def _plain(amount: float) -> float | str:
    return "infinite" if np.isinf(amount) else float(amount)


def best(scores: Sequence[tuple[float, float]]) -> float:
    """Return the amount with the largest score; of equal ones the first, the most pooled."""
    amounts = [amount for amount, _ in scores]
    return amounts[int(np.argmax([score for _, score in scores]))]
