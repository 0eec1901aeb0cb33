"""What the stages with a model of classes share: its options, their checks, its fallbacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.fallback import (
    LEARNERS,
    MODELS,
    FallbackSequence,
    ModelDesign,
    known_model,
)
from synthpop.conditional.fit_fallback import fit_with_fallback
from synthpop.conditional.pooling.choose import CHOICES
from synthpop.conditional.pooling.options import ALONE, Mixture, Pooling
from synthpop.conditional.pooling.ridge_effects import RidgeEffects
from synthpop.conditional.predictors import NUMERIC, Predictors, check_by, check_predictors
from synthpop.conditional.schema import Schema
from synthpop.microdata.frame.block import Fallback, Sample
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import Options
from synthpop.microdata.messages.parameters import NONE, POSITIVE, Between, OneOf, check
from synthpop.microdata.messages.text import formatted, plural
from synthpop.models.encoding import distinct_numbers
from synthpop.models.nested import NestedLevels

SMALLEST_STRATUM = 30
LARGEST_GAP = 1e-3
ALL_ROWS = slice(None)
POOLING = ("none", *CHOICES, "complete")
TOTALS = ("shrunk", "own")


def _check_model(faults: Faults, label: str, model: Any) -> None:
    """Note a model that is neither a known name nor a classifier that takes weights."""
    if not known_model(model):
        hint = did_you_mean(model, [*MODELS, *LEARNERS, "a classifier"])
        faults.add(
            f"{label}: model", message("{value} is not allowed", value=repr(model)), hint=hint
        )
    elif not isinstance(model, str) and "sample_weight" not in signature(model.fit).parameters:
        what = f"{type(model).__name__}.fit takes no sample_weight: survey weights would be ignored"
        faults.add(f"{label}: model", what, hint="Choose a classifier that takes weights.")


@dataclass(frozen=True, slots=True)
class PoolingOptions(Options):
    """How strata borrow from each other, where a word or a number does not say enough.

    Parameters
    ----------
    amount : "none", "cross-validated", "one-standard-error", "complete" or a number, optional
        As ``pooling`` of the stage; None is the default of its model.
    smallest_stratum : int
        Strata with fewer sample persons use the model pooled over strata.
    totals : "shrunk" or "own"
        "shrunk": class totals of strata with fewer than 200 sample persons are shrunk towards those
        that the model of all strata expects, by an amount that cross-validation chooses together
        with the pooling (`synthpop.conditional.pooling.class_totals`). "own": every stratum keeps
        the totals of its sample.
    pairs : number, optional
        With a number as ``amount``: the pooled multinomial model has effects of pairs of
        predictors, shrunk to none with the weight of so many persons. So a recipe can say what
        cross-validation chose in an earlier fit (`FittedPipeline.pooling`), and need not choose
        again. Default: no pairs where ``amount`` is a number.

    Examples
    --------
    >>> PoolingOptions("none", smallest_stratum=5)
    PoolingOptions(amount='none', smallest_stratum=5, totals='shrunk', pairs=None)
    """

    PARAMETERS: ClassVar = {
        "smallest_stratum": Between(0, None),
        "totals": OneOf(*TOTALS),
        "pairs": POSITIVE | NONE,
    }

    amount: str | float | None = None
    smallest_stratum: int = SMALLEST_STRATUM
    totals: str = "shrunk"
    pairs: float | None = None

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work."""
        check(faults, self.PARAMETERS, self, label=label)
        if isinstance(self.amount, Real) and not isinstance(self.amount, bool):
            if not float(self.amount) >= 0:
                hint = "Give 0 or more persons."
                faults.add(f"{label}: pooling", f"is {self.amount}", hint=hint)
        elif self.amount not in (None, *POOLING):
            hint = did_you_mean(self.amount, [*POOLING, "a number"])
            faults.add(
                f"{label}: pooling",
                message("{value} is not allowed", value=repr(self.amount)),
                hint=hint,
            )
        if self.pairs is not None and not isinstance(self.amount, Real):
            hint = "Give a number as amount too, or leave pairs out."
            faults.add(f"{label}: pairs", f"needs a number as amount, not {self.amount!r}",
                       hint=hint)  # fmt: skip

    def amount_for(self, model: Any) -> str | float | Pooling:
        """Return the pooling that is meant: as asked, or the default of the model of classes."""
        if self.pairs is not None and self.amount is not None:
            return Pooling("partial", float(self.amount), pairs=float(self.pairs))
        if self.amount is not None:
            return self.amount
        if isinstance(model, NestedLevels):
            return "complete"  # hundreds of codes are too many for the model of one stratum
        is_multinomial = isinstance(model, str) and model == "multinomial"
        return "cross-validated" if is_multinomial else "none"


@dataclass(frozen=True, slots=True)
class EarlierPooling(PoolingOptions):
    """The pooling of another fit of the same step."""

    earlier: Pooling = ALONE

    def amount_for(self, model: Any) -> str | float | Pooling:
        """Return the earlier choice, whatever the model."""
        return replace(self.earlier, again=True)


AnyPooling = str | float | PoolingOptions | None
"""Option `pooling` of a stage."""


def pooling_options(pooling: AnyPooling) -> PoolingOptions:
    """Return the options that a word or a number stands for."""
    return pooling if isinstance(pooling, PoolingOptions) else PoolingOptions(pooling)


def check_class_options(faults: Faults, stage: Any, schema: Schema) -> None:
    """Note what cannot work of the options that stages with a model of classes share."""
    label, model = stage.label, getattr(stage, "model", "multinomial")
    check_predictors(faults, label, stage.predictors, schema)
    _check_model(faults, label, model)
    options = pooling_options(stage.pooling)
    options.check(faults, label)
    if options.pairs is not None and (model != "multinomial" or is_formula(stage.predictors)):
        what = "are of multinomial models without a formula"
        faults.add(f"{label}: pairs", what, hint="Leave pairs out.")
    check_by(faults, label, getattr(stage, "by", None), stage.provides, schema)
    check(faults, {"numeric": OneOf(*NUMERIC)}, stage, label=label)


def is_formula(predictors: Predictors) -> bool:
    """Whether predictors are a formula, to which no pairs are added."""
    return isinstance(predictors, str) and predictors not in ("basic", "all")


def with_earlier_pooling(stage: Any, poolings: Mapping[str, Any]) -> Any:
    """Return a step that takes over the partial pooling of its one model of classes.

    poolings: how an earlier fit pooled strata in each part of the step; "": its model of classes
    """
    earlier = poolings.get("")
    if not (isinstance(earlier, Pooling) and earlier.kind == "partial"):
        return stage
    asked = pooling_options(stage.pooling)
    pooling = EarlierPooling(asked.amount, asked.smallest_stratum, asked.totals, earlier=earlier)
    return replace(stage, pooling=pooling)


def fit_classes(
    model: Any, design: ModelDesign, pooling: AnyPooling, predictors: Predictors, *, seed: int
) -> FallbackSequence:
    """Fit a model of classes with its fallbacks, pooled and with pairs as a step asks for."""
    options = pooling_options(pooling)
    sequence = fit_with_fallback(
        model,
        design,
        smallest_stratum=options.smallest_stratum,
        seed=seed,
        pooling=options.amount_for(model),
        pairs=() if is_formula(predictors) else None,
    )
    if options.totals == "own" and sequence.common is not None:
        sequence = replace(sequence, common=None, pooling=replace(sequence.pooling, totals=0.0))
    return sequence


def fit_fallbacks(
    label: str,
    sequence: FallbackSequence,
    classes: np.ndarray,
    sample: Sample,
    rows: np.ndarray | slice = ALL_ROWS,
    who: str = "",
) -> tuple[Fallback, ...]:
    """Return what the fit had to fall back to: strata too small, or with one level; no maximum.

    `rows` are those that the sequence learned from, `who` begins each text.
    """
    notes = []
    classes, strata = classes[rows], sample.strata[rows]
    for stratum, level in enumerate(sample.strata_levels):
        classes_of_stratum = classes[strata == stratum]
        if sequence.by_stratum[stratum] is None and sequence.pooling.kind != "complete":
            n = len(classes_of_stratum)
            persons = f"only {plural(n, 'person')}" if n else message("no persons")
            what = message(
                "{who}{persons} in the sample: the model pooled over strata",
                who=who,
                persons=persons,
            )
            notes.append(Fallback(label, str(level), what))
        elif len(classes_of_stratum) and (classes_of_stratum == classes_of_stratum[0]).all():
            certain = sequence.pooling.kind == "none" or isinstance(
                sequence.by_stratum[stratum], RidgeEffects
            )
            then = (
                message("always drawn") if certain else message("others may come from other strata")
            )
            notes.append(
                Fallback(
                    label,
                    str(level),
                    message("{who}only one level in the sample: {then}", who=who, then=then),
                )
            )
    if n_pairs := sequence.pooling.left_out:
        what = message(
            "{who}pairs of predictors with too many cells, not tried: {n_pairs}",
            who=who,
            n_pairs=n_pairs,
        )
        notes.append(Fallback(label, "all", what))
    levels = [*map(str, sample.strata_levels), "all"]
    models = [*sequence.by_stratum, sequence.pooled]
    for level, model in zip(levels, models, strict=True):
        gap = getattr(model, "gap", 0.0)
        if gap > LARGEST_GAP:
            off = message("margins are off by up to {gap} %", gap=formatted(100 * gap, ".2g"))
            what = message("{who}the fit stopped before its maximum: {off}", who=who, off=off)
            notes.append(Fallback(label, level, message("{what} of the weight", what=what)))
        model = model.model if isinstance(model, Mixture) else model
        if note := getattr(model, "note", ""):
            notes.append(Fallback(label, level, f"{who}{note}"))
    return tuple(notes)


def coded_field(sample: Sample, name: str) -> Field:
    """Return the field of a variable that is simulated by its levels, numbers included."""
    field = sample.fields[name]
    if field.kind == "categorical":
        return field
    levels = tuple(distinct_numbers(sample.columns[name]).tolist())
    coded = Field.categorical(name, levels, ordered=True)
    return replace(coded, original=field.original)


def codes_of(sample: Sample, name: str, field: Field) -> np.ndarray:
    """Return the sample's codes of such a variable, shape (n_persons,)."""
    values = sample.columns[name]
    if sample.fields[name].kind == "categorical":
        return values
    codes = np.searchsorted(np.asarray(field.levels, dtype=np.float64), values)
    return np.where(np.isnan(values.astype(np.float64)), MISSING, codes)
