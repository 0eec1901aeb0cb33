"""A categorical variable of household members given the value of the head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.class_models import (
    AnyPooling,
    PoolingOptions,
    check_model,
    check_pooling,
    coded_field,
    codes_of,
    fit_classes,
    fit_fallbacks,
)
from synthpop.conditional.coding import Coding, make_coding, make_design
from synthpop.conditional.distribution import draw_levels
from synthpop.conditional.fallback import FallbackSequence
from synthpop.conditional.members_before import (
    GIVEN_MEMBERS,
    draw_others,
    with_members_before,
    without_members_before,
)
from synthpop.conditional.predictors import (
    Predictors,
    check_by,
    check_predictors,
    grouped,
    notes_by_level,
    resolve_terms,
    usable,
)
from synthpop.conditional.reference_member import (
    FIRST_MEMBER,
    FIRST_VALUE,
    block_of,
    level_digits,
    members_beside,
)
from synthpop.conditional.schema import Schema, check_available
from synthpop.conditional.structural_zeros import (
    AllowedRule,
    check_impossible,
    compile_rules,
    none_for_nan,
)
from synthpop.microdata.block import Block, Fallback, Sample
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.methods import keep_copies
from synthpop.microdata.parameters import check_choice
from synthpop.microdata.text import plural
from synthpop.stages.base import BlockStage, StageModel, StratumPooling, check_in_survey

OTHERS_SEED = 10_000  # apart from those of the strata of the heads' model


@dataclass(frozen=True, slots=True)
class Relation(BlockStage):
    """Simulate citizenship, religion, language ... of households, from the head to the others.

    The head's value is drawn from a model given its own predictors; members in a relation of
    `direct` take the head's value; the others are drawn from a model of such members given their
    predictors and the head's value.

    Parameters
    ----------
    name : str
        Column of the survey; a missing value is a level of its own while simulating.
    relationship : str
        Categorical variable of the population at this step, the relation to the head.
    head : level of `relationship`
        A household without a head in this sense takes its first member; this is recorded. Of
        several heads the first counts, the others are members like any other.
    direct : levels of `relationship`
        Members who take the value of the head, as children may.
    model : see `Categorical`
    predictors : see `Categorical`
    pooling : see `Categorical`
    by : see `Categorical`
    impossible : see `Categorical`
        For heads and for those whose value is drawn given the head's; a direct relation takes the
        head's value whatever the rules say of it (say that by a rule of the pipeline).
    by_household : "first" or "sequential"
        "first": members who are not direct are drawn independently, given the head's value.
        "sequential": one after another, each given what those before have too; see
        `Categorical`.

    Notes
    -----
    One uniform number per person from the stream (stage, variable, stratum, block), spread evenly
    within cells of predictors (`synthpop.conditional.draw`).

    Examples
    --------
    >>> Relation("pb220a", relationship="relation", head="head", direct=["child"]).provides
    ('pb220a',)
    """

    name: str
    relationship: str
    head: Any
    direct: Sequence[Any] = ()
    model: Any = "multinomial"
    predictors: Predictors = "all"
    pooling: AnyPooling = None
    by: str | None = None
    impossible: Sequence[Mapping[str, Any]] | None = None
    by_household: str = FIRST_MEMBER

    OPTION_TYPES: ClassVar[Mapping[str, Any]] = {"pooling": PoolingOptions}

    def __post_init__(self) -> None:
        """Keep copies of lists."""
        keep_copies(self)
        object.__setattr__(self, "impossible", none_for_nan(self.impossible))

    kind: ClassVar[str] = "relation"

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        check_in_survey(faults, self.label, [self.name], schema)
        check_available(faults, self.label, [self.relationship], schema, "relationship")
        check_predictors(faults, self.label, self.predictors, schema)
        check_model(faults, self.label, self.model)
        check_pooling(faults, self)
        check_by(faults, self.label, self.by, self.provides, schema)
        check_choice(faults, f"{self.label}: by_household", self.by_household, GIVEN_MEMBERS)
        check_impossible(faults, self.label, self.name, self.impossible, schema)
        field = schema.survey.get(self.relationship)
        if field is None:
            return
        for role, level in (("head", self.head), *(("direct", item) for item in self.direct)):
            if level not in field.levels:
                what = f"{role} names the level {level!r} that {self.relationship!r} does not have"
                faults.add(self.label, what, remedy=did_you_mean(level, field.levels))

    def fit(self, sample: Sample, rng: np.random.Generator) -> RelationModel:
        """Learn the model of heads and that of the others; `rng` seeds models that need it."""
        field = coded_field(sample, self.name)
        classes = codes_of(sample, self.name, field).astype(np.int64) + 1
        n_classes = len(field.levels) + 1
        code_of = sample.fields[self.relationship].levels.index
        relation = code_of(self.head), tuple(code_of(level) for level in self.direct)
        codes = sample.columns[self.relationship]
        heads, missing = head_of_each(codes, relation[0], sample.offsets)
        members = members_beside(heads, sample.offsets, np.isin(codes, relation[1]))
        strata_levels, sample = sample.strata_levels, grouped(sample, self.by, self.label)
        names, basic = usable(sample.available, sample), usable(sample.basic, sample)
        terms = resolve_terms(self.predictors, names, basic)
        conditions = [name for rule in self.impossible or () for name in rule["when"]]
        coding = make_coding(sample, terms, conditions, without=classes == 0, by=self.by)
        wide, others_sample = with_members_before(
            self.by_household,
            coding,
            sample,
            classes - 1,
            members.others,
            n_classes - 1,
            self.relationship,
        )
        # the value of the first member is the last predictor
        wide = wide.with_variables([level_digits(n_classes - 1)], ordered=field.ordered)
        others_sample = others_sample.with_columns(
            {}, {FIRST_VALUE: members.handed_on(classes[heads] - 1)}
        )
        designs = [make_design(sample, coding, classes, n_classes, heads)]
        if len(members.others):
            designs.append(make_design(others_sample, wide, classes, n_classes, members.others))
        seed = int(rng.integers(2**31))
        sequences = [
            fit_classes(
                self.model, design, self.pooling, self.predictors, seed=seed + number * OTHERS_SEED
            )
            for number, design in enumerate(designs)
        ]
        sequences[1:] = [without_members_before(one, wide) for one in sequences[1:]]
        notes = self._fit_fallbacks(missing, len(sequences))
        parts = ((heads, "heads: "), (members.others, "other members: "))
        for sequence, (rows, who) in zip(sequences, parts, strict=False):
            notes += fit_fallbacks(self.label, sequence, classes, sample, rows, who)
        return RelationModel(
            fields=(field,),
            relation=relation,
            head_coding=coding,
            first_sequence=sequences[0],
            other_coding=wide,
            other_sequence=sequences[1] if len(sequences) > 1 else None,
            strata_levels=strata_levels,
            fallbacks=notes_by_level(notes, sample, self.by),
            allowed=tuple(
                compile_rules(self.label, self.impossible, field, one, sample, classes)
                for one in (coding, wide)
            ),
        )

    def _fit_fallbacks(self, missing: int, n_parts: int) -> tuple[Fallback, ...]:
        notes = []
        if missing:
            homes = plural(missing, "sample household has", "sample households have")
            what = f"{homes} no head: their first member"
            notes.append(Fallback(self.label, "all", what))
        if n_parts < 2:
            what = (
                "no member of the sample is neither head nor direct: such members take the head's"
            )
            notes.append(Fallback(self.label, "all", what))
        return tuple(notes)

    def observed(self, model: RelationModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns."""
        field = model.fields[0]
        return {field.name: codes_of(sample, field.name, field).astype(field.dtype)}

    def simulate(
        self, model: RelationModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw the heads, hand their values on, draw the others."""
        field, stratum = model.fields[0], str(model.strata_levels[block.stratum])
        codes = block.columns[self.relationship]
        heads, missing = head_of_each(codes, model.relation[0], block.offsets)
        if missing:
            what = "households without a head: their first member"
            block.fallbacks.append(Fallback(self.label, stratum, what, missing))
        members = members_beside(heads, block.offsets, np.isin(codes, model.relation[1]))
        first = block_of(block, heads, model.head_coding)
        barred, others_barred = model.allowed or (None, None)
        draw = partial(draw_levels, field, rng=rng, label=self.label, stratum_name=stratum)
        heads_levels = draw(model.head_coding, model.first_sequence, first, allowed=barred)
        columns = {field.name: members.handed_on(heads_levels)}
        sequence, coding = model.other_sequence, model.other_coding
        if len(members.others) and sequence is not None:

            def draw_part(part: Block) -> dict[str, np.ndarray]:
                return {field.name: draw(coding, sequence, part, allowed=others_barred)}

            draw_others(block, field.name, coding, draw_part, members, columns)
        return columns

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns whose values the new one is computed from."""
        return (self.relationship,)

    @property
    def structural_zeros(self) -> Sequence[Mapping[str, Any]]:
        """Values that cannot be."""
        return self.impossible or ()


@dataclass(frozen=True, slots=True)
class RelationModel(StageModel):
    """What `Relation` learned: one sequence for heads, one for members who are not direct."""

    fields: tuple[Field, ...]
    # (int, tuple of int): codes of the head and of the direct relations
    relation: tuple[int, tuple[int, ...]]
    head_coding: Coding
    first_sequence: FallbackSequence
    other_coding: Coding
    other_sequence: FallbackSequence | None
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]
    allowed: tuple[AllowedRule | None, ...] = ()  # for heads and for others

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how strata borrow from each other, for heads and for the others."""
        heads = {" (heads)": self.first_sequence.pooling}
        if self.other_sequence is None:
            return heads
        return {**heads, " (others)": self.other_sequence.pooling}


def head_of_each(codes: np.ndarray, head: int, offsets: np.ndarray) -> tuple[np.ndarray, int]:
    """Find the head of each household: its first member with that code, else its first member.

    Returns heads: int array, shape (n_households,); row positions; missing: int; households without
        a head.

    Examples
    --------
    >>> head_of_each(np.array([1, 0, 0, 2, 2]), 0, np.array([0, 3, 5]))
    (array([1, 3]), 1)
    """
    position = np.where(codes == head, np.arange(len(codes)), len(codes))
    first = np.minimum.reduceat(position, offsets[:-1]) if len(offsets) > 1 else position[:0]
    none = first == len(codes)
    return np.where(none, offsets[:-1], first), int(none.sum())
