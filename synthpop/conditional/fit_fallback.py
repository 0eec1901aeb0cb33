"""Fit of a sequence of models with fallbacks, pooled over strata or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthpop.conditional.fallback import FallbackSequence, ModelDesign, fit_model, pooled_design
from synthpop.conditional.pooling.options import Pooling
from synthpop.conditional.pooling.partial import fit_partial


def fit_with_fallback(
    model: Any,
    design: ModelDesign,
    *,
    smallest_stratum: int,
    seed: int = 0,
    pooling: str | float | Pooling = "none",
    pairs: Sequence[tuple[int, ...]] | None = None,
) -> FallbackSequence:
    """Fit every level of the fallback.

    model: key of `MODELS`, one of `LEARNERS`, or a scikit-learn classifier
    smallest_stratum: strata with fewer persons have no model of their own
    pooling: "none", "complete", one of `choose.CHOICES`, a number, or what another fit has chosen
    pairs: those that cross-validation may add to the pooled multinomial model; default: all
    """
    marginals = _marginals(design)
    sizes = np.bincount(design.strata, minlength=design.n_strata)
    enough = sizes >= max(1, smallest_stratum)
    if pooling not in ("none", "complete"):
        return fit_partial(model, design, marginals, enough, seed, pooling, pairs)
    by_stratum: list[Any] = [None] * design.n_strata
    for stratum in np.flatnonzero(enough) if pooling == "none" else ():
        persons = design.rows(np.flatnonzero(design.strata == stratum))
        by_stratum[stratum] = fit_model(model, persons, seed + int(stratum) + 1)
    if design.n_strata == 1 and by_stratum[0] is not None:
        pooled = by_stratum[0]  # of the same persons, with the same predictors
    else:
        pooled = fit_model(model, pooled_design(model, design), seed)
    return FallbackSequence(model, tuple(by_stratum), pooled, marginals, Pooling(kind=str(pooling)))


def _marginals(design: ModelDesign) -> np.ndarray:
    """Weighted class shares by stratum; those of all strata where one has no case."""
    cell = design.strata.astype(np.int64) * design.n_classes + design.classes
    total = np.bincount(cell, weights=design.weights, minlength=design.n_strata * design.n_classes)
    counts = total.reshape(design.n_strata, design.n_classes)
    counts[counts.sum(axis=1) == 0] = counts.sum(axis=0)
    return counts / counts.sum(axis=1, keepdims=True)
