"""Categorical variables drawn once more, each given all others: a pass of Gibbs sampling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.class_models import (
    AnyPooling,
    PoolingOptions,
    check_class_options,
    codes_of,
    fit_classes,
    fit_fallbacks,
)
from synthpop.conditional.distribution import ClassDistribution, evaluate_cells
from synthpop.conditional.draw import systematic_uniforms
from synthpop.conditional.encodings import make_design, make_encodings
from synthpop.conditional.fallback import MARGINAL, cumulative
from synthpop.conditional.predictors import Predictors, terms_of
from synthpop.conditional.schema import Schema, check_available
from synthpop.conditional.structural_zeros import compile_rules
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import MOST_TIMES, Whole, check
from synthpop.stages.base import BlockStage, StageModel, StratumPooling
from synthpop.stages.entry import StageEntry

Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GibbsPass(BlockStage):
    """Draw categorical variables again, each given all the others.

    A first pass simulates variables one after the other: what comes late is given what came
    early, but not the other way round, and pairs that no step looked at are left to chance. This
    step replaces each variable by a draw given all the others as they are now, one variable after
    the other, `passes` times (Gibbs sampling). The pairs come near those of the sample, whatever
    the order of the first pass was.

    Parameters
    ----------
    variables : list of str
        Variables that `Categorical` steps before this one made, in the order in which to go
        through them. What an earlier `Derive` or `Relation` used cannot be among them.
    passes : int
        How often each variable is drawn again.
    predictors : "all", "basic", list of names, or formula text
        See `Categorical`. "all" is everything that the population has at this step, those made
        after the variable included. The other `variables` are always predictors; terms of a
        formula that hold the variable itself are left out for it.
    model : see `Categorical`
    numeric : see `Categorical`
    pooling : see `Categorical`

    Notes
    -----
    Rules of what is impossible, of the steps that made the variables, are kept in both directions.
    A person keeps its value where its combination of the others has no answer in the stratum's
    model nor in the pooled one; this is recorded. One uniform number per person, variable and pass
    from the stream (gibbs_pass, variables, stratum, block), spread evenly within cells
    (`synthpop.conditional.draw`). Source: Geman and Geman (1984),
    doi:10.1109/TPAMI.1984.4767596; with models that are fitted one by one, van Buuren (2007),
    doi:10.1177/0962280206074463.

    Examples
    --------
    >>> GibbsPass(["pl030", "pb220a"], passes=2).revises
    ('pl030', 'pb220a')
    """

    variables: Sequence[str]
    passes: int = 1
    predictors: Predictors = "all"
    model: Any = "multinomial"
    numeric: str = "classes"
    pooling: AnyPooling = None

    OPTION_TYPES: ClassVar[Mapping[str, Any]] = {"pooling": PoolingOptions}

    entry: ClassVar[StageEntry] = StageEntry(
        name="gibbs_pass",
        rank=70,
        title="Second pass",
        question="Which values do variables have, given also those that came after them?",
        blind_spots=("variables that are not named: they keep the values that were drawn before"),
        example={"variables": ["pl030"], "predictors": ["age", "rb090"]},
        after=("structure", "categorical"),
    )
    NAMES: ClassVar[tuple[str, ...]] = ("variables",)
    provides: ClassVar[tuple[str, ...]] = ()

    @property
    def revises(self) -> tuple[str, ...]:
        """Names of the columns that the stage draws again."""
        return tuple(self.variables)

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return tuple(self.variables)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        if not self.variables or len(set(self.variables)) < len(self.variables):
            faults.add(self.label, "needs distinct variables", hint="Name each once.")
        check_available(faults, self.label, self.variables, schema, "variable")
        check(faults, {"passes": Whole(1, MOST_TIMES)}, self, label=self.label)
        check_class_options(faults, self, schema)

    def fit(self, sample: Sample, rng: np.random.Generator) -> GibbsPassModel:
        """Learn each variable given the others; `rng` seeds models that learn with randomness."""
        fits = [self._fit(name, sample, int(rng.integers(2**31))) for name in self.variables]
        return GibbsPassModel(
            fields=(),
            revised=tuple(sample.fields[name] for name in self.variables),
            distributions=tuple(distribution for distribution, _ in fits),
            strata_levels=sample.strata_levels,
            fallbacks=tuple(note for _, notes in fits for note in notes),
        )

    def _fit(
        self, name: str, sample: Sample, seed: int
    ) -> tuple[ClassDistribution, tuple[Fallback, ...]]:
        field = sample.fields[name]
        others = [(other,) for other in self.variables if other != name]
        terms = [*terms_of(self.predictors, sample), *others]
        terms = [term for term in dict.fromkeys(terms) if name not in term]
        rules = list(rules_for(name, sample.rules))
        conditions = [other for rule in rules for other in rule["when"]]
        classes = codes_of(sample, name, field).astype(np.int64) + 1
        encodings = make_encodings(
            sample, terms, conditions, numeric=self.numeric, without=classes == 0
        )
        design = make_design(sample, encodings, classes, len(field.levels) + 1)
        sequence = fit_classes(self.model, design, self.pooling, self.predictors, seed=seed)
        label = f"{self.label}: {name}"
        allowed = compile_rules(label, rules, field, encodings, sample, classes)
        notes = fit_fallbacks(label, sequence, classes, sample)
        return ClassDistribution(encodings, sequence, allowed), notes

    def simulate(
        self, model: GibbsPassModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw each variable of the block again, given the others as they are then."""
        stratum = str(model.strata_levels[block.stratum])
        for _ in range(self.passes):
            for field, distribution in zip(model.revised, model.distributions, strict=True):
                label = f"{self.label}: {field.name}"
                drawn = _drawn(distribution, field, block, rng, label, stratum)
                block = block.with_columns({field.name: drawn})
        return {field.name: block.columns[field.name] for field in model.revised}


@dataclass(frozen=True, slots=True)
class GibbsPassModel(StageModel):
    """What `GibbsPass` learned: for each variable its distribution given the others."""

    fields: tuple[Field, ...]
    revised: tuple[Field, ...]  # of the variables
    distributions: tuple[ClassDistribution, ...]
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]

    def drawn_again(self) -> tuple[Field, ...]:
        """Return the fields of the variables."""
        return self.revised

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how strata borrow from each other, for each variable."""
        pairs = zip(self.revised, self.distributions, strict=True)
        return {f": {field.name}": given_others.sequence.pooling for field, given_others in pairs}


def rules_for(name: str, rules: Mapping[str, Sequence[Rule]]) -> Iterator[Rule]:
    """Yield the rules that bind a variable given the others.

    Its own ones, and those of others that have it as a condition, turned round: where B cannot be
    b when A is a and C is c, A cannot be a when B is b and C is c.

    Examples
    --------
    >>> rules = {"job": [{"levels": ["works"], "when": {"age": ["0-15"], "sex": ["f"]}}]}
    >>> list(rules_for("age", rules))
    [{'levels': ['0-15'], 'when': {'job': ['works'], 'sex': ['f']}}]
    """
    for other, items in rules.items():
        for rule in items:
            if other == name:
                yield rule
            elif name in rule["when"]:
                when = {k: v for k, v in rule["when"].items() if k != name}
                yield {"levels": rule["when"][name], "when": {other: rule["levels"], **when}}


def _drawn(
    distribution: ClassDistribution,
    field: Field,
    block: Block,
    rng: np.random.Generator,
    label: str,
    stratum: str,
) -> np.ndarray:
    """Draw a variable again; persons of whom the models tell nothing keep their value."""
    from synthpop.kernels.draws import draw_classes

    cells, row_of_cell, probabilities, step, _ = evaluate_cells(distribution, block, label)
    out = np.empty(block.n_persons, dtype=field.dtype)
    uniforms = systematic_uniforms(row_of_cell[cells], len(probabilities), rng)
    draw_classes(cells, row_of_cell, cumulative(probabilities), uniforms, MISSING, out)
    unchanged = (step >= MARGINAL)[row_of_cell[cells]]
    if unchanged.any():
        out[unchanged] = block.columns[field.name][unchanged]
        what = message("combination of predictors the sample does not have: the value is kept")
        block.fallbacks.append(Fallback(label, stratum, what, int(unchanged.sum())))
    return out
