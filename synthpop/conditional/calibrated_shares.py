"""Class shares of first members and of the others, calibrated to those of the survey.

Members of a household are drawn given its first member. The model then meets households that the
survey has in other proportions, as the values of first members and the predictors of the others go
together differently, and shares of classes drift. So the probabilities of each part m (first
members, others) are multiplied by factors,

    p'(r | x) proportional to p(r | x) f[m, r],    f[m, missing] = 1,

chosen such that in a pilot population, simulated by the steps before, the mean over persons with a
value is the mean of p(r | x) over those of the survey: iterative proportional fitting of one
margin. The factors are common to all strata, whose own class totals the models keep; they are at
most 3 either way: what needs more is no drift but a predictor that is missing. Classes of numbers
stay: their shares follow those of earlier variables, and means by these would move instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from synthpop.conditional.distribution import evaluate_cells
from synthpop.conditional.fallback import FallbackSequence, ModelDesign, predict_with_fallback
from synthpop.conditional.members_before import draw_others, nobody_before
from synthpop.conditional.reference_member import FIRST_VALUE, block_of, first_members
from synthpop.microdata.frame.block import Block
from synthpop.models.encoding import distinct_cells

ROUNDS = 60
CLOSE = 1e-6
LARGEST_FACTOR = 3.0
OTHERS, FIRST_MEMBERS = 0, 1


def with_targets(sequence: FallbackSequence, design: ModelDesign) -> FallbackSequence:
    """Return the sequence with the mean probabilities of the survey's first and other members.

    The last predictor of the design tells first members: they have its last digit.
    """
    first, inverse = distinct_cells(design.digits, design.sizes)
    is_first = (design.digits[:, -1] == design.sizes[-1] - 1).astype(np.int64)
    targets = np.zeros((2, design.n_classes))
    for stratum in range(design.n_strata):
        rows = np.flatnonzero(design.strata == stratum)
        if not len(rows):
            continue
        cells, cell = np.unique(inverse[rows], return_inverse=True)
        predicted = predict_with_fallback(sequence, stratum, design.digits[first[cells]])[0][cell]
        for member in (OTHERS, FIRST_MEMBERS):
            of_member = is_first[rows] == member
            targets[member] += design.weights[rows[of_member]] @ predicted[of_member]
    return replace(sequence, targets=targets, first=design.sizes[-1] - 1)


def calibrate_shares(
    model: Any,
    pilot: Sequence[Block],
    name: str,
    first: float,
    draw: Callable[[Any, Block], dict[str, np.ndarray]],
    label: str,
) -> Any:
    """Return a model whose shares of classes are those of its targets in a pilot population.

    model: with `encodings` and `sequence`, whose factors count as a start
    name: the column that is handed on to the other members
    first: what first members have in its place
    draw: function of a model and a block; draws the columns of persons
    """
    sequence: FallbackSequence = model.sequence
    if sequence.targets is None:
        return model
    factors = np.ones_like(sequence.targets) if sequence.factors is None else sequence.factors
    factors = factors.copy()
    blocks = [nobody_before(replace(block, fallbacks=[]), model.encodings) for block in pilot]
    blocks = [x.with_columns({FIRST_VALUE: np.full(x.n_persons, first)}) for x in blocks]
    for member in (FIRST_MEMBERS, OTHERS):
        tables = []
        for block in blocks:
            members = first_members(block.offsets)
            rows = members.reference if member == FIRST_MEMBERS else members.others
            if len(rows):
                unit = block_of(block, rows, model.encodings)
                tables.append(_shares(model, unit, label))
        if tables:
            persons, probabilities = (np.concatenate(x) for x in zip(*tables, strict=True))
            factors[member] = factors_of(persons, probabilities, sequence.targets[member])
        sequence = replace(sequence, factors=factors.copy())
        model = replace(model, sequence=sequence)
        if member == FIRST_MEMBERS:
            blocks = [_drawn(block, name, model, draw) for block in blocks]
    return model


def _drawn(block: Block, name: str, model: Any, draw: Callable[..., Any]) -> Block:
    """Return a block with the predictors that other members have once all are drawn."""
    members, draw_by_model = first_members(block.offsets), partial(draw, model)
    drawn = draw_by_model(block_of(block, members.reference, model.encodings))
    columns = {name: members.handed_on(drawn[name])}
    if model.encodings.before is None:
        return block.with_columns({FIRST_VALUE: columns[name]})
    return draw_others(block, name, model.encodings, draw_by_model, members, columns)


def _shares(model: Any, block: Block, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return number of persons and probabilities of each cell of a block, before any change."""
    unadjusted = replace(model, sequence=replace(model.sequence, factors=None), allowed=None)
    cells, row_of_cell, probabilities, *_ = evaluate_cells(unadjusted, block, label)
    persons = np.bincount(row_of_cell[cells], minlength=len(probabilities))
    return persons.astype(np.float64), probabilities


def factors_of(persons: np.ndarray, probabilities: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return factors by which the mean of the probabilities becomes the target, shape (R,).

    persons: float array, shape (c,)
    probabilities: float array, shape (c, R); the first class is missing, its factor is 1
    target: float array, shape (R,); any multiple of the shares

    Examples
    --------
    >>> p = np.array([[0.0, 0.6, 0.4], [0.5, 0.2, 0.3]])
    >>> f = factors_of(np.array([10.0, 10.0]), p, np.array([1.0, 1.0, 1.0]))
    >>> moved = p * f / (p * f).sum(axis=1, keepdims=True)
    >>> moved.sum(axis=0)[1:].round(3).tolist()
    [0.752, 0.752]
    """
    factors = np.ones(len(target))
    if not target[1:].sum() > 0:
        return factors
    wanted = target[1:] / target[1:].sum()
    for _ in range(ROUNDS):
        moved = probabilities * factors
        total = moved.sum(axis=1, keepdims=True)
        mean = persons @ np.divide(moved, total, out=np.zeros_like(moved), where=total > 0)
        if not mean[1:].sum() > 0:
            break
        share = mean[1:] / mean[1:].sum()
        possible = (wanted > 0) & (share > 0)
        change = np.where(possible, wanted / np.where(possible, share, 1.0), 1.0)
        factors[1:] = np.clip(factors[1:] * change, 1.0 / LARGEST_FACTOR, LARGEST_FACTOR)
        if np.abs(share - wanted).max() < CLOSE:
            break
    return factors
