"""A variable computed from another, the same way in sample and population."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.rules.evaluate import (
    People,
    always_whole,
    columns_of,
    names_of,
    number_of,
)
from synthpop.conditional.rules.parse import parse_expression
from synthpop.conditional.rules.syntax import Call, Node
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.dataset import Field, numbers
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import OneOf, check
from synthpop.microdata.messages.text import formatted, plural
from synthpop.stages.base import BlockStage, StageModel
from synthpop.stages.entry import StageEntry

AGGREGATES = ("sum", "mean", "min", "max", "count")


def _are_numbers(values: Any) -> bool:
    """Whether these are numbers in a row, and no text that looks like some."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and values.dtype.kind in "fiu"
    return isinstance(values, Sequence) and all(
        isinstance(x, (int, float, np.number)) and not isinstance(x, bool) for x in values
    )


@dataclass(frozen=True, slots=True)
class Derive(BlockStage):
    """Compute a variable from others, in sample and population alike.

    Out of one variable: classes of a number (`breaks`), or new names of levels (`mapping`). Out of
    several, of the person or of the household: a number by an `expression`, which can be cut into
    classes too.

    Parameters
    ----------
    name : str
        The new variable.
    source : str, optional
        A variable that the population has at this step.
    breaks : sequence of numbers, optional
        Class limits of a numeric source, or of the expression, as in ``pandas.cut``: classes
        ``(a, b]``, the lowest limit included. Values outside become missing.
    labels : sequence of str, optional
        One for each class; default the text of the interval.
    mapping : dict, optional
        New value for each level of a categorical source; levels left out become missing.
    expression : str, optional
        In place of `source`: a number of each person in the language of
        `synthpop.conditional.rules`, such as ``"age - head.age"``, ``"sum(netIncome)"`` or
        ``"sum(netIncome) / equivalised_size(age)"``. It is parsed, never evaluated as code.
    within : "household", optional
        Take `aggregate` of the expression over the members of the household, for each of them.
    aggregate : "sum", "mean", "min", "max" or "count", optional
        With `within`; "count": members for whom the expression, a condition, holds. Missing values
        are left out; where all are missing the result is (a count is 0).

    Notes
    -----
    Missing stays missing; values outside `breaks` become missing, which is recorded. Nothing is
    random. A number is float64 in the population, a count a whole number.

    Examples
    --------
    >>> Derive("age_class", source="age", breaks=[0, 15, 64, 120]).provides
    ('age_class',)
    >>> Derive("children", expression="age < 16", within="household", aggregate="count").sources
    ('age',)
    """

    name: str
    source: str | None = None
    breaks: Sequence[float] | None = None
    labels: Sequence[str] | None = None
    mapping: Mapping[Any, Any] | None = None
    expression: str | None = None
    within: str | None = None
    aggregate: str | None = None

    entry: ClassVar[StageEntry] = StageEntry(
        name="derive",
        rank=40,
        title="Derived variable",
        question="Which variable follows from others by a rule?",
        blind_spots="whether the rule is right for the values that the survey does not have",
        example={"name": "age_class", "source": "age", "breaks": [0, 15, 39, 64, 120]},
        after=("structure",),
    )

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns that the new one is computed from."""
        if self.source is not None:
            return (self.source,)
        names = [name.text for name in names_of(self._node()) if name.kind != "level"]
        return tuple(dict.fromkeys(names))

    def _node(self) -> Node:
        """Return the parsed expression, taken over the household where asked."""
        node = parse_expression(str(self.expression))
        return node if self.aggregate is None else Call(self.aggregate, node)

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return ()

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        if (self.source is None) == (self.expression is None):
            what, hint = "needs either source or expression", "Give one of them."
            faults.add(self.label, what, hint=hint)
            return
        if self.expression is not None:
            self._check_expression(faults, schema)
            return
        for option in ("within", "aggregate"):
            if getattr(self, option) is not None:
                what = f"{option} has no meaning without an expression"
                faults.add(self.label, what, hint="Leave it out.")
        assert self.source is not None
        check_available(faults, self.label, [self.source], schema, "source")
        if (self.breaks is None) == (self.mapping is None):
            faults.add(self.label, "needs either breaks or mapping", hint="Give one of them.")
        if self.breaks is not None:
            self._check_breaks(faults, schema)
        if self.mapping is not None:
            self._check_mapping(faults, schema)

    def _check_expression(self, faults: Faults, schema: Schema) -> None:
        if self.mapping is not None:
            what = "mapping has no meaning with an expression"
            faults.add(self.label, what, hint="Leave it out, or give breaks.")
        options = {"within": OneOf(None, "household"), "aggregate": OneOf(None, *AGGREGATES)}
        check(faults, options, self, label=self.label)
        if (self.within is None) != (self.aggregate is None):
            what, hint = "within and aggregate go together", "Give both, or none."
            faults.add(self.label, what, hint=hint)
        if self.breaks is not None:
            self._check_breaks(faults, schema)
        known = {name: schema.survey.get(name) for name in schema.available}
        fields = {name: field for name, field in known.items() if field is not None}
        columns = {name: np.zeros(0, dtype=field.dtype) for name, field in fields.items()}
        with faults.gathering():
            number_of(People(fields, columns, np.zeros(1, dtype=np.int64)), self._node())

    def _check_breaks(self, faults: Faults, schema: Schema) -> None:
        if not _are_numbers(self.breaks):
            hint = "Give two or more numbers."
            faults.add(self.label, f"breaks = {self.breaks!r} are not numbers", hint=hint)
            return
        limits = np.asarray(self.breaks, dtype=np.float64)
        if len(limits) < 2 or not np.all(np.diff(limits) > 0):
            faults.add(self.label, "breaks do not increase", hint="Give two or more limits.")
        if self.labels is not None and len(self.labels) != len(limits) - 1:
            classes = plural(len(limits) - 1, "class", "classes")
            what = f"{plural(len(self.labels), 'label')} for {classes}"
            faults.add(self.label, what, hint="Give one label for each class.")
        if self.labels is not None and len(set(self.labels)) != len(self.labels):
            faults.add(self.label, "labels are not distinct", hint="Rename the repeated ones.")
        field = None if self.source is None else schema.survey.get(self.source)
        if field is not None and field.kind != "numeric":
            faults.add(self.label, f"{self.source!r} is not numeric", hint="Use mapping.")

    def _check_mapping(self, faults: Faults, schema: Schema) -> None:
        field = None if self.source is None else schema.survey.get(self.source)
        if self.labels is not None:
            faults.add(self.label, "labels go with breaks", hint="Put the names into mapping.")
        if field is not None and field.kind != "categorical":
            faults.add(self.label, f"{self.source!r} is numeric", hint="Use breaks.")
        if field is None or field.kind != "categorical":
            return
        for level, new in (self.mapping or {}).items():
            if new is None or new != new:
                what = f"mapping has no new value for {level!r}"
                faults.add(self.label, what, hint="Leave it out of mapping: it becomes missing.")
            if level not in field.levels:
                what = f"mapping names the level {level!r} that {self.source!r} does not have"
                faults.add(self.label, what, hint=did_you_mean(level, field.levels))

    def makes(self, name: str, schema: Schema) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        if self.expression is not None and self.breaks is None:
            return Field.number(name)
        if self.breaks is not None and not _are_numbers(self.breaks):
            return None
        if self.breaks is not None and self.labels is None:
            return Field.categorical(name, interval_labels(self.breaks))
        levels = tuple(self.labels or dict.fromkeys((self.mapping or {}).values()))
        return Field.categorical(name, levels)

    def fit(self, sample: Sample, rng: np.random.Generator) -> DeriveModel:
        """Fix the classes; nothing is learned and nothing is drawn."""
        if self.expression is not None:
            return self._fit_expression(sample)
        assert self.source is not None
        source = sample.fields[self.source]
        if self.breaks is not None:
            return DeriveModel((self._classes(),), np.asarray(self.breaks, float), None, source)
        mapping = self.mapping or {}
        levels = tuple(dict.fromkeys(mapping.values()))
        table = np.array(
            [levels.index(mapping[x]) if x in mapping else MISSING for x in source.levels]
            + [MISSING]
        )
        field = Field.categorical(self.name, levels)
        return DeriveModel((field,), None, table.astype(field.dtype), source)

    def _fit_expression(self, sample: Sample) -> DeriveModel:
        node = self._node()
        everybody = People(
            {name: sample.fields[name] for name in sample.available},
            {name: sample.columns[name] for name in sample.available},
            sample.offsets,
        )
        columns = columns_of((node,), everybody)
        known = {name: sample.fields[name] for name in sorted(columns)}
        number = Field.number(self.name)
        if self.breaks is None:
            if always_whole(node, [n for n, field in known.items() if field.dtype.kind in "iu"]):
                number = replace(number, dtype=np.dtype(np.int64), original="int64")
            return DeriveModel((number,), None, None, number, node=node, known=known)
        limits = np.asarray(self.breaks, dtype=np.float64)
        return DeriveModel((self._classes(),), limits, None, number, node=node, known=known)

    def _classes(self) -> Field:
        names = self.labels if self.labels is not None else interval_labels(self.breaks or ())
        return Field.categorical(self.name, tuple(names), ordered=True)

    def _values(
        self, model: DeriveModel, columns: Mapping[str, np.ndarray], offsets: np.ndarray
    ) -> np.ndarray:
        if model.node is None:
            return columns[str(self.source)]
        needed = {name: columns[name] for name in model.known}
        return number_of(People(model.known, needed, offsets), model.node)

    def observed(self, model: DeriveModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns."""
        return {self.name: derive(model, self._values(model, sample.columns, sample.offsets))}

    def simulate(
        self, model: DeriveModel, block: Block, rng: np.random.Generator | None
    ) -> dict[str, np.ndarray]:
        """Return the derived column."""
        values = self._values(model, block.columns, block.offsets)
        new = derive(model, values)
        self._record_outside(model, block, values, new)
        return {self.name: new}

    def _record_outside(
        self, model: DeriveModel, block: Block, values: np.ndarray, new: np.ndarray
    ) -> None:
        """Record persons whose value lies outside the breaks and becomes missing."""
        if model.limits is None:
            return
        has_value = ~np.isnan(numbers(model.source, values).astype(np.float64))
        outside = int(((new == MISSING) & has_value).sum())
        if outside:
            what = message(
                "values outside the breaks {low} to {high}: missing",
                low=formatted(model.limits[0], "g"),
                high=formatted(model.limits[-1], "g"),
            )
            block.fallbacks.append(Fallback(self.label, "all", what, outside))


@dataclass(frozen=True, slots=True)
class DeriveModel(StageModel):
    """Class limits, or the new code of each level (the last entry is for missing)."""

    fields: tuple[Field, ...]
    limits: np.ndarray | None
    table: np.ndarray | None
    source: Field
    fallbacks: tuple[Fallback, ...] = ()
    node: Node | None = None  # the expression, where there is one
    # dict of Field: columns that it reads
    known: Mapping[str, Field] = dataclass_field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns that the new one is computed from."""
        return tuple(self.known) if self.node is not None else (self.source.name,)


def derive(model: DeriveModel, values: np.ndarray) -> np.ndarray:
    """Return codes of the derived variable, shape (n,)."""
    dtype = model.fields[0].dtype
    if model.table is not None:
        return model.table[values]
    if model.limits is None:
        return values.astype(dtype)
    limits, values = model.limits, numbers(model.source, values)
    if values.dtype.kind in "iu" and limits[-1] - limits[0] < 1e6:
        low = int(min(np.floor(limits[0]), values.min(initial=0)))
        high = int(max(np.ceil(limits[-1]), values.max(initial=0)))
        if high - low < 1e6:
            table = _cut(np.arange(low, high + 1, dtype=np.float64), limits).astype(dtype)
            return table[values.astype(np.int64) - low]
    return _cut(values.astype(np.float64), limits).astype(dtype)


def _cut(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    codes = np.searchsorted(limits, values, side="left") - 1
    codes[values == limits[0]] = 0
    outside = ~((values >= limits[0]) & (values <= limits[-1]))
    codes[outside] = MISSING
    return codes


def interval_labels(limits: Sequence[float]) -> tuple[str, ...]:
    """Return the text of each class, the lowest limit included.

    Examples
    --------
    >>> interval_labels([0, 15, 64])
    ('[0, 15]', '(15, 64]')
    """
    pairs = itertools.pairwise(limits)
    return tuple(f"{'[' if i == 0 else '('}{a:.10g}, {b:.10g}]" for i, (a, b) in enumerate(pairs))
