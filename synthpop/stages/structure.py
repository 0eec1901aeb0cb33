"""The household structure: whole households of the sample, resampled with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from types import NoneType
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.donors import (
    ALONE,
    MOST_DONORS,
    MOST_KINDS,
    DonorHouseholds,
    DonorPooling,
    Donors,
    choose_amount,
    own_donors,
    persons_of_kinds,
    shared_donors,
)
from synthpop.conditional.draw import systematic_uniforms
from synthpop.conditional.encodings import make_encodings, sample_digits
from synthpop.conditional.fallback import cumulative
from synthpop.conditional.pooling.choose import CHOICES
from synthpop.conditional.schema import Schema
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check_choice
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, number, percent
from synthpop.models.encoding import distinct_cells
from synthpop.stages.base import BlockStage, StageModel, StratumPooling, check_in_survey
from synthpop.stages.entry import StageEntry
from synthpop.stages.jitter import JitterLaw, jitter_laws

METHODS = ("direct", "distribution", "multinomial")
"""The last two are one method under two names: a multinomial model of the sizes is saturated."""
POOLING = (*CHOICES, "none")
SAME_WEIGHT = 1e-6  # relative difference of weights that is rounding
NOTABLE = 0.01  # share of the persons that rounding to whole households may add or leave out
TWENTIETHS = tuple(step / 20 for step in range(1, 20))


@dataclass(frozen=True, slots=True)
class Structure(BlockStage):
    """Resample whole households within stratum and household size.

    The number of households of each stratum and size is estimated from the household weights
    (Horvitz-Thompson, book eq. 6.1); each household of the population takes the structure of a
    sample household of its stratum and size, drawn with probability proportional to its weight
    (eq. 6.2). Keep the variables few, age and sex for instance: they are copied together.

    Parameters
    ----------
    variables : list of str
        Columns that are copied with the household.
    method : {"direct", "distribution", "multinomial"}
        "direct": the estimated counts, rounded at random such that every count, the totals of
        strata and of sizes and the total of all are within one of what is expected, whatever the
        scale (controlled rounding, `synthpop.models.rounding`). "distribution": as many households
        in a stratum as estimated, rounded in the same way, and their sizes drawn from the weighted
        distribution of sizes in the stratum; "multinomial" is another name of it, since a
        multinomial model of sizes given the stratum has as many parameters as there are cells.
    pooling : "cross-validated", "one-standard-error", "none" or a number
        "none", or 0: a household takes a sample household of its own stratum. A number k: donors
        are the stratum's n own households of its size and, with the weight of k more, those of
        the same size in all strata, so that rare kinds of households are found in every stratum.
        Their weights are calibrated such that the stratum keeps its own totals of household sizes
        and of kinds of persons: combinations of the variables, numbers in twenty classes (more
        than 60 combinations: each variable by itself). "cross-validated": k is chosen by
        cross-validation over households; "one-standard-error": the largest k that is not clearly
        worse (see `Categorical`). Where weights were calibrated to finer totals within
        strata that must hold exactly, set "none". See `synthpop.conditional.donors`.

    jitter : dict of name to whole number, optional
        Numbers of the structure, as age, that are drawn again within so many of the copied one,
        such that large or unusual households are no exact copies; see `synthpop.stages.jitter`.

    Notes
    -----
    One uniform number per household from the stream (structure, stratum, block), spread evenly
    (`synthpop.conditional.draw`), so that each sample household is taken as often as its weight
    says, give or take about one. Rounding draws from the stream (structure, sizes), the sizes of
    "distribution" from (structure, sizes, stratum). Missing values of the variables are copied.

    Examples
    --------
    >>> Structure(["age", "rb090"]).provides
    ('age', 'rb090')
    """

    variables: Sequence[str]
    method: str = "direct"
    pooling: str | float = "cross-validated"
    jitter: Mapping[str, int] | None = None

    entry: ClassVar[StageEntry] = StageEntry(
        name="structure",
        rank=30,
        title="Household structure",
        question="Which households, of which members, are there in each stratum?",
        blind_spots=("compositions that the sample does not have: households are copied from it"),
        example={"variables": ["age", "rb090", "relation"]},
    )
    label: ClassVar[str] = "structure"
    NAMES: ClassVar[tuple[str, ...]] = ("variables",)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        check_in_survey(faults, self.label, self.variables, schema)
        check_choice(faults, f"{self.label}: method", self.method, METHODS)
        amount = self.pooling
        number = isinstance(amount, Real) and not isinstance(amount, bool)
        if not (number and float(amount) >= 0) and amount not in POOLING:
            choices = ", ".join(f'"{choice}"' for choice in POOLING)
            hint = f"Give {choices} or a number of households."
            faults.add(f"{self.label}: pooling", f"is {self.pooling!r}", hint=hint)
        if len(set(self.variables)) != len(self.variables):
            faults.add(self.label, "a variable is named twice", hint="Name each once.")
        self._check_jitter(faults, schema)

    def _check_jitter(self, faults: Faults, schema: Schema) -> None:
        if not isinstance(self.jitter, (Mapping, NoneType)):
            hint = 'Give {"age": 2}, for instance.'
            faults.add(f"{self.label}: jitter", f"is {self.jitter!r}", hint=hint)
            return
        for name, width in (self.jitter or {}).items():
            field = schema.survey.get(name)
            where = f"{self.label}: jitter of {name!r}"
            if name not in self.variables or (field is not None and field.kind != "numeric"):
                what = "is not a number among the variables of the structure"
                faults.add(where, what, hint=did_you_mean(name, self.variables))
            if not Whole(1).allows(width):
                faults.add(where, f"is {width!r}", hint="Give a whole number of 1 or more.")

    def fit(self, sample: Sample, rng: np.random.Generator) -> StructureModel:
        """Estimate household counts and sort the donors."""
        sizes = np.diff(sample.offsets)
        strata = sample.strata[sample.offsets[:-1]]
        levels, size_code = np.unique(sizes, return_inverse=True)
        n_strata, n_sizes = len(sample.strata_levels), len(levels)
        cell = strata.astype(np.int64) * n_sizes + size_code.reshape(-1)
        weights = sample.household_weights
        totals = np.bincount(cell, weights=weights, minlength=n_strata * n_sizes)
        donors, pooling, notes = self._donors(sample, strata, size_code.reshape(-1), n_sizes, rng)
        return StructureModel(
            fields=tuple(sample.fields[name] for name in self.variables),
            columns={name: sample.columns[name] for name in self.variables},
            offsets=sample.offsets,
            sizes=levels,
            totals=totals.reshape(n_strata, n_sizes),
            donors=donors.households,
            donor_weights=donors.weights,
            starts=donors.starts,
            strata_levels=sample.strata_levels,
            pooling=pooling,
            jitter=jitter_laws(self.jitter or {}, self.variables, sample),
            fallbacks=(*notes, *_weights_that_differ(sample)),
        )

    def _donors(
        self,
        sample: Sample,
        strata: np.ndarray,
        sizes: np.ndarray,
        n_sizes: int,
        rng: np.random.Generator,
    ) -> tuple[Donors, DonorPooling, tuple[Fallback, ...]]:
        """Return the donors of each stratum and size, and how far they are of other strata."""
        levels, weights = sample.strata_levels, sample.household_weights
        own_households = own_donors(strata, sizes, weights, len(levels), n_sizes)
        if self.pooling in ("none", 0) or len(levels) == 1 or not self.variables:
            return own_households, ALONE, ()
        if len(levels) * len(strata) > MOST_DONORS:
            what = message(
                "more than {most_donors} donors of all strata", most_donors=count_text(MOST_DONORS)
            )
            note = Fallback(
                self.label, "all", message("{what}: those of the own stratum only", what=what)
            )
            return own_households, ALONE, (note,)
        encodings = make_encodings(sample, [(name,) for name in self.variables], probs=TWENTIETHS)
        digits = sample_digits(sample, encodings)
        kind = distinct_cells(digits, encodings.sizes)[1]
        has_many_kinds = int(kind.max(initial=-1)) >= MOST_KINDS
        persons = persons_of_kinds(digits if has_many_kinds else kind[:, None], sample.offsets)
        households = DonorHouseholds(strata, sizes, weights, persons, len(levels), n_sizes)
        if self.pooling in CHOICES:
            seed = int(rng.integers(2**31))
            pooling = choose_amount(
                households, kind, sample.offsets, sample.weights, seed, sample.units,
                str(self.pooling),
            )  # fmt: skip
        else:
            pooling = DonorPooling("partial", float(self.pooling))
        donors, failed = shared_donors(households, pooling.amount)
        what = message(
            "totals with donors of other strata could not be met: those of the own stratum only"
        )
        notes = tuple(Fallback(self.label, str(levels[k]), what) for k in failed)
        return donors, replace(pooling, totals=tuple(self.variables)), notes

    def simulate(
        self, model: StructureModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw donors for the households of a block, copy their structure, draw numbers again.

        The block has no columns yet; its households come sorted by size.
        """
        columns = self.copied(model, block, rng)
        for law in model.jitter:
            columns[law.name] = law.drawn(columns, block.offsets, rng)
        return columns

    def copied(
        self, model: StructureModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw donors for the households of a block and copy their structure."""
        from synthpop.kernels.households import expand, gather

        rows = np.empty(block.n_persons, dtype=np.int32)
        sizes, counts = np.unique(np.diff(block.offsets), return_counts=True)
        start = 0
        for size, count in zip(sizes, counts, strict=True):
            zeros = np.zeros(int(count), dtype=np.int64)
            donors = _draw(model, block.stratum, int(size), systematic_uniforms(zeros, 1, rng))
            expand(donors, int(size), model.offsets, start, rows)
            start += int(size) * int(count)
        columns = {}
        for field in model.fields:
            columns[field.name] = np.empty(block.n_persons, dtype=field.dtype)
            gather(model.columns[field.name], rows, columns[field.name])
        return columns


def _weights_that_differ(sample: Sample) -> tuple[Fallback, ...]:
    """Note that households are copied by their weights where those of members differ."""
    of_members = np.repeat(sample.household_weights, np.diff(sample.offsets))
    differs = np.abs(sample.weights - of_members) > SAME_WEIGHT * of_members
    if not differs.any():
        return ()
    share = float(np.mean(differs))
    what = message(
        "person weights differ from household weights for {share} of the survey "
        "persons: households are copied by household weights, models are fitted with "
        "person weights",
        share=percent(share),
    )
    return (Fallback("structure", "all", what),)


@dataclass(frozen=True, slots=True)
class StructureModel(StageModel):
    """Estimated household counts and the donors, those of a stratum and size side by side."""

    fields: tuple[Field, ...]
    columns: dict[str, np.ndarray]
    offsets: np.ndarray
    sizes: np.ndarray  # int array, shape (L,): household sizes of the sample
    # float array, shape (K, L): estimated number of households by stratum and size
    totals: np.ndarray
    # donors, donor_weights: arrays, shape (d,)
    donors: np.ndarray
    donor_weights: np.ndarray
    # int array, shape (K * L + 1,): where the donors of each stratum and size start
    starts: np.ndarray
    strata_levels: tuple[Any, ...]
    pooling: DonorPooling = ALONE
    jitter: tuple[JitterLaw, ...] = ()  # numbers that are drawn again
    fallbacks: tuple[Fallback, ...] = ()

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how strata borrow donors from each other."""
        return {"": self.pooling} if isinstance(self.pooling, DonorPooling) else {}


def without_households(model: StructureModel, barred: np.ndarray) -> StructureModel:
    """Return the model without some donors, wherever a cell has others.

    barred: bool array, shape (number of sample households,)
    """
    if not barred[model.donors].any():
        return model
    weights = np.where(barred[model.donors], 0.0, model.donor_weights)
    cell = np.repeat(np.arange(len(model.starts) - 1), np.diff(model.starts))
    left = np.bincount(cell, weights=weights, minlength=len(model.starts) - 1)
    weights = np.where(left[cell] > 0, weights, model.donor_weights)
    notes = []
    for k in np.flatnonzero((left == 0) & (np.diff(model.starts) > 0)):
        level, size = model.strata_levels[k // len(model.sizes)], model.sizes[k % len(model.sizes)]
        what = message(
            "all sample households of size {size} break a rule: they are copied nevertheless",
            size=size,
        )
        notes.append(Fallback("structure", str(level), what))
    return replace(model, donor_weights=weights, fallbacks=(*model.fallbacks, *notes))


def structure_fallbacks(
    model: StructureModel, counts: np.ndarray, scale: float, strata: Sequence[int]
) -> list[Fallback]:
    """Return where the households made differ from those expected, or a stratum has no sample.

    counts: int array, shape (K, L); households made, by stratum and size
    strata: positions of the strata that are simulated
    """
    notes = []
    for stratum in strata:
        level = model.strata_levels[stratum]
        expected, simulated = model.totals[stratum] * scale, counts[stratum]
        if not expected.any():
            notes.append(
                Fallback("structure", str(level), message("no household in the sample: left out"))
            )
            continue
        without = (expected > 0) & (simulated == 0)
        if without.any():
            sizes = ", ".join(map(str, model.sizes[without].tolist()))
            what = message(
                "{n} households of size {sizes} expected, none made",
                n=formatted(expected[without].sum(), ".2g"),
                sizes=sizes,
            )
            notes.append(Fallback("structure", str(level), what))
    rows = list(strata)
    persons = float(model.totals[rows].sum(axis=0) @ model.sizes) * scale
    made_persons = int(counts[rows].sum(axis=0) @ model.sizes)
    if abs(made_persons - persons) > max(1.0, NOTABLE * persons):
        what = message(
            "{made_persons} persons made, {persons} expected",
            made_persons=count_text(made_persons),
            persons=number(persons, 6),
        )
        notes.append(
            Fallback("structure", "all", message("{what}: households are whole", what=what))
        )
    return notes


def _draw(model: StructureModel, stratum: int, size: int, uniforms: np.ndarray) -> np.ndarray:
    from synthpop.kernels.draws import draw_donors

    cell = stratum * len(model.sizes) + int(np.searchsorted(model.sizes, size))
    a, b = model.starts[cell], model.starts[cell + 1]
    weights = model.donor_weights[a:b]
    table = cumulative((weights / weights.sum())[None, :])[0]
    guide = np.searchsorted(table, np.arange(len(table)) / len(table), side="right")
    out = np.empty(len(uniforms), dtype=np.int64)
    draw_donors(table, guide, uniforms, out)
    return model.donors[a:b][out]
