"""How predictors become cells of a model, learned from the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.predictors import Term
from synthpop.microdata.frame.block import Sample
from synthpop.models.encoding import (
    DECILES,
    Encoding,
    cell_codes,
    coded_digits,
    numeric_digits,
    response_limits,
    split_cells,
    strides,
    value_digits,
)


@dataclass(frozen=True, slots=True)
class Encodings:
    """How a block's predictors become cells, and cells the digits of the model's terms."""

    variables: tuple[Encoding, ...]  # one for each distinct predictor
    # positions in `variables` that make up each term; an interaction has several
    terms: tuple[tuple[int, ...], ...]
    # which terms have digits in a meaningful order: numbers and ordered categories
    ordered: tuple[bool, ...]
    # position in `variables` of the one whose levels have models of their own, in place of the
    # strata
    group: int | None = None
    groups: tuple[str, ...] = ()  # name of each digit of that variable
    # BeforeRule or None: how what members of the household before have becomes predictors; see
    # `synthpop.conditional.members_before`
    before: Any = None

    def with_variables(self, added: Sequence[Encoding], *, ordered: bool) -> Encodings:
        """Return the encodings with further predictors, each a term of its own."""
        variables = (*self.variables, *added)
        strides(variables)  # refuses more combinations than can be told apart
        places = range(len(self.variables), len(variables))
        return replace(
            self,
            variables=variables,
            terms=(*self.terms, *((place,) for place in places)),
            ordered=(*self.ordered, *(ordered for _ in places)),
        )

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

    def cells(self, columns: Mapping[str, np.ndarray], n: int) -> np.ndarray:
        """Return the cell code of each of n persons with these columns, shape (n,)."""
        return cell_codes(self.variables, [columns[item.name] for item in self.variables], n)

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
        if all(len(term) == 1 for term in self.terms):
            return digits[:, [j for (j,) in self.terms]]
        out = np.zeros((len(cells), len(self.terms)), dtype=np.int64)
        for t, term in enumerate(self.terms):
            for j in term:
                out[:, t] = out[:, t] * self.variables[j].size + digits[:, j]
        return out


def make_encodings(
    sample: Sample,
    terms: Sequence[Term],
    conditions: Sequence[str] = (),
    probs: Sequence[float] = DECILES,
    numeric: str = "classes",
    without: np.ndarray | None = None,
    by: str | None = None,
) -> Encodings:
    """Learn the encodings of the predictors, and of variables that rules name, from the sample.

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
    rule_names = [*conditions, *([] if by is None else [by])]
    keys = list(dict.fromkeys([*keys, *((name, False) for name in rule_names)]))
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
    limits = [_limit_digits(sample, term[0], without) for term in terms if term in as_values]
    ordered = {n for n, field in sample.fields.items() if field.kind == "numeric" or field.ordered}
    encodings = Encodings(
        tuple(variables),
        tuple(tuple(position[n, term in as_values] for n in term) for term in terms),
        tuple(len(term) == 1 and term[0] in ordered for term in terms),
        None if by is None else position[by, False],
        () if by is None else tuple(map(str, sample.strata_levels)),
    )
    return encodings.with_variables([item for item in limits if item.size > 2], ordered=True)


def _limit_digits(sample: Sample, name: str, without: np.ndarray | None) -> Encoding:
    """Return the digits of a number by the limits beyond which nobody has a response."""
    values = sample.columns[name].astype(np.float64)
    has_value = ~np.isnan(values)
    limits = np.zeros(0)
    if without is not None and has_value.any():
        limits = response_limits(values[has_value], without[has_value])
    return Encoding(name, len(limits) + 2, limits)


def make_design(
    sample: Sample,
    encodings: Encodings,
    classes: np.ndarray,
    n_classes: int,
    rows: np.ndarray | None = None,
) -> ModelDesign:
    """Return what a model is fitted to, of all persons or of those in `rows`."""
    design = ModelDesign(
        digits=sample_digits(sample, encodings),
        classes=classes,
        weights=sample.weights,
        strata=sample.strata,
        sizes=encodings.sizes,
        ordered=encodings.ordered,
        n_classes=n_classes,
        n_strata=len(sample.strata_levels),
        numbers=encodings.numbers,
        units=sample.unit_of_persons,
    )
    return design if rows is None else design.rows(rows)


def sample_digits(sample: Sample, encodings: Encodings) -> np.ndarray:
    """Return the digits of the model's terms for each person of the sample."""
    return encodings.term_digits(encodings.cells(sample.columns, sample.n_persons))
