"""What `Continuous` learned, and how values are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.distribution import ClassDistribution, distribution_table
from synthpop.conditional.draw import systematic_uniforms
from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.make_up import MakeUp
from synthpop.microdata.frame.block import Block, Fallback
from synthpop.microdata.frame.dataset import DATES, Field
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted, plural
from synthpop.models.decimals import rounded
from synthpop.models.heaps import Heaps
from synthpop.stages.base import StageModel, StratumPooling
from synthpop.stages.continuous.binned import Classes, WithinClass, drawing_bounds
from synthpop.stages.continuous.distributions import (
    codes_of_rows,
    distributions_of_cells,
    draw_values,
    record_steps,
)
from synthpop.stages.continuous.group_draws import GroupDraws
from synthpop.stages.continuous.means import GroupMeans
from synthpop.stages.continuous.method_base import ValueMethod
from synthpop.stages.continuous.tail import TopClass
from synthpop.stages.continuous.values import Values


@dataclass(frozen=True, slots=True)
class ContinuousModel(ClassDistribution, StageModel):
    """What `Continuous` learned: the distribution of classes (the first is missing), the values.

    The values of the last class come from the tail or the regression where there is one.
    """

    fields: tuple[Field, ...]
    low: np.ndarray
    high: np.ndarray
    within_class: WithinClass
    tail: TopClass | None
    values: Values | None
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]
    decimals: int | None = None
    make_up: MakeUp | None = None
    means: GroupMeans | None = None
    heaps: Heaps | None = None

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how strata borrow from each other, in the classes and in the values."""
        if self.values is None:
            return {"": self.sequence.pooling}
        return {"": self.sequence.pooling, " (values)": self.values.pooling}


def new_fields(
    names: Sequence[str], survey_field: Field, *, has_fractions: bool
) -> tuple[Field, ...]:
    """Return the new columns; the first has whole numbers where survey and draws have such only.

    Dates of the survey are dates again.
    """
    fields = tuple(Field.number(name) for name in names)
    if survey_field.original in DATES:
        return (replace(fields[0], original=survey_field.original), *fields[1:])
    if has_fractions or "int" not in survey_field.original.lower():
        return fields
    original = "int64" if survey_field.original[0].islower() else "Int64"  # counts may be larger
    dtype = np.dtype(np.int64) if survey_field.dtype.kind in "iu" else fields[0].dtype
    return (replace(fields[0], dtype=dtype, original=original), *fields[1:])


def above_upper(label: str, method: ValueMethod, values: np.ndarray) -> tuple[Fallback, ...]:
    """Return a note of how many sample values count as `upper`."""
    upper = method.bound
    n_above = 0 if upper is None or method.type != "binned" else (values > upper).sum()
    if not n_above:
        return ()
    what = message(
        "{n} above upper = {upper} count as upper",
        n=plural(int(n_above), "sample value"),
        upper=formatted(upper, "g"),
    )
    return (Fallback(label, "all", what),)


def unrounded_values(
    classes: Classes,
    design: ModelDesign,
    laws: tuple[WithinClass, TopClass | None, Values | None],
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Return values as the classes of the sample persons draw them, shape (n,).

    None where they are counts, or copies of values of the sample; `rng` is left as it is.
    """
    within, tail, regression = laws
    if regression is not None and regression.rule.draw not in ("empirical", "local", "normal"):
        return None
    # 1. Evenly spread inside the classes, whoever the person is.
    rng = rng.spawn(1)[0]
    order = np.lexsort((rng.random(len(classes.codes)), classes.codes))
    count = np.bincount(classes.codes, minlength=len(classes.low))
    first = np.repeat(np.cumsum(count) - count, count)
    ranks = np.empty(len(order))
    ranks[order] = (np.arange(len(order)) - first + 0.5) / np.repeat(count, count)
    drawn = within.draw(classes.codes.astype(np.int16), ranks)
    # 2. The last class from the tail, or from the regression.
    top = np.flatnonzero(classes.codes == len(classes.low) - 1)
    if tail is not None:
        drawn[top] = tail.draw(ranks[top], None)
    if regression is not None:
        for group in np.unique(design.strata[top]).tolist():
            persons = top[design.strata[top] == group]
            cells, rows = np.unique(design.digits[persons], axis=0, return_inverse=True)
            distributions = distributions_of_cells(regression, group, cells)
            rows = rows.reshape(-1)  # numpy 2.0 returns a column
            drawn[persons] = draw_values(regression.rule, distributions, rows, rng)
    return drawn


def group_draws(
    model: ContinuousModel, block: Block, label: str, rng: np.random.Generator
) -> GroupDraws | None:
    """Begin the draws of a block; None where no means are calibrated."""
    if model.means is None:
        return None
    shape = model.means.class_means.shape
    return GroupDraws.of_block(block, len(model.strata_levels), label, shape, rng)


def draw_persons(
    model: ContinuousModel,
    block: Block,
    *,
    rng: np.random.Generator,
    label: str,
    by: str | None,
    sequences: GroupDraws | None,
) -> dict[str, np.ndarray]:
    """Draw a value for each person of a block, with the limits of its class where they are columns.

    by: variable to whose levels the models were fitted instead of the strata
    sequences: as `group_draws` returns it
    """
    from synthpop.kernels.draws import draw_classes

    # 1. A class given the predictors.
    stratum = str(model.strata_levels[block.stratum])
    cells, row_of_cell, table = distribution_table(model, block, label=label, stratum_name=stratum)
    classes = np.empty(block.n_persons, dtype=np.int16)
    rows = row_of_cell[cells]
    groups = None
    if model.means is None or sequences is None:
        uniforms = systematic_uniforms(rows, len(table), rng)
    else:
        codes = codes_of_rows(model.encodings, block, rows, len(table))
        groups, positions = model.means.groups_and_places(model.encodings, codes, table, rows)
        top_shares = (1.0 - table[:, -2])[rows]
        uniforms = sequences.class_uniforms(groups, positions, top_shares, rng)
    draw_classes(cells, row_of_cell, table, uniforms, 0, classes)
    # 2. A value inside the class, and of the last class from the tail.
    top = np.flatnonzero(classes == len(model.low) - 1)
    if model.means is None or sequences is None or groups is None:
        inside = systematic_uniforms(classes, len(model.low), rng)
        values = model.within_class.draw(classes, inside)
    else:
        inside = sequences.value_uniforms(model.means.cells(classes, groups), rng)
        values = model.within_class.draw(classes, model.means.tilted(classes, groups, inside))
    if model.tail is not None:
        values[top] = model.tail.draw(inside[top], None if groups is None else groups[top])
    # 3. The last class from the regression.
    if model.values is not None:
        codes = codes_of_rows(model.encodings, block, rows, len(table))
        values[top] = _draw_modelled(model, block, codes, rows[top], rng, label=label, by=by)
    # 4. Heaps and decimals as the survey has them; no value leaves its class.
    ends = drawing_bounds(model.low, model.high)
    if model.values is not None:
        for end in ends:
            end[-1] = np.nan
    if model.heaps is not None:
        kinds = None
        if model.heaps.term is not None:
            codes = codes_of_rows(model.encodings, block, rows, len(table))
            kinds = model.encodings.term_digits(codes)[:, model.heaps.term][rows]
        low, high = (end[classes] for end in ends)
        values = model.heaps.round(values, kinds, rng.random(len(values)), low, high)
    if model.decimals is not None:
        values = rounded(values, model.decimals, classes, ends)
    value_field, *limit_fields = model.fields
    limits = zip(limit_fields, (model.low, model.high), strict=False)
    return {value_field.name: values, **{field.name: x[classes] for field, x in limits}}


def _draw_modelled(
    model: ContinuousModel,
    block: Block,
    codes: np.ndarray,
    rows: np.ndarray,
    rng: np.random.Generator,
    *,
    label: str,
    by: str | None,
) -> np.ndarray:
    """Draw the values of the persons in the modelled class, once per row evaluated."""
    assert model.values is not None
    groups = model.encodings.group_of(codes, block.stratum)
    values = np.empty(len(rows))
    for group in np.unique(groups[rows]).tolist():
        persons = np.flatnonzero(groups[rows] == group)
        cells, row = np.unique(rows[persons], return_inverse=True)
        distributions = distributions_of_cells(
            model.values, group, model.encodings.term_digits(codes[cells])
        )
        level = str((model.encodings.groups or model.strata_levels)[group])
        separate = model.values.by_stratum[group] is not None
        record_steps(block, label, level, distributions, row, separate, by)
        values[persons] = draw_values(model.values.rule, distributions, row, rng)
    return values
