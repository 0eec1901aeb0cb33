"""Class shares of first members and of the others, calibrated to those of the survey.

Members of a household are drawn given its first member. The model then meets households that the
survey has in other proportions, as the values of first members and the predictors of the others go
together differently, and shares of classes drift. So the probabilities of each part m (first
members, others) are multiplied by factors,

    p'(r | x) proportional to p(r | x) f[m, r],    f[m, missing] = 1,

chosen such that in a pilot population, simulated by the steps before, the mean over persons with a
value is the mean of p(r | x) over those of the survey: iterative proportional fitting of one
margin. The factors are common to all strata, whose own class totals the models keep; they are at
most 3 either way: what needs more is no drift but a predictor that is missing. Others are as often
like the first and other members as in the survey (`synthpop.conditional.likeness`). Classes of
numbers stay: their shares follow those of earlier variables, and means by these would move instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from synthpop.conditional.distribution import evaluate_cells
from synthpop.conditional.encodings import Encodings
from synthpop.conditional.fallback import FallbackSequence, ModelDesign, predict_with_fallback
from synthpop.conditional.likeness import fit_likeness
from synthpop.conditional.members_before import OWN_KIND, SECOND, draw_others, nobody_before
from synthpop.conditional.reference_member import FIRST_VALUE, block_of, first_members
from synthpop.microdata.frame.block import Block
from synthpop.models.encoding import distinct_cells

ROUNDS = 60
CLOSE = 1e-6
LARGEST_FACTOR = 3.0
OTHERS, FIRST_MEMBERS = 0, 1
OTHER_MEMBERS = (FIRST_VALUE, OWN_KIND, SECOND)


def with_targets(
    sequence: FallbackSequence, design: ModelDesign, encodings: Encodings, relation: str | None
) -> FallbackSequence:
    """Return the sequence with the likeness of members and its shares of first and other ones.

    The last predictor of the design tells first members: they have its last digit.

    relation: predictor whose levels are kinds of members; None where all are of one kind
    """
    first = design.sizes[-1] - 1
    predicted = _predicted(sequence, design)
    names = {encodings.variables[term[0]].name: k for k, term in enumerate(encodings.terms)
             if len(term) == 1}  # fmt: skip
    kind = None if relation is None else names.get(relation)
    likeness = fit_likeness(
        [names[name] for name in OTHER_MEMBERS if name in names],
        kind, 1 if kind is None else design.sizes[kind],
        first, design.digits, design.classes, design.weights, predicted,
    )  # fmt: skip
    sequence = replace(sequence, likeness=likeness)
    if (likeness.factors != 1).any():
        predicted = _predicted(sequence, design)
    is_first = design.digits[:, -1] == first
    targets = np.stack([design.weights[rows] @ predicted[rows] for rows in (~is_first, is_first)])
    return replace(sequence, targets=targets, first=first)


def _predicted(sequence: FallbackSequence, design: ModelDesign) -> np.ndarray:
    """Return the probabilities of the survey's persons, shape (n, R)."""
    first, inverse = distinct_cells(design.digits, design.sizes)
    predicted = np.zeros((len(design.classes), design.n_classes))
    for stratum in range(design.n_strata):
        rows = np.flatnonzero(design.strata == stratum)
        if len(rows):
            cells, cell = np.unique(inverse[rows], return_inverse=True)
            of_cells = predict_with_fallback(sequence, stratum, design.digits[first[cells]])[0]
            predicted[rows] = of_cells[cell]
    return predicted


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
    targets, likeness = sequence.targets, sequence.likeness
    if targets is None or likeness is None:
        return model
    factors = np.ones_like(targets) if sequence.factors is None else sequence.factors.copy()
    blocks = [nobody_before(replace(block, fallbacks=[]), model.encodings) for block in pilot]
    blocks = [x.with_columns({FIRST_VALUE: np.full(x.n_persons, first)}) for x in blocks]
    # others are compared with others once all are drawn as they will be
    passes = [FIRST_MEMBERS, OTHERS, *([OTHERS] if len(likeness.terms) > 1 else [])]
    for number, member in enumerate(passes):
        tables = []
        for block in blocks:
            members = first_members(block.offsets)
            rows = members.reference if member == FIRST_MEMBERS else members.others
            if len(rows):
                plain = replace(model, sequence=sequence)
                tables.append(_shares(plain, block_of(block, rows, model.encodings), label))
        of_members = likeness
        if tables:
            persons, probabilities, digits = (np.concatenate(x) for x in zip(*tables, strict=True))
            with_levels = partial(factors_of, persons, target=targets[member])
            if member == FIRST_MEMBERS:
                factors[member] = with_levels(probabilities)
            else:
                of_members, factors[member] = likeness.corrected(
                    persons, probabilities, digits, with_levels
                )
        now = replace(sequence, factors=factors.copy(), likeness=of_members)
        model = replace(model, sequence=now)
        if number < len(passes) - 1:
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


def _shares(model: Any, block: Block, label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return persons, probabilities before any factor of levels, and digits of each cell."""
    unadjusted = replace(model, sequence=replace(model.sequence, factors=None), allowed=None)
    cells, row_of_cell, probabilities, *_ = evaluate_cells(unadjusted, block, label)
    row, encodings = row_of_cell[cells], unadjusted.encodings
    persons = np.bincount(row, minlength=len(probabilities))
    example = np.zeros(len(probabilities), dtype=np.int64)
    example[row] = np.arange(len(row))
    digits = encodings.term_digits(encodings.cells(block.columns, block.n_persons)[example])
    return persons.astype(np.float64), probabilities, digits


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
    from synthpop.kernels.predictions import scale_to_shares

    factors, shares = np.ones(len(target)), target / max(target[1:].sum(), 1e-300)
    if target[1:].sum() > 0:
        scale_to_shares(persons, probabilities, shares, LARGEST_FACTOR, CLOSE, ROUNDS, factors)
    return factors
