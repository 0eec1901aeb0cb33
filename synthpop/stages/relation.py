"""A categorical variable of household members given the value of the head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.class_models import (
    AnyPooling,
    coded_field,
    codes_of,
    fit_classes,
    fit_fallbacks,
)
from synthpop.conditional.distribution import ClassDistribution, draw_levels
from synthpop.conditional.encodings import Encodings, make_design, make_encodings
from synthpop.conditional.members_before import (
    GIVEN_MEMBERS,
    draw_others,
    with_members_before,
    without_members_before,
)
from synthpop.conditional.predictors import Predictors, grouped, notes_by_level, terms_of
from synthpop.conditional.reference_member import (
    FIRST_MEMBER,
    FIRST_VALUE,
    block_of,
    level_digits,
    members_beside,
)
from synthpop.conditional.schema import Schema, check_available
from synthpop.conditional.structural_zeros import compile_rules
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import plural
from synthpop.stages.base import ClassStage, StageModel, StratumPooling
from synthpop.stages.entry import StageEntry

OTHERS_SEED = 10_000  # apart from those of the strata of the heads' model


@dataclass(frozen=True, slots=True)
class Relation(ClassStage):
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

    entry: ClassVar[StageEntry] = StageEntry(
        name="relation",
        rank=60,
        title="Variable of related persons",
        question="Which value do the members of a household have, given that of its head?",
        blind_spots=(
            "ties between members who are not the head, unless they are drawn in sequence"
        ),
        example={
            "name": "pb220a",
            "relationship": "relation",
            "head": "head",
            "direct": ["child"],
            "predictors": ["age"],
        },
        after=("structure",),
    )

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        ClassStage.check(self, faults, schema)
        check_available(faults, self.label, [self.relationship], schema, "relationship")
        check_choice(faults, f"{self.label}: by_household", self.by_household, GIVEN_MEMBERS)
        field = schema.survey.get(self.relationship)
        if field is None:
            return
        for role, level in (("head", self.head), *(("direct", item) for item in self.direct)):
            if level not in field.levels:
                what = f"{role} names the level {level!r} that {self.relationship!r} does not have"
                faults.add(self.label, what, hint=did_you_mean(level, field.levels))

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
        terms = terms_of(self.predictors, sample)
        encodings = make_encodings(sample, terms, self.conditions, without=classes == 0, by=self.by)
        wide, others_sample = with_members_before(
            self.by_household,
            encodings,
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
        notes: list[Fallback] = []
        if missing:
            homes = plural(missing, "sample household has", "sample households have")
            notes.append(
                Fallback(
                    self.label,
                    "all",
                    message("{homes} no head: the first member is used", homes=homes),
                )
            )
        if not len(members.others):
            what = message(
                "no member of the sample is neither head nor direct: such members take the "
                "levels of the head"
            )
            notes.append(Fallback(self.label, "all", what))
        seed, others = int(rng.integers(2**31)), None
        of_heads, fallbacks = self._fit(field, encodings, sample, classes, heads, "heads: ", seed)
        notes += fallbacks
        if len(members.others):
            others, fallbacks = self._fit(
                field, wide, others_sample, classes, members.others, "other members: ",
                seed + OTHERS_SEED,
            )  # fmt: skip
            notes += fallbacks
        return RelationModel(
            fields=(field,),
            relation=relation,
            heads=of_heads,
            others=others,
            strata_levels=strata_levels,
            fallbacks=notes_by_level(notes, sample, self.by),
        )

    def _fit(
        self,
        field: Field,
        encodings: Encodings,
        sample: Sample,
        classes: np.ndarray,
        rows: np.ndarray,
        who: str,
        seed: int,
    ) -> tuple[ClassDistribution, tuple[Fallback, ...]]:
        """Learn the distribution of the members in some rows; `who` begins each fallback."""
        design = make_design(sample, encodings, classes, len(field.levels) + 1, rows)
        sequence = fit_classes(self.model, design, self.pooling, self.predictors, seed=seed)
        sequence = without_members_before(sequence, encodings)
        allowed = compile_rules(self.label, self.impossible, field, encodings, sample, classes)
        notes = fit_fallbacks(self.label, sequence, classes, sample, rows, who)
        return ClassDistribution(encodings, sequence, allowed), notes

    def simulate(
        self, model: RelationModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw the heads, hand their values on, draw the others."""
        field, stratum = model.fields[0], str(model.strata_levels[block.stratum])
        codes = block.columns[self.relationship]
        heads, missing = head_of_each(codes, model.relation[0], block.offsets)
        if missing:
            what = message("households without a head: the first member is used")
            block.fallbacks.append(Fallback(self.label, stratum, what, missing))
        members = members_beside(heads, block.offsets, np.isin(codes, model.relation[1]))

        def draw(distribution: ClassDistribution, part: Block) -> dict[str, np.ndarray]:
            levels = draw_levels(
                distribution, field, part, rng, label=self.label, stratum_name=stratum
            )
            return {field.name: levels}

        levels_of_heads = draw(model.heads, block_of(block, heads, model.heads.encodings))
        columns = {field.name: members.handed_on(levels_of_heads[field.name])}
        others = model.others
        if len(members.others) and others is not None:
            draw_others(
                block, field.name, others.encodings, partial(draw, others), members, columns
            )
        return columns

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns whose values the new one is computed from."""
        return (self.relationship,)


@dataclass(frozen=True, slots=True)
class RelationModel(StageModel):
    """What `Relation` learned."""

    fields: tuple[Field, ...]
    # (int, tuple of int): codes of the head and of the direct relations
    relation: tuple[int, tuple[int, ...]]
    heads: ClassDistribution
    others: ClassDistribution | None  # of members who are not direct; None: the sample has none
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how strata borrow from each other, for heads and for the others."""
        heads = {" (heads)": self.heads.sequence.pooling}
        if self.others is None:
            return heads
        return {**heads, " (others)": self.others.sequence.pooling}


def head_of_each(codes: np.ndarray, head: int, offsets: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the first member with the code of heads of each household, else its first member.

    The second result is how many households are without a head.

    Examples
    --------
    >>> head_of_each(np.array([1, 0, 0, 2, 2]), 0, np.array([0, 3, 5]))
    (array([1, 3]), 1)
    """
    position = np.where(codes == head, np.arange(len(codes)), len(codes))
    first = np.minimum.reduceat(position, offsets[:-1]) if len(offsets) > 1 else position[:0]
    none = first == len(codes)
    return np.where(none, offsets[:-1], first), int(none.sum())
