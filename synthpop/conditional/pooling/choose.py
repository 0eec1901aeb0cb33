"""Choice of an amount of pooling by cross-validation over households.

Households are assigned to folds, each fold is predicted from the others with each amount, and the
amount with the largest weighted mean log probability of the observed classes is taken (Stone 1974,
doi:10.1111/j.2517-6161.1974.tb00994.x), or, by the one-standard-error rule (Breiman, Friedman,
Olshen and Stone 1984, section 3.4.3), the most pooled one that is not clearly worse: its mean is
less than one standard error of the difference between the two, over the folds, behind the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.messages.message import message

FOLDS = 4
CROSS_VALIDATED, ONE_STANDARD_ERROR = "cross-validated", "one-standard-error"
CHOICES = (CROSS_VALIDATED, ONE_STANDARD_ERROR)
GRID = (np.inf, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
LEAST = 1e-4  # probability that a class is given at least when predictions are scored
EQUAL = 1e-9  # difference of scores, as a share, that means nothing
ROUNDING = 1e-15

Scores = tuple[tuple[float, float], ...]
FoldScores = Sequence[tuple[float, np.ndarray | float]]
"""Amounts, and what each fold adds to the score of an amount, shape (folds,), or their sum."""


def assign_folds(groups: np.ndarray, seed: int, n_folds: int = FOLDS) -> np.ndarray:
    """Return the fold of each person; those of a sampling unit share one.

    groups: int array, shape (n,); sampling unit of each person

    Examples
    --------
    >>> folds = assign_folds(np.array([0, 0, 1, 1, 2]), seed=1, n_folds=2)
    >>> bool(folds[0] == folds[1] and folds[2] == folds[3])
    True
    """
    number = np.unique(groups, return_inverse=True)[1].reshape(-1)
    n = int(number.max(initial=-1)) + 1
    return (np.random.default_rng(seed).permutation(n) % n_folds)[number]


def fold_splits(groups: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to learn from and those held out, for each fold that has both.

    groups: int array, shape (n,); sampling unit of each person
    """
    folds = assign_folds(groups, seed)
    splits = [
        (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(FOLDS)
    ]
    return [(train, test) for train, test in splits if len(train) and len(test)]


def log_score(probabilities: np.ndarray, weights: np.ndarray) -> float:
    """Weighted sum of the logarithms of probabilities, each at least `LEAST`; both shape (n,)."""
    return float(np.sum(weights * np.log(np.maximum(probabilities, LEAST))))


def search(
    score: Callable[[float], np.ndarray | float], grid: Sequence[float], falls: int
) -> FoldScores:
    """Score the amounts of a grid one after another, until the score has fallen `falls` times.

    Examples
    --------
    >>> def score(amount):
    ...     return np.array([50.0, -abs(amount - 30.0)])
    >>> totals(search(score, [100.0, 30.0, 10.0, 3.0], falls=1))
    ((100.0, -20.0), (30.0, 50.0), (10.0, 30.0))
    """
    scores: list[tuple[float, np.ndarray | float]] = []
    fallen = 0
    for amount in grid:
        scores.append((amount, score(amount)))
        falling = len(scores) > 1 and np.sum(scores[-1][1]) < np.sum(scores[-2][1])
        fallen = fallen + 1 if falling else 0
        if fallen == falls:
            break
    return scores


def totals(scores: FoldScores) -> Scores:
    """Return the score of each amount over all folds."""
    return tuple((amount, float(np.sum(folds))) for amount, folds in scores)


def best(scores: FoldScores, choice: str = CROSS_VALIDATED) -> float:
    """Return the amount with the largest score; of equal ones the first, the most pooled.

    Scores that rounding alone can tell apart are equal; with "one-standard-error" also those that
    are less than one standard error of their difference behind the largest.

    Examples
    --------
    >>> scores = [(np.inf, [-1.0, -1.2]), (300.0, [-0.7, -1.3]), (100.0, [-2.0, -2.0])]
    >>> scores = [(amount, np.array(folds)) for amount, folds in scores]
    >>> best(scores), best(scores, "one-standard-error")
    (300.0, inf)
    """
    folds = np.array([np.atleast_1d(folds) for _, folds in scores])
    score = folds.sum(axis=1)
    highest = int(np.argmax(score))
    allowed = np.full(len(scores), rounding(float(score[highest])))
    if choice == ONE_STANDARD_ERROR and folds.shape[1] > 1:
        behind = folds[highest] - folds
        errors = np.sqrt(folds.shape[1] * behind.var(axis=1, ddof=1))
        allowed = np.maximum(allowed, errors)
    is_near = score[highest] - score <= allowed
    return float(scores[int(np.argmax(is_near))][0])


@dataclass(frozen=True, slots=True)
class PoolingChoice:
    """How far strata borrow from each other, and how that was chosen.

    Examples
    --------
    >>> PoolingChoice("partial", np.inf).to_dict()
    {'kind': 'partial', 'amount': 'infinite', 'chosen': 'given', 'scores': []}
    """

    kind: str = "none"  # "none", "partial" or "complete"
    amount: float = 0.0  # strength of the shrinkage towards all strata
    chosen: str = "given"  # "given", or how cross-validation chose: one of `CHOICES`
    scores: Scores = ()  # of what was held out, for each amount that was tried

    def to_dict(self) -> dict[str, object]:
        """Return plain values; "infinite" where an amount has no bound."""
        return {
            "kind": self.kind,
            "amount": plain_amount(self.amount),
            "chosen": self.chosen,
            "scores": [[plain_amount(amount), score] for amount, score in self.scores],
        }

    @property
    def how(self) -> str:
        """How the amount was chosen, in words."""
        if self.chosen == ONE_STANDARD_ERROR:
            return message(
                "the most pooled within one standard error of the best in cross-validation"
            )
        return (
            message("chosen by cross-validation")
            if self.chosen == CROSS_VALIDATED
            else message("as given")
        )


def plain_amount(amount: float) -> float | str:
    """Return an amount, or "infinite"."""
    return "infinite" if np.isinf(amount) else float(amount)


def rounding(score: float) -> float:
    """Return by how much a score can differ from an equal one."""
    return EQUAL * abs(score) + ROUNDING
