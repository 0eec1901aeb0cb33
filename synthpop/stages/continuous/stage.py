"""A (semi-)continuous variable: what kind of value first, then the value (book section 6.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np

from synthpop.conditional.class_models import (
    AnyPooling,
    PoolingOptions,
    check_class_options,
    fit_classes,
    fit_fallbacks,
    pooling_options,
)
from synthpop.conditional.coded_sample import code_sample
from synthpop.conditional.encodings import make_design
from synthpop.conditional.fallback import FallbackSequence, ModelDesign
from synthpop.conditional.household_values import (
    FORMS,
    JOINED,
    drawn_by_household,
    first_members_of_sample,
    joined,
    unshared,
)
from synthpop.conditional.members_before import (
    GIVEN_MEMBERS,
    Draw,
    drawn_given_members,
    without_members_before,
)
from synthpop.conditional.predictors import Predictors, grouped, notes_by_level
from synthpop.conditional.reference_member import FIRST, knows_first
from synthpop.conditional.schema import Schema
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Instance, OneOf, check
from synthpop.microdata.statistics.streams import Streams
from synthpop.models.decimals import decimals_of
from synthpop.models.heaps import Heaps
from synthpop.stages.base import DECIMALS, BlockStage, check_in_survey, check_numeric_field
from synthpop.stages.continuous.binned import Classes, WithinClass
from synthpop.stages.continuous.binned_method import Binned
from synthpop.stages.continuous.means import calibrate_means, group_means, with_factors_of
from synthpop.stages.continuous.method_base import ValueMethod
from synthpop.stages.continuous.methods import METHODS, MethodOptions, value_method, with_options
from synthpop.stages.continuous.model import (
    ContinuousModel,
    above_upper,
    draw_persons,
    group_draws,
    new_fields,
    unrounded_values,
)
from synthpop.stages.continuous.offset import (
    check_offset,
    names_in,
    offset_of,
    without_offset,
)
from synthpop.stages.continuous.values import Values, fit_values, notes_of
from synthpop.stages.entry import StageEntry


@dataclass(frozen=True, slots=True, init=False)
class Continuous(BlockStage):
    """Simulate a continuous or semi-continuous variable.

    What kind of value a person has is drawn first, from a multinomial model given the predictors
    (methods "tree" and "forest": from a classification tree): a class of values (method
    "binned"), or missing, zero or another value (all other methods).
    Then a value is drawn inside the class, or around a regression. Survey weights are used by
    every method.

    Parameters
    ----------
    name : str
        Numeric column of the survey, or one of dates (days since 1970; with a time of day seconds).
        Missing values are a class of their own and missing again in the population.
    method : str, options of a method, or scikit-learn regressor
        How values are drawn. A name stands for a method with default options:
        "binned" for `Binned`, "regression", "tree" and "forest" for `Regressed`,
        "binned+regression" for `BinnedRegressed`, "poisson" and "negative-binomial" for `Counted`,
        "pmm" for `Matched`; a regressor for `Regressed` around it. In a run file
        ``method = {type = "binned", tail = "gpd"}``.
    predictors : "basic", "all", list of names, or formula text
        See `Categorical`.
    numeric : "classes" or "values"
        How predictors that are numbers enter every model of the stage; see `Categorical`.
    by_household : None, "first", "sequential", "sum", "mean", "random" or "shared"
        None: members of a household are drawn independently, given their predictors. "first": its
        first member is drawn first, the others given what it got. The models have a further
        predictor, whose levels are "is the first member" and classes of the first member's value:
        weighted deciles of the values that are not zero, missing, and where 20 first members have
        such a value zero and negative. "sequential": as "first", and members beyond the second are
        drawn one after another, each given the values of those before too; the highest 5 % and
        1 % are classes of their own then. "sum", "mean", "random": all members get the sum, the
        mean or one at random of their values (later steps see the sample's values joined alike).
        "shared": one value simulated with the predictors of the first member, fitted to these.
    pooling : "none", "cross-validated", "one-standard-error", "complete" or a number, optional
        Whether strata borrow from each other: in the model of classes, see `Categorical`, and in
        the regression, where the coefficients of a stratum are shrunk towards those of all strata
        with the weight of so many persons (`synthpop.conditional.pooling.regression`). Default:
        "cross-validated" for both; "none" for regressors that learn, which cannot be shrunk.
        Strata with fewer values than `PoolingOptions.smallest_stratum` use the regression of all
        strata, and, without pooling, those with fewer than three for each coefficient.
    by : str, optional
        Fit models to the levels of this variable instead of the strata; see `Categorical`. Limits
        of classes, values inside them and the tail are those of all.
    means_by : str, optional
        Name of a predictor that is a category: the population keeps the survey's weighted means by
        its levels (probabilities of classes are adjusted in a pilot population, the tail by level).
    options
        Options of the named method, by name: ``Continuous("income", tail="gpd")`` is
        ``Continuous("income", Binned(tail="gpd"))``; `threshold` and `estimator` are the tail's.
    decimals : "survey", int or None
        Decimals of the values: as many as the survey has (up to six), so many, or all that the
        draws have. No value becomes zero by rounding, and none leaves its class.
    heaps : "survey" or None
        Whether values are rounded as respondents round them: as often to multiples of 5, 10, 50,
        100, ... (and of 12, 60, 120, ...: yearly amounts of monthly ones) as in the survey, by the
        size of the value and by the predictor that tells most about it
        (`synthpop.models.heaps.Heaps`). Nothing is rounded where the survey has no more multiples
        than by chance, nor with methods whose values are whole or copied ("pmm").
    offset : str, optional
        A known part, as an expression of numbers of earlier steps (see `Derive`): what remains of
        the number is learned and drawn, and the part is added again. With
        ``"interview - 365.2425 * age"`` a date of birth agrees with the age, with ``"interview"``
        another date lies at its distance from that of the interview.

    Notes
    -----
    A survey column of whole numbers stays one (int64) in the population, unless `decimals` or
    ``by_household="mean"`` make fractions; other values are float64.

    Two uniform numbers per person from the stream (stage, variable, stratum, block), spread
    evenly: that of the class within cells of predictors, that of the value within classes (see
    `synthpop.conditional.draw`); around a regression one more for each value (counts: as many as
    the generator's own Poisson and gamma draws take); one more where values are heaped. With fewer
    than 20 sample values in the top class even so, the tail falls back to uniform draws. This,
    strata without a model of their own, and persons whose combination of predictors is not
    observed in the sample are recorded.

    Examples
    --------
    >>> Continuous("netIncome", Binned(tail="gpd", upper=200_000)).provides
    ('netIncome',)
    >>> Continuous("netIncome", tail="gpd") == Continuous("netIncome", Binned(tail="gpd"))
    True
    >>> from synthpop.stages.continuous.regression_methods import Regressed
    >>> Continuous("netIncome", Regressed(log=True, residuals="normal"), ["age"]).label
    'continuous netIncome'
    """

    name: str
    method: Any = "binned"
    predictors: Predictors = "all"
    numeric: str = "classes"
    by_household: str | None = None
    pooling: AnyPooling = None
    by: str | None = None
    decimals: int | str | None = "survey"
    means_by: str | None = None
    heaps: str | None = "survey"
    offset: str | None = None

    OPTION_TYPES: ClassVar[Mapping[str, Any]] = {"method": METHODS, "pooling": PoolingOptions}

    def __init__(
        self,
        name: str,
        method: Any = "binned",
        predictors: Predictors = "all",
        numeric: str = "classes",
        by_household: str | None = None,
        pooling: AnyPooling = None,
        by: str | None = None,
        decimals: int | str | None = "survey",
        means_by: str | None = None,
        heaps: str | None = "survey",
        offset: str | None = None,
        **options: Unpack[MethodOptions],
    ) -> None:
        chosen = (
            with_options(message("continuous {name}", name=name), method, options)
            if options
            else method
        )
        forms = (by_household, pooling, by, decimals, means_by, heaps, offset)
        values = (name, chosen, predictors, numeric, *forms)
        for option, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, option.name, value)
        self.__post_init__()  # a run file sets the options without `__init__`

    entry: ClassVar[StageEntry] = StageEntry(
        name="continuous",
        rank=80,
        title="Continuous variable",
        question="Which amount does a person have, given what is known of her or him?",
        blind_spots=(
            "amounts beyond those of the sample, unless a tail is fitted, and ties to "
            "variables that are not among the predictors"
        ),
        example={"name": "netIncome", "predictors": ["age", "rb090"]},
        after=("structure",),
    )

    @property
    def draws(self) -> ValueMethod:
        """The options of the method."""
        return value_method(self.method) or Binned()

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the stage makes."""
        return (self.name, *(self.draws.intervals or ()))

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return (self.name,)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns of the offset."""
        return () if self.offset is None else names_in(self.offset)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        check_in_survey(faults, self.label, [self.name], schema)
        check_numeric_field(faults, self.label, self.name, schema)
        check_class_options(faults, self, schema)
        if value_method(self.method) is None:
            hint = did_you_mean(self.method, [*METHODS, "a scikit-learn regressor"])
            faults.add(
                f"{self.label}: method",
                message("{value} is not allowed", value=repr(self.method)),
                hint=hint,
            )
        self.draws.check(faults, self.label)
        options = {
            "by_household": OneOf(None, *GIVEN_MEMBERS, *FORMS),
            "decimals": DECIMALS,
            "heaps": OneOf("survey", None),
            "means_by": Instance(str, "the name of a predictor") | NONE,
            "offset": Instance(str, "an expression") | NONE,
        }
        check(faults, options, self, label=self.label)
        if isinstance(self.offset, str):
            check_offset(faults, self.label, self.offset, schema)
        self._check_together(faults)

    def _check_together(self, faults: Faults) -> None:
        intervals, amount = self.draws.intervals, pooling_options(self.pooling).amount
        if intervals is not None and len({self.name, *intervals}) != 3:
            hint = "Give (lower, upper)."
            faults.add(self.label, "intervals needs two names of its own", hint=hint)
        if intervals is not None and self.by_household in JOINED:
            what = f"intervals has no meaning with by_household = {self.by_household!r}"
            faults.add(self.label, what, hint="Leave one of them out.")
        if self.offset is not None and (intervals is not None or self.by_household in JOINED):
            what = "offset has no meaning with intervals or values joined by household"
            faults.add(self.label, what, hint="Leave one of them out.")
        if self.means_by is not None and (
            self.draws.type != "binned" or self.by_household in FORMS
        ):
            what = "means_by has a meaning for the method binned and values of persons only"
            faults.add(self.label, what, hint="Leave it out.")
        if self.draws.learns and amount not in (None, "none", "complete"):
            what = f"partial pooling ({amount!r}) has no meaning for the method {self.draws.type}"
            hint = (
                'Set pooling = "none" or "complete", or leave it out: then each stratum has a '
                "regressor of its own."
            )
            faults.add(f"{self.label}: pooling", what, hint=hint)

    def makes(self, name: str, schema: Schema) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        return Field.number(name) if name == self.name else None

    def fit(self, sample: Sample, rng: np.random.Generator) -> ContinuousModel:
        """Learn classes, their distribution and what is drawn in them; `rng` seeds learners."""
        # 1. Units: persons, or households where members share one value.
        values = sample.columns[self.name].astype(np.float64)
        decimals = decimals_of(values) if self.decimals == "survey" else self.decimals
        if self.offset is not None:
            places = None if decimals is None else int(decimals)
            sample = without_offset(sample, self.name, self.offset, places)
            values = sample.columns[self.name]
        shared: tuple[Fallback, ...] = ()
        if self.by_household == "shared":
            shared = unshared(values, sample.offsets, self.label)
            sample = first_members_of_sample(sample)
            values = sample.columns[self.name].astype(np.float64)
        strata_levels, sample = sample.strata_levels, grouped(sample, self.by, self.label)
        # 2. Classes of values, and the predictors as codes.
        classes = self.draws.classes(values, sample.weights, sample.rows, self.label)
        without = np.isnan(values)
        encodings, sample, make_up = code_sample(self, sample, values, without=without)
        design = make_design(sample, encodings, classes.codes, len(classes.low))
        # 3. The distribution of the classes given the predictors.
        seed = int(rng.spawn(1)[0].integers(2**31))
        model = self.draws.model_of_classes
        sequence = fit_classes(model, design, self.pooling, self.predictors, seed=seed)
        sequence = without_members_before(sequence, encodings)
        # 4. The last class: a tail, or a regression.
        low = float(classes.low[-1])
        tail, tail_notes = self.draws.top_class(values, sample.weights, low, self.label)
        regression, value_notes = self._fit_values(values, sample, classes, design, rng)
        # 5. Values inside the other classes, and means that are to be calibrated.
        bound = self.draws.bound
        capped = values if bound is None else np.minimum(values, bound)
        within = WithinClass.fit(self.draws.within_class, capped, sample.weights, classes)
        means = None
        if self.means_by is not None:
            args = (capped, classes.codes, sample.weights, within, self.label)
            means = group_means(self.means_by, encodings, design.digits, *args)
            top = classes.codes == len(classes.low) - 1
            means, tail = means.with_top(tail, design.digits[top], capped[top], sample.weights[top])
        heaps = None
        if self.heaps is not None and decimals is not None:
            drawn = unrounded_values(classes, design, (within, tail, regression), rng)
            if drawn is not None:
                heaps = Heaps.fit(values, drawn, sample.weights, int(decimals), design.digits)
        class_notes = self._notes(classes, sequence, sample)
        fractions = self.by_household == "mean" or not (decimals == 0 or self.draws.is_count)
        notes = (
            *class_notes,
            *shared,
            *above_upper(self.label, self.draws, values),
            *tail_notes,
            *value_notes,
        )
        return ContinuousModel(
            fields=new_fields(self.provides, sample.fields[self.name], has_fractions=fractions),
            encodings=encodings,
            sequence=sequence,
            allowed=None,
            low=classes.low,
            high=classes.high if tail is None else np.append(classes.high[:-1], tail.upper),
            within_class=within,
            tail=tail,
            values=regression,
            strata_levels=strata_levels,
            fallbacks=notes_by_level(notes, sample, self.by),
            decimals=None if decimals is None else int(decimals),
            make_up=make_up,
            means=means,
            heaps=heaps,
        )

    def _fit_values(
        self,
        values: np.ndarray,
        sample: Sample,
        classes: Classes,
        design: ModelDesign,
        rng: np.random.Generator,
    ) -> tuple[Values | None, tuple[Fallback, ...]]:
        """Fit the values of the last class, where a regression has them."""
        rows = np.flatnonzero(classes.codes == len(classes.low) - 1)
        if not classes.modelled or not len(rows):
            return None, ()
        pooling = pooling_options(self.pooling)
        regression, notes = fit_values(
            self.draws.rule(values[rows], sample.weights[rows], sample.rows[rows], self.label),
            design.rows(rows),
            values[rows],
            smallest_stratum=pooling.smallest_stratum,
            seed=int(rng.integers(2**31)),
            pooling=self.draws.pooling_of_values(pooling.amount),
        )
        return regression, notes_of(notes, self.label, sample)

    def _notes(
        self, classes: Classes, sequence: FallbackSequence, sample: Sample
    ) -> tuple[Fallback, ...]:
        """Return fallbacks of the class model, without those of strata with one kind of value."""
        fallbacks = fit_fallbacks(self.label, sequence, classes.codes, sample)
        fits = zip(sample.strata_levels, sequence.by_stratum, strict=True)
        pooled = {str(level) for level, model in fits if model is None}
        return tuple(note for note in fallbacks if not classes.modelled or note.stratum in pooled)

    def observed(self, model: ContinuousModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns, joined by household where asked."""
        values = sample.columns[self.name].astype(np.float64)
        if self.by_household in FORMS:
            rng = Streams(0).at("random member", self.name)
            values = joined(values, sample.offsets, self.by_household, rng)
        return {self.name: values.astype(model.fields[0].dtype)}

    def simulate(
        self, model: ContinuousModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw a class and a value for each person of the block, or each first member."""
        draw = self._drawing(model, block, rng)
        if model.make_up is not None:
            block = model.make_up.of_block(block)
        columns = self._of_units(model, block, draw, rng)
        if self.offset is not None:
            whole = columns[self.name] + offset_of(self.offset, block.columns, block.offsets)
            whole = whole if model.decimals is None else np.round(whole, model.decimals)
            columns = {**columns, self.name: whole}
        return {field.name: columns[field.name].astype(field.dtype) for field in model.fields}

    def _drawing(self, model: ContinuousModel, block: Block, rng: np.random.Generator) -> Draw:
        """Return the function that draws the persons of a block, or of parts of it in turn."""
        groups = group_draws(model, block, self.label, rng)
        return partial(draw_persons, model, rng=rng, label=self.label, by=self.by, sequences=groups)

    @property
    def needs_pilot(self) -> bool:
        """Whether means are calibrated in a pilot population; see `calibrate`."""
        return self.means_by is not None

    def calibrate(
        self, model: ContinuousModel, pilot: Sequence[Block], rng: np.random.Generator
    ) -> ContinuousModel:
        """Return the model with means by the levels of `means_by` calibrated to the survey's."""

        def simulate(model: ContinuousModel, block: Block, record: Callable[[Block], None]) -> None:
            draw = self._drawing(model, block, rng)

            def recorded(part: Block) -> dict[str, np.ndarray]:
                record(part)
                return draw(part)

            self._of_units(model, block, recorded, rng)

        if model.make_up is not None:
            pilot = [model.make_up.of_block(block) for block in pilot]
        return calibrate_means(model, pilot, simulate, self.label)

    def calibrate_as(self, model: Any, earlier: Any, digits: Callable[[str], np.ndarray]) -> Any:
        """Return the model with the factors of classes by group of an earlier fit."""
        if self.means_by is None:
            return model
        return with_factors_of(model, earlier, digits(self.means_by))

    def _of_units(
        self, model: ContinuousModel, block: Block, draw: Draw, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        if knows_first(model.encodings):
            return drawn_given_members(block, self.name, model.encodings, draw, FIRST)
        if self.by_household not in FORMS:
            return draw(block)
        if self.by_household == "shared":
            return drawn_by_household(block, draw)
        return {self.name: joined(draw(block)[self.name], block.offsets, self.by_household, rng)}
