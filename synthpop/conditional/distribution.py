"""The distribution of a variable given the predictors of a block, and draws from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.conditional.draw import systematic_uniforms
from synthpop.conditional.encodings import Encodings
from synthpop.conditional.fallback import STEPS, FallbackSequence, cumulative, predict_with_fallback
from synthpop.conditional.predictors import of_levels
from synthpop.conditional.structural_zeros import AllowedRule
from synthpop.microdata.frame.block import Block, Fallback
from synthpop.microdata.frame.codes import DENSE_CELLS, FEW_CELLS, MISSING
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.models.encoding import split_cells, strides


@dataclass(frozen=True, slots=True)
class ClassDistribution:
    """The distribution of the classes of a variable given its predictors, as it was learned."""

    encodings: Encodings
    sequence: FallbackSequence
    allowed: AllowedRule | None  # structural zeros


def draw_levels(
    model: ClassDistribution,
    field: Field,
    block: Block,
    rng: np.random.Generator,
    *,
    label: str,
    stratum_name: str,
) -> np.ndarray:
    """Draw a level of a categorical variable for each person of a block, shape (n_persons,)."""
    from synthpop.kernels.draws import draw_classes

    cells, row_of_cell, table = distribution_table(
        model, block, label=label, stratum_name=stratum_name
    )
    levels = np.empty(block.n_persons, dtype=field.dtype)
    uniforms = systematic_uniforms(row_of_cell[cells], len(table), rng)
    draw_classes(cells, row_of_cell, table, uniforms, MISSING, levels)
    return levels


def distribution_table(
    model: ClassDistribution, block: Block, *, label: str, stratum_name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evaluate the model once for each distinct predictor combination of a block.

    Returns the cell code of each person; the row of the table for each cell code; the table: float
        array, shape (c, R); cumulative class probabilities.
    """
    cells, row_of_cell, probabilities, step, group = evaluate_cells(model, block, label)
    if step.any():
        encodings = model.encodings
        persons = np.bincount(row_of_cell[cells], minlength=len(step))
        for number in np.unique(group):
            of_group = group == number
            name = encodings.groups[number] if encodings.groups else stratum_name
            _record(block, label, name, persons[of_group], step[of_group], encodings.by)
    return cells, row_of_cell, cumulative(probabilities)


def evaluate_cells(
    model: ClassDistribution, block: Block, label: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what `distribution_table` does, with plain probabilities, and where they are from.

    Returns also, for each row, the step of the sequence that it came from, and whose model it has:
        number of the stratum, or of the level of `by`.
    """
    from synthpop.kernels.cells import mark

    encodings, sequence, allowed = model.encodings, model.sequence, model.allowed
    cells = encodings.cells(block.columns, block.n_persons)
    total = strides(encodings.variables)[1]
    if total <= min(DENSE_CELLS, max(FEW_CELLS, 32 * block.n_persons)):  # else sorting is quicker
        present = np.zeros(total, dtype=np.bool_)
        mark(cells, present)
        distinct = np.flatnonzero(present)
        row_of_cell = np.zeros(total, dtype=np.int32)
        row_of_cell[distinct] = np.arange(len(distinct), dtype=np.int32)
    else:
        distinct, inverse = np.unique(cells, return_inverse=True)
        cells = inverse.reshape(-1).astype(np.int32)
        row_of_cell = np.arange(len(distinct), dtype=np.int32)
    mask = None if allowed is None else allowed.mask(split_cells(distinct, encodings.variables))
    if mask is not None and not mask.any(axis=1).all():
        what = "the rules of impossible together leave no possible value for some persons"
        raise InputError.of("recipe", label, what, "Remove some of the rules.")
    digits = encodings.term_digits(distinct)
    group = encodings.group_of(distinct, block.stratum)
    if encodings.group is None:
        probabilities, step = predict_with_fallback(sequence, block.stratum, digits, mask)
        return cells, row_of_cell, probabilities, step, group
    probabilities = np.zeros((len(distinct), sequence.marginals.shape[1]))
    step = np.zeros(len(distinct), dtype=np.int64)
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        allowed_rows = None if mask is None else mask[rows]
        probabilities[rows], step[rows] = predict_with_fallback(
            sequence, int(number), digits[rows], allowed_rows
        )
    return cells, row_of_cell, probabilities, step, group


def _record(
    block: Block,
    label: str,
    stratum_name: str,
    persons: np.ndarray,
    step: np.ndarray,
    by: str | None,
) -> None:
    """Record how many persons of a stratum had their distribution from each lower step."""
    for number in range(1, len(STEPS) + 1):
        at_step = step == number
        if at_step.any():
            source = (
                STEPS[number]
                if number < len(STEPS)
                else message("equal shares of the possible values")
            )
            what = message(
                "combination of predictors the sample does not have: {source}",
                source=of_levels(source, by),
            )
            block.fallbacks.append(Fallback(label, stratum_name, what, int(persons[at_step].sum())))
