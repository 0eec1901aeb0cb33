"""Which variables predict, and how a block's predictors become model cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.block import Block, Fallback, Sample
from synthpop.microdata.codes import DENSE_CELLS
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import Fault, Faults, InputError
from synthpop.models.cells import (
    DECILES,
    Digits,
    cell_codes,
    coded_digits,
    numeric_digits,
    response_limits,
    split_cells,
    strides,
    value_digits,
)
from synthpop.models.ladder import STEPS, Design, Ladder, cumulative, predict_ladder
from synthpop.stages.base import Outlook, check_available
from synthpop.stages.formula import Term, parse_formula

Predictors = str | Sequence[str]
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
        return parse_formula(predictors)
    return [(name,) for name in predictors]


def usable(names: Sequence[str], sample: Sample) -> list[str]:
    """Return the names without the stratum, which every model has already."""
    return [name for name in names if name != sample.strata_name]


def check_predictors(faults: Faults, label: str, predictors: Predictors, outlook: Outlook) -> None:
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
        terms = resolve_terms(predictors, outlook.available, outlook.basic)
    except InputError as problem:
        faults.add(label, problem.faults[0].what)
        return
    names = list(dict.fromkeys(name for term in terms for name in term))
    check_available(faults, label, names, outlook, "predictor")


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
    """

    variables: tuple[Digits, ...]
    terms: tuple[tuple[int, ...], ...]
    ordered: tuple[bool, ...]

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
) -> Coding:
    """Learn the coding of the predictors, and of variables that rules name, from the sample.

    `probs` are the shares at which a number with many values is cut; it is also cut where the
    persons `without` a response, shape (n_persons,), are all beyond some value. With `numeric`
    "values" a term of one number has a digit for each of its values, and the side of such a limit
    is a term beside it; in interactions and rules it has classes all the same.
    """
    as_values = {
        term for term in terms
        if numeric == "values" and len(term) == 1 and sample.fields[term[0]].kind == "numeric"
    }  # fmt: skip
    keys = [(name, term in as_values) for term in terms for name in term]
    keys = list(dict.fromkeys([*keys, *((name, False) for name in conditions)]))
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
    beside = [(len(variables) + j,) for j in range(len(sides))]
    strides([*variables, *sides])  # refuses more combinations than can be told apart
    return Coding(
        (*variables, *sides),
        (*(tuple(position[n, term in as_values] for n in term) for term in terms), *beside),
        (
            *(len(term) == 1 and _has_order(sample.fields[term[0]]) for term in terms),
            *(True for _ in sides),
        ),
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
) -> Design:
    """Return what a model is fitted to, of all persons or of those in `rows`."""
    design = Design(
        digits=sample_digits(sample, coding),
        classes=classes,
        weights=sample.weights,
        strata=sample.strata,
        sizes=coding.sizes,
        ordered=coding.ordered,
        n_classes=n_classes,
        n_strata=len(sample.strata_levels),
        numbers=coding.numbers,
        households=np.repeat(np.arange(len(sample.offsets) - 1), np.diff(sample.offsets)),
    )
    return design if rows is None else design.rows(rows)


def sample_digits(sample: Sample, coding: Coding) -> np.ndarray:
    """Return the digits of the model's terms for each person of the sample."""
    columns = [sample.columns[item.name] for item in coding.variables]
    return coding.term_digits(coding.cells(columns, sample.n_persons))


def distribution_table(
    coding: Coding,
    ladder: Ladder,
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
    cells, row_of_cell, probabilities, step = cell_probabilities(
        coding, ladder, block, label=label, allowed=allowed
    )
    if step.any():
        _record(block, label, stratum_name, cells, row_of_cell, step)
    return cells, row_of_cell, cumulative(probabilities)


def cell_probabilities(
    coding: Coding,
    ladder: Ladder,
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
        Step of the ladder that each row came from; see `predict_ladder`.
    """
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
    probabilities, step = predict_ladder(ladder, block.stratum, coding.term_digits(distinct), mask)
    return cells, row_of_cell, probabilities, step


def _record(
    block: Block,
    label: str,
    stratum_name: str,
    cells: np.ndarray,
    row_of_cell: np.ndarray,
    step: np.ndarray,
) -> None:
    persons = np.bincount(row_of_cell[cells], minlength=len(step))
    for number in range(1, len(STEPS) + 1):
        here = step == number
        if here.any():
            used = STEPS[number] if number < len(STEPS) else "equal shares of the possible values"
            what = f"combination of predictors the sample does not have: {used}"
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
