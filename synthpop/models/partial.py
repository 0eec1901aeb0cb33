"""Fit of ladders with partial pooling, and the choice of its amount by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.models.cells import distinct_cells
from synthpop.models.empirical import fit_empirical, predict_empirical
from synthpop.models.ladder import (
    Design,
    Ladder,
    fit_model,
    predict_model,
    predict_pooled,
    uses_strata,
)
from synthpop.models.multinomial import fit_multinomial
from synthpop.models.pooling import (
    COARSE,
    FOLDS,
    GRID,
    PAIRS_GRID,
    TOLERANCE,
    Cells,
    Pooling,
    Tilt,
    best,
    deal_folds,
    level_rows,
    log_score,
    moved,
    pair_terms,
    pairs_within_bounds,
    single_terms,
    smoothed_shares,
    solve_tilt,
    tilt_cells,
)


def fit_partial(
    model: str,
    design: Design,
    marginals: np.ndarray,
    enough: np.ndarray,
    seed: int,
    amount: str | float,
    pairs: Sequence[tuple[int, ...]] | None = None,
) -> Ladder:
    """Fit a ladder whose strata are held near the pooled model.

    Parameters
    ----------
    model : "multinomial" or "empirical"
    design : Design
    marginals : float array, shape (n_strata, R)
    enough : bool array, shape (n_strata,)
        Strata that have something of their own.
    seed : int
        Deals households to folds.
    amount : "cross-validated" or a number
        With a number the pooled model has no pairs of predictors.
    pairs : pairs of predictors that cross-validation may add to the pooled model; default: all
        Those with too many cells are left out (`pairs_within_bounds`).
    """
    wanted: tuple[tuple[int, ...], ...] = ()
    pooling = Pooling("partial", np.inf, np.inf)
    if amount == "cross-validated":
        asked = pair_terms(design.digits.shape[1]) if pairs is None else tuple(pairs)
        asked = asked if model == "multinomial" else ()
        wanted = pairs_within_bounds(design.digits, design.sizes, design.n_classes, asked)
        pooling = choose_pooling(model, design, enough, seed, wanted)
        pooling = replace(pooling, left_out=len(asked) - len(wanted))
    else:
        pooling = replace(pooling, amount=float(amount))
    ladder = replace(fit_base(model, design, marginals), pooling=pooling)
    if np.isfinite(pooling.pairs):
        ladder = with_pairs(ladder, design, wanted, pooling.pairs)
    units = [
        Unit.of(ladder, design, stratum) if own else None for stratum, own in enumerate(enough)
    ]
    return with_strata_of(ladder, units, pooling.amount)


def fit_base(
    model: str, design: Design, marginals: np.ndarray, tolerance: float | None = None
) -> Ladder:
    """Fit the pooled model; no stratum has anything of its own yet."""
    wide = design.with_strata() if uses_strata(model, design) else design
    if model == "multinomial" and tolerance is not None:
        pooled = fit_multinomial(
            wide.digits, wide.classes, wide.weights, wide.sizes, wide.n_classes, tolerance=tolerance
        )
    else:
        pooled = fit_model(model, wide, 0)
    return Ladder(model, (None,) * design.n_strata, pooled, marginals)


def with_pairs(
    ladder: Ladder, design: Design, pairs: Sequence[tuple[int, ...]], amount: float
) -> Ladder:
    """Add to the pooled model what pairs of predictors tell."""
    cells, base = _pair_cells(ladder, design, pairs)
    return replace(ladder, pairs=solve_tilt(cells, base, amount))


def _pair_cells(
    ladder: Ladder, design: Design, terms: Sequence[tuple[int, ...]]
) -> tuple[Cells, np.ndarray]:
    wide = design.with_strata() if uses_strata("multinomial", design) else design
    cells = tilt_cells(wide.digits, wide.classes, wide.weights, wide.sizes, wide.n_classes, terms)
    found = predict_model("multinomial", ladder.pooled, wide.digits[cells.first])[0]
    return cells, found


@dataclass(frozen=True, slots=True)
class Unit:
    """The sample of one stratum beside the pooled model.

    Attributes
    ----------
    part : Design
    base : float array, shape (c, R)
        Pooled probabilities of its distinct cells.
    cells : Cells
    """

    part: Design
    base: np.ndarray
    cells: Cells

    @classmethod
    def of(cls, ladder: Ladder, design: Design, stratum: int) -> Unit:
        """Take a stratum out of a design."""
        part = design.rows(np.flatnonzero(design.strata == stratum))
        terms = single_terms(part.digits.shape[1])
        cells = tilt_cells(
            part.digits, part.classes, part.weights, part.sizes, part.n_classes, terms
        )
        base = predict_pooled(ladder, stratum, part.digits[cells.first])[0]
        return cls(part, base, cells)

    def fit(
        self, model: str, amount: float, start: Any = None, tolerance: float = TOLERANCE
    ) -> Any:
        """Return what the stratum has of its own with this amount of pooling."""
        if model == "multinomial":
            return solve_tilt(self.cells, self.base, amount, start=start, tolerance=tolerance)
        part = self.part
        own = fit_empirical(part.digits, part.classes, part.weights, part.sizes, part.n_classes)
        first, inverse = distinct_cells(part.digits, part.sizes)
        place = [own.cells[tuple(row)] for row in part.digits[first].tolist()]
        sizes, prior = np.zeros(len(own.shares)), np.zeros_like(own.shares)
        sizes[place], prior[place] = np.bincount(inverse), self.base
        return replace(own, shares=smoothed_shares(own.shares, sizes, prior, amount))


def with_strata_of(ladder: Ladder, units: list[Unit | None], amount: float) -> Ladder:
    """Add to a ladder what each stratum has of its own."""
    own = [None if unit is None else unit.fit(ladder.model, amount) for unit in units]
    return replace(ladder, by_stratum=tuple(own))


# the choice of the amount


def choose_pooling(
    model: str,
    design: Design,
    enough: np.ndarray,
    seed: int,
    pairs: Sequence[tuple[int, ...]] = (),
) -> Pooling:
    """Choose pairs, then the amount of pooling, by cross-validation over households."""
    groups = np.arange(len(design.classes)) if design.households is None else design.households
    folds = deal_folds(groups, seed)
    splits = [
        (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(FOLDS)
    ]
    splits = [(rest, held) for rest, held in splits if len(rest) and len(held)]
    if len(splits) < 2:
        return Pooling("partial", np.inf, np.inf, "cross-validated")
    uniform = np.full((design.n_strata, design.n_classes), 1.0 / design.n_classes)
    parts = [(design.rows(rest), design.rows(held)) for rest, held in splits]
    ladders = [fit_base(model, rest, uniform, COARSE) for rest, _ in parts]
    hold = np.inf
    if model == "multinomial" and pairs:
        hold, ladders = _choose_pairs(ladders, parts, pairs)
    trials = [
        _Trial.of(ladder, rest, held, int(stratum))
        for ladder, (rest, held) in zip(ladders, parts, strict=True)
        for stratum in np.flatnonzero(enough & _present(rest) & _present(held))
    ]
    if not trials:
        return Pooling("partial", np.inf, hold, "cross-validated")
    scores = _scores(trials, model)
    return Pooling("partial", best(scores), hold, "cross-validated", tuple(scores))


def _present(design: Design) -> np.ndarray:
    found: np.ndarray = np.bincount(design.strata, minlength=design.n_strata) > 0
    return found


def _choose_pairs(
    ladders: list[Ladder],
    parts: list[tuple[Design, Design]],
    pairs: Sequence[tuple[int, ...]],
) -> tuple[float, list[Ladder]]:
    """Return the penalty of pairs with the best score and the ladders that have it."""
    prepared = [
        _pair_cells(ladder, rest, pairs) for ladder, (rest, _) in zip(ladders, parts, strict=True)
    ]
    tried = {np.inf: ladders}
    scores = [(np.inf, _pooled_score(ladders, parts))]
    now = ladders
    for amount in PAIRS_GRID:
        now = [
            replace(
                ladder, pairs=solve_tilt(cells, base, amount, start=ladder.pairs, tolerance=COARSE)
            )
            for ladder, (cells, base) in zip(now, prepared, strict=True)
        ]
        tried[amount] = now
        scores.append((amount, _pooled_score(now, parts)))
        if scores[-1][1] < scores[-2][1]:
            break
    return best(scores), tried[best(scores)]


def _pooled_score(ladders: list[Ladder], parts: list[tuple[Design, Design]]) -> float:
    total = 0.0
    for ladder, (_, held) in zip(ladders, parts, strict=True):
        for stratum in np.flatnonzero(_present(held)):
            rows = np.flatnonzero(held.strata == stratum)
            first, inverse = distinct_cells(held.digits[rows], held.sizes)
            found = predict_pooled(ladder, int(stratum), held.digits[rows][first])[0]
            total += log_score(found[inverse], held.classes[rows], held.weights[rows])
    return total


@dataclass(frozen=True, slots=True)
class _Trial:
    """One stratum of one fold: what is learned from, and what is predicted.

    Attributes
    ----------
    unit : Unit
    held : Design
    first, inverse : int arrays
        Distinct cells of the persons held out.
    base : float array, shape (c, R)
        Pooled probabilities of these cells.
    levels : int array, shape (c, terms)
    """

    unit: Unit
    held: Design
    first: np.ndarray
    inverse: np.ndarray
    base: np.ndarray
    levels: np.ndarray

    @classmethod
    def of(cls, ladder: Ladder, rest: Design, held: Design, stratum: int) -> _Trial:
        unit = Unit.of(ladder, rest, stratum)
        held = held.rows(np.flatnonzero(held.strata == stratum))
        first, inverse = distinct_cells(held.digits, held.sizes)
        base = predict_pooled(ladder, stratum, held.digits[first])[0]
        return cls(
            unit, held, first, inverse, base, level_rows(unit.cells.empty, held.digits[first])
        )

    def score(self, own: Any) -> float:
        if isinstance(own, Tilt):
            found = moved(self.base, own.effects, self.levels)
        else:
            found, known = predict_empirical(own, self.held.digits[self.first])
            found[~known] = self.base[~known]
        return log_score(found[self.inverse], self.held.classes, self.held.weights)


def _scores(trials: list[_Trial], model: str) -> list[tuple[float, float]]:
    """Mean log probability for each amount, from the most pooled on, until it falls twice."""
    weight = sum(float(trial.held.weights.sum()) for trial in trials)
    scores: list[tuple[float, float]] = []
    now: list[Any] = [None] * len(trials)
    for amount in GRID:
        now = [
            trial.unit.fit(model, amount, start, COARSE)
            for trial, start in zip(trials, now, strict=True)
        ]
        total = sum(trial.score(own) for trial, own in zip(trials, now, strict=True))
        scores.append((amount, total / weight))
        if len(scores) > 2 and scores[-1][1] < scores[-2][1] < scores[-3][1]:
            break
    return scores
