"""Partial pooling of any model: predictions of a stratum mixed with those of all strata.

See `synthpop.conditional.pooling.options`, ways "mixture" and "cells".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from synthpop.conditional.fallback import (
    FallbackSequence,
    ModelDesign,
    fit_model,
    pooled_design,
    predict_model,
)
from synthpop.conditional.pooling.choose import CROSS_VALIDATED, GRID, best, fold_splits, totals
from synthpop.conditional.pooling.options import (
    HeldOut,
    Mixture,
    Pooling,
    scores_of_folds,
    share_of_own,
    smoothed_shares,
)
from synthpop.models.encoding import distinct_cells

# a stratum has more persons than a cell
MIXTURE_GRID = (np.inf, 10_000.0, 3_000.0, 1_000.0, *GRID[1:], 0.0)


def fit_mixed(
    model: Any,
    design: ModelDesign,
    marginals: np.ndarray,
    enough: np.ndarray,
    seed: int,
    pooling: Pooling,
) -> FallbackSequence:
    """Fit the pooled model and those of strata; arguments as in `fit_partial`."""
    pooled = fit_model(model, pooled_design(model, design), seed)
    by_stratum = [
        _of_stratum(model, design, pooled, stratum, seed, pooling) if sufficient else None
        for stratum, sufficient in enumerate(enough)
    ]
    return FallbackSequence(model, tuple(by_stratum), pooled, marginals, pooling)


def _of_stratum(
    model: Any, design: ModelDesign, pooled: Any, stratum: int, seed: int, pooling: Pooling
) -> Any:
    persons = design.rows(np.flatnonzero(design.strata == stratum))
    if pooling.way == "cells":
        fitted = fit_model(model, persons, seed)
        # in the order of fitted.shares
        first, inverse = distinct_cells(persons.digits, persons.sizes)
        prior, _ = predict_model(model, pooled, persons.digits[first])
        shares = smoothed_shares(fitted.shares, np.bincount(inverse), prior, pooling.amount)
        return replace(fitted, shares=shares)
    share = float(share_of_own(len(persons.classes), pooling.amount))
    return Mixture(fit_model(model, persons, seed + stratum + 1) if share else None, share)


# the choice of the amount


def choose_mixture(
    model: Any,
    design: ModelDesign,
    enough: np.ndarray,
    seed: int,
    way: str,
    choice: str = CROSS_VALIDATED,
) -> Pooling:
    """Choose the amount of pooling by cross-validation over households.

    Models are fitted once for each fold; all amounts are scored with them.
    """
    nothing = Pooling("partial", np.inf, chosen=choice, way=way)
    splits = fold_splits(design.groups, seed)
    if len(splits) < 2 or not enough[design.strata].any():
        return nothing
    folds = [
        hold_out(model, design.rows(train), design.rows(test), enough, seed, way)
        for train, test in splits
    ]
    scores = scores_of_folds(folds, GRID if way == "cells" else MIXTURE_GRID)
    return replace(nothing, amount=best(scores, choice), scores=totals(scores))


def hold_out(
    model: Any, train: ModelDesign, test: ModelDesign, enough: np.ndarray, seed: int, way: str
) -> HeldOut:
    """Fit the models to `train` and predict `test`, its persons in strata with enough of them."""
    pooled = fit_model(model, pooled_design(model, train), seed)
    nobody = np.zeros(0)
    parts: list[tuple[np.ndarray, ...]] = [(nobody, nobody, nobody, nobody)]
    for stratum in np.flatnonzero(enough):
        tested = test.rows(np.flatnonzero(test.strata == stratum))
        if len(tested.classes) == 0:
            continue
        learned = train.rows(np.flatnonzero(train.strata == stratum))
        parts.append(_predict(model, pooled, learned, tested, seed + int(stratum) + 1, way))
    return HeldOut(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _predict(
    model: Any, pooled: Any, learned: ModelDesign, tested: ModelDesign, seed: int, way: str
) -> tuple[np.ndarray, ...]:
    """Return the arrays of `HeldOut` for `tested` persons of one stratum."""
    base, base_known = _observed(model, pooled, pooled_design(model, tested))
    shares, known = base, np.zeros(len(base), dtype=bool)
    if len(learned.classes):
        shares, known = _observed(model, fit_model(model, learned, seed), tested)
    shares, base = np.where(known, shares, base), np.where(base_known, base, shares)
    sizes = _cell_sizes(learned, tested) if way == "cells" else len(learned.classes)
    return shares, base, np.where(known, sizes, 0), tested.weights


def _observed(model: Any, fitted: Any, design: ModelDesign) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of each person's class, and whether the model knows the cell."""
    first, inverse = distinct_cells(design.digits, design.sizes)
    predicted, known = predict_model(model, fitted, design.digits[first])
    return predicted[inverse, design.classes], known[inverse]


def _cell_sizes(learned: ModelDesign, tested: ModelDesign) -> np.ndarray:
    """Return how many learned persons are in the cell of each tested one, shape (h,)."""
    digits = np.concatenate([learned.digits, tested.digits])
    cell = distinct_cells(digits, learned.sizes)[1]
    n = len(learned.digits)
    counts: np.ndarray = np.bincount(cell[:n], minlength=int(cell.max()) + 1)
    return counts[cell[n:]]
