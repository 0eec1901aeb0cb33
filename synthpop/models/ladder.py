"""A ladder of models: the stratum's own, the one pooled over strata, the weighted marginal.

Each cell takes the first step that has an answer for it; which one is returned beside the
probabilities, so that nothing falls back in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.models.empirical import fit_empirical, predict_empirical
from synthpop.models.multinomial import fit_multinomial, predict_multinomial

STRATUM, POOLED, MARGINAL = 0, 1, 2
STEPS = ("the stratum's model", "the model pooled over strata", "the weighted marginal")

# name -> (fit, predict)
MODELS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "multinomial": (fit_multinomial, predict_multinomial),
    "empirical": (fit_empirical, predict_empirical),
}


@dataclass(frozen=True, slots=True)
class Ladder:
    """Fitted models of one response.

    Attributes
    ----------
    model : str
        Key of `MODELS`.
    by_stratum : tuple, length n_strata
        A fitted model, or None where the stratum is too small for its own.
    pooled : fitted model
        All strata together, with the stratum as last predictor where the model is additive.
    marginals : float array, shape (n_strata, R)
        Weighted class shares; those of all strata where a stratum has no case.
    """

    model: str
    by_stratum: tuple[Any, ...]
    pooled: Any
    marginals: np.ndarray


def fit_ladder(
    model: str,
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    strata: np.ndarray,
    n_strata: int,
    sizes: Sequence[int],
    n_classes: int,
    *,
    smallest_stratum: int,
) -> Ladder:
    """Fit every step of the ladder.

    Parameters
    ----------
    digits : int array, shape (n, m)
    classes, strata : int arrays, shape (n,)
    weights : float array, shape (n,)
    sizes : number of levels of each predictor
    smallest_stratum : strata with fewer persons have no model of their own
    """
    fit, _ = MODELS[model]
    by_stratum: list[Any] = []
    marginals = np.empty((n_strata, n_classes))
    overall = np.bincount(classes, weights=weights, minlength=n_classes) / weights.sum()
    for stratum in range(n_strata):
        rows = np.flatnonzero(strata == stratum)
        shares = np.bincount(classes[rows], weights=weights[rows], minlength=n_classes)
        marginals[stratum] = shares / shares.sum() if len(rows) else overall
        enough = len(rows) >= max(1, smallest_stratum)
        by_stratum.append(
            fit(digits[rows], classes[rows], weights[rows], sizes, n_classes) if enough else None
        )
    pooled_digits, pooled_sizes = _with_strata(model, digits, strata, sizes, n_strata)
    pooled = fit(pooled_digits, classes, weights, pooled_sizes, n_classes)
    return Ladder(model, tuple(by_stratum), pooled, marginals)


def predict_ladder(
    ladder: Ladder, stratum: int, digits: np.ndarray, allowed: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return class probabilities of cells and the step of the ladder that gave them.

    Parameters
    ----------
    digits : int array, shape (c, m)
    allowed : bool array, shape (c, R), optional
        False for structural zeros; probabilities are set to zero there and scaled back to one.

    Returns
    -------
    probabilities : float array, shape (c, R)
    step : int array, shape (c,)
        0 stratum, 1 pooled, 2 marginal; 3 where every class with any share is impossible (then
        the allowed classes are equally likely).
    """
    _, predict = MODELS[ladder.model]
    n_strata, n_classes = ladder.marginals.shape
    probabilities = np.zeros((len(digits), n_classes))
    step = np.full(len(digits), MARGINAL + 1)
    pooled_digits, _ = _with_strata(
        ladder.model, digits, np.full(len(digits), stratum), (), n_strata
    )
    sources = (
        lambda rows: predict(ladder.by_stratum[stratum], digits[rows]),
        lambda rows: predict(ladder.pooled, pooled_digits[rows]),
        lambda rows: (np.tile(ladder.marginals[stratum], (len(rows), 1)), np.ones(len(rows), bool)),
    )
    for number, source in enumerate(sources):
        rows = np.flatnonzero(step > MARGINAL)
        if len(rows) == 0 or (number == STRATUM and ladder.by_stratum[stratum] is None):
            continue
        found, known = source(rows)
        if allowed is not None:
            found = found * allowed[rows]
        total = found.sum(axis=1)
        known = known & (total > 0)
        probabilities[rows[known]] = found[known] / total[known, None]
        step[rows[known]] = number
    rest = step > MARGINAL
    if rest.any() and allowed is not None:
        share = allowed[rest] / np.maximum(allowed[rest].sum(axis=1, keepdims=True), 1)
        probabilities[rest] = share
    return probabilities, step


def cumulative(probabilities: np.ndarray) -> np.ndarray:
    """Return cumulative probabilities that never let a class of probability zero be drawn.

    Examples
    --------
    >>> cumulative(np.array([[0.0, 0.4, 0.6, 0.0]])).tolist()
    [[0.0, 0.4, 1.0, 1.0]]
    """
    table = np.cumsum(probabilities, axis=1)
    n_classes = probabilities.shape[1]
    last = n_classes - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=1)
    table[np.arange(n_classes) >= last[:, None]] = 1.0
    return np.ascontiguousarray(table)


def _with_strata(
    model: str, digits: np.ndarray, strata: np.ndarray, sizes: Sequence[int], n_strata: int
) -> tuple[np.ndarray, tuple[int, ...]]:
    if model != "multinomial" or n_strata == 1:  # a table with strata would be the strata's own
        return digits, tuple(sizes)
    return np.column_stack([digits, strata]), (*sizes, n_strata)
