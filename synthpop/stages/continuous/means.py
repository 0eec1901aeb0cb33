"""Means of a number by the levels of a category, calibrated to those of the survey.

A class of values is the same for everybody, but those of one group may lie low in it; and members
that are drawn given others meet other households than the survey's. So the mean of a group of
persons drifts, by a tenth where incomes are small. Here the probabilities of the classes r of a
person of group g are tilted by one parameter a group,

    p'(r | x) proportional to p(r | x) exp(a_g m_r),    r not missing,

m_r the weighted mean of class r in the survey, such that in a pilot population, simulated by the
steps before, the expected mean of each group is its weighted mean in the survey: the change of
least Kullback-Leibler divergence that does it (Csiszar 1975, doi:10.1214/aop/1176996454). The share
of missing values stays. Classes beyond those that have 1 % of a group count as the nearest of them,
and no probability changes by more than a factor of 3; where that is too little, the mean is as near
as it gets. Groups of fewer than 30 values in the survey are left alone.

Inside a class the ranks of the values of a group are tilted too (`synthpop.models.tilted`), such
that the mean of group and class is that of its sample values; where there are fewer than 20 of
them, the rest of 20 has the mean of the class. The draws are spread evenly over each group
(`synthpop.stages.continuous.group_draws`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.distribution import evaluate_cells
from synthpop.conditional.encodings import Encodings
from synthpop.conditional.fallback import LevelFactors, RememberingSequence
from synthpop.microdata.frame.block import Block
from synthpop.microdata.messages.errors import InputError
from synthpop.models.tilted import rate_of_ranks, tilted_uniforms
from synthpop.stages.continuous.binned import WithinClass
from synthpop.stages.continuous.distributions import codes_of_rows
from synthpop.stages.continuous.group_draws import BELOW_ONE
from synthpop.stages.continuous.tail import TopClass

FEWEST_VALUES = 30
LARGEST_FACTOR = 3.0
LEAST_SHARE = 0.01
ENOUGH_VALUES = 20
RANKS = (np.arange(256) + 0.5) / 256
SHARES = np.full(256, 1 / 256)
ROUNDS = 2
ROUNDING = 1e-15  # of the parameter of a group


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """What is calibrated."""

    term: int  # position of the category among the terms of the model
    # float array, shape (L,): weighted mean of each of its digits in the survey; NaN: left alone
    targets: np.ndarray
    # float array, shape (L, R): of the values of a group in a class; the first class is missing
    class_means: np.ndarray
    # float array, shape (L, R): by which the ranks of the values of a group inside a class are
    # tilted
    rates: np.ndarray

    def groups_of(self, encodings: Encodings, codes: np.ndarray) -> np.ndarray:
        """Return the digit of the category of coded rows."""
        return encodings.term_digits(codes)[:, self.term]

    def groups_and_places(
        self, encodings: Encodings, codes: np.ndarray, cumulative: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return group of each person, and its place such that alike persons are neighbours.

        Rows of the distribution table, shape (c, R), are sorted by group, then by expected value.
        """
        group = self.groups_of(encodings, codes)
        shares = np.diff(cumulative, axis=1, prepend=0.0)
        expected = (shares * self.class_means[group]).sum(axis=1)
        place = np.empty(len(codes), dtype=np.int64)
        place[np.lexsort((expected, group))] = np.arange(len(codes))
        return group[rows], place[rows]

    def cells(self, classes: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the cell of group and class of each person, shape (n,)."""
        return groups * self.rates.shape[1] + classes

    def tilted(self, classes: np.ndarray, groups: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Return uniform numbers with their ranks inside the class tilted by group, shape (n,)."""
        drawn = 1.0 - tilted_uniforms(1.0 - uniforms, self.rates[groups, classes])
        return np.minimum(drawn, BELOW_ONE)

    def with_top(
        self, tail: TopClass | None, digits: np.ndarray, values: np.ndarray, weights: np.ndarray
    ) -> tuple[GroupMeans, TopClass | None]:
        """Return the means and the law of the top class, the latter by group.

        `digits`, `values` and `weights` are those of the sample in the top class.
        """
        if tail is None:
            return self, None
        tail = tail.by_group(values, weights, digits[:, self.term], len(self.targets))
        means = self.class_means.copy()
        means[:, -1] = [law.mean() for law in tail.of_groups]
        return replace(self, class_means=means), tail


def group_means(
    name: str,
    encodings: Encodings,
    digits: np.ndarray,
    values: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    within: WithinClass,
    label: str,
) -> GroupMeans:
    """Return the means of the survey by the levels of a predictor.

    digits: int array, shape (n, number of terms)
    values, classes, weights: arrays, shape (n,); NaN is missing, and no value of a group
    """
    # 1. The mean of each group.
    term = _term_of(name, encodings, label)
    usable = ~np.isnan(values) & (weights > 0)
    group, values, classes, weights = (
        x[usable] for x in (digits[:, term], values, classes, weights)
    )
    size, n_classes = encodings.sizes[term], len(within.steps)
    targets = _means(group, values, weights, size)
    targets[np.bincount(group, minlength=size) < FEWEST_VALUES] = np.nan
    # 2. The mean of each group in each class, drawn towards that of the class.
    of_class = np.nan_to_num(_means(classes, values, weights, n_classes))
    cell, cells = group * n_classes + classes, size * n_classes
    count = np.bincount(cell, minlength=cells).reshape(size, n_classes)
    of_cell = np.nan_to_num(_means(cell, values, weights, cells)).reshape(size, n_classes)
    added = np.maximum(ENOUGH_VALUES - count, 0)
    means = (count * of_cell + added * of_class) / (count + added)
    # 3. How far ranks are tilted for it.
    rates = np.zeros(means.shape)
    for r in np.flatnonzero(within.has_width):
        quantiles = np.abs(within.quantiles(int(r), RANKS))
        usable = count[:, r] > 0
        rates[usable, r] = rate_of_ranks(quantiles, RANKS, SHARES, np.abs(means[usable, r]))
    return GroupMeans(term, targets, means, rates)


def _term_of(name: str, encodings: Encodings, label: str) -> int:
    for t, term in enumerate(encodings.terms):
        variable = encodings.variables[term[0]]
        if len(term) == 1 and variable.name == name and variable.numbers is None:
            return t
    what = f"means_by names {name!r}, which is not a predictor by its levels"
    raise InputError.of("recipe", label, what, "Name one of its predictors.")


def _means(group: np.ndarray, values: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    total = np.bincount(group, weights, minlength=size)
    sums = np.bincount(group, weights * values, minlength=size)
    return np.divide(sums, total, out=np.full(size, np.nan), where=total > 0)


def calibrate_means(
    model: Any,
    pilot: Sequence[Block],
    simulate: Callable[[Any, Block, Callable[[Block], None]], None],
    label: str,
) -> Any:
    """Return a model whose group means are those of the survey in a pilot population.

    model: with `encodings`, `sequence` and `means`; with factors of its groups one round is enough
    simulate: function of a model, a block and a function that gets each part of the block as it is
        drawn
    """
    for _ in range(ROUNDS if model.sequence.level_factors is None else 1):
        parts: list[Block] = []
        remembering = replace(model, sequence=RememberingSequence.of(model.sequence))
        for block in pilot:
            simulate(remembering, replace(block, fallbacks=[]), parts.append)
        if not parts:
            return model
        shares = [_expected(remembering, part, label) for part in parts]
        factors = _factors(model.means, *(np.concatenate(x) for x in zip(*shares, strict=True)))
        level_factors = LevelFactors(model.means.term, factors)
        model = replace(model, sequence=replace(model.sequence, level_factors=level_factors))
    return model


def _expected(model: Any, part: Block, label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return persons, probabilities without level_factors and group of each cell of a block."""
    unadjusted = replace(model, sequence=replace(model.sequence, level_factors=None))
    cells, row_of_cell, shares, *_ = evaluate_cells(unadjusted, part, label)
    rows = row_of_cell[cells]
    codes = codes_of_rows(model.encodings, part, rows, len(shares))
    groups = model.means.groups_of(model.encodings, codes)
    return np.bincount(rows, minlength=len(shares)), shares, groups


def _factors(
    means: GroupMeans, persons: np.ndarray, shares: np.ndarray, group: np.ndarray
) -> np.ndarray:
    factors = np.ones(means.class_means.shape)
    for level in np.flatnonzero(~np.isnan(means.targets)):
        of_level = group == level
        if of_level.any():
            classes, target = means.class_means[level, 1:], float(means.targets[level])
            factors[level, 1:] = tilt_to_mean(
                persons[of_level], shares[of_level, 1:], classes, target
            )
    return factors


def with_factors_of(model: Any, earlier: Any, digits: np.ndarray) -> Any:
    """Return the model with the factors that an earlier fit has at the class means of each group.

    digits (L,): digit of each group in the earlier fit, 0 for none; those of numbers keep theirs.
    """
    means, factors = model.means, earlier.sequence.level_factors
    if factors is None or means is None or earlier.means is None:
        return model
    at_means = np.ones(means.class_means.shape)
    if len(digits) < len(at_means):
        digits = np.minimum(np.arange(len(at_means)), len(earlier.means.class_means) - 1)
    for level in np.flatnonzero((digits > 0) & ~np.isnan(means.targets)):
        before = earlier.means.class_means[digits[level], 1:]
        order = np.argsort(before)
        known = factors.factors[digits[level], 1:][order]
        at_means[level, 1:] = np.interp(means.class_means[level, 1:], before[order], known)
    factors = LevelFactors(means.term, at_means)
    return replace(model, sequence=replace(model.sequence, level_factors=factors))


def tilt_to_mean(
    persons: np.ndarray, shares: np.ndarray, values: np.ndarray, target: float
) -> np.ndarray:
    """Return factors of the classes by which the mean becomes the target, shape (R,).

    persons: int array, shape (c,)
    shares: float array, shape (c, R); what the probabilities lack to one is missing
    values: float array, shape (R,); mean of each class

    Examples
    --------
    >>> p = np.array([[0.5, 0.5], [0.25, 0.25]])
    >>> f = tilt_to_mean(np.array([1, 1]), p, np.array([0.0, 10.0]), 6.0)
    >>> moved = p * f * (p.sum(axis=1) / (p * f).sum(axis=1))[:, None]
    >>> round(float(moved[:, 1].sum() / moved.sum() * 10), 3)
    6.0
    """
    from scipy.optimize import brentq

    expected = persons @ shares
    if not expected.sum() > 0:
        return np.ones(len(values))
    present = expected >= LEAST_SHARE * expected.sum()
    low, high = values[present].min(), values[present].max()
    if not high > low:
        return np.ones(len(values))
    place = np.clip((values - low) / (high - low), 0.0, 1.0)
    row_totals = shares.sum(axis=1)

    def gap(rate: float) -> float:
        factors = np.exp(rate * place)
        total = shares @ factors
        scale = np.divide(row_totals, total, out=np.zeros_like(total), where=total > 0)
        each = persons * scale
        return float(each @ (shares @ (factors * values)) / (each @ total)) - target

    least, most = -np.log(LARGEST_FACTOR), np.log(LARGEST_FACTOR)
    if gap(least) >= 0.0:
        return np.exp(least * place)
    if gap(most) <= 0.0:
        return np.exp(most * place)
    return np.exp(brentq(gap, least, most, xtol=ROUNDING) * place)
