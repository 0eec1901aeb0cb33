"""How much more often members of a household have the level of another member.

A model of main effects knows that members follow the first one, but not that brothers of the head
follow more closely than lodgers; and effects that are shrunk forget that children of a head of a
rare level follow at all. The probability p(r | x) of a level of a member beside the first becomes

    p'(r | x)  proportional to  p(r | x) exp(sum_t (b_t + c_tk) [r is the level of member t])

where k is the kind of the person, the relation to the head, and member t the first one, the last
before of the same kind, or the second one who is of another kind. The parameters maximise the
weighted likelihood of the survey with the model as an offset, less b_t^2 / (2 4) + c_tk^2 / 2:
normal priors with standard deviations 2 and 1 (ridge), so that kinds of few persons are as others.

A model knows the households that it was fitted to better than those of a population, where members
come together that the survey does not have together. So in a pilot population one more factor for
each t and each group of kinds makes members as often alike as in the survey (iterative proportional
fitting). A kind of 100 persons and more is a group; all others are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

COMMON_VARIANCE, KIND_VARIANCE = 4.0, 1.0
CLOSE = 1e-6  # of the mean score, below which a model is taken to know the likeness already
FEWEST_IN_GROUP = 100
LARGEST_CORRECTION = 4.0
ROUNDS, CLOSE_FACTOR = 40, 1e-3
Pairs = list[tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Factors of the level of another member.

    terms: positions of the digits that hold the level of another member, 0 where there is none
    kind: position of the digit of the relation to the head; None where all are of one kind
    factors: float array, shape (terms, kinds)
    first: digit of first members in the last term; they are compared with nobody
    groups: int array, shape (kinds,); group of each kind
    shares: float array, shape (terms, groups); share that is alike in the survey, NaN for nobody
    """

    terms: tuple[int, ...]
    kind: int | None
    factors: np.ndarray
    first: int
    groups: np.ndarray
    shares: np.ndarray

    def pairs(self, digits: np.ndarray) -> Pairs:
        """Return, for each term, rows with another member, that member's level and the kind."""
        out = []
        others = digits[:, -1] != self.first
        for term in self.terms:
            rows = np.flatnonzero(others & (digits[:, term] > 0))
            kinds = np.zeros(len(rows), np.int64) if self.kind is None else digits[rows, self.kind]
            out.append((rows, digits[rows, term], kinds))
        return out

    def applied(self, probabilities: np.ndarray, digits: np.ndarray) -> np.ndarray:
        """Return the probabilities of cells, shape (c, R); that of a missing value stays."""
        from synthpop.kernels.predictions import follow_members

        moved, kind = probabilities.copy(), -1 if self.kind is None else self.kind
        terms = np.array(self.terms, dtype=np.int64)
        cells = np.ascontiguousarray(digits)
        follow_members(cells, terms, kind, self.first, self.factors, moved)
        return moved

    def observed(self, digits: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> Likeness:
        """Return it with groups of kinds, and how often they are alike in the survey.

        digits, classes, weights: of persons with a value, shapes (n, m), (n,), (n,)
        """
        pairs = self.pairs(digits)
        persons = np.bincount(pairs[0][2], minlength=self.factors.shape[1])
        large = persons >= FEWEST_IN_GROUP
        groups = np.where(large, np.cumsum(large), 0)
        shares = np.full((len(self.terms), int(large.sum()) + 1), np.nan)
        for t, (rows, level, kinds) in enumerate(pairs):
            alike = weights[rows] * (classes[rows] == level)
            total = np.bincount(groups[kinds], weights[rows], shares.shape[1])
            seen = np.bincount(groups[kinds], alike, shares.shape[1])
            shares[t] = np.divide(seen, total, out=shares[t], where=total > 0)
        return replace(self, groups=groups, shares=shares)

    def corrected(
        self,
        persons: np.ndarray,
        probabilities: np.ndarray,
        digits: np.ndarray,
        with_levels: Callable[[np.ndarray], np.ndarray],
    ) -> tuple[Likeness, np.ndarray]:
        """Return the likeness that keeps the survey's shares in a pilot, and factors of levels.

        persons, probabilities, digits: of cells of other members, shapes (c,), (c, R), (c, m); the
            probabilities have the factors of this likeness
        with_levels: returns the factors of levels, shape (R,), for probabilities of these cells
        """
        moved, change = probabilities.copy(), np.ones_like(self.shares)
        pairs, levels = self.pairs(digits), with_levels(probabilities)
        n_groups = change.shape[1]
        for _ in range(ROUNDS):
            before = change.copy()
            for t, (rows, level, kinds) in enumerate(pairs):
                group = self.groups[kinds]
                total = (moved[:, 1:] @ levels[1:])[rows]
                own = moved[rows, level] * levels[level]
                p = np.divide(own, total, out=np.zeros_like(own), where=total > 0)
                there = np.bincount(group, persons[rows] * (total > 0), n_groups)
                share = np.bincount(group, persons[rows] * p, n_groups) / np.maximum(there, 1e-9)
                new = np.clip(change[t] * _odds_ratio(self.shares[t], share),
                              1 / LARGEST_CORRECTION, LARGEST_CORRECTION)  # fmt: skip
                moved[rows, level] *= (new / change[t])[group]
                change[t] = new
            levels = with_levels(moved)
            if np.abs(np.log(change / before)).max() < CLOSE_FACTOR:
                break
        return replace(self, factors=self.factors * change[:, self.groups]), levels


def _odds_ratio(wanted: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return wanted over present odds, 1 where one of them is none."""
    ratio = np.ones(len(share))
    at = np.flatnonzero((share > 0) & (share < 1) & (wanted > 0) & (wanted < 1))
    ratio[at] = wanted[at] / (1 - wanted[at]) / (share[at] / (1 - share[at]))
    return ratio


def fit_likeness(
    terms: Sequence[int],
    kind: int | None,
    n_kinds: int,
    first: int,
    digits: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    predicted: np.ndarray,
) -> Likeness:
    """Return the likeness of members beyond what a model says.

    terms, kind, first: see `Likeness`
    digits, classes, weights: of the survey's persons, shapes (n, m), (n,), (n,)
    predicted: float array, shape (n, R); probabilities of the model

    Examples
    --------
    >>> digits, classes = np.array([[1], [1], [2], [2]] * 50), np.array([1, 1, 2, 1] * 50)
    >>> even = np.tile([0.0, 0.5, 0.5], (200, 1))
    >>> likeness = fit_likeness([0], None, 1, 9, digits, classes, np.ones(200), even)
    >>> likeness.factors.round(2).tolist()  # odds of 3, as three of four are alike
    [[2.98]]
    """
    from scipy.optimize import minimize

    n_terms, shape = len(terms), (len(terms), n_kinds)
    one = Likeness(tuple(terms), kind, np.ones(shape), first, np.zeros(n_kinds, np.int64),
                   np.full((n_terms, 1), np.nan))  # fmt: skip
    compared = (digits[:, -1] != first) & (digits[:, list(terms)] > 0).any(axis=1)
    used = np.flatnonzero(compared & (classes > 0))
    if not len(used):
        return one
    digits, classes, p = digits[used], classes[used], np.maximum(predicted[used], 1e-300)
    p[:, 0] = 0.0  # whether a value is missing is not at issue
    w = weights[used] * (len(used) / weights[used].sum())
    one = one.observed(digits, classes, w)
    pairs = one.pairs(digits)
    every = np.arange(len(used))

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        common, own = parameters[:n_terms, None], parameters[n_terms:].reshape(shape)
        effects = common + own
        moved = p.copy()
        for (rows, level, kinds), effect in zip(pairs, effects, strict=True):
            moved[rows, level] *= np.exp(effect[kinds])
        moved /= moved.sum(axis=1, keepdims=True)
        score = np.zeros(shape)
        for t, (rows, level, kinds) in enumerate(pairs):
            alike = (classes[rows] == level) - moved[rows, level]
            score[t] = np.bincount(kinds, w[rows] * alike, n_kinds)
        penalty = (common**2).sum() / COMMON_VARIANCE + (own**2).sum() / KIND_VARIANCE
        slope = [common[:, 0] / COMMON_VARIANCE - score.sum(axis=1),
                 (own / KIND_VARIANCE - score).ravel()]  # fmt: skip
        return float(penalty / 2 - w @ np.log(moved[every, classes])), np.concatenate(slope)

    start = np.zeros(n_terms * (1 + n_kinds))
    if np.abs(loss(start)[1]).max() < CLOSE * len(used):
        return one
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    effects = best[:n_terms, None] + best[n_terms:].reshape(shape)
    return replace(one, factors=np.exp(effects))
