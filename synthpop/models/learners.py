"""Class probabilities by scikit-learn classifiers: tree, forest, boosting, or any other.

A classifier sees one column for each ordered predictor (its digit) and one column for each level
of an unordered one; it is asked once for each distinct cell. Levels that the sample did not have
count as unknown, whatever the classifier would say about them.

Class 0 is a missing value. Classifiers smooth: a forest would give some children the economic
status that adults have. Where all of 20 persons or more with a level of a predictor have no value,
nobody gets one; where all of them have one, everybody does. It has to be no chance: with the share
of values in the whole sample that many persons would be alike less than once in 1,000 times.
Otherwise a rare value would become rarer with every predictor that has many levels.

Boosting can diverge where a class has a few cases. So its trees are small and regularised, and a
fit whose predicted weighted shares of classes miss those of its own sample is not used: a forest
stands in. This is recorded, as is any other classifier that misses them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from synthpop.microdata.messages.text import percent
from synthpop.microdata.runs.environment import one_thread
from synthpop.models.numeric_predictors import Numbers, are_seen, learner_columns, levels_seen
from synthpop.models.shrunk_tree import SMALLEST_LEAF, ShrunkTree

N_TREES = 100
NO_VALUE = 0  # the class of a missing value
FEWEST_ALIKE = 20  # persons of a level who show that it has no values, or that it always has
LARGEST_CHANCE = 1e-3  # that persons of any level would be alike like this
NEVER, SOME, ALWAYS = -1, 0, 1
BOOSTING = {"max_iter": 100, "learning_rate": 0.08, "max_leaf_nodes": 8, "l2_regularization": 2.0}
MOST_BOOSTED, FEWEST_ROUNDS = 1_000, 10  # trees of all classes, and rounds at least
LARGEST_MISS = 0.02  # half the sum of differences of predicted and weighted shares of classes


@dataclass(frozen=True, slots=True)
class LearnerModel:
    """A fitted classifier."""

    estimator: Any  # fitted scikit-learn classifier, or None where the sample has one class
    classes: np.ndarray  # int array: class numbers in the order of the columns of ``predict_proba``
    seen: tuple[np.ndarray, ...]  # tuple of bool arrays, one for each predictor, shape (size,)
    ordered: tuple[bool, ...]
    n_classes: int
    # for each predictor None, or the values of its digits where it enters as a number
    numbers: Numbers = ()
    # tuple of int arrays, one for each predictor, shape (size,): -1 where no person of a level
    # has a value, 1 where all have one, 0 otherwise, or where chance may have made it so
    existence: tuple[np.ndarray, ...] = ()
    # why a forest stands in, or by how much the classifier misses the shares of its sample
    note: str = ""


def boosting_rounds(n_classes: int) -> dict[str, float]:
    """Return the options of boosting: a round grows a tree for each class.

    So that all classes have about 1,000 trees, many classes have fewer rounds of longer steps,
    longer by the root of how much fewer they are. (60 codes and 6,300 persons: mean log score of
    2,700 others -3.326 in 1.4 processor seconds; with 100 rounds -3.374 in 8.7.)

    Examples
    --------
    >>> boosting_rounds(10)["max_iter"], boosting_rounds(60)["max_iter"]
    (100, 16)
    >>> round(boosting_rounds(60)["learning_rate"], 2)
    0.2
    """
    most = BOOSTING["max_iter"]
    rounds = int(min(most, max(FEWEST_ROUNDS, MOST_BOOSTED // max(n_classes, 1))))
    step = BOOSTING["learning_rate"] * float(np.sqrt(most / rounds))
    return {**BOOSTING, "max_iter": rounds, "learning_rate": step}


def make_estimator(
    model: Any, n_columns: int, seed: int, *, of_numbers: bool = False, n_classes: int = 2
) -> Any:
    """Return a new classifier (`of_numbers`: regressor) for a name, or a copy of the one given.

    model: "tree", "forest", "shrunk-tree" and "boosting" (classifiers only) or one of scikit-learn
    n_columns: a forest tries two thirds of them at each split (not their square root, which is one
        column where there are two or three)
    n_classes: boosting has fewer rounds for many
    seed: set as ``random_state`` where the estimator has one and it is None
    """
    from sklearn import ensemble, tree
    from sklearn.base import clone

    if isinstance(model, str) and model == "shrunk-tree":
        return ShrunkTree(random_state=seed)
    if isinstance(model, str) and model == "tree":
        grown = tree.DecisionTreeRegressor if of_numbers else tree.DecisionTreeClassifier
        return grown(min_samples_leaf=SMALLEST_LEAF, random_state=seed)
    if isinstance(model, str) and model == "forest":
        forest = ensemble.RandomForestRegressor if of_numbers else ensemble.RandomForestClassifier
        return forest(
            N_TREES,
            min_samples_leaf=SMALLEST_LEAF,
            max_features=max(1, round(2 * n_columns / 3)),
            random_state=seed,
        )
    if isinstance(model, str):
        return ensemble.HistGradientBoostingClassifier(
            random_state=seed, **boosting_rounds(n_classes)
        )
    estimator = clone(model)
    if getattr(estimator, "random_state", 0) is None:
        estimator.set_params(random_state=seed)
    return estimator


class PredictorCodes(NamedTuple):
    """Predictors of the persons of a sample."""

    digits: np.ndarray  # int array, shape (n, m)
    sizes: Sequence[int]  # number of levels of each predictor
    ordered: Sequence[bool]  # which predictors have digits in a meaningful order
    # for each predictor None, or the values of its digits: a number is a column of its values;
    # one that is missing somewhere has a further column
    numbers: Numbers = ()
    # int array, shape (n,): sampling unit of each person, None: each is one
    units: np.ndarray | None = None


def fit_learner(
    model: Any,
    predictors: PredictorCodes,
    classes: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    seed: int,
) -> LearnerModel:
    """Fit a classifier; arguments as in `fit_multinomial`."""
    digits, sizes, ordered, numbers, units = predictors
    present = np.unique(classes)
    seen = levels_seen(digits, sizes, numbers)
    fitted = LearnerModel(
        None, present, seen, tuple(ordered), n_classes, tuple(numbers),
        existence_of(digits, classes, sizes),
    )  # fmt: skip
    if len(present) == 1:
        return fitted
    x = _columns(digits, fitted)
    shares = weights / weights.mean()
    note = ""
    with one_thread(), warnings.catch_warnings():
        # codes of a classification may have few persons each
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        estimator = make_estimator(model, x.shape[1], seed, n_classes=len(present))
        groups = {"groups": units} if isinstance(estimator, ShrunkTree) else {}
        estimator.fit(x, classes, sample_weight=shares, **groups)
        miss = missed_shares(estimator, x, classes, shares)
        if miss > LARGEST_MISS:
            note = f"predicted shares of classes miss those of the sample by {percent(miss)}"
        if note and isinstance(model, str) and model == "boosting":
            estimator = make_estimator("forest", x.shape[1], seed)
            estimator.fit(x, classes, sample_weight=shares)
            note = f"boosting: {note}; a forest was used"
    return replace(fitted, estimator=estimator, classes=np.asarray(estimator.classes_), note=note)


def missed_shares(estimator: Any, x: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Return half the sum of differences of predicted and weighted shares of classes.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> x, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> constant = DummyClassifier(strategy="constant", constant=0).fit(x, y)
    >>> missed_shares(constant, x, y, np.ones(4))
    0.5
    """
    predicted = np.average(estimator.predict_proba(x), axis=0, weights=weights)
    position = np.searchsorted(estimator.classes_, classes)
    observed = np.bincount(position, weights, len(predicted)) / weights.sum()
    return float(np.abs(predicted - observed).sum() / 2)


def existence_of(
    digits: np.ndarray, classes: np.ndarray, sizes: Sequence[int]
) -> tuple[np.ndarray, ...]:
    """Return for each level of each predictor whether it has values; see `LearnerModel`.

    Examples
    --------
    >>> digits = np.repeat([[0], [1], [2]], 20, axis=0)
    >>> classes = np.repeat([0, 1, 0], [20, 30, 10])
    >>> existence_of(digits, classes, [4])[0].tolist()
    [-1, 1, 0, 0]
    """
    existence = []
    share = float(np.mean(classes != NO_VALUE))
    for j, size in enumerate(sizes):
        persons = np.bincount(digits[:, j], minlength=size)
        with_value = np.bincount(digits[classes != NO_VALUE, j], minlength=size)
        is_frequent = persons >= FEWEST_ALIKE
        level = np.full(size, SOME)
        level[is_frequent & (with_value == 0) & ((1 - share) ** persons < LARGEST_CHANCE)] = NEVER
        level[is_frequent & (with_value == persons) & (share**persons < LARGEST_CHANCE)] = ALWAYS
        existence.append(level)
    return tuple(existence)


def _keep_existence(
    probabilities: np.ndarray, digits: np.ndarray, existence: tuple[np.ndarray, ...]
) -> None:
    """Change probabilities, shape (c, R), in place; levels that contradict change nothing."""
    masks = [level[digits[:, j]] for j, level in enumerate(existence)]
    if not masks:
        return
    never = np.any(np.array(masks) == NEVER, axis=0)
    always = np.any(np.array(masks) == ALWAYS, axis=0)
    rows = np.flatnonzero(never & ~always)
    probabilities[rows] = 0.0
    probabilities[rows, NO_VALUE] = 1.0
    p_of_value = 1.0 - probabilities[:, NO_VALUE]
    rows = np.flatnonzero(always & ~never & (p_of_value > 0))
    probabilities[rows, NO_VALUE] = 0.0
    probabilities[rows] /= p_of_value[rows, None]


def predict_learner(model: LearnerModel, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return class probabilities of cells and which cells are known; see the multinomial."""
    known = are_seen(digits, model.seen)
    probabilities = np.zeros((len(digits), model.n_classes))
    if model.estimator is None:
        probabilities[:, model.classes[0]] = 1.0
    elif known.any():
        predicted = model.estimator.predict_proba(_columns(digits[known], model))
        probabilities[np.ix_(known, model.classes)] = predicted
        _keep_existence(probabilities, digits, model.existence)
    probabilities[~known] = 0.0
    return probabilities, known


def _columns(digits: np.ndarray, model: LearnerModel) -> np.ndarray:
    return learner_columns(digits, model.seen, model.ordered, model.numbers)
