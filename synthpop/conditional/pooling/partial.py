"""Fit of sequences with partial pooling: strata as effects of the pooled multinomial model.

The other two ways of `options` are in `opinion_pool`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.design import (
    Margins,
    TermLayout,
    Terms,
    lay_out,
    margins_of,
    pair_terms,
    pairs_within_bounds,
    single_terms,
)
from synthpop.conditional.fallback import FallbackSequence, ModelDesign, uses_strata
from synthpop.conditional.pooling import ridge_effects
from synthpop.conditional.pooling.choose import (
    CROSS_VALIDATED,
    GRID,
    ONE_STANDARD_ERROR,
    best,
    fold_splits,
    log_score,
    rounding,
    search,
    totals,
)
from synthpop.conditional.pooling.class_totals import (
    CommonModel,
    best_amount,
    kept_shares,
    small_strata,
)
from synthpop.conditional.pooling.opinion_pool import choose_mixture, fit_mixed
from synthpop.conditional.pooling.options import HeldOut, Pooling
from synthpop.conditional.pooling.ridge_effects import State, effects_of, shrink
from synthpop.models.encoding import distinct_cells
from synthpop.models.linear_multinomial import fit_linear_multinomial
from synthpop.models.multinomial import (
    TOLERANCE,
    MultinomialModel,
    fit_multinomial,
    predict_multinomial,
)
from synthpop.models.numeric_predictors import in_classes, number_classes, with_numbers

PAIRS_GRID = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
REPEATED = 1e-4  # tolerance of all that is fitted again with amounts that are known
COARSE = 3e-4  # tolerance while amounts are compared: less than the sampling error of a margin
COARSE_STEPS = 1e-3  # of Newton steps, which end well below it


def way_of(model: Any) -> str:
    """Return how strata of a model are shrunk: "effects", "cells" or "mixture"."""
    if isinstance(model, str) and model == "empirical":
        return "cells"
    return "effects" if isinstance(model, str) and model == "multinomial" else "mixture"


def fit_partial(
    model: Any,
    design: ModelDesign,
    marginals: np.ndarray,
    enough: np.ndarray,
    seed: int,
    amount: str | float | Pooling,
    pairs: Sequence[tuple[int, ...]] | None = None,
) -> FallbackSequence:
    """Fit a sequence whose strata are shrunk towards the pooled model.

    enough: bool array, shape (n_strata,); strata that have something of their own
    amount: "cross-validated", "one-standard-error", a number (then there are no pairs), or what
        another fit of the same step has chosen: then all is fitted to a coarser tolerance
    pairs: those that cross-validation may add to the pooled multinomial model; default: all but
        those with too many cells (`pairs_within_bounds`)
    """
    way = way_of(model)
    asked: tuple[tuple[int, ...], ...] = ()
    again = isinstance(amount, Pooling) and amount.again
    if way == "effects" and isinstance(amount, (str, Pooling)):
        asked = pair_terms(design.digits.shape[1]) if pairs is None else tuple(pairs)
    tables = number_classes(design.digits, design.weights, design.numbers)
    digits = in_classes(design.digits, tables)
    wanted = pairs_within_bounds(digits, design.sizes, design.n_classes, asked)
    if isinstance(amount, Pooling):
        pooling = amount
    elif isinstance(amount, str):
        pooling = choose_pooling(model, design, enough, seed, wanted, choice=amount)
    else:
        pooling = Pooling("partial", float(amount), way=way)
    if not again:
        pooling = replace(pooling, left_out=len(asked) - len(wanted))
    if not wanted:
        pooling = replace(pooling, pairs=np.inf)
    if way == "effects":
        tolerance = REPEATED if again else TOLERANCE
        return fit_with_effects(design, marginals, enough, pooling, wanted, tolerance)
    return fit_mixed(model, design, marginals, enough, seed, pooling)


def choose_pooling(
    model: Any,
    design: ModelDesign,
    enough: np.ndarray,
    seed: int,
    pairs: Sequence[tuple[int, ...]] = (),
    *,
    choice: str = CROSS_VALIDATED,
) -> Pooling:
    """Choose the amount of pooling by cross-validation over households; see `fit_partial`."""
    way = way_of(model)
    if way == "effects":
        return choose_penalty(design, enough, seed, pairs, choice)
    return choose_mixture(model, design, enough, seed, way, choice)


@dataclass(frozen=True, slots=True)
class PoolingCells:
    """The distinct cells of a design, stratum by stratum."""

    digits: np.ndarray  # int array, shape (c, m)
    blocks: np.ndarray  # int array, shape (n_strata + 1,): where the cells of each stratum start
    of_person: np.ndarray  # int array, shape (n,)
    # for each predictor None, or the class of each digit of a number
    tables: tuple[np.ndarray | None, ...]

    @classmethod
    def of(cls, design: ModelDesign) -> PoolingCells:
        """Find the cells of a design."""
        cells = np.column_stack([design.strata, design.digits])
        first, of_person = distinct_cells(cells, (design.n_strata, *design.sizes))
        blocks = np.searchsorted(design.strata[first], np.arange(design.n_strata + 1))
        tables = number_classes(design.digits, design.weights, design.numbers)
        return cls(design.digits[first], blocks, of_person, tables)

    def wide(self, design: ModelDesign) -> np.ndarray:
        """Return digits as the pooled model takes them, shape (c, m) or (c, m + 1)."""
        if not uses_strata("multinomial", design):
            return self.digits
        strata = np.repeat(np.arange(design.n_strata), np.diff(self.blocks))
        return np.column_stack([self.digits, strata])

    def by_stratum(self, design: ModelDesign) -> TermLayout:
        """Return the layout of strata, each with a constant and its levels of the predictors."""
        terms = single_terms(len(design.sizes))
        return lay_out(self.digits, self.blocks, design.sizes, terms, self.tables)

    def together(self, design: ModelDesign, terms: Terms) -> TermLayout:
        """Return the layout of all cells as one sample."""
        one_block = np.array([0, len(self.digits)])
        return lay_out(self.digits, one_block, design.sizes, terms, self.tables)

    def margins(self, layout: TermLayout, design: ModelDesign, rows: np.ndarray) -> Margins:
        """Return the margins of some persons."""
        return margins_of(
            layout, self.of_person[rows], design.classes[rows], design.weights[rows],
            design.n_classes,
        )  # fmt: skip


def fit_with_effects(
    design: ModelDesign,
    marginals: np.ndarray,
    enough: np.ndarray,
    pooling: Pooling,
    pairs: Sequence[tuple[int, ...]] = (),
    tolerance: float = TOLERANCE,
) -> FallbackSequence:
    """Fit the pooled model, what pairs of predictors add to it, and how each stratum differs."""
    # 1. The model of all strata together, of single predictors.
    cells, everybody = PoolingCells.of(design), np.arange(len(design.classes))
    of_effects = max(tolerance, ridge_effects.TOLERANCE)
    pooled, base = fit_base(design, everybody, cells, tolerance)
    # 2. What pairs of predictors add to it, shrunk towards zero.
    pair_effects = None
    if np.isfinite(pooling.pairs):
        together = cells.together(design, pairs)
        margins = cells.margins(together, design, everybody)
        state = State.without_effects(together, base)
        outcome = shrink(together, margins, pooling.pairs, state, tolerance=of_effects)
        (pair_effects,) = effects_of(together, state.effects, *outcome)
        base = state.probabilities
    # 3. How each stratum differs from that, shrunk towards zero.
    layout = cells.by_stratum(design)
    margins = cells.margins(layout, design, everybody[enough[design.strata]])
    state = State.without_effects(layout, base)
    outcome = shrink(layout, margins, pooling.amount, state, tolerance=of_effects)
    effects = effects_of(layout, state.effects, *outcome)
    by_stratum = tuple(
        effects if sufficient else None for effects, sufficient in zip(effects, enough, strict=True)
    )
    # 4. Class totals of small strata, shrunk towards the model that knows no strata.
    common = None
    if pooling.totals > 0 and uses_strata("multinomial", design):
        shares = kept_shares(design.strata, design.n_strata, pooling.totals)
        common = CommonModel(_without_strata(design, everybody, cells, tolerance), shares)
    return FallbackSequence(
        "multinomial", by_stratum, pooled, marginals, pooling, pair_effects, common=common
    )


def fit_base(
    design: ModelDesign, rows: np.ndarray, cells: PoolingCells, tolerance: float = TOLERANCE
) -> tuple[MultinomialModel, np.ndarray]:
    """Fit the pooled model to some persons; return it and what it says of the cells, (c, R)."""
    wide = cells.wide(design)
    columns = design if wide is cells.digits else design.with_strata()
    pooled = _fit_pooled(columns, wide[cells.of_person[rows]], rows, tolerance)
    return pooled, predict_multinomial(pooled, wide)[0]


def _without_strata(
    design: ModelDesign, rows: np.ndarray, cells: PoolingCells, tolerance: float
) -> MultinomialModel:
    """Fit the model of all strata that does not know the stratum."""
    return _fit_pooled(design, cells.digits[cells.of_person[rows]], rows, tolerance)


def _fit_pooled(
    columns: ModelDesign, digits: np.ndarray, rows: np.ndarray, tolerance: float
) -> MultinomialModel:
    sample = digits, columns.classes[rows], columns.weights[rows]
    if with_numbers(columns.numbers):
        return fit_linear_multinomial(
            *sample, columns.sizes, columns.numbers, columns.n_classes, tolerance=tolerance
        )
    return fit_multinomial(*sample, columns.sizes, columns.n_classes, tolerance=tolerance)


# the choice of amounts


@dataclass(frozen=True, slots=True)
class _Trial:
    """A fold: the margins of the persons it learns from, and the persons held out."""

    margins: Margins
    state: State  # changes from one amount to the next, which starts from it
    # cells, classes: int arrays, shape (h,)
    cells: np.ndarray
    classes: np.ndarray
    weights: np.ndarray  # float array, shape (h,)

    @classmethod
    def of(
        cls, design: ModelDesign, cells: PoolingCells, layout: TermLayout, rest: np.ndarray,
        test: np.ndarray, base: np.ndarray,
    ) -> _Trial:  # fmt: skip
        return cls(
            cells.margins(layout, design, rest), State.without_effects(layout, base),
            cells.of_person[test], design.classes[test], design.weights[test],
        )  # fmt: skip

    def score(self) -> float:
        return log_score(self.state.probabilities[self.cells, self.classes], self.weights)


def _score(trials: Sequence[_Trial], layout: TermLayout, amount: float) -> np.ndarray:
    """Fit with an amount and return what each fold adds to the mean log probability."""
    for trial in trials:
        shrink(layout, trial.margins, amount, trial.state, tolerance=COARSE)
    return _by_fold(trials)


def _by_fold(trials: Sequence[_Trial]) -> np.ndarray:
    weight = sum(float(trial.weights.sum()) for trial in trials)
    return np.array([trial.score() for trial in trials]) / weight


def choose_penalty(
    design: ModelDesign,
    enough: np.ndarray,
    seed: int,
    pairs: Sequence[tuple[int, ...]] = (),
    choice: str = CROSS_VALIDATED,
) -> Pooling:
    """Choose the penalty of pairs, then that of strata, by cross-validation over households."""
    splits = fold_splits(design.groups, seed)
    if len(splits) < 2:
        return Pooling("partial", np.inf, chosen=choice)
    # 1. The pooled model of each fold, learned from the other households.
    cells = PoolingCells.of(design)
    coarse = COARSE_STEPS if with_numbers(design.numbers) else COARSE
    bases = [fit_base(design, train, cells, coarse)[1] for train, _ in splits]
    # 2. Penalty of the pairs of predictors, from the largest one down while the score rises.
    of_pairs = np.inf
    if pairs:
        together = cells.together(design, pairs)
        folds = zip(splits, bases, strict=True)
        trials = [_Trial.of(design, cells, together, *split, base) for split, base in folds]
        of_pairs, bases = _choose_pairs(together, trials, choice)
    # 3. Penalty of the strata, given that of the pairs.
    layout, of_strata = cells.by_stratum(design), enough[design.strata]
    strata_bases = [base.copy() for base in bases]
    if not of_strata.any():
        of_totals = _choose_totals(design, cells, splits, strata_bases, coarse, choice)
        return Pooling("partial", np.inf, choice, pairs=of_pairs, totals=of_totals)
    trials = [
        _Trial.of(design, cells, layout, train[of_strata[train]], test[of_strata[test]], base)
        for (train, test), base in zip(splits, bases, strict=True)
    ]
    scores = search(lambda amount: _score(trials, layout, amount), GRID, falls=2)
    amount = best(scores, choice)
    # 4. Class totals of small strata, given both.
    of_totals = 0.0
    if small_strata(design.strata, design.n_strata).any():
        _score(trials, layout, amount)
        in_cells = np.repeat(enough, np.diff(cells.blocks))[:, None]
        predicted = [
            np.where(in_cells, trial.state.probabilities, base)
            for trial, base in zip(trials, strata_bases, strict=True)
        ]
        of_totals = _choose_totals(design, cells, splits, predicted, coarse, choice)
    return Pooling("partial", amount, choice, totals(scores), pairs=of_pairs, totals=of_totals)


def _choose_totals(
    design: ModelDesign,
    cells: PoolingCells,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    predicted: Sequence[np.ndarray],
    tolerance: float,
    choice: str,
) -> float:
    """Choose the shrinkage of class totals of small strata, given the predictions of each fold."""
    small = small_strata(design.strata, design.n_strata)
    if not small.any() or not uses_strata("multinomial", design):
        return 0.0
    folds = []
    for (train, test), by_cell in zip(splits, predicted, strict=True):
        common = _without_strata(design, train, cells, tolerance)
        persons = test[small[design.strata[test]]]
        positions, classes = cells.of_person[persons], design.classes[persons]
        base, known = predict_multinomial(common, cells.digits[positions])
        by_stratum = by_cell[positions, classes]
        pooled = np.where(known, base[np.arange(len(persons)), classes], by_stratum)
        sizes = np.bincount(design.strata[train], minlength=design.n_strata)
        of_persons = sizes[design.strata[persons]], design.weights[persons]
        folds.append(HeldOut(by_stratum, pooled, *of_persons))
    return best_amount(folds, choice)


def _choose_pairs(
    layout: TermLayout, trials: Sequence[_Trial], choice: str
) -> tuple[float, list[np.ndarray]]:
    """Return the amount that is chosen, and the probabilities of each fold with it.

    Pairs that make no difference are left out.
    """
    starts = [trial.state.probabilities.copy() for trial in trials]
    tried = [(np.inf, _by_fold(trials), starts)]
    for amount in PAIRS_GRID:
        scores, highest = _score(trials, layout, amount), tried[-1][1].sum()
        if scores.sum() < highest - rounding(highest):
            break
        if scores.sum() <= highest + rounding(highest):
            continue
        probabilities = [trial.state.probabilities.copy() for trial in trials]
        # each is better than those before it: only the one-standard-error rule looks back
        before = tried if choice == ONE_STANDARD_ERROR else []
        tried = [*before, (amount, scores, probabilities)]
    amount_of_best = best([(amount, scores) for amount, scores, _ in tried], choice)
    return amount_of_best, next(starts for amount, _, starts in tried if amount == amount_of_best)
