"""A sequence of models: the stratum's own, the one pooled over strata, the weighted marginal.

Each cell takes the first step that has an answer for it; which one is returned beside the
probabilities, so that nothing falls back in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from synthpop.conditional.likeness import Likeness
from synthpop.conditional.pooling.class_totals import CommonModel
from synthpop.conditional.pooling.options import ALONE, Mixture, Pooling, mixed
from synthpop.conditional.pooling.ridge_effects import RidgeEffects, shifted
from synthpop.microdata.messages.message import message
from synthpop.models.empirical import fit_empirical, predict_empirical
from synthpop.models.learners import PredictorCodes, fit_learner, predict_learner
from synthpop.models.linear_multinomial import fit_linear_multinomial
from synthpop.models.multinomial import fit_multinomial, predict_multinomial
from synthpop.models.numeric_predictors import with_numbers

STRATUM, POOLED, MARGINAL = 0, 1, 2
STEPS = (
    "the stratum's model",
    message("the model pooled over strata"),
    message("the weighted marginal"),
)

# name -> (fit, predict); "additive" models may have the stratum as a further predictor
MODELS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "multinomial": (fit_multinomial, predict_multinomial),
    "empirical": (fit_empirical, predict_empirical),
}
LEARNERS = ("tree", "forest", "shrunk-tree", "boosting", "nested")


@dataclass(frozen=True, slots=True)
class ModelDesign:
    """What a model is fitted to."""

    digits: np.ndarray  # int array, shape (n, m)
    classes: np.ndarray  # int arrays, shape (n,)
    weights: np.ndarray  # float array, shape (n,)
    strata: np.ndarray  # int arrays, shape (n,)
    sizes: tuple[int, ...]  # number of levels of each predictor
    ordered: tuple[bool, ...]  # which predictors have digits in a meaningful order
    n_classes: int
    n_strata: int
    # for each predictor None, or the values of its digits where it enters as a number
    numbers: tuple[np.ndarray | None, ...] = ()
    # int array, shape (n,): sampling unit of each person (primary sampling unit or household),
    # whose persons stay together in cross-validation
    units: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray:
        """Sampling unit of each person; a number for each person where there are no units."""
        return np.arange(len(self.classes)) if self.units is None else self.units

    def rows(self, rows: np.ndarray) -> ModelDesign:
        """Return the design of some persons."""
        return replace(
            self,
            digits=self.digits[rows],
            classes=self.classes[rows],
            weights=self.weights[rows],
            strata=self.strata[rows],
            units=None if self.units is None else self.units[rows],
        )

    def with_strata(self) -> ModelDesign:
        """Return the design with the stratum as last predictor."""
        return replace(
            self,
            digits=np.column_stack([self.digits, self.strata]),
            sizes=(*self.sizes, self.n_strata),
            ordered=(*self.ordered, False),
            numbers=(*self.numbers, None) if self.numbers else (),
        )


def known_model(model: Any) -> bool:
    """Whether `model` is a name that is known or a scikit-learn classifier."""
    if isinstance(model, str):
        return model in MODELS or model in LEARNERS
    return hasattr(model, "fit") and hasattr(model, "predict_proba")


def fit_model(model: Any, design: ModelDesign, seed: int) -> Any:
    """Fit one model to all rows of the design."""
    d = design
    if isinstance(model, str) and model == "multinomial" and with_numbers(d.numbers):
        return fit_linear_multinomial(
            d.digits, d.classes, d.weights, d.sizes, d.numbers, d.n_classes
        )
    if isinstance(model, str) and model in MODELS:
        return MODELS[model][0](d.digits, d.classes, d.weights, d.sizes, d.n_classes)
    predictors = PredictorCodes(d.digits, d.sizes, d.ordered, d.numbers, d.units)
    return fit_learner(model, predictors, d.classes, d.weights, d.n_classes, seed)


def predict_model(model: Any, fitted: Any, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return class probabilities of cells and which cells the fitted model knows."""
    if isinstance(model, str) and model in MODELS:
        return MODELS[model][1](fitted, digits)
    return predict_learner(fitted, digits)


@dataclass(frozen=True, slots=True)
class LevelFactors:
    """Factors of the classes by the levels of a predictor."""

    term: int  # position of the predictor among the terms
    # float array, shape (levels, R): the first class is missing; its probability stays, whatever
    # the others' factors are
    factors: np.ndarray

    def applied(self, probabilities: np.ndarray, digits: np.ndarray) -> np.ndarray:
        """Return the probabilities of cells, shape (c, R), tilted."""
        moved: np.ndarray = probabilities * self.factors[digits[:, self.term]]
        moved[:, 0] = probabilities[:, 0]
        before, after = probabilities[:, 1:].sum(axis=1), moved[:, 1:].sum(axis=1)
        scale = np.divide(before, after, out=np.ones_like(after), where=after > 0)
        moved[:, 1:] *= scale[:, None]
        return moved


@dataclass(frozen=True, slots=True)
class FallbackSequence:
    """Fitted models of one response."""

    # str or classifier: key of `MODELS`, one of `LEARNERS`, or a scikit-learn classifier
    model: Any
    # a fitted model, or None where the stratum is too small for its own
    by_stratum: tuple[Any, ...]
    # fitted model: all strata together, with the stratum as last predictor but for a table
    pooled: Any
    # float array, shape (n_strata, R): weighted class shares; those of all strata where a stratum
    # has no case
    marginals: np.ndarray
    # How strata borrow from each other. With partial pooling the entries of `by_stratum` are what
    # a stratum adds to the pooled model.
    pooling: Pooling = ALONE
    pairs: RidgeEffects | None = None  # what pairs of predictors add to the pooled model
    # float array, shape (2, R), or None: weights of the classes of other and of first members of
    # households in the survey, as the models predict them; see
    # `synthpop.conditional.calibrated_shares`
    targets: np.ndarray | None = None
    # float array, shape (2, R), or None: by which their probabilities are multiplied. First
    # members have the last digit of the last predictor.
    factors: np.ndarray | None = None
    first: int = -1  # that digit
    likeness: Likeness | None = None  # what members beside the first have in common beyond a model
    # by which the probabilities of classes that are not missing are multiplied then
    level_factors: LevelFactors | None = None
    # terms that tell nothing where they are 0: combinations that no model knows are looked up
    # again without them, before the marginal counts
    optional: tuple[int, ...] = ()
    # towards which the predictions of small strata are shrunk
    common: CommonModel | None = None

    def ask(
        self, predict: Callable[..., Any], stratum: int, digits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what one of the models says of cells of a stratum, and which cells it knows."""
        answer: tuple[np.ndarray, np.ndarray] = predict(self, stratum, digits)
        return answer


@dataclass(frozen=True, slots=True)
class RememberingSequence(FallbackSequence):
    """A sequence that is asked for the same cells again, with other factors, in one thread."""

    answers: dict[tuple[Any, int, bytes], tuple[np.ndarray, np.ndarray]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, sequence: FallbackSequence) -> RememberingSequence:
        """Return a sequence with no answers yet."""
        return cls(*(getattr(sequence, item.name) for item in fields(FallbackSequence)))

    def ask(
        self, predict: Callable[..., Any], stratum: int, digits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the answer of before, where the cells are the same."""
        key = predict, stratum, digits.tobytes()
        if key not in self.answers:
            self.answers[key] = predict(self, stratum, digits)
        return self.answers[key]


def uses_strata(model: Any, design: ModelDesign | FallbackSequence) -> bool:
    """A table by stratum would be the strata's own again; other models take the stratum."""
    n_strata = len(design.by_stratum) if isinstance(design, FallbackSequence) else design.n_strata
    return n_strata > 1 and not (isinstance(model, str) and model == "empirical")


def pooled_design(model: Any, design: ModelDesign) -> ModelDesign:
    """Return what the pooled model is fitted to: with the stratum, but for a table."""
    return design.with_strata() if uses_strata(model, design) else design


def predict_with_fallback(
    sequence: FallbackSequence, stratum: int, digits: np.ndarray, allowed: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return class probabilities of cells and the level of the fallback that gave them.

    digits: int array, shape (c, m)
    allowed: bool array, shape (c, R); False for structural zeros, at least one True in each row;
        probabilities are set to zero there and scaled back to one
    Returns probabilities: float array, shape (c, R); step: int array, shape (c,); 0 stratum, 1
        pooled, 2 marginal; 3 where every class with any share is impossible (then the allowed
        classes are equally likely).
    """
    n_classes = sequence.marginals.shape[1]
    probabilities = np.zeros((len(digits), n_classes))
    step = np.full(len(digits), MARGINAL + 1)
    for number, predict, cells in _sources(sequence, stratum, digits):
        waiting = step > MARGINAL
        if not waiting.any():
            break
        rows = slice(None) if waiting.all() else np.flatnonzero(waiting)
        shares, known = sequence.ask(predict, stratum, cells[rows])
        if sequence.common is not None and number != MARGINAL:
            shares = sequence.common.mixed(stratum, cells[rows], shares, known)
        if sequence.likeness is not None:
            shares = sequence.likeness.applied(shares, digits[rows])
        if sequence.factors is not None:
            is_first = (digits[rows, -1] == sequence.first).astype(np.int64)
            shares = shares * sequence.factors[is_first]
        if sequence.level_factors is not None:
            shares = sequence.level_factors.applied(shares, digits[rows])
        if allowed is not None:
            shares = shares * allowed[rows]
        total = shares.sum(axis=1)
        known = known & (total > 0)
        if known.all():
            probabilities[rows] = shares / total[:, None]
            step[rows] = number
            continue
        answered = np.flatnonzero(waiting)[known]
        probabilities[answered] = shares[known] / total[known, None]
        step[answered] = number
    unanswered = step > MARGINAL
    if unanswered.any() and allowed is not None:
        probabilities[unanswered] = allowed[unanswered] / allowed[unanswered].sum(
            axis=1, keepdims=True
        )
    if sequence.pooling.kind == "complete":
        step[step == POOLED] = STRATUM  # what was asked for is not a step down
    return probabilities, step


def _sources(
    sequence: FallbackSequence, stratum: int, digits: np.ndarray
) -> list[tuple[int, Callable[..., tuple[np.ndarray, np.ndarray]], np.ndarray]]:
    """Return step, function and digits of each source, in the order in which they are asked."""
    models: list[tuple[int, Callable[..., Any]]] = [(POOLED, predict_pooled)]
    if sequence.by_stratum[stratum] is not None:
        models.insert(0, (STRATUM, predict_own))
    sources = [(number, predict, digits) for number, predict in models]
    if sequence.optional:
        without = digits.copy()
        without[:, list(sequence.optional)] = 0
        sources += [(POOLED, predict, without) for _, predict in models]
    return [*sources, (MARGINAL, _marginal, digits)]


def _marginal(
    sequence: FallbackSequence, stratum: int, digits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    shares = np.tile(sequence.marginals[stratum], (len(digits), 1))
    return shares, np.ones(len(digits), dtype=bool)


def predict_pooled(
    sequence: FallbackSequence, stratum: int, digits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the pooled model says of cells of a stratum, and which cells it knows."""
    shares, known = _without_pairs(sequence, stratum, digits)
    if sequence.pairs is None:
        return shares, known
    return shifted(sequence.pairs, shares, digits)[0], known


def _without_pairs(
    sequence: FallbackSequence, stratum: int, digits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    all_digits = digits
    if uses_strata(sequence.model, sequence):
        all_digits = np.column_stack([digits, np.full(len(digits), stratum)])
    return predict_model(sequence.model, sequence.pooled, all_digits)


def predict_own(
    sequence: FallbackSequence, stratum: int, digits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a stratum's own model says of cells, and which cells it knows."""
    model = sequence.by_stratum[stratum]
    if not isinstance(model, (RidgeEffects, Mixture)):
        return predict_model(sequence.model, model, digits)
    if isinstance(model, RidgeEffects):
        base, known = _without_pairs(sequence, stratum, digits)
        shares, observed = shifted(model, base, digits, sequence.pairs)
        return shares, known & observed
    base, known = predict_pooled(sequence, stratum, digits)
    if model.model is None:
        return base, known
    return mixed(*predict_model(sequence.model, model.model, digits), base, known, model.share)


def cumulative(probabilities: np.ndarray) -> np.ndarray:
    """Return cumulative probabilities that never let a class of probability zero be drawn.

    Examples
    --------
    >>> cumulative(np.array([[0.0, 0.4, 0.6, 0.0]])).tolist()
    [[0.0, 0.4, 1.0, 1.0]]
    """
    table = np.cumsum(probabilities, axis=1)
    n_classes = probabilities.shape[1]
    last_possible = n_classes - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=1)
    table[np.arange(n_classes) >= last_possible[:, None]] = 1.0
    return np.ascontiguousarray(table)
