"""Partial pooling of any model: predictions of a stratum mixed with those of all strata.

See `synthpop.conditional.pooling.options`, ways "mixture" and "cells".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.fallback import (
    FallbackSequence,
    ModelDesign,
    fit_model,
    predict_model,
    uses_strata,
)
from synthpop.conditional.pooling.choose import GRID, best, deal_splits, log_score, search
from synthpop.conditional.pooling.options import Mixture, Pooling, share_of_own, smoothed_shares
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
    own = [
        _of_stratum(model, design, pooled, stratum, seed, pooling) if here else None
        for stratum, here in enumerate(enough)
    ]
    return FallbackSequence(model, tuple(own), pooled, marginals, pooling)


def pooled_design(model: Any, design: ModelDesign) -> ModelDesign:
    """Return what the pooled model is fitted to: with the stratum, but for a table."""
    return design.with_strata() if uses_strata(model, design) else design


def _of_stratum(
    model: Any, design: ModelDesign, pooled: Any, stratum: int, seed: int, pooling: Pooling
) -> Any:
    part = design.rows(np.flatnonzero(design.strata == stratum))
    if pooling.way == "cells":
        own = fit_model(model, part, seed)
        first, inverse = distinct_cells(part.digits, part.sizes)  # in the order of own.shares
        prior, _ = predict_model(model, pooled, part.digits[first])
        shares = smoothed_shares(own.shares, np.bincount(inverse), prior, pooling.amount)
        return replace(own, shares=shares)
    share = float(share_of_own(len(part.classes), pooling.amount))
    return Mixture(fit_model(model, part, seed + stratum + 1) if share else None, share)


# the choice of the amount


@dataclass(frozen=True, slots=True)
class Held:
    """What two models say of the classes of persons who were held out.

    Attributes
    ----------
    own, pooled : float arrays, shape (h,)
        Probability of the observed class by the stratum's model and by the pooled one. Where one
        of them does not know the cell, that of the other.
    sizes : int array, shape (h,)
        Persons that the own one stands for; 0 where it does not know the cell.
    weights : float array, shape (h,)
    """

    own: np.ndarray
    pooled: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray

    def score(self, amount: float) -> float:
        """Mean log probability with an amount of pooling."""
        share = share_of_own(self.sizes, amount)
        found = share * self.own + (1.0 - share) * self.pooled
        return log_score(found, self.weights) / float(self.weights.sum())


def choose_mixture(
    model: Any, design: ModelDesign, enough: np.ndarray, seed: int, way: str
) -> Pooling:
    """Choose the amount of pooling by cross-validation over households.

    Models are fitted once for each fold; all amounts are scored with them.
    """
    nothing = Pooling("partial", np.inf, chosen="cross-validated", way=way)
    splits = deal_splits(design.groups, seed)
    if len(splits) < 2 or not enough[design.strata].any():
        return nothing
    parts = [
        hold_out(model, design.rows(rest), design.rows(held), enough, seed, way)
        for rest, held in splits
    ]
    held = Held(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Held.__slots__)
    )
    grid = GRID if way == "cells" else MIXTURE_GRID
    scores = search(held.score, grid, falls=len(grid))
    return replace(nothing, amount=best(scores), scores=scores)


def hold_out(
    model: Any, rest: ModelDesign, held: ModelDesign, enough: np.ndarray, seed: int, way: str
) -> Held:
    """Fit the models to `rest` and predict `held`, its persons in strata with enough of them."""
    pooled = fit_model(model, pooled_design(model, rest), seed)
    nobody = np.zeros(0)
    found: list[tuple[np.ndarray, ...]] = [(nobody, nobody, nobody, nobody)]
    for stratum in np.flatnonzero(enough):
        there = held.rows(np.flatnonzero(held.strata == stratum))
        if len(there.classes) == 0:
            continue
        here = rest.rows(np.flatnonzero(rest.strata == stratum))
        found.append(_predict(model, pooled, here, there, seed + int(stratum) + 1, way))
    return Held(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _predict(
    model: Any, pooled: Any, here: ModelDesign, there: ModelDesign, seed: int, way: str
) -> tuple[np.ndarray, ...]:
    """Return the arrays of `Held` for persons `there` of one stratum, learned from `here`."""
    wide = pooled_design(model, there)
    base, base_known = _observed(model, pooled, wide)
    own, known = base, np.zeros(len(base), dtype=bool)
    if len(here.classes):
        own, known = _observed(model, fit_model(model, here, seed), there)
    own, base = np.where(known, own, base), np.where(base_known, base, own)
    sizes = _cell_sizes(here, there) if way == "cells" else np.full(len(own), len(here.classes))
    return own, base, np.where(known, sizes, 0), there.weights


def _observed(model: Any, fitted: Any, design: ModelDesign) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of each person's class, and whether the model knows the cell."""
    first, inverse = distinct_cells(design.digits, design.sizes)
    predicted, known = predict_model(model, fitted, design.digits[first])
    return predicted[inverse, design.classes], known[inverse]


def _cell_sizes(here: ModelDesign, there: ModelDesign) -> np.ndarray:
    """Return how many persons of `here` are in the cell of each of `there`, shape (h,)."""
    both = np.concatenate([here.digits, there.digits])
    cell = distinct_cells(both, here.sizes)[1]
    n = len(here.digits)
    counts: np.ndarray = np.bincount(cell[:n], minlength=int(cell.max()) + 1)
    return counts[cell[n:]]
