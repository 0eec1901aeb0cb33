"""A (semi-)continuous variable: what kind of value first, then the value (book section 6.2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from synthpop.conditional.draw import spread
from synthpop.conditional.fallback import FallbackSequence, fit_with_fallback
from synthpop.conditional.household_values import (
    FORMS,
    heads_of_block,
    heads_of_sample,
    joined,
    unshared,
)
from synthpop.conditional.make_up import MakeUp, make_up_for, with_make_up
from synthpop.conditional.members_before import (
    GIVEN_MEMBERS,
    SEQUENTIAL,
    drawn_given_members,
    with_members_before,
)
from synthpop.conditional.predictors import (
    NUMERIC,
    Coding,
    Predictors,
    check_by,
    check_predictors,
    distribution_table,
    grouped,
    make_coding,
    make_design,
    notes_by_level,
    resolve_terms,
    usable,
)
from synthpop.conditional.reference_member import (
    FIRST,
    FIRST_VALUE,
    first_members,
    given_first,
    has_others,
    knows_first,
    number_digits,
    with_first_value,
)
from synthpop.conditional.schema import Schema
from synthpop.microdata.block import Block, Fallback, Sample
from synthpop.microdata.checks import check_choice
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import Faults
from synthpop.microdata.text import plural
from synthpop.models.decimals import decimals_of, rounded
from synthpop.stages.base import check_in_survey, check_numeric_field, keep_own
from synthpop.stages.categorical import (
    SMALLEST_STRATUM,
    check_pooling,
    fit_fallbacks,
    pairs_of,
    pooling_of,
)
from synthpop.stages.continuous.binned import (
    Classes,
    WithinClass,
    classes_up_to_zero,
    drawing_bounds,
    kind_classes,
    value_classes,
    with_zeros,
)
from synthpop.stages.continuous.distributions import (
    codes_of_rows,
    draw_values,
    laws_of_cells,
    record_steps,
)
from synthpop.stages.continuous.options import (
    COUNTS,
    check_options,
    make_rule,
    values_pooling,
)
from synthpop.stages.continuous.tail import TopClass, fit_top_class
from synthpop.stages.continuous.values import Values, fit_values, notes_of


@dataclass(frozen=True, slots=True)
class Continuous:
    """Simulate a continuous or semi-continuous variable.

    What kind of value a person has is drawn first, from a multinomial model given the predictors:
    a class of values (method "binned"), or missing, zero or another value (all other methods).
    Then a value is drawn inside the class, or around a regression. Survey weights are used by
    every method. An option that has no meaning for the chosen method is a fault.

    Parameters
    ----------
    name : str
        Numeric column of the survey. Missing values are a class of their own and missing again
        in the population.
    method : str or scikit-learn regressor
        "binned": the value is drawn inside its class; the top class can have a tail (book eq. 6.4
        to 6.7). "regression": weighted least squares with residuals drawn (eq. 6.8
        to 6.14). "binned+regression": classes for negative values, a log-linear regression for
        positive ones. "poisson", "negative-binomial": counts, drawn (not rounded means). "pmm":
        predictive mean matching, the value of one of the 5 sample persons with the nearest fitted
        values, drawn by weight. "tree", "forest": the value of a sample person in the same leaf.
        A regressor whose ``fit`` takes ``sample_weight``: as "regression".
    predictors : "basic", "all", list of names, or formula text
        See `Categorical`.
    zeros : bool, optional
        Zero is a class of its own. Default: where more than 0.5 % of the values are zero, but not
        for counts; with zeros=True counts of one and more are 1 + a count.
    breaks : sequence of numbers, optional
        "binned": class limits; must enclose the values of the sample. Default: weighted quantiles
        in steps of 10 % and at 1, 5, 95, 97.5 and 99 % (of the positive values, with zeros;
        deciles of the negative ones), and the extremes.
    tail : None, "gpd" or "pareto"
        "binned": draw the values of the top class from a distribution fitted to the weighted
        sample values in it, pooled over strata, and cut at `upper`; the class keeps its weighted
        mean (`synthpop.models.tilted`). "gpd": generalised Pareto; without `threshold` the top
        classes are joined until the highest has 20 sample values. "pareto": Pareto; without
        `threshold` the top class begins at van Kerm's threshold of the positive values.
    trim : (float, float)
        Share of the values left out of the regression below and above, by weighted quantiles of
        the stratum; their residuals are not drawn either, but with residuals="local", where they
        can become an error of persons alike only.
    log : bool
        Regression of the logarithm.
    constant : float, optional
        Added before the logarithm, subtracted after. Default: 0 where all values within `trim`
        are positive, otherwise chosen from them; see `synthpop.models.residuals.log_constant`.
        Values without a logarithm are cut off by `trim`, so they are never drawn; this is recorded.
    residuals : "local", "empirical", "normal" or "leaves", optional
        "local" (default but for trees and forests): draw
        from the weighted residuals of the 40 sample persons with fitted values around one's
        own (and all that tie with them), for a spread and shape that differ between persons; a
        draw lies between the residual of a person and half-way to the next one, so that values
        of real persons are not repeated. "empirical": from the weighted residuals of all in the
        stratum. "normal": from a normal distribution with their weighted median and MAD. "leaves"
        (default of trees and forests): the value of a sample person in the same leaf, drawn by
        weight, of a forest in a leaf of one of its trees (`synthpop.models.leaves`).
    by_household : None, "first", "sequential", "sum", "mean" or "shared"
        None: members of a household are drawn independently, given their predictors. "first": its
        first member is drawn first, the others given what it got. The models have a further
        predictor, whose levels are "is the first member" and classes of the first member's value:
        weighted deciles of the values that are not zero, missing, and where 20 first members have
        such a value zero and negative. "sequential": as "first", and members beyond the second are
        drawn one after another, each given the values of those before too; the highest 5 % and
        1 % are classes of their own then. "sum", "mean": all
        members get the sum or mean of their values (later steps see the sample's values joined
        alike). "shared": one value simulated with the predictors of the first member, fitted to
        first members.
    upper : float, optional
        Largest value that may be drawn. "binned": sample values above it count as `upper`; without
        it the end is the largest sample value, and of a tail twice that value, or the value that
        half a person is expected above where that is less (a tail so heavy that it has no variance
        then gives a `ModelWarning`). Other methods have no bound without it; not for "pmm". The
        smallest sample value is always the lower bound, of counts 0 (1 where zeros are apart).
        Draws around a regression are from the part of their distribution between the bounds.
    intervals : (str, str), optional
        "binned": names of two further columns that hold the bounds of the class each value was
        drawn from (what an intruder who knows the generating process would know).
    smallest_stratum : int
        Strata with fewer sample persons use the model pooled over strata; for the values, strata
        with fewer values, or, without pooling, fewer than three for each coefficient.
    numeric : "classes" or "values"
        How predictors that are numbers enter every model of the stage; see `Categorical`.
    pooling : "none", "cross-validated", "complete" or a number, optional
        Whether strata borrow from each other: in the model of classes, see `Categorical`, and in
        the regression, where the coefficients of a stratum are held near those of all strata with
        the weight of so many persons (`synthpop.conditional.pooling.regression`). Default:
        "cross-validated" for both; "none" for regressors that learn, which cannot be held near.
    by : str, optional
        Fit models to the levels of this variable instead of the strata; see `Categorical`. Limits
        of classes, values inside them and the tail are those of all.
    within_class : "steps", "exponential" or "uniform"
        How values lie inside their class. "steps": between weighted quantiles of the sample's
        values there, at most 32 steps of 10 values on average; values that many persons share stay
        such. "exponential": over the class as a whole. Both with a density exp(-rate x) of the
        place x between two limits, the rate such that the class keeps its weighted mean.
        "uniform": evenly, as in the book; means of classes move then.
    threshold : float, optional
        Where the tail begins, in place of the default.
    estimator : str, optional
        Of the tail: "mle" (default), "pwm", "pwm-biased" or "moments" for "gpd"; "pdc" (default),
        "hill", "ise" or "moment" for "pareto".

    decimals : "survey", int or None
        Decimals of the values: as many as the survey has (up to six), so many, or all that the
        draws have. No value becomes zero by rounding, and none leaves its class.

    Notes
    -----
    A survey column of whole numbers stays one (int64) in the population, unless `decimals` or
    ``by_household="mean"`` make fractions; other values are float64.

    Two uniform numbers per person from the stream (stage, variable, stratum, block), spread
    evenly: that of the class within cells of predictors, that of the value within classes (see
    `synthpop.conditional.draw`); around a regression one more for each value (counts: as many as
    the generator's own Poisson and gamma draws take). With fewer than 20 sample values in the top
    class even so, the tail falls back to uniform draws. This, strata without a model of their own,
    and persons whose combination of predictors the sample does not tell are recorded.

    Examples
    --------
    >>> Continuous("netIncome", tail="gpd", upper=200_000).provides
    ('netIncome',)
    >>> Continuous("netIncome", method="regression", log=True, residuals="normal").label
    'continuous netIncome'
    """

    name: str
    method: Any = "binned"
    predictors: Predictors = "all"
    zeros: bool | None = None
    breaks: Sequence[float] | None = None
    tail: str | None = None
    trim: tuple[float, float] = (0.01, 0.01)
    log: bool = False
    constant: float | None = None
    residuals: str | None = None
    by_household: str | None = None
    upper: float | None = None
    intervals: tuple[str, str] | None = None
    smallest_stratum: int = SMALLEST_STRATUM
    numeric: str = "classes"
    pooling: str | float | None = None
    within_class: str = "steps"
    by: str | None = None
    threshold: float | None = None
    estimator: str | None = None
    decimals: int | str | None = "survey"

    def __post_init__(self) -> None:
        """Keep copies of lists."""
        keep_own(self)

    @property
    def label(self) -> str:
        """Name for messages, progress and random streams."""
        return f"continuous {self.name}"

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the stage makes."""
        return (self.name, *(self.intervals or ()))

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return (self.name,)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        check_in_survey(faults, self.label, [self.name], schema, "variable")
        check_numeric_field(faults, self.label, self.name, schema)
        check_predictors(faults, self.label, self.predictors, schema)
        check_choice(faults, f"{self.label}: numeric", self.numeric, NUMERIC)
        check_pooling(faults, self.label, self.pooling)
        check_by(faults, self.label, self.by, self.provides, schema)
        check_options(faults, self)

    def makes(self, name: str, schema: Schema) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        return Field.number(name) if name == self.name else None

    def fit(self, sample: Sample, rng: np.random.Generator) -> ContinuousModel:
        """Learn classes, their distribution and what is drawn in them; `rng` seeds learners."""
        values = sample.columns[self.name].astype(np.float64)
        notes: tuple[Fallback, ...] = ()
        decimals = decimals_of(values) if self.decimals == "survey" else self.decimals
        if self.by_household == "shared":
            notes = unshared(values, sample.offsets, self.label)
            sample = heads_of_sample(sample)
            values = sample.columns[self.name].astype(np.float64)
        strata_levels, sample = sample.strata_levels, grouped(sample, self.by, self.label)
        classes = self._classes(values, sample)
        names, basic = usable(sample.available, sample), usable(sample.basic, sample)
        terms = resolve_terms(self.predictors, names, basic)
        without = np.isnan(values)
        coding = make_coding(sample, terms, numeric=self.numeric, without=without, by=self.by)
        make_up = make_up_for(self.by_household, sample)
        if make_up is not None:
            coding, sample = with_make_up(coding, make_up), make_up.of_sample(sample)
        if self.by_household in GIVEN_MEMBERS and has_others(sample.offsets):
            others = first_members(sample.offsets).others
            coding, sample = with_members_before(
                self.by_household,
                coding,
                sample,
                values,
                others,
                None,
                None if make_up is None else make_up.relation,
            )
            first = sample.offsets[:-1]
            top = self.by_household == SEQUENTIAL
            digits = number_digits(values[first], sample.weights[first], top=top)
            coding = with_first_value(coding, digits, ordered=True)
            held = given_first(values, sample.offsets, FIRST)
            sample = sample.with_columns({}, {FIRST_VALUE: held})
        design = make_design(sample, coding, classes.codes, len(classes.low))
        sequence = fit_with_fallback(
            "multinomial",
            design,
            smallest_stratum=self.smallest_stratum,
            seed=int(rng.spawn(1)[0].integers(2**31)),
            pooling=pooling_of(self.pooling, "multinomial"),
            pairs=pairs_of(self.predictors),
        )
        notes = (*self._notes(classes, sequence, sample), *notes, *self._above_upper(values))
        capped = values if self.upper is None else np.minimum(values, self.upper)
        tail, found = fit_top_class(
            self.tail,
            values,
            sample.weights,
            float(classes.low[-1]),
            upper=self.upper,
            estimator=self.estimator,
            label=self.label,
        )
        regression = None
        rows = np.flatnonzero(classes.codes == len(classes.low) - 1)
        if classes.modelled and len(rows):
            rule = make_rule(self, values[rows], sample.weights[rows], sample.rows[rows])
            regression, why = fit_values(
                rule,
                design.rows(rows),
                values[rows],
                smallest_stratum=self.smallest_stratum,
                seed=int(rng.integers(2**31)),
                pooling=values_pooling(self),
            )
            found = (*found, *notes_of(why, self.label, sample))
        return ContinuousModel(
            fields=self._fields(sample, decimals),
            coding=coding,
            sequence=sequence,
            low=classes.low,
            high=classes.high if tail is None else np.append(classes.high[:-1], tail.upper),
            within_class=WithinClass.fit(self.within_class, capped, sample.weights, classes),
            tail=tail,
            values=regression,
            strata_levels=strata_levels,
            fallbacks=notes_by_level((*notes, *found), sample, self.by),
            decimals=None if decimals is None else int(decimals),
            make_up=make_up,
        )

    def _fields(self, sample: Sample, decimals: Any) -> tuple[Field, ...]:
        """Return the new columns: whole numbers where survey and draws have such only."""
        fields = tuple(Field.number(name) for name in self.provides)
        held = sample.fields[self.name]
        whole = decimals == 0 or self.method in COUNTS
        if not whole or self.by_household == "mean" or "int" not in held.original.lower():
            return fields
        original = "int64" if held.original[0].islower() else "Int64"  # counts may be larger
        dtype = np.dtype(np.int64) if held.dtype.kind in "iu" else fields[0].dtype
        return (replace(fields[0], dtype=dtype, original=original), *fields[1:])

    def _classes(self, values: np.ndarray, sample: Sample) -> Classes:
        weights = sample.weights
        if self.method == "binned+regression":
            return classes_up_to_zero(values, weights)
        counts = self.method in ("poisson", "negative-binomial")
        zeros = with_zeros(values, weights, False if counts and self.zeros is None else self.zeros)
        if self.method != "binned":
            return kind_classes(values, zeros=zeros)
        return value_classes(
            values,
            weights,
            zeros=zeros,
            breaks=self.breaks,
            tail=self.tail,
            threshold=self.threshold,
            upper=self.upper,
            label=self.label,
            where=sample.rows,
        )

    def _above_upper(self, values: np.ndarray) -> tuple[Fallback, ...]:
        """Tell how many sample values count as `upper`."""
        many = 0 if self.upper is None or self.method != "binned" else (values > self.upper).sum()
        if not many:
            return ()
        what = f"{plural(int(many), 'sample value')} above upper = {self.upper:g} count as upper"
        return (Fallback(self.label, "all", what),)

    def _notes(
        self, classes: Classes, sequence: FallbackSequence, sample: Sample
    ) -> tuple[Fallback, ...]:
        """Return fallbacks of the class model; one kind of value in a stratum is none."""
        found = fit_fallbacks(self.label, sequence, classes.codes, sample)
        fits = zip(sample.strata_levels, sequence.by_stratum, strict=True)
        pooled = {str(level) for level, model in fits if model is None}
        return tuple(note for note in found if not classes.modelled or note.stratum in pooled)

    def observed(self, model: ContinuousModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns, joined by household where asked."""
        values = sample.columns[self.name].astype(np.float64)
        if self.by_household in FORMS:
            values = joined(values, sample.offsets, self.by_household)
        return {self.name: values.astype(model.fields[0].dtype)}

    def simulate(
        self, model: ContinuousModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw a class and a value for each person of the block, or each first member."""
        if model.make_up is not None:
            block = model.make_up.of_block(block)
        columns = self._of_units(model, block, rng)
        return {field.name: columns[field.name].astype(field.dtype) for field in model.fields}

    def _of_units(
        self, model: ContinuousModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        if knows_first(model.coding):
            draw = partial(self._simulate, model, rng=rng)
            return drawn_given_members(block, self.name, model.coding, draw, FIRST)
        if self.by_household not in FORMS:
            return self._simulate(model, block, rng)
        unit = heads_of_block(block) if self.by_household == "shared" else block
        columns = self._simulate(model, unit, rng)
        if self.by_household == "shared":
            sizes = np.diff(block.offsets)
            return {name: np.repeat(values, sizes) for name, values in columns.items()}
        return {self.name: joined(columns[self.name], block.offsets, self.by_household)}

    def _simulate(
        self, model: ContinuousModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        from synthpop.kernels.draws import draw_classes, draw_in_classes

        cells, row_of_cell, table = distribution_table(
            model.coding,
            model.sequence,
            block,
            label=self.label,
            stratum_name=str(model.strata_levels[block.stratum]),
        )
        n = block.n_persons
        classes = np.empty(n, dtype=np.int16)
        uniforms = spread(row_of_cell[cells], len(table), rng)
        draw_classes(cells, row_of_cell, table, uniforms, 0, classes)
        out = np.empty(n)
        first, last = drawing_bounds(model.low, model.high)
        inside = spread(classes, len(model.low), rng)
        law = model.within_class
        draw_in_classes(classes, first, last, law.rate, law.steps, law.knots, inside, out)
        top = np.flatnonzero(classes == len(model.low) - 1)
        if model.tail is not None:
            out[top] = model.tail.draw(inside[top])
        if model.values is not None:
            rows = row_of_cell[cells]
            out[top] = self._values(model, model.values, block, rows, len(table), top, rng)
        if model.decimals is not None:
            modelled = model.values is not None
            ends = [np.where(modelled & (classes == len(first) - 1), np.nan, x[classes])
                    for x in (first, last)]  # fmt: skip
            out = rounded(out, model.decimals, *ends)
        columns = {self.name: out}
        if self.intervals is not None:
            columns[self.intervals[0]] = model.low[classes]
            columns[self.intervals[1]] = model.high[classes]
        return columns

    def _values(
        self,
        model: ContinuousModel,
        values: Values,
        block: Block,
        rows: np.ndarray,
        n_rows: int,
        top: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw the values of the persons in the modelled class, once per row evaluated."""
        codes = codes_of_rows(model.coding, block, rows, n_rows)
        groups, rows = model.coding.group_of(codes, block.stratum), rows[top]
        out = np.empty(len(top))
        for group in np.unique(groups[rows]).tolist():
            here = np.flatnonzero(groups[rows] == group)
            cells, row = np.unique(rows[here], return_inverse=True)
            laws = laws_of_cells(values, group, model.coding.term_digits(codes[cells]))
            level = (model.coding.groups or model.strata_levels)[group]
            own, by = values.by_stratum[group] is not None, self.by
            record_steps(block, self.label, str(level), laws, row, own, by)
            out[here] = draw_values(values.rule, laws, row, rng)
        return out


@dataclass(frozen=True, slots=True)
class ContinuousModel:
    """What `Continuous` learned: classes (the first is missing), their distribution, the values.

    The values of the last class come from the tail or the regression where there is one.
    """

    fields: tuple[Field, ...]
    coding: Coding
    sequence: FallbackSequence
    low: np.ndarray
    high: np.ndarray
    within_class: WithinClass
    tail: TopClass | None
    values: Values | None
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]
    decimals: int | None = None
    make_up: MakeUp | None = None
