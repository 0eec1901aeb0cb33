"""A categorical variable, drawn from its distribution given the predictors (book section 6.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.calibrated_shares import calibrate_shares, with_targets
from synthpop.conditional.class_models import (
    AnyPooling,
    coded_field,
    codes_of,
    fit_classes,
    fit_fallbacks,
)
from synthpop.conditional.coded_sample import code_sample
from synthpop.conditional.distribution import ClassDistribution, draw_levels
from synthpop.conditional.encodings import make_design
from synthpop.conditional.household_values import (
    drawn_by_household,
    first_members_of_sample,
    unshared,
)
from synthpop.conditional.make_up import MakeUp
from synthpop.conditional.members_before import (
    GIVEN_MEMBERS,
    SEQUENTIAL,
    drawn_given_members,
    without_members_before,
)
from synthpop.conditional.predictors import Predictors, grouped, notes_by_level
from synthpop.conditional.reference_member import FIRST_MEMBER, knows_first
from synthpop.conditional.schema import Schema
from synthpop.conditional.structural_zeros import compile_rules
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.models.nested import NestedLevels
from synthpop.stages.base import ClassStage, StageModel, StratumPooling, as_names
from synthpop.stages.entry import StageEntry

BY_HOUSEHOLD = (None, FIRST_MEMBER, SEQUENTIAL, "shared")


@dataclass(frozen=True, slots=True)
class Categorical(ClassStage):
    """Simulate a categorical variable given others, stratum by stratum.

    Parameters
    ----------
    name : str or list of str
        Column of the survey. A missing value is a level of its own while simulating and missing
        again in the population. Several names are as many steps, in the order given, with the
        same options: with predictors "all" each is given those before it too, with "basic" each
        is given the basic ones only.
    predictors : "basic", "all", list of names, or formula text
        "basic" are the variables of the structure and the household size, "all" everything the
        population has at this step. A formula is text like ``"~ age + sex:status"``. Numbers with
        more than 20 distinct values are cut at their weighted deciles, and at the value below (or
        above) which nobody has a value of the variable, as children have no economic status.
    model : str or classifier
        "multinomial", "empirical", "tree", "forest", "shrunk-tree", "boosting" or "nested":
        weighted multinomial logistic regression (book eq. 6.3), the observed weighted
        distribution of each combination of predictors, a classification tree or random forest
        (leaves of 5 persons or more), a tree whose leaves are shrunk towards the branches above by
        households and by an amount that cross-validation chooses, so that it repeats fewer
        persons (`synthpop.models.shrunk_tree`), gradient boosting, codes with many levels by trees
        of their groups (first digits) and within these, or any classifier of scikit-learn with
        ``predict_proba`` whose ``fit`` takes ``sample_weight``. All of them use survey weights.
    impossible : list of rules, optional
        Structural zeros: each rule is ``{"levels": [...], "when": {predictor: [values]}}``; such a
        value is never drawn there (probabilities are set to zero and scaled back to one). A missing
        value is None, or nan as in run files.
    pooling : "none", "cross-validated", "one-standard-error", "complete", number, `PoolingOptions`
        Whether strata borrow from each other. "none": each has a model of its own. "complete": one
        model, with the stratum as a predictor. A number: the stratum's model is shrunk towards the
        pooled one with the weight of so many persons. "cross-validated": that number is chosen by
        cross-validation over households, and for the multinomial model the strength of pairs of
        predictors in the pooled model too; a formula gets no pairs but its own.
        "one-standard-error": the most pooled number (and the weakest pairs) whose score is less
        than one standard error of the difference behind the best. Default:
        "cross-validated" for the multinomial model, "complete" for "nested", otherwise "none",
        since other models are fitted about five times then. What was chosen is in
        `FittedPipeline.pooling`; how each model is shrunk, in
        `synthpop.conditional.pooling.options`.
    by : str, optional
        Category, or number of up to 20 distinct values, of the population at this step. Models are
        fitted to each of its levels (a missing value is one) instead of each stratum, and
        `pooling` and what is recorded are about levels; the stratum is a
        predictor like any other then, among "all" and "basic" too.
    numeric : "classes" or "values"
        How predictors that are numbers enter: cut at weighted deciles where they have more than
        20 distinct values, or as they are (the model is linear in them, a learner splits their
        values; a value that the sample does not have enters as the nearest that it has). In
        interactions of a formula they have classes always.
    by_household : None, "first", "sequential" or "shared"
        None: members of a household are drawn independently, given their predictors. "first": its
        first member is drawn first, the others given what it got; this keeps the likeness of
        members that predictors do not tell. The model has a further predictor, whose levels are
        "is the first member" and the values of the first member. "sequential": as "first", and
        members beyond the second are drawn one after another, each given what those before
        have too (`synthpop.conditional.members_before`). "shared": a variable of the
        household, as its tenure or, of an enterprise, its legal form: the model is fitted to first
        members with household weights, drawn once for a household with the predictors of its first
        member, and given to all.

    Notes
    -----
    One uniform number per person, or household, from the stream (stage, variable, stratum, block),
    spread evenly over cells of predictors: a class comes nearly as often as expected there
    (`synthpop.conditional.draw`).

    Examples
    --------
    >>> Categorical("pl030", predictors=["age_class", "rb090"]).provides
    ('pl030',)
    """

    name: str | Sequence[str]
    predictors: Predictors = "all"
    model: Any = "multinomial"
    impossible: Sequence[Mapping[str, Any]] | None = None
    numeric: str = "classes"
    by_household: str | None = None
    pooling: AnyPooling = None
    by: str | None = None

    def __post_init__(self) -> None:
        """Check that there are names; keep copies of lists."""
        ClassStage.__post_init__(self)
        if not isinstance(self.name, str):
            object.__setattr__(self, "name", as_names("name", self.name))

    entry: ClassVar[StageEntry] = StageEntry(
        name="categorical",
        rank=50,
        title="Categorical variable",
        question="Which category does a person have, given what is known of her or him?",
        blind_spots=(
            "ties between members of a household, unless `by_household` is given, and to "
            "variables that are not among the predictors"
        ),
        example={"name": "pl030", "predictors": ["age", "rb090"]},
        after=("structure",),
    )

    @property
    def variable(self) -> str:
        """The one variable of a step of its own; see `expand`."""
        return self.provides[0]

    def expand(self) -> tuple[Categorical, ...]:
        """Return one step for each variable, in the order given."""
        if len(self.provides) < 2:
            return (self,)
        return tuple(replace(self, name=name) for name in self.provides)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        if not self.provides:
            faults.add(self.label, "has no name", hint="Name a column of the survey.")
            return
        ClassStage.check(self, faults, schema)
        check_choice(faults, f"{self.label}: by_household", self.by_household, BY_HOUSEHOLD)

    def fit(self, sample: Sample, rng: np.random.Generator) -> CategoricalModel:
        """Learn the conditional distribution; `rng` seeds models that learn with randomness."""
        field = coded_field(sample, self.variable)
        notes: tuple[Fallback, ...] = ()
        if self.by_household == "shared":
            codes = codes_of(sample, self.variable, field).astype(np.float64)
            notes = unshared(codes, sample.offsets, self.label)
            sample = first_members_of_sample(sample)
        strata_levels, sample = sample.strata_levels, grouped(sample, self.by, self.label)
        classes = codes_of(sample, self.variable, field).astype(np.int64) + 1
        n_levels = len(field.levels)
        encodings, sample, make_up = code_sample(
            self, sample, classes - 1, without=classes == 0, conditions=self.conditions,
            n_levels=n_levels,
        )  # fmt: skip
        design = make_design(sample, encodings, classes, n_levels + 1)
        seed = int(rng.integers(2**31))
        is_nested = isinstance(self.model, str) and self.model == "nested"
        model = NestedLevels.of(field.levels) if is_nested else self.model
        sequence = fit_classes(model, design, self.pooling, self.predictors, seed=seed)
        if knows_first(encodings):
            relation = None if make_up is None else make_up.relation
            sequence = without_members_before(sequence, encodings)
            sequence = with_targets(sequence, design, encodings, relation)
        class_notes = fit_fallbacks(self.label, sequence, classes, sample)
        return CategoricalModel(
            fields=(field,),
            encodings=encodings,
            sequence=sequence,
            allowed=compile_rules(self.label, self.impossible, field, encodings, sample, classes),
            strata_levels=strata_levels,
            fallbacks=(*notes, *notes_by_level(class_notes, sample, self.by)),
            make_up=make_up,
        )

    @property
    def needs_pilot(self) -> bool:
        """Whether shares of first and other members are calibrated in a pilot; see `calibrate`."""
        return self.by_household in GIVEN_MEMBERS

    def calibrate(
        self, model: CategoricalModel, pilot: Sequence[Block], rng: np.random.Generator
    ) -> CategoricalModel:
        """Return the model with shares of first and other members calibrated to the survey's."""
        draw = partial(self._simulate, rng=rng)
        first = len(model.fields[0].levels)
        if model.make_up is not None:
            pilot = [model.make_up.of_block(block) for block in pilot]
        return calibrate_shares(model, pilot, self.variable, first, draw, self.label)

    def calibrate_as(self, model: Any, earlier: Any, digits: Callable[[str], np.ndarray]) -> Any:
        """Return the model with the factors of first and other members of an earlier fit."""
        factors = earlier.sequence.factors
        if factors is None or model.sequence.targets is None:
            return model
        factors = factors[:, digits(self.variable)]
        return replace(model, sequence=replace(model.sequence, factors=factors))

    def observed(self, model: CategoricalModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values; shared ones are those of the first member."""
        columns = ClassStage.observed(self, model, sample)
        if self.by_household != "shared":
            return columns
        first, sizes = sample.offsets[:-1], np.diff(sample.offsets)
        return {name: np.repeat(codes[first], sizes) for name, codes in columns.items()}

    def simulate(
        self, model: CategoricalModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw a level for each person of the block, or for each household."""
        if model.make_up is not None:
            block = model.make_up.of_block(block)
        draw = partial(self._simulate, model, rng=rng)
        if knows_first(model.encodings):
            first = len(model.fields[0].levels)
            return drawn_given_members(block, self.variable, model.encodings, draw, first)
        return drawn_by_household(block, draw) if self.by_household == "shared" else draw(block)

    def _simulate(
        self, model: CategoricalModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        field, stratum = model.fields[0], str(model.strata_levels[block.stratum])
        levels = draw_levels(model, field, block, rng, label=self.label, stratum_name=stratum)
        return {field.name: levels}

    is_revisable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class CategoricalModel(ClassDistribution, StageModel):
    """What `Categorical` learned."""

    fields: tuple[Field, ...]
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]
    make_up: MakeUp | None = None

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how the strata of the model borrow from each other."""
        return {"": self.sequence.pooling}
