"""Which variables predict, and how a block's predictors become model cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.fallback import (
    STEPS,
    FallbackSequence,
    ModelDesign,
    cumulative,
    predict_with_fallback,
)
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.block import Block, Fallback, Sample
from synthpop.microdata.codes import DENSE_CELLS
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import Fault, Faults, InputError
from synthpop.microdata.formula import Allowed, read_formula
from synthpop.models.encoding import (
    DECILES,
    FEW_VALUES,
    Digits,
    cell_codes,
    coded_digits,
    numeric_digits,
    response_limits,
    split_cells,
    strides,
    value_digits,
)

Predictors = str | Sequence[str]
Term = tuple[str, ...]
NUMERIC = ("classes", "values")


def resolve_terms(
    predictors: Predictors, available: Sequence[str], basic: Sequence[str]
) -> list[Term]:
    """Return the terms that `predictors` stands for: "basic", "all", a list or a formula."""
    if isinstance(predictors, str):
        if predictors == "basic":
            return [(name,) for name in basic]
        if predictors == "all":
            return [(name,) for name in available]
        faults = Faults("formula")
        formula = read_formula(faults, predictors, Allowed(dot=available), argument="predictors")
        faults.raise_if_any()
        return list(formula.names) if formula is not None else []
    return [(name,) for name in predictors]


def usable(names: Sequence[str], sample: Sample) -> list[str]:
    """Return the names without the stratum, which every model has already."""
    return [name for name in names if name != sample.strata_name]


def grouped(sample: Sample, by: str | None, label: str) -> Sample:
    """Return the sample with the levels of a variable in place of its strata.

    Models by stratum are models by level then, and the stratum is a variable like any other. A
    missing value is a level, the first.

    Raises
    ------
    InputError
        It is a number with more than 20 distinct values.
    """
    if by is None:
        return sample
    field, values = sample.fields[by], sample.columns[by]
    if field.kind == "categorical":
        digits, levels = coded_digits(by, len(field.levels)), list(field.levels)
    else:
        digits = numeric_digits(by, values, sample.weights)
        levels = np.unique(values[~np.isnan(values.astype(np.float64))]).tolist()
        if len(levels) > FEW_VALUES:
            what = f"by names {by!r}, a number with {len(levels)} distinct values"
            raise InputError("recipe", [Fault(label, what, remedy="Derive classes of it first.")])
    return replace(
        sample,
        strata=cell_codes((digits,), [values], sample.n_persons).astype(np.int64),
        strata_levels=(f"{by} missing", *(f"{by} = {level}" for level in levels)),
        strata_name=by,
    )


def check_by(faults: Faults, label: str, by: Any, names: Sequence[str], schema: Schema) -> None:
    """Note a `by` that the population will not have, or that the step itself makes."""
    if by is None:
        return
    if not isinstance(by, str):
        faults.add(label, f"by is {by!r}", remedy="Give the name of a variable.")
    elif by in names:
        faults.add(label, f"by names {by!r}, which this step makes", remedy="Name another.")
    else:
        check_available(faults, label, [by], schema, "by")


def notes_by_level(
    notes: Sequence[Fallback], sample: Sample, by: str | None
) -> tuple[Fallback, ...]:
    """Return what is recorded of a fit in terms of levels; `sample` is as `grouped` returns it.

    Levels that nobody has have nothing to tell.
    """
    if by is None:
        return tuple(notes)
    there = np.bincount(sample.strata, minlength=len(sample.strata_levels)) > 0
    nobody = {name for name, some in zip(sample.strata_levels, there, strict=True) if not some}
    told = (note for note in notes if note.stratum not in nobody)
    return tuple(replace(note, what=of_levels(note.what, by)) for note in told)


def of_levels(text: str, by: str | None) -> str:
    """Say levels of a variable where a text says strata.

    Examples
    --------
    >>> of_levels("the model pooled over strata", "job")
    'the model pooled over levels of job'
    """
    return text if by is None else text.replace("strata", f"levels of {by}")


def check_predictors(faults: Faults, label: str, predictors: Predictors, schema: Schema) -> None:
    """Note predictors that the population will not have, and text that is no formula."""
    if isinstance(predictors, str):
        known = predictors in ("basic", "all") or "~" in predictors
    else:
        known = isinstance(predictors, Sequence) and all(isinstance(x, str) for x in predictors)
    if not known:
        faults.add(
            label,
            f"predictors = {predictors!r} is not understood",
            remedy='Give "basic", "all", a list of names, or a formula like "~ age + sex:status".',
        )
        return
    try:
        terms = resolve_terms(predictors, schema.available, schema.basic)
    except InputError as problem:
        faults.add(label, problem.faults[0].what)
        return
    names = list(dict.fromkeys(name for term in terms for name in term))
    check_available(faults, label, names, schema, "predictor")


@dataclass(frozen=True, slots=True)
class Coding:
    """How a block's predictors become cells, and cells the digits of the model's terms.

    Attributes
    ----------
    variables : tuple of Digits
        One for each distinct predictor.
    terms : tuple of tuples of int
        Positions in `variables` that make up each term; an interaction has several.
    ordered : tuple of bool
        Which terms have digits in a meaningful order: numbers and ordered categories.
    group : int or None
        Position in `variables` of the one whose levels have models of their own, in place of the
        strata.
    groups : tuple of str
        Name of each digit of that variable.
    before : BeforeRule or None
        How what members of the household before have becomes predictors; see
        `synthpop.conditional.members_before`.
    """

    variables: tuple[Digits, ...]
    terms: tuple[tuple[int, ...], ...]
    ordered: tuple[bool, ...]
    group: int | None = None
    groups: tuple[str, ...] = ()
    before: Any = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of digits of each term."""
        return tuple(
            int(np.prod([self.variables[j].size for j in term], dtype=np.int64))
            for term in self.terms
        )

    @property
    def numbers(self) -> tuple[np.ndarray | None, ...]:
        """For each term the values of its digits, where it enters models as a number."""
        return tuple(
            self.variables[term[0]].numbers if len(term) == 1 else None for term in self.terms
        )

    def cells(self, columns: Sequence[np.ndarray], n: int) -> np.ndarray:
        """Return the cell code of each person, shape (n,)."""
        return cell_codes(self.variables, columns, n)

    @property
    def by(self) -> str | None:
        """Name of the variable whose levels have models of their own."""
        return None if self.group is None else self.variables[self.group].name

    def group_of(self, cells: np.ndarray, stratum: int) -> np.ndarray:
        """Return whose model each cell has: that of the stratum, or of a level; shape (c,)."""
        if self.group is None:
            return np.full(len(cells), stratum)
        return split_cells(cells, self.variables)[:, self.group]

    def term_digits(self, cells: np.ndarray) -> np.ndarray:
        """Return the digits of the terms, shape (c, number of terms)."""
        digits = split_cells(cells, self.variables)
        out = np.zeros((len(cells), len(self.terms)), dtype=np.int64)
        for t, term in enumerate(self.terms):
            for j in term:
                out[:, t] = out[:, t] * self.variables[j].size + digits[:, j]
        return out


def make_coding(
    sample: Sample,
    terms: Sequence[Term],
    conditions: Sequence[str] = (),
    probs: Sequence[float] = DECILES,
    numeric: str = "classes",
    without: np.ndarray | None = None,
    by: str | None = None,
) -> Coding:
    """Learn the coding of the predictors, and of variables that rules name, from the sample.

    `probs` are the shares at which a number with many values is cut; it is also cut where the
    persons `without` a response, shape (n_persons,), are all beyond some value. With `numeric`
    "values" a term of one number has a digit for each of its values, and the side of such a limit
    is a term beside it; in interactions and rules it has classes all the same. The levels of `by`
    have models of their own; see `grouped`.
    """
    as_values = {
        term for term in terms
        if numeric == "values" and len(term) == 1 and sample.fields[term[0]].kind == "numeric"
    }  # fmt: skip
    keys = [(name, term in as_values) for term in terms for name in term]
    beside = [*conditions, *([] if by is None else [by])]
    keys = list(dict.fromkeys([*keys, *((name, False) for name in beside)]))
    variables = []
    for name, by_value in keys:
        field = sample.fields[name]
        if field.kind == "categorical":
            variables.append(coded_digits(name, len(field.levels)))
        elif by_value:
            variables.append(value_digits(name, sample.columns[name]))
        else:
            values = sample.columns[name]
            variables.append(numeric_digits(name, values, sample.weights, probs, without))
    position = {key: j for j, key in enumerate(keys)}
    sides = [_side(sample, term[0], without) for term in terms if term in as_values]
    sides = [side for side in sides if side.size > 2]
    behind = [(len(variables) + j,) for j in range(len(sides))]
    strides([*variables, *sides])  # refuses more combinations than can be told apart
    return Coding(
        (*variables, *sides),
        (*(tuple(position[n, term in as_values] for n in term) for term in terms), *behind),
        (
            *(len(term) == 1 and _has_order(sample.fields[term[0]]) for term in terms),
            *(True for _ in sides),
        ),
        None if by is None else position[by, False],
        () if by is None else tuple(map(str, sample.strata_levels)),
    )


def _side(sample: Sample, name: str, without: np.ndarray | None) -> Digits:
    """Return the digits of a number by the limits beyond which nobody has a response."""
    values = sample.columns[name].astype(np.float64)
    there = ~np.isnan(values)
    limits = np.zeros(0)
    if without is not None and there.any():
        limits = response_limits(values[there], without[there])
    return Digits(name, len(limits) + 2, limits)


def _has_order(field: Field) -> bool:
    return field.kind == "numeric" or field.ordered


def make_design(
    sample: Sample,
    coding: Coding,
    classes: np.ndarray,
    n_classes: int,
    rows: np.ndarray | None = None,
) -> ModelDesign:
    """Return what a model is fitted to, of all persons or of those in `rows`."""
    design = ModelDesign(
        digits=sample_digits(sample, coding),
        classes=classes,
        weights=sample.weights,
        strata=sample.strata,
        sizes=coding.sizes,
        ordered=coding.ordered,
        n_classes=n_classes,
        n_strata=len(sample.strata_levels),
        numbers=coding.numbers,
        units=sample.unit_of_persons,
    )
    return design if rows is None else design.rows(rows)


def sample_digits(sample: Sample, coding: Coding) -> np.ndarray:
    """Return the digits of the model's terms for each person of the sample."""
    columns = [sample.columns[item.name] for item in coding.variables]
    return coding.term_digits(coding.cells(columns, sample.n_persons))


def distribution_table(
    coding: Coding,
    sequence: FallbackSequence,
    block: Block,
    *,
    label: str,
    stratum_name: str,
    allowed: AllowedRule | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evaluate the model once for each distinct predictor combination of a block.

    Returns
    -------
    cells : int array, shape (n_persons,)
    row_of_cell : int array, shape (number of cell codes,)
        Row of `table` for each cell code.
    table : float array, shape (c, R)
        Cumulative class probabilities.
    """
    cells, row_of_cell, probabilities, step, group = evaluate_cells(
        coding, sequence, block, label=label, allowed=allowed
    )
    if step.any():
        persons = np.bincount(row_of_cell[cells], minlength=len(step))
        for number in np.unique(group):
            here = group == number
            name = coding.groups[number] if coding.groups else stratum_name
            _record(block, label, name, persons[here], step[here], coding.by)
    return cells, row_of_cell, cumulative(probabilities)


def cell_probabilities(
    coding: Coding,
    sequence: FallbackSequence,
    block: Block,
    *,
    label: str,
    allowed: AllowedRule | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what `distribution_table` does, with the plain probabilities and their steps.

    Returns
    -------
    cells, row_of_cell : as in `distribution_table`
    probabilities : float array, shape (c, R)
    step : int array, shape (c,)
        Step of the sequence that each row came from; see `predict_with_fallback`.
    """
    return evaluate_cells(coding, sequence, block, label=label, allowed=allowed)[:4]


def evaluate_cells(
    coding: Coding,
    sequence: FallbackSequence,
    block: Block,
    *,
    label: str,
    allowed: AllowedRule | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what `cell_probabilities` does, and whose model each row has, shape (c,)."""
    from synthpop.kernels.cells import mark

    columns = [block.columns[item.name] for item in coding.variables]
    cells = coding.cells(columns, block.n_persons)
    total = strides(coding.variables)[1]
    if total <= DENSE_CELLS:
        present = np.zeros(total, dtype=np.bool_)
        mark(cells, present)
        distinct = np.flatnonzero(present)
        row_of_cell = np.zeros(total, dtype=np.int32)
        row_of_cell[distinct] = np.arange(len(distinct), dtype=np.int32)
    else:
        distinct, inverse = np.unique(cells, return_inverse=True)
        cells = inverse.reshape(-1).astype(np.int32)
        row_of_cell = np.arange(len(distinct), dtype=np.int32)
    mask = None if allowed is None else allowed.mask(split_cells(distinct, coding.variables))
    if mask is not None and not mask.any(axis=1).all():
        what = "the rules of impossible together leave no possible value for some persons"
        raise InputError("recipe", [Fault(label, what, remedy="Take rules back.")])
    digits = coding.term_digits(distinct)
    group = coding.group_of(distinct, block.stratum)
    probabilities = np.zeros((len(distinct), sequence.marginals.shape[1]))
    step = np.zeros(len(distinct), dtype=np.int64)
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        some = None if mask is None else mask[rows]
        probabilities[rows], step[rows] = predict_with_fallback(
            sequence, int(number), digits[rows], some
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
        here = step == number
        if here.any():
            used = STEPS[number] if number < len(STEPS) else "equal shares of the possible values"
            what = f"combination of predictors the sample does not have: {of_levels(used, by)}"
            block.fallbacks.append(Fallback(label, stratum_name, what, int(persons[here].sum())))


@dataclass(frozen=True, slots=True)
class AllowedRule:
    """Structural zeros in digits: rules (predictor position -> digits) and the classes they bar.

    Attributes
    ----------
    rules : tuple of (tuple of (position, digits), classes)
    present : bool array, shape (n_classes,)
        Classes that the sample has; what a rule leaves is drawn from these only.
    """

    rules: tuple[tuple[tuple[tuple[int, tuple[int, ...]], ...], tuple[int, ...]], ...]
    present: np.ndarray

    def mask(self, digits: np.ndarray) -> np.ndarray:
        """Return False where a class is impossible, shape (c, n_classes)."""
        allowed = np.tile(self.present, (len(digits), 1))
        for conditions, classes in self.rules:
            hit = np.ones(len(digits), dtype=bool)
            for position, wanted in conditions:
                hit &= np.isin(digits[:, position], wanted)
            allowed[np.ix_(hit, np.asarray(classes, dtype=np.int64))] = False
        return allowed
