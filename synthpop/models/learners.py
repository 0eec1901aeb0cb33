"""Class probabilities by scikit-learn classifiers: tree, forest, boosting, or any other.

A classifier sees one column for each ordered predictor (its digit) and one column for each level
of an unordered one; it is asked once for each distinct cell. Levels that the sample did not have
count as unknown, whatever the classifier would say about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.models.numbers import Numbers, learner_columns, levels_seen

SMALLEST_LEAF = 5
N_TREES = 100


@dataclass(frozen=True, slots=True)
class LearnerModel:
    """A fitted classifier.

    Attributes
    ----------
    estimator : fitted scikit-learn classifier, or None where the sample has one class
    classes : int array
        Class numbers in the order of the columns of ``predict_proba``.
    seen : tuple of bool arrays, one for each predictor, shape (size,)
    ordered : tuple of bool
    n_classes : int
    numbers : for each predictor None, or the values of its digits where it enters as a number
    """

    estimator: Any
    classes: np.ndarray
    seen: tuple[np.ndarray, ...]
    ordered: tuple[bool, ...]
    n_classes: int
    numbers: Numbers = ()


def make_estimator(model: Any, n_predictors: int, seed: int) -> Any:
    """Return a new classifier for a name or a copy of the one given.

    Parameters
    ----------
    model : "tree", "forest", "boosting" or a scikit-learn classifier
    n_predictors : int
        Columns; a forest tries two thirds of them at each split (not their square root, which is
        one column where there are two or three).
    seed : int
        Set as ``random_state`` where the classifier has one and it is None.
    """
    from sklearn.base import clone
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if model == "tree":
        return DecisionTreeClassifier(min_samples_leaf=SMALLEST_LEAF, random_state=seed)
    if model == "forest":
        return RandomForestClassifier(
            N_TREES,
            min_samples_leaf=SMALLEST_LEAF,
            max_features=max(1, round(2 * n_predictors / 3)),
            random_state=seed,
        )
    if model == "boosting":
        return HistGradientBoostingClassifier(max_iter=60, random_state=seed)
    estimator = clone(model)
    if getattr(estimator, "random_state", 0) is None:
        estimator.set_params(random_state=seed)
    return estimator


def fit_learner(
    model: Any,
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    n_classes: int,
    seed: int,
    numbers: Numbers = (),
) -> LearnerModel:
    """Fit a classifier; arguments as in `fit_multinomial`.

    Parameters
    ----------
    ordered : sequence of bool
        Which predictors have digits in a meaningful order.
    numbers : for each predictor None, or the values of its digits
        A number is a column of its values; one that is missing somewhere has a further column.
    """
    from threadpoolctl import threadpool_limits

    present = np.unique(classes)
    seen = levels_seen(digits, sizes, numbers)
    kept = LearnerModel(None, present, seen, tuple(ordered), n_classes, tuple(numbers))
    if len(present) == 1:
        return kept
    x = _columns(digits, kept)
    estimator = make_estimator(model, x.shape[1], seed)
    with threadpool_limits(1):  # sums in one order, whatever the machine
        estimator.fit(x, classes, sample_weight=weights / weights.mean())
    return replace(kept, estimator=estimator, classes=np.asarray(estimator.classes_))


def predict_learner(model: LearnerModel, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return class probabilities of cells and which cells are known; see the multinomial."""
    known = np.ones(len(digits), dtype=bool)
    for j, seen in enumerate(model.seen):
        known &= seen[digits[:, j]]
    probabilities = np.zeros((len(digits), model.n_classes))
    if model.estimator is None:
        probabilities[:, model.classes[0]] = 1.0
    elif known.any():
        found = model.estimator.predict_proba(_columns(digits[known], model))
        probabilities[np.ix_(known, model.classes)] = found
    probabilities[~known] = 0.0
    return probabilities, known


def _columns(digits: np.ndarray, model: LearnerModel) -> np.ndarray:
    return learner_columns(digits, model.seen, model.ordered, model.numbers)
